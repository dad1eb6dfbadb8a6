--- check.lua [SEED...]: builds a small world of each seed (1 to 5), reads every record as the store
-- does, and prints what is in it. Exit 1 where a record is not as the store wants it, or, of five
-- seeds and more, where a trait is in none of them.
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local json = require("cjson")
local record = require("syscheck.store.record")
local site = require("world.site")
local time = require("syscheck.lib.time")
local world = require("world.world")

local SMALL = { jobs = 2000, nodes = 128, days = 45 }

-- Traits of records: name -> how many.
local RECORDS = {}

function RECORDS.job(r, n, s)
   n.job_records = n.job_records + 1
   n.others = n.others + (r.others and 1 or 0)
   n.requeued = n.requeued + ((r.job.restart or 0) > 0 and 1 or 0)
   n.no_begin = n.no_begin + (r.begin and 0 or 1)
   local spent = r.begin and math.abs(time.parse(r["end"].time) - time.parse(r.begin.time) - r.elapsed_s)
   n.clock_drifts = n.clock_drifts + ((spent or 0) > 1.5 and 1 or 0)
   local node = s.by_name[r.node]
   n.clock_is_off = n.clock_is_off + (math.abs(node.skew) > 1 and 1 or 0)
   local d = r.delta or {}
   n.traffic = n.traffic + (d.memory_traffic and 1 or 0)
   n.energy = n.energy + (d.energy and 1 or 0)
   n.throttled = n.throttled + (d.throttle and d.throttle.package_ms > 0 and 1 or 0)
   local m = d.reclaim
   n.stalls = n.stalls + (m and m.stalls > 0 and 1 or 0)
   n.swaps = n.swaps + (m and m.swapped_in > 0 and 1 or 0)
   n.no_stalls = n.no_stalls + (m and m.stalls + m.swapped_in == 0 and 1 or 0)
   for _, source in ipairs({ "throttle", "pressure", "sched", "nfs", "lustre", "link", "memory_errors" }) do
      n.lacks_counters = n.lacks_counters + (r.delta and not d[source] and 1 or 0)
   end
end

function RECORDS.check(r, n)
   n.checks = n.checks + 1
   n["checks_" .. r.trigger] = n["checks_" .. r.trigger] + 1
   n["level_" .. r.level] = n["level_" .. r.level] + 1
   n.check_failed = n.check_failed + (r.status == "fail" and 1 or 0)
end

function RECORDS.loss(_, n)
   n.loss_records = n.loss_records + 1
end

local function counts()
   return setmetatable({}, { __index = function() return 0 end })
end

local function quantiles(list, format)
   table.sort(list)
   local out = {}
   for i, q in ipairs({ 0.1, 0.25, 0.5, 0.75, 0.9 }) do
      out[i] = #list > 0 and (format or "%.0f"):format(list[math.max(1, math.ceil(q * #list))]) or "-"
   end
   return table.concat(out, " ")
end

