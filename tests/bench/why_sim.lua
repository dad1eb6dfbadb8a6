-- A fleet and its jobs, with planted causes of slowness, as the records that syscheck writes.
-- Every distribution is here; docs/performance.md (Answers) describes them. Nothing is
-- fitted to what `why` searches for: what a cause does to the job and what the counters show of
-- it are drawn apart, and every counter has innocent noise, bursts and odd nodes of its own.
local sim = {}

local DAY = 86400
local FROM = 1767225600 -- 2026-01-01T00:00:00Z
local CLASSES = {
   { name = "epyc-9654-2s192c-768g", triad = 700, gflops = 6500, share = 0.8, durations = true },
   -- Throttle counters without durations, as before Linux 5.6.
   { name = "xeon-8480-2s112c-512g", triad = 480, gflops = 4800, share = 0.2, durations = false },
}
local SIZES = { { 1, 0.42 }, { 2, 0.20 }, { 4, 0.16 }, { 8, 0.13 }, { 16, 0.065 }, { 32, 0.018 }, { 64, 0.007 } }
sim.NODE_CAUSES = { "throttle", "dimm", "daemon", "storage", "link" }
sim.OTHERS = { "storage of all", "input", "nothing" }
-- What `why` calls them.
sim.GROUP = { throttle = "clock", dimm = "memory", daemon = "daemon", storage = "storage", link = "link",
   ["storage of all"] = "storage" }

local random, log, exp = math.random, math.log, math.exp

local spare
local function normal()
   if spare then
      local v = spare
      spare = nil
      return v
   end
   local r, a = math.sqrt(-2 * log(1 - random())), 2 * math.pi * random()
   spare = r * math.sin(a)
   return r * math.cos(a)
end

local function uniform(low, high)
   return low + (high - low) * random()
end

local function lognormal(median, sd)
   return median * exp(sd * normal())
end

local function poisson(mean)
   if mean > 50 then
      return math.max(0, math.floor(mean + math.sqrt(mean) * normal() + 0.5))
   end
   local n, p, limit = 0, random(), exp(-mean)
   while p > limit do
      n, p = n + 1, p * random()
   end
   return n
end

