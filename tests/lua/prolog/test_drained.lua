-- A node out of service, by our drain or an admin's, and what its prolog and health program do: they
-- themselves, with a check that finds what the test says and a slurmctld in memory.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local budget = require("syscheck.node.budget")
local check = require("syscheck.measure.check")
local command = require("syscheck.slurm.command")
local health = dofile("prolog/health.lua")
local log = require("syscheck.lib.log")
local nodes = require("syscheck.node.node")
local policy = require("syscheck.policy.policy")
local prepared = require("prepared")
local prolog = dofile("prolog/prolog.lua")
local resume = require("syscheck.slurm.resume")
local tree = require("tree")
local uv = require("luv")

TestDrained = {}

local ENV = { SLURMD_NODENAME = "n1", SLURM_JOB_ID = "5", SLURM_JOB_PARTITION = "main", SLURM_JOB_CPUS_PER_NODE = "2",
   SLURM_NODELIST = "n1", SPANK_SYSCHECK = nil }
local LIMIT = { triad_gbs = "triad 61 < 80 GB/s (policy)", latency_ns = "latency 200 > 150 ns (policy)" }

local node -- under test
local slurm -- { reason = of the drain that stands, or nil; calls = list; away = the call that gets no answer }
local bad -- what the next checks find: { metric = true, wrong = true, directory = it hangs, meanwhile = function }
local levels -- of the checks that ran