-- Traits of cases, causes, kinds.
local function of_cases(t, n)
   local groups, sizes, likes, slow, unseen = {}, {}, {}, {}, 0
   for _, c in ipairs(t.cases) do
      likes[#likes + 1] = c.like
      local top = c.causes[1]
      if top then
         local g = groups[top.group] or { name = top.group, n = 0, traced = 0 }
         groups[top.group] = g
         g.n, g.traced = g.n + 1, g.traced + (top.trace and 1 or 0)
         local size = c.size == 1 and "1" or c.size < 8 and "2-7" or "8+"
         sizes[size] = (sizes[size] or 0) + 1
         slow[#slow + 1] = c.slowdown
         unseen = unseen + (top.trace and 0 or 1)
         n.two_causes = n.two_causes + (c.causes[2] and c.causes[2].share >= 0.2 and 1 or 0)
         n.half_a_rack = n.half_a_rack + (top.unit == "part of a leaf" and 1 or 0)
         n.everybodys = n.everybodys + (top.nodes == "all" and 1 or 0)
         n.neighbour = n.neighbour + (top.group == "neighbour" and 1 or 0)
         n.one_core = n.one_core + (top.kind == "one_core" and 1 or 0)
         n.hot_rack_harms = n.hot_rack_harms + (top.kind == "hot_rack" and 1 or 0)
         n.easy = n.easy + (c.tight and c.like >= 16 and 1 or 0)
      else
         n["innocent_" .. c.kind] = n["innocent_" .. c.kind] + 1
      end
      for trait, is in pairs(c.traits) do
         n["trait_" .. trait] = n["trait_" .. trait] + (is and 1 or 0)
      end
   end
   for _, suspect in ipairs(t.suspects) do
      n.suspects = n.suspects + 1
      n.suspects_15 = n.suspects_15 + (suspect.slowed >= 15 and 1 or 0)
      n.repaired = n.repaired + (suspect.to < site.EPOCH + SMALL.days * site.DAY and 1 or 0)
   end
   return groups, sizes, likes, slow, unseen
end

local function of_site(s, n)
   local spreads, seconds = {}, {}
   local seen = {}
   for _, run in ipairs(s.runs) do
      local k = run.kind
      n.requeue = n.requeue + (run.attempt and 1 or 0)
      n.late_epilog = n.late_epilog + (run.late and 1 or 0)
      n.failed = n.failed + (run.failed and 1 or 0)
      seconds[#seconds + 1] = run.seconds / 60
      if not seen[k] then
         seen[k] = true
         spreads[#spreads + 1] = 100 * k.sigma
         for _, trait in ipairs({ "tight", "mode", "tail", "trend", "step", "reused", "numbered", "cross", "avx",
            "press", "own_io", "oversub", "hog", "array" }) do
            n["kinds_" .. trait] = n["kinds_" .. trait] + (k[trait] and 1 or 0)
         end
         n.kinds, n.kinds_few = n.kinds + 1, n.kinds_few + (k.runs < 9 and 1 or 0)
      end
   end
   for _, cause in ipairs(s.causes) do
      n.causes = n.causes + 1
      n.flapping = n.flapping + (#cause.spans > 20 and cause.unit == "node" and 1 or 0)
   end
   for _, node in ipairs(s.nodes) do
      n.harmless_nodes = n.harmless_nodes + (node.harmless and 1 or 0)
      n.reboots = n.reboots + #node.boots - 1
   end
   n.habit_weekly = s.p.checks == "weekly" and 1 or 0
   n.habit_each = s.p.checks == "each" and 1 or 0
   n.cron = s.p.cron > 0.02 and 1 or 0
   n.lost_records = 0
   for _, run in ipairs(s.runs) do
      n.lost_records = n.lost_records + #run.nodes - run.recorded
   end
   return spreads, seconds
end

local function show(seed, t, s, n, bad)
   local groups, sizes, likes, slow, unseen = of_cases(t, n)
   local spreads, seconds = of_site(s, n)
   print(("seed %d: %d jobs, %d job records, %d checks, %d bad records, %d dropped, %.1f s, %d MB"):format(seed,
      t.jobs, n.job_records, n.checks, bad, s.dropped, os.clock(), collectgarbage("count") // 1024))
   local names = {}
   for i, class in ipairs(s.classes) do
      local lacks = {}
      for _, source in ipairs({ "throttle", "pressure", "sched", "nfs", "lustre", "link", "edac", "traffic",
         "energy" }) do
         lacks[#lacks + 1] = not class.has[source] and source or nil
      end
      names[i] = ("%d %s without %s"):format(class.count, class.name, table.concat(lacks, " "))
   end
   print("  classes: " .. table.concat(names, "; "))
   local list = {}
   for _, g in pairs(groups) do
      list[#list + 1] = g
   end
   table.sort(list, function(a, b) return a.n > b.n or a.n == b.n and a.name < b.name end)
   local text = {}
   for i, g in ipairs(list) do
      text[i] = ("%s %d (%d traced)"):format(g.name, g.n, g.traced)
   end
   print(("  slowed: %d (%.1f %% of jobs), without a trace %d; by group: %s"):format(#slow, 100 * #slow / t.jobs,
      unseen, table.concat(text, ", ")))
   text = {}
   for _, size in ipairs({ "1", "2-7", "8+" }) do
      text[#text + 1] = ("%s nodes %d"):format(size, sizes[size] or 0)
   end
   print("  by size: " .. table.concat(text, ", ") .. "; slowdown " .. quantiles(slow, "%.2f"))
   print(("  like runs %s; own spread %% %s; minutes %s"):format(quantiles(likes), quantiles(spreads, "%.1f"),
      quantiles(seconds, "%.0f")))
   list = {}
   for name, value in pairs(n) do
      list[#list + 1] = name .. " " .. value
   end
   table.sort(list)
   print("  " .. table.concat(list, ", "):gsub("(" .. ("."):rep(100) .. "[^,]*,) ", "%1\n  "))
end

-- Everything that a world may be asked to have.
local TRAITS = { "others", "requeued", "no_begin", "clock_is_off", "traffic", "energy", "throttled", "lacks_counters",
   "checks_prolog", "checks_health", "level_full", "level_quick", "check_failed", "loss_records", "lost_records",
   "two_causes", "half_a_rack", "everybodys", "neighbour", "one_core", "hot_rack_harms", "easy", "innocent_input",
   "innocent_mode", "innocent_tail", "innocent_none", "trait_harmless", "trait_hot_rack", "trait_shared", "suspects_15",
   "repaired", "late_epilog", "failed", "kinds_tight", "kinds_mode", "kinds_tail", "kinds_trend", "kinds_step",
   "kinds_reused", "kinds_numbered", "kinds_cross", "kinds_avx", "kinds_press", "kinds_own_io", "kinds_oversub",
   "kinds_hog", "kinds_array", "kinds_few", "flapping", "reboots", "habit_weekly", "habit_each", "cron",
   "late", "stalls", "swaps", "no_stalls" }

local seeds = {}
for i, text in ipairs(arg) do
   seeds[i] = assert(math.tointeger(tonumber(text)), "usage: check.lua [SEED...]")
end
seeds = seeds[1] and seeds or { 1, 2, 3, 4, 5 }
local all, any_bad = counts(), false
for _, seed in ipairs(seeds) do
   local n, lines, bad = counts(), {}, 0
   local t, s = world.build(seed, SMALL, function(line) lines[#lines + 1] = line end)
   s.by_name = {}
   for _, node in ipairs(s.nodes) do
      s.by_name[node.name] = node
   end
   local latest = 0
   for _, line in ipairs(lines) do
      local row, why = record.read(line)
      if not row then
         bad = bad + 1
         io.stderr:write(why, ": ", line)
      end
      local r = json.decode(line)
      RECORDS[r.kind](r, n, s)
      local at = time.parse(r.time)
      n.late = n.late + (at < latest - 3600 and 1 or 0)
      latest = math.max(latest, at)
   end
   show(seed, t, s, n, bad)
   for name, value in pairs(n) do
      all[name] = all[name] + value
   end
   any_bad = any_bad or bad > 0
end
local absent = {}
for _, trait in ipairs(TRAITS) do
   absent[#absent + 1] = all[trait] == 0 and trait or nil
end
print("absent: " .. (absent[1] and table.concat(absent, ", ") or "none"))
os.exit((any_bad or #seeds >= 5 and absent[1]) and 1 or 0)