local function pick(list)
   local x = random()
   for _, one in ipairs(list) do
      x = x - one[2]
      if x < 0 then
         return one[1]
      end
   end
   return list[#list][1]
end

local function fleet(n)
   local nodes, of_class = {}, {}
   for i = 1, n do
      local c = i <= CLASSES[1].share * n and CLASSES[1] or CLASSES[2]
      nodes[i] = { name = ("n%04d"):format(i), class = c, episodes = {},
         -- Healthy nodes differ: highest to lowest of 8 is 3 to 5 %, sd 1.4 % on average.
         triad = c.triad * (1 + 0.014 * normal()), gflops = c.gflops * (1 + 0.014 * normal()),
         hot = random() < 0.02, -- throttles a little in every third job
         errors = random() < 0.03 and lognormal(0.5, 1) or 0, -- corrected errors an hour, for ever
         symbols = random() < 0.05 and lognormal(1, 1) or 0, -- link errors an hour, for ever
         cron = random() < 0.05 } -- an agent more than others: now and then some CPU
      of_class[c.name] = of_class[c.name] or {}
      table.insert(of_class[c.name], nodes[i])
   end
   return nodes, of_class
end

local function groups(n, of_class)
   local list = {}
   for i = 1, n do
      local class = random() < CLASSES[1].share and CLASSES[1].name or CLASSES[2].name
      local size = pick(SIZES)
      list[i] = { user = ("u%03d"):format(random(300)), name = ("job-%d"):format(i), size = size,
         nodes = of_class[class], class = class,
         time = math.min(36000, math.max(180, lognormal(2400, 0.8))),
         noise = uniform(0.02, 0.05), -- sd of one run's time
         compute = uniform(0.4, 1), memory = uniform(0.2, 1), -- how much of a slower clock, memory it feels
         network = size > 1 and uniform(0.2, 1) or 0,
         -- Waits that belong to the job. They vary by a third between runs: more than this
         -- would be more than `noise` allows, unless the job goes on meanwhile (asynchronous).
         cpu = math.min(0.1, lognormal(0.01, 1)),
         io = random() < 0.1 and uniform(0.05, 0.4) or math.min(0.08, lognormal(0.006, 1.2)),
         first = random() < 0.5 and uniform(1, 5) or 1, -- node 0 does more I/O
         system = pick({ { "nfs", 0.3 }, { "lustre", 0.5 }, { "disk", 0.2 } }),
         parallel = lognormal(3, 0.7), bytes = lognormal(5e6, 1.5),
         runs = {},
         -- Runs: few have many.
         weight = (i + 10) ^ -0.7 }
   end
   return list
end

-- Each episode: one node (or all) with one trouble, for hours or days.
local function episodes(nodes, per_cause, days, factor)
   local all = {}
   for _, cause in ipairs(sim.NODE_CAUSES) do
      for _ = 1, per_cause do
         local e = { cause = cause, from = FROM + random() * (days - 4) * DAY }
         e.to = e.from + uniform(0.5, 4) * DAY
         -- Severity: share of a job's time that it costs where the job feels it fully.
         e.loss = uniform(0.05, 0.5) * (factor or 1)
         if cause == "throttle" then
            e.depth, e.packages, e.each = uniform(0.4, 0.9), random() < 0.3 and 2 or 1, uniform(0.3, 5)
         elseif cause == "dimm" then
            e.shows = pick({ { "errors", 0.34 }, { "triad", 0.33 }, { "both", 0.33 } })
            e.each = exp(uniform(log(0.0005), log(0.02)))
         elseif cause == "daemon" then
            e.hurts, e.kernel = uniform(0.4, 1), uniform(0.05, 1)
         elseif cause == "link" then
            e.each, e.downed = exp(uniform(log(0.005), log(0.5))), random() < 0.2
         end
         local node = nodes[random(#nodes)]
         node.episodes[#node.episodes + 1] = e
      end
   end
   for _ = 1, per_cause // 2 do
      local from = FROM + random() * (days - 1) * DAY
      all[#all + 1] = { cause = "storage of all", from = from, to = from + uniform(1, 6) * 3600,
         loss = uniform(0.05, 0.5) * (factor or 1) }
   end
   return all
end

local function active(list, time)
   for _, e in ipairs(list) do
      if time >= e.from and time < e.to then
         return e
      end
   end
end

-- How much of a job's time an episode costs, by what the job does.
local function felt(e, group)
   if e.cause == "throttle" then
      return e.loss * group.compute
   elseif e.cause == "dimm" then
      return e.loss * (e.shows == "errors" and 1 or group.memory)
   elseif e.cause == "link" then
      return e.loss * group.network
   elseif e.cause == "storage" or e.cause == "storage of all" then
      return e.loss * math.min(1, group.io / 0.01)
   end
   return e.loss
end

-- What the counters show of storage that cost `lost` seconds on a node.
local function slow_storage(d, group, lost)
   d.io_some = d.io_some + lost * uniform(1, 1.3)
   d.io_full = d.io_full + lost * uniform(0.4, 1)
   d.iowait = d.iowait + lost * uniform(0.3, 6)
   d.op = d.op + lost * group.parallel * uniform(0.8, 2)
end

-- What one node of a run shows. @return table of numbers
local function show(node, group, run, i, episode, lost)
   local t = run.elapsed
   local d = {}
   -- Innocent, all of it.
   d.cpu_some = math.min(0.9, group.cpu * run.cpu * lognormal(1, 0.4)) * t
   local first = i == 1 and math.min(group.first, math.max(1, 0.12 / group.io)) or 1
   local io = group.io * run.io * lognormal(1, 0.4) * first
   io = math.min(0.9, random() < 0.01 and io + lognormal(0.01, 1) or io)
   d.io_some, d.io_full = io * t, io * t * uniform(0.2, 0.7)
   d.iowait, d.op = io * t * uniform(0.5, 4), io * t * group.parallel * lognormal(1, 0.3)
   local burst = random()
   if burst < (node.cron and 0.2 or 0.01) then
      d.cpu_some = math.min(t, d.cpu_some + lognormal(0.01, 0.8) * t)
   end
   d.events, d.ms, d.corrected, d.link, d.downed, d.oom = 0, 0, poisson(node.errors * t / 3600),
      poisson(node.symbols * t / 3600), 0, 0
   if random() < (node.hot and 0.33 or 0.01) then
      d.events = 1 + poisson(lognormal(4, 1))
      d.ms = d.events * uniform(2, 60)
   end
   if random() < 0.002 then
      d.corrected = d.corrected + 1 + poisson(lognormal(3, 1))
   end
   if random() < 0.003 then
      d.link = d.link + 1 + poisson(lognormal(5, 1.2))
   end
   if random() < 0.001 then
      d.oom = 1
   end
   -- Large, and harmless all the same: a process on idle threads, a checkpoint in the
   -- background, a throttled package whose job waits for memory.
   if random() < 0.002 then
      local share, which = uniform(0.05, 0.3), random(3)
      if which == 1 then
         d.cpu_some = math.min(t, d.cpu_some + share * t)
      elseif which == 2 then
         slow_storage(d, group, share * t)
      else
         d.events, d.ms = d.events + math.ceil(share * t), d.ms + share * t * 1000
      end
   end
   -- The episode.
   if episode and lost > 0 or episode and episode.cause == "throttle" then
      local e = episode
      if e.cause == "throttle" then
         -- Throttled for loss / depth of the time, whether the job feels it or not.
         local time = math.min(1, e.loss / e.depth) * t * uniform(0.9, 1)
         d.events = d.events + math.ceil(time / e.each)
         d.ms = d.ms + time * 1000 * e.packages
      elseif e.cause == "daemon" then
         d.cpu_some = math.min(t, d.cpu_some + lost / e.hurts)
      elseif e.cause == "storage" or e.cause == "storage of all" then
         slow_storage(d, group, lost * lognormal(1, 0.15))
      elseif e.cause == "link" then
         local left = lost
         if e.downed then
            d.downed = 1 + poisson(1)
            left = math.max(0, lost - d.downed * uniform(5, 20))
         end
         d.link = d.link + poisson(left / e.each)
      elseif e.cause == "dimm" and e.shows ~= "triad" then
         d.corrected = d.corrected + poisson(lost / e.each)
      end
   end
   d.io_some, d.io_full = math.min(d.io_some, t), math.min(d.io_full, t)
   return d
end

local function stamp(t)
   return os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(t))
end

local serial = 0
local function id()
   serial = serial + 1
   return ("%08x%08x%08x%08x"):format(random(0, 0xffffffff), random(0, 0xffffffff), random(0, 0xffffffff), serial)
end

local JOB_PART = '"job":{"id":%d,"user":"%s","partition":"main","account":"a1","nodes":%d,"name":"%s"}'

local function check_line(write, node, run, group, e)
   local triad, gflops = node.triad * (1 + 0.015 * normal()), node.gflops * (1 + 0.015 * normal())
   local noise = lognormal(0.3, 0.4)
   if random() < 0.005 then
      triad = triad * uniform(0.7, 0.92) -- disturbed
   end
   if random() < 0.01 then
      noise = noise * 8
   end
   if e and e.cause == "dimm" and e.shows ~= "errors" then
      triad = triad * (1 - e.loss)
   elseif e and e.cause == "throttle" and random() < 0.5 then
      gflops = gflops * (1 - e.loss)
   elseif e and e.cause == "daemon" then
      noise = noise + 100 * e.loss * e.kernel
   end
   local check_id = id()
   write(('{"v":1,"kind":"check","id":"%s","cluster":"sim","node":"%s","boot_id":"b","time":"%s","class":"%s",'
      .. '"config_id":"0a1b2c3d","trigger":"prolog","level":"quick","asked":"none","status":"pass","action":"none",'
      .. '"text":"pass","metrics":[{"name":"triad_gbs","status":"pass","value":%.5g},{"name":"gflops",'
      .. '"status":"pass","value":%.5g},{"name":"noise_pct","status":"pass","value":%.4g}],'
      .. JOB_PART .. "}\n"):format(check_id, node.name, stamp(run.begin), node.class.name, triad, gflops, noise,
      run.id, group.user, group.size, group.name))
   return check_id
end

local function job_line(write, node, run, group, d, check_id)
   local t = run.elapsed
   local throttle = node.class.durations and (',"package_ms":%d,"core_ms":%d'):format(d.ms // 1, d.ms // 2) or ""
   local system = group.system == "nfs" and (',"nfs":{"ops":%d,"op_ms":%d,"bytes":%d}'):format(d.op * 100 // 1,
      d.op * 1000 // 1, group.bytes * run.work // 1)
      or group.system == "lustre" and (',"lustre":{"ops":%d,"op_us":%d,"read_bytes":%d,"written_bytes":%d}'):format(
      d.op * 100 // 1, d.op * 1e6 // 1, group.bytes * run.work // 1, group.bytes * run.work // 2) or ""
   write(('{"v":1,"kind":"job","id":"%s","cluster":"sim","node":"%s","boot_id":"b","time":"%s","class":"%s",'
      .. '"config_id":"0a1b2c3d","begin":{"time":"%s"},"end":{"time":"%s","limits":{"clock_mhz":3700},'
      .. '"temperature":{"max_c":%d}},"elapsed_s":%d,"throttle_events":%d,"delta":{"throttle":{"package_count":%d,'
      .. '"core_count":%d%s},"pressure":{"cpu_some_us":%d,"io_some_us":%d,"io_full_us":%d,"memory_some_us":%d,'
      .. '"memory_full_us":0},"cpu":{"iowait_ms":%d,"steal_ms":0},"disk":{"busy_ms":%d,"read_bytes":%d,'
      .. '"written_bytes":%d}%s,"memory_errors":{"corrected":%d,"uncorrected":0},"oom":{"kills":%d},'
      .. '"link":{"errors":%d,"downed":%d}},"cgroup":{"v":2,"cpu_us":%d,"read_bytes":%d,"written_bytes":%d}%s,'
      .. JOB_PART .. "}\n"):format(id(), node.name, stamp(run.begin + t), node.class.name, stamp(run.begin),
      stamp(run.begin + t), 55 + random(20), math.floor(t), d.events, d.events, d.events // 2, throttle,
      d.cpu_some * 1e6 // 1, d.io_some * 1e6 // 1, d.io_full * 1e6 // 1, random() < 0.05 and random(2000000) or 0,
      d.iowait * 1000 // 1, d.io_some * 300 // 1, group.bytes * run.work // 1, group.bytes * run.work // 3, system,
      d.corrected, d.oom, d.link, d.downed, t * 1e6 * 100 * lognormal(1, 0.01) // 1, group.bytes * run.work // 1,
      group.bytes * run.work // 2, check_id
      and (',"check":{"id":"%s","level":"quick","status":"pass"}'):format(check_id) or "", run.id, group.user,
      group.size, group.name))
end

local function choose_nodes(group)
   local list, from = {}, random(#group.nodes)
   if random() < 0.7 then
      for i = 1, group.size do
         list[i] = group.nodes[(from + i - 2) % #group.nodes + 1]
      end
      return list
   end
   local seen = {}
   while #list < group.size do
      local n = group.nodes[random(#group.nodes)]
      if not seen[n] then
         seen[n], list[#list + 1] = true, n
      end
   end
   return list
end

--- Makes the history, in order of time.
-- @param o { seed, nodes, jobs, groups, days, per_cause, factor (of every planted slowdown) }
-- @param write function(line) for each record
-- @return list of runs that are slow by intention: { id, cause, node, slowdown, size }
function sim.history(o, write)
   math.randomseed(o.seed)
   spare, serial = nil, 0
   local nodes, of_class = fleet(o.nodes)
   local list = groups(o.groups, of_class)
   local shared = episodes(nodes, o.per_cause, o.days, o.factor)
   local sum, edges = 0, {}
   for i, g in ipairs(list) do
      sum = sum + g.weight
      edges[i] = sum
   end
   local cases = {}
   local factor = o.factor or 1
   for j = 1, o.jobs do
      local x, low, high = random() * sum, 1, #edges
      while low < high do
         local mid = (low + high) // 2
         if edges[mid] < x then
            low = mid + 1
         else
            high = mid
         end
      end
      local group = list[low]
      local run = { id = 1000000 + j, begin = FROM + (j - 1 + random()) / o.jobs * o.days * DAY,
         work = lognormal(1, 0.02), cpu = lognormal(1, 0.2), io = lognormal(1, 0.3) }
      local used = choose_nodes(group)
      local base = group.time * (1 + group.noise * math.max(-3, math.min(3, normal())))
      local case
      -- Without a node: the input is larger, or nobody knows.
      local chance = random()
      if chance < 0.004 then
         case = { cause = "input", slowdown = 1 + uniform(0.05, 1) * factor }
         run.work = run.work * case.slowdown
      elseif chance < 0.008 then
         case = { cause = "nothing", slowdown = 1 + uniform(0.05, 0.8) * factor }
      elseif chance < 0.018 then
         base = base * uniform(0.05, 0.9) -- ended early
         run.early = true
      end
      local share = active(shared, run.begin)
      local lost, hits = 0, {}
      if not case then
         for i, node in ipairs(used) do
            local e = active(node.episodes, run.begin)
            if e then
               hits[i] = { e = e, loss = math.min(0.6, felt(e, group)) }
               if hits[i].loss > lost then
                  lost = hits[i].loss
                  case = { cause = e.cause, node = node.name, shows = e.shows }
               end
            end
         end
         if share and group.size > 1 and felt(share, group) > lost then
            lost = math.min(0.6, felt(share, group))
            case = { cause = share.cause }
            for i in ipairs(used) do
               hits[i] = { e = share, loss = lost }
            end
         end
         if case then
            case.slowdown = 1 / (1 - lost)
         end
      end
      run.elapsed = math.max(30, base * (case and case.slowdown or 1))
      if case and not run.early then
         case.id, case.size, case.job = run.id, group.size, group.name
         -- Bad nodes in it; such a job shows nothing of causes that are no node's.
         case.bad, case.others, case.planted = 0, {}, {}
         for i, hit in pairs(hits) do
            if hit.loss >= 1 - 1 / 1.15 and hit.e ~= share then
               case.planted[used[i].name] = sim.GROUP[hit.e.cause]
            end
         end
         for _, node in ipairs(used) do
            if active(node.episodes, run.begin) then
               case.bad, case.others[node.name] = case.bad + 1, true
            end
         end
         case.group, case.at = group, #group.runs + 1
         cases[#cases + 1] = case
      end
      group.runs[#group.runs + 1] = case and case.slowdown or 1
      for i, node in ipairs(used) do
         local hit = hits[i]
         local e = active(node.episodes, run.begin)
         local check_id = random() < 0.4 and check_line(write, node, run, group, e) or nil
         local d = show(node, group, run, i, hit and hit.e, hit and hit.loss * run.elapsed or 0)
         job_line(write, node, run, group, d, check_id)
      end
   end
   -- Slow against like runs is what can be seen: where these are slow as well, less.
   for _, case in ipairs(cases) do
      local near = {}
      for i = math.max(1, case.at - 20), math.min(#case.group.runs, case.at + 10) do
         near[#near + 1] = i ~= case.at and case.group.runs[i] or nil
      end
      table.sort(near)
      case.slowdown, case.group = case.slowdown / (near[(#near + 1) // 2] or 1), nil
   end
   return cases
end

return sim