-- As check.run with kernels that find what is bad; latency is measured by level full only.
local function run_check(lvl, self, _, from)
   levels[#levels + 1] = lvl
   if bad.meanwhile then
      bad.meanwhile(self)
   end
   local out = { level = lvl, status = "pass", metrics = {}, runs = {}, after = from, text = "", duration_s = 1,
      kernel_s = 1, box_s = 1 }
   for _, name in ipairs({ "triad_gbs", "gflops", "latency_ns" }) do
      local measured = lvl == "full" or (lvl == "quick" and name ~= "latency_ns")
      local fails = bad[name] or name == "gflops" and bad.wrong
      if measured then
         out.metrics[#out.metrics + 1] = { name = name, status = fails and "fail" or "pass", text = "",
            corrupt = name == "gflops" and bad.wrong or nil }
         out.runs[1] = { kernel = "stream", state = "ok", seconds = 1, box_s = 1 }
         if fails then
            out.status, out.corrupt = "fail", name == "gflops" and bad.wrong or nil
            out.reason = out.corrupt and "dgemm: WRONG RESULT: x" or LIMIT[name]
            out.confirmed, out.enforced = true, self.policy.mode == "enforce"
         end
      end
   end
   out.node_status = out.status
   if lvl == "full" and bad.directory then
      out.status = out.status == "fail" and "fail" or "unknown"
   end
   return out
end

local function answer(_, args)
   slurm.calls[#slurm.calls + 1] = args[1]
   if slurm.away == args[1] then
      return nil, "no answer"
   elseif args[1] == "update" then
      slurm.reason = args[3] == "state=drain" and args[4]:match("^reason=(.*)") or nil
      slurm.time = os.date("!%Y-%m-%dT%H:%M:%S")
      return ""
   elseif args[1] == "--all" or args[1] == "show" then
      return ("NodeName=n1 State=IDLE%s Partitions=main %s\n"):format(slurm.reason and "+DRAIN" or "",
         slurm.reason and (" Reason=%s [root@%s]"):format(slurm.reason, slurm.time) or "")
   end
end

local real = { run = check.run, command = command.run, write = log.write, sleep = uv.sleep, open = nodes.open }

function TestDrained:setUp()
   prepared.setUp()
   tree.system(prepared.root, 1048576)
   node = setmetatable({ problems = {}, root = prepared.root, name = "n1", lock = prepared.root .. "/lock",
      policy = assert(policy.parse('return { mode = "enforce", node_cpus = 2, resume_after = 2, '
         .. 'partitions = { ["*"] = { default = "quick" } } }', "p")) }, nodes)
   for _, field in ipairs({ "state", "run_dir", "spool" }) do
      node[field] = prepared.root .. "/" .. field
   end
   slurm, bad, levels = { calls = {} }, {}, {}
   check.run = run_check
   nodes.open = function()
      return node
   end
   command.run = answer
   log.write = function() end
   uv.sleep = function() end
end

function TestDrained:tearDown()
   check.run, command.run, log.write, uv.sleep, nodes.open = real.run, real.command, real.write, real.sleep, real.open
   prepared.tearDown()
end

local function get(name)
   return ENV[name]
end

-- A job's prolog; its epilog was here. @return exit code
local function job()
   local code = prolog.main(get)
   node:forget_state("begin/5.json")
   return code
end

-- The health program, later than any wait.
local function idle()
   for _, name in ipairs({ "drained.json", "bad.json" }) do
      local state = node:read_state(name)
      if state then
         state.next_s = 0
         node:save_state(name, state)
      end
   end
   health.main(get)
end

local function unpaid()
   local l = budget.open({ boot_id = "1b4e28ba-2fa1-11d2-883f-0016d3cca427" }, "1b4e28ba-2fa1-11d2-883f-0016d3cca427")
   l.next_s = node.now_s() + 3600
   node:save_state("last_pass.json", l)
end

function TestDrained:test_what_full_found_is_not_resumed_by_quick()
   ENV.SPANK_SYSCHECK, bad = "full", { triad_gbs = true }
   lu.assertEquals(job(), prolog.NODE_BAD)
   ENV.SPANK_SYSCHECK, bad, levels = nil, { latency_ns = true }, {}
   idle()
   idle()
   lu.assertEquals({ levels, slurm.reason }, { { "full", "full" }, "syscheck: " .. LIMIT.triad_gbs })
   -- A directory that hangs is no part of the node.
   bad = { directory = true }
   idle()
   idle()
   lu.assertNil(slurm.reason)
   -- What quick found, quick resumes.
   bad, levels = { triad_gbs = true }, {}
   lu.assertEquals(job(), prolog.NODE_BAD)
   bad = {}
   idle()
   lu.assertEquals(levels, { "quick", "quick" })
end

function TestDrained:test_a_value_that_only_full_measures_resumes()
   ENV.SPANK_SYSCHECK, bad = "full", { latency_ns = true }
   lu.assertEquals(job(), prolog.NODE_BAD)
   ENV.SPANK_SYSCHECK, bad = nil, {}
   idle()
   lu.assertNotNil(slurm.reason)
   idle()
   lu.assertNil(slurm.reason)
end

-- The health program finds it while an admin has it drained; who resumes it without a reboot.
function TestDrained:test_found_bad_while_an_admin_had_it_drained()
   for _, what in ipairs({ "triad_gbs", "wrong" }) do
      slurm.reason, slurm.time, bad = "fan broken", "2026-11-21T08:00:00", { [what] = true }
      node:forget_state("last_pass.json")
      idle()
      lu.assertEquals({ slurm.reason, node:read_state("bad.json").action }, { "fan broken", "kept" })
      slurm.reason, levels = nil, {}
      unpaid()
      if what == "wrong" then
         bad = {} -- every other time
      end
      lu.assertEquals(job(), prolog.NODE_BAD)
      lu.assertEquals(levels, { "quick" })
      lu.assertStrMatches(slurm.reason, what == "wrong" and "syscheck: dgemm: WRONG.*" or "syscheck: triad 61 .*")
      node:forget_state("drained.json")
   end
end

-- Slurm had chosen the node just before the drain, and the job's own check passes.
function TestDrained:test_a_job_that_slurm_placed_before_the_drain()
   bad = { triad_gbs = true }
   idle()
   lu.assertStrMatches(slurm.reason, "syscheck: triad .*")
   bad, levels = {}, {}
   lu.assertEquals({ job(), job(), levels }, { prolog.GO, prolog.GO, { "quick", "passive" } })
   idle()
   -- One more, when the health program has measured already: it is asked for that one, too.
   bad = { meanwhile = resume.job_starts }
   idle()
   lu.assertNotNil(slurm.reason)
   lu.assertTrue(node:read_state("drained.json").job)
   bad = {}
   idle()
   lu.assertNil(slurm.reason)
   lu.assertNil(node:read_state("drained.json"))
end

function TestDrained:test_a_job_on_a_node_that_is_back()
   bad = { triad_gbs = true }
   idle()
   bad, slurm.reason = {}, nil
   job()
   -- slurmctld is asked once; without an answer again.
   slurm.away, slurm.calls = "show", {}
   idle()
   lu.assertEquals(slurm.calls, { "show" })
   slurm.away = nil
   idle()
   idle()
   lu.assertEquals(slurm.calls, { "show", "show" })
   lu.assertNil(node:read_state("drained.json"))
   -- Bad again before that is known: drained all the same.
   for _, away in ipairs({ "none", "show" }) do
      slurm.reason, slurm.away, bad = nil, away, {}
      job()
      bad = { triad_gbs = true }
      node:forget_state("last_pass.json")
      idle()
      lu.assertNotNil(slurm.reason)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
