-- Answer quality (make bench-why): histories with planted causes (world/) go through the real record
-- format, ingest, store and `why`; counted is how often the planted node and cause are named first, how
-- often an innocent node is, and whether what is said to be so likely is right so often.
--   why.lua DIR OUT SEED...: DIR for the stores, OUT the JSON
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local json = require("cjson")
local uv = require("luv")
local data = require("syscheck.questions.why.read")
local ingest = require("syscheck.store.ingest")
local jobid = require("syscheck.questions.jobid")
local leaves = require("syscheck.store.leaves")
local store = require("syscheck.store.store")
local suspects_data = require("syscheck.questions.suspects.read")
local tally = require("why_tally")
local why = require("syscheck.questions.why.logic")
local world = require("world.world")

local DIR, OUT = arg[1], arg[2]
local SEEDS = table.move(arg, 3, #arg, 1, {})
local JOBS = tonumber(os.getenv("JOBS")) or 10000
local CASES = tonumber(os.getenv("CASES")) or 600 -- of a seed, and all tight ones
local CHUNK = 20000 -- lines in a spool file

local function build(seed)
   local path = ("%s/why-%s.db"):format(DIR, seed)
   local kept = os.getenv("KEEP") and uv.fs_stat(path)
   if kept then
      return path, world.build(tonumber(seed), { jobs = JOBS }, function() end), 0
   end
   os.remove(path)
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
   local truth = world.build(tonumber(seed), { jobs = JOBS }, function(line)
      file:write(line)
      lines = lines + 1
      if lines % CHUNK == 0 then
         close()
         file = assert(io.open(spool, "w"))
      end
   end)
   close()
   for _, cluster in ipairs(leaves.clusters(db)) do
      leaves.write(db, cluster, truth.leaf)
   end
   db:close()
   return path, truth, lines
end

local function shuffle(list, seed)
   math.randomseed(seed + 1)
   for i = #list, 2, -1 do
      local j = math.random(i)
      list[i], list[j] = list[j], list[i]
   end
end

collectgarbage("incremental", 400, 400) -- as the command does
local out = { jobs = JOBS, seeds = {} }
local sums, times = tally.new(), {}
for _, seed in ipairs(SEEDS) do
   local clock = os.clock()
   local path, truth, lines = build(seed)
   io.stderr:write(("seed %s: %d records, %d cases; built in %.0f s\n"):format(seed, lines, #truth.cases,
      os.clock() - clock))
   local db = assert(store.open(path, {}))
   shuffle(truth.cases, tonumber(seed))
   local own = tally.new()
   for i, case in ipairs(truth.cases) do
      local sampled = i <= CASES
      local runs = (sampled or tally.is_tight(case)) and jobid.runs(db, { kind = "job", id = case.id }) or {}
      if #runs > 0 then
         clock = os.clock()
         local input, name = data.read(db, runs[#runs])
         local answer = why.analyse(input)
         times[#times + 1] = os.clock() - clock
         tally.add(own, case, answer, name, sampled, truth.suspects)
         tally.add(sums, case, answer, name, sampled, truth.suspects)
      end
   end
   local named = suspects_data.find(db, 0)
   tally.suspects(own, truth.suspects, named)
   tally.suspects(sums, truth.suspects, named)
   db:close()
   if not os.getenv("KEEP") then
      os.remove(path)
   end
   local result = tally.result(own)
   result.seed = tonumber(seed)
   out.seeds[#out.seeds + 1] = result
   tally.print(own, "seed " .. seed)
end
tally.print(sums, "all seeds")
table.sort(times)
out.all = tally.result(sums)
out.answer_ms = { median = 1000 * times[(#times + 1) // 2], p99 = 1000 * times[math.ceil(0.99 * #times)] }
print(("CPU of an answer: median %.0f ms, 99 %% %.0f ms; memory %.0f MB"):format(out.answer_ms.median,
   out.answer_ms.p99, uv.resident_set_memory() / 1e6))
local file = assert(io.open(OUT, "w"))
file:write(json.encode(out), "\n")
file:close()
