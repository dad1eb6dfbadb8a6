-- Answer quality (make bench-why): histories with planted causes (why_sim.lua) go through the
-- real record format, ingest, store and `why`; counted is how often the planted node and cause
-- are named first, and how often an innocent node is.
--   why.lua DIR OUT [SEED...]: DIR for the stores, OUT the JSON; the first seed is the result
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local json = require("cjson")
local output = require("syscheck.lib.output")
local data = require("syscheck.questions.why.read")
local ingest = require("syscheck.store.ingest")
local jobid = require("syscheck.questions.jobid")
local sim = require("why_sim")
local store = require("syscheck.store.store")
local uv = require("luv")
local why = require("syscheck.questions.why.logic")

local DIR, OUT = arg[1], arg[2]
local SEEDS = { table.unpack(arg, 3) }
SEEDS = SEEDS[1] and SEEDS or { "20261", "777" }
local JOBS = tonumber(os.getenv("JOBS") or 100000)
local HISTORY = { nodes = 1000, jobs = JOBS, groups = math.max(100, JOBS // 80), days = JOBS / 100000 * 60,
   per_cause = math.max(4, 30 * JOBS // 100000) }
local CHUNK = 50000 -- lines in a spool file
-- Bounds of slowdown in %; the last bin is the result. Most cases examined, of a cause.
local BINS = { { 5, 10, 25 }, { 10, 15, 25 }, { 15, 1e9, 110 } }
local CAUSES = table.move(sim.OTHERS, 1, #sim.OTHERS, #sim.NODE_CAUSES + 1, { table.unpack(sim.NODE_CAUSES) })

local function build(seed)
   local path = ("%s/why-%s.db"):format(DIR, seed)
   local db = assert(store.open(path, { write = true, create = true }))
   local work = ingest.new(db, { bad = DIR .. "/bad.jsonl", on_bad = function(_, line, text)
      error(("line %d: %s"):format(line, text))
   end })
   local spool = DIR .. "/records.jsonl"
   local file, lines = assert(io.open(spool, "w")), 0
   local function close()
      file:close()
      assert(work:file(spool))
      work:flush()
      os.remove(spool)
   end
   local options = { seed = tonumber(seed) }
   for k, v in pairs(HISTORY) do
      options[k] = v
   end
   local cases = sim.history(options, function(line)
      file:write(line)
      lines = lines + 1
      if lines % CHUNK == 0 then
         close()
         file = assert(io.open(spool, "w"))
      end
   end)
   close()
   db:close()
   assert(work.count.new == lines, "records were lost")
   return path, cases, lines
end

-- What the answer names first. @return node name or "all", group
local function named(db, case)
   local runs = jobid.runs(db, { kind = "job", id = case.id })
   local input, name = data.read(db, runs[#runs])
   assert(#input.rows == case.size)
   local answer = why.analyse(input)
   local first = answer.blamed[1]
   return first and (first.where == "all" and "all" or name(first.node)), first and first.group, answer
end

local function shuffle(list, seed)
   math.randomseed(seed + 1)
   for i = #list, 2, -1 do
      local j = math.random(i)
      list[i], list[j] = list[j], list[i]
   end
end

-- SHOW=1: what was said instead.
local function explain(case, answer)
   io.stderr:write(("%s %s size %d slow %.2f shows %s: %s %.2f\n"):format(case.cause, case.node or "-", case.size,
      case.slowdown, case.shows or "-", answer.slow.verdict, answer.slow.ratio or 0))
   for i = 1, math.min(3, #answer.conditions) do
      local c = answer.conditions[i]
      io.stderr:write(("   %s %s %s p %.2g corrected %.2g accounts %.2f\n"):format(c.where, tostring(c.node), c.group,
         c.p, c.p_corrected, c.accounts or -1))
      for _, e in ipairs(c.evidence) do
         io.stderr:write(("      %s %.4g (peers %.4g, like %.4g, class %.4g) p %.2g like %.2g cost %.0f\n"):format(
            e.name, e.value, e.peers or -1, e.like or -1, e.class or -1, e.p, e.p_like or -1, e.cost_s))
      end
   end
end

local function judge(db, cases, seed, bins)
   shuffle(cases, seed)
   local tally, times = {}, {}
   for b in ipairs(bins) do
      tally[b] = {}
      for _, cause in ipairs(CAUSES) do
         tally[b][cause] = { n = 0, first = 0, node = 0, all = 0, innocent = 0, said = {}, right = {} }
      end
   end
   for _, case in ipairs(cases) do
      local pct = 100 * (case.slowdown - 1)
      for b, bin in ipairs(bins) do
         local t = tally[b][case.cause]
         -- A job with bad nodes besides says nothing of causes that are no node's.
         if pct >= bin[1] and pct < bin[2] and t.n < bin[3] and (case.node or case.bad == 0) then
            local started = os.clock()
            local who, group, answer = named(db, case)
            times[#times + 1] = os.clock() - started
            t.n = t.n + 1
            local good
            if case.node then
               -- Of several that slow the job by 15 % each, any may be first.
               good = who == case.node and group == sim.GROUP[case.cause] or (case.planted[who] or false) == group
               -- Another node that is bad as well is not innocent.
               t.innocent = t.innocent + (who and who ~= "all" and not case.others[who] and 1 or 0)
            elseif case.cause == "storage of all" then
               good = who == "all" and group == "storage"
            else
               good = not who
            end
            t.first = t.first + (good and 1 or 0)
            t.node = t.node + (who and who ~= "all" and 1 or 0)
            t.all = t.all + (who == "all" and 1 or 0)
            if group then
               group = group .. (who == "all" and " of all" or "")
               t.said[group] = (t.said[group] or 0) + 1
               t.right[group] = (t.right[group] or 0) + (good and 1 or 0)
            end
            if not good and os.getenv("SHOW") then
               explain(case, answer)
            end
         end
      end
   end
   table.sort(times)
   return tally, times
end

local function pct(a, b)
   return b > 0 and 100 * a / b or 0
end

-- Of the answers that named this cause (of a node, or of all), the share that was right.
local function precision(tally, cause)
   local right, all = 0, 0
   local said = cause == "storage of all" and cause or sim.GROUP[cause]
   for _, t in pairs(tally) do
      all, right = all + (t.said[said] or 0), right + (t.right[said] or 0)
   end
   return pct(right, all)
end

local function totals(tally)
   local n, first, false_n, blamed, innocent = 0, 0, 0, 0, 0
   for _, cause in ipairs(sim.NODE_CAUSES) do
      local t = tally[cause]
      n, first, innocent = n + t.n, first + t.first, innocent + t.innocent
   end
   for _, cause in ipairs(sim.OTHERS) do
      false_n, blamed = false_n + tally[cause].n, blamed + tally[cause].node
   end
   return pct(first, n), pct(blamed, false_n), n, false_n, pct(innocent, n)
end

local function print_tally(tally)
   local rows = { { "CAUSE", "CASES", "RIGHT_FIRST_%", "PRECISION_%", "A_NODE_NAMED_%", "ALL_NODES_%" } }
   for _, cause in ipairs(CAUSES) do
      local t = tally[cause]
      rows[#rows + 1] = { cause, tostring(t.n), ("%.1f"):format(pct(t.first, t.n)),
         sim.GROUP[cause] and ("%.1f"):format(precision(tally, cause)) or "-", ("%.1f"):format(pct(t.node, t.n)),
         ("%.1f"):format(pct(t.all, t.n)) }
   end
   print(output.table(rows))
end

local out = { jobs = JOBS, nodes = HISTORY.nodes, seeds = {} }
for i, seed in ipairs(SEEDS) do
   local clock = os.clock()
   local path, cases, lines = build(seed)
   local size = uv.fs_stat(path).size
   print(("seed %s: %d nodes, %d jobs, %d records, %d slow by intention, store %.0f MB; built in %.0f s"):format(seed,
      HISTORY.nodes, JOBS, lines, #cases, size / 1e6, os.clock() - clock))
   local db = assert(store.open(path, {}))
   clock = os.clock()
   local tally, times = judge(db, cases, tonumber(seed), i == 1 and BINS or { BINS[3] })
   db:close()
   os.remove(path)
   os.remove(path .. "-wal")
   os.remove(path .. "-shm")
   local last = tally[#tally]
   local result = { seed = tonumber(seed), cases = 0, causes = {}, curve = {} }
   for b, t in ipairs(tally) do
      local bin = (i == 1 and BINS or { BINS[3] })[b]
      local first, blame, n, m, innocent = totals(t)
      print(("\nslower by %d %%%s: planted node and cause first in %.1f %% of %d cases (innocent node first: %.1f %%); "
         .. "a node blamed in %.1f %% of %d without a node cause\n"):format(bin[1],
         bin[2] < 1e6 and (" to %d %%"):format(bin[2]) or " or more", first, n, innocent, blame, m))
      print_tally(t)
      result.curve[b] = { from_pct = bin[1], to_pct = bin[2] < 1e6 and bin[2] or nil, cases = n,
         first_place_pct = first,
         false_blame_pct = blame, false_blame_cases = m, innocent_first_pct = innocent }
      if t == last then
         result.first_place_pct, result.false_blame_pct = first, blame
         for _, cause in ipairs(CAUSES) do
            result.causes[cause] = { cases = t[cause].n, right_pct = pct(t[cause].first, t[cause].n),
               precision_pct = sim.GROUP[cause] and precision(t, cause) or nil,
               node_named_pct = pct(t[cause].node, t[cause].n) }
         end
      end
   end
   print(("\nCPU of an answer: median %.0f ms, 99 %% %.0f ms; %d answers in %.0f s; memory %.0f MB\n"):format(
      1000 * times[(#times + 1) // 2], 1000 * times[math.ceil(0.99 * #times)], #times, os.clock() - clock,
      uv.resident_set_memory() / 1e6))
   result.answer_ms = 1000 * times[(#times + 1) // 2]
   out.seeds[i] = result
   if i == 1 then
      out.first_place_pct, out.false_blame_pct = result.first_place_pct, result.false_blame_pct
      out.causes, out.curve, out.seed = result.causes, result.curve, result.seed
   end
end
local file = assert(io.open(OUT, "w"))
file:write(json.encode(out), "\n")
file:close()
