-- The doctor's rules.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local doctor = require("syscheck.doctor.rules")
local policy = require("syscheck.policy.policy")
local slurmconf = require("syscheck.slurm.conf")
local times = require("syscheck.doctor.rules.times")

local function parse(text)
   return assert(slurmconf.parse("/e/slurm.conf", function() return text end))
end

TestTimes = {}

function TestTimes:test_of_the_policy()
   local p = policy.default()
   lu.assertEquals(times.of(p, "quick"), { level = "quick", once_s = 3.5, confirmed_s = 7, deadline_s = 15,
      longest_s = 81 })
   p.io_paths = { "/a", "/b" }
   lu.assertEquals(times.of(p, "full").once_s, 2 + 1 + 2 + 5 + 5 + 6)
   lu.assertEquals(times.of(p, "full").confirmed_s, 2 * 15 + 6)
   lu.assertNil(times.of(p, "passive"))
   lu.assertEquals({ times.needed(p) }, { 81, 100 })
   p.partitions = { ["*"] = { ceiling = "quick" } }
   lu.assertEquals({ times.needed(p) }, { 81, 100 })
   p.partitions = { ["*"] = { ceiling = "passive" }, main = { ceiling = "quick" } }
   lu.assertEquals({ times.needed(p) }, { 81, 100 })
   p.partitions = { ["*"] = { ceiling = "quick" }, gpu = { ceiling = "full" } }
   lu.assertEquals({ times.needed(p) }, { 81, 100 })
   p.partitions = { ["*"] = { ceiling = "passive" } }
   lu.assertEquals(#times.reachable(p), 0)
   lu.assertNil(times.needed(p))
end

TestRules = {}

local GOOD = [[
ClusterName=c
SlurmctldHost=head
Prolog=/l/prolog
Epilog=/l/epilog
PrologFlags=Alloc,DeferBatch
JobSubmitPlugins=lua
SchedulerParameters=nohold_on_prolog_fail
AuthInfo=cred_expire=30
MessageTimeout=100
BatchStartTimeout=100
ReturnToService=1
NodeName=n[1-4] CPUs=8
]]

-- What a host where all is well looks like. Every call makes a new one.
local function facts(text)
   local p = policy.default()
   p.mode = "enforce"
   local ours = { kind = "optional", path = "/l/spank_syscheck.so",
      args = { "status_dir=/run/s", "agent=/l/agent.lua" }, file = "/e/plugstack.conf", line = 1, version = "22.05.8" }
   return {
      conf = parse(text or GOOD),
      paths = { libexec = "/l", data = "/d", sysconf = "/etc", plugin = ours.path, run = "/run/s", version = "1" },
      now = 1e9, is_root = true, node = "n2", is_controller = true, major = 22, class = "m-1",
      topology = { threads = 8, cores = 4 },
      policy = { file = "/p.lua", value = p },
      baseline = { file = "/b.json", value = { classes = { ["m-1"] = { triad_gbs = {} } } }, time = 1e9 - 86400 },
      scripts = { prolog = { { path = "/l/prolog", ours = true } }, epilog = { { path = "/l/epilog", ours = true } } },
      slurm = { { name = "scontrol", version = "22.05.1" } },
      controller = { skew_s = 0.3, uncertain_s = 0.5, config = { prolog = "/l/prolog" } },
      stack = { file = "/e/plugstack.conf", exists = true, problems = {}, ours = { ours }, seen = { ours } },
      submit = { file = "/e/job_submit.lua", exists = true, same = true },
      kernels = { { name = "stream", path = "/l/stream", version = "1" } },
      modules = {}, tools = { { name = "scontrol", program = "scontrol" } }, trust = {},
      dirs = { { name = "spool", path = "/s", free = 1e9 } },
      log = { path = "/log", rotated = true },
   }
end

local function examine(f)
   local found = doctor.examine(f)
   local lines = {}
   for i, finding in ipairs(found.findings) do
      lu.assertNotNil(finding.text)
      lu.assertNotNil(finding.why, finding.text)
      lines[i] = doctor.line(finding)
   end
   return found, table.concat(lines, "\n")
end

function TestRules:test_nothing_is_wrong()
   local found, text = examine(facts())
   lu.assertEquals(text, "")
   lu.assertEquals(found.skipped, {})
   lu.assertEquals(found.rules, #doctor.RULES)
end

-- Each: what is changed, the rule that speaks, severity, a part of its line (all of it
-- that matters: the line to add).
local function without(key)
   return (GOOD:gsub(key .. "=[^\n]*\n", ""))
end
local function conf(text)
   return function(f)
      f.conf = parse(text)
   end
end
local function set(path, value)
   return function(f)
      local at, last = f, nil
      for key in path:gmatch("[^.]+") do
         key = tonumber(key) or key
         if last then
            at = at[last]
         end
         last = key
      end
      at[last] = value
   end
end

local function health(state)
   return function(f)
      f.conf, f.health = parse(GOOD .. "HealthCheckProgram=/l/health\nHealthCheckInterval=300\nHealthCheckNodeState="
         .. state .. "\n"), "/l/health"
   end
end

local CASES = {
   { conf(without("Prolog")), "prolog", "error", "add: Prolog=/l/prolog" },
   { conf(without("Epilog")), "epilog", "error", "add: Epilog=/l/epilog" },
   { set("scripts.prolog.1", { path = "/x", calls = true }), "prolog", "info", "must exit non-zero if ours does" },
   { set("scripts.prolog.1", { path = "/x", calls = false }), "prolog", "warn",
      "let it run: /l/prolog || [ $? -ne 1 ] || exit 1" },
   { set("scripts.prolog.1", { path = "/x", calls = true, closed = 3 }), "prolog", "error",
      "[/x:3]: where that file system is not mounted, every job's start drains its node" },
   { set("scripts.prolog.1", { path = "/etc/syscheck/slurm-prolog", guard = true, missing = "/o/prolog" }),
      "prolog", "error", "Prolog calls /o/prolog, which is not there [/etc/syscheck/slurm-prolog]: no job's nodes are "
         .. "checked; syscheck setup --write on this node" },
   { set("scripts.epilog.1", { path = "/x", calls = true, missing = "/o/epilog" }), "epilog", "error",
      "which is not there [/x]: what a job went through is not recorded; let it call /l/epilog" },
   { set("scripts.prolog.1", { path = "/x", calls = true, missing = "/o/prolog", closed = 2 }), "prolog", "error",
      "which is not there [/x]: every job's start drains its node" },
   { function(f)
      f.conf, f.is_node = parse((GOOD:gsub("/l/prolog", "/e/prolog.d/*"))), false
      f.scripts.prolog = { { path = "/e/prolog.d/50-x" } }
      f.controller.config = {}
   end, "prolog", "info", "Prolog=/e/prolog.d/* runs none of ours here" },
   { set("scripts.epilog.1", { path = "/x", calls = true, closed = 3 }), "epilog", "error", "/l/epilog || true" },
   { set("scripts.prolog.1", { path = "/x", unread = true }), "prolog", "warn", "cannot be read" },
   { set("scripts.epilog.1.err", "is not executable"), "epilog", "error", "is not executable" },
   { conf(without("PrologFlags")), "prolog-flags", "error", "add: PrologFlags=Alloc" },
   { conf((GOOD:gsub("Alloc,DeferBatch", "Serial"))), "prolog-flags", "error", "add: PrologFlags=Serial,Alloc" },
   { conf((GOOD:gsub("Alloc,DeferBatch", "contain"))), "prolog-flags", "info", "contain,DeferBatch" },
   { conf((GOOD:gsub("Alloc,", "Alloc,nohold,"))), "prolog-flags", "warn", "remove NoHold" },
   { set("policy.value.traffic", { sample_s = 10 }), "prolog-flags", "warn",
      "add: PrologFlags=Alloc,DeferBatch,Contain" },
   { function(f)
      conf((GOOD:gsub("Alloc,DeferBatch", "Alloc")))(f)
      set("policy.value.traffic", { perf = true })(f)
   end, "prolog-flags", "warn", "add: PrologFlags=Alloc,DeferBatch,Contain" },
   { function(f)
      conf((GOOD:gsub("Alloc,", "RunInJob,")))(f)
      f.policy.value.traffic = { sample_s = 10 }
   end, "prolog-flags", "warn", "remove RunInJob, or traffic.sample_s" },
   { conf(without("SchedulerParameters")), "requeue", "error", "add: SchedulerParameters=nohold_on_prolog_fail" },
   { conf((GOOD:gsub("=nohold", "=bf_max=1,xnohold"))), "requeue", "error",
      "add: SchedulerParameters=bf_max=1,xnohold_on_prolog_fail,nohold_on_prolog_fail" },
   { conf(GOOD .. "JobRequeue=0"), "requeue", "warn", "JobRequeue=1" },
   { function(f)
      f.policy.value.no_requeue = "requeue"
   end, "requeue", "error", "PrologFlags lacks ForceRequeueOnFail" },
   { conf(without("AuthInfo")), "requeue", "info", "add: AuthInfo=cred_expire=30" },
   { set("major", 26), "requeue", "info", "add: SchedulerParameters=nohold_on_prolog_fail,requeue_delay=30" },
   { conf(without("MessageTimeout")), "time-outs", "warn", "add: MessageTimeout=100" },
   { conf(without("BatchStartTimeout")), "time-outs", "warn", "add: BatchStartTimeout=100" },
   { conf(GOOD .. "PrologEpilogTimeout=60"), "time-outs", "error", "drains the node" },
   { conf(GOOD .. "EpilogTimeout=5"), "time-outs", "warn", "add: EpilogTimeout=60" },
   { conf((GOOD:gsub("MessageTimeout=100", "MessageTimeout=abc"))), "time-outs", "error", "no number" },
   { conf(without("JobSubmitPlugins")), "job-submit", "warn", "though job_submit.lua is there" },
   { set("submit.exists", false), "job-submit", "error", "without it; syscheck setup shows how" },
   { set("submit", { file = "/f", exists = true, ours = true }), "job-submit", "warn", "another version" },
   { set("submit", { file = "/f", exists = true }), "job-submit", "warn", "does not call syscheck" },
   { set("submit", { file = "/f", exists = true, calls = true }), "job-submit", "info", "the site's own" },
   { function(f)
      f.submit_dir, f.slurm_user = { path = "/v-submit", uid = 0 }, { name = "slurm", uid = 64030 }
   end, "submit-copy", "warn", "chown slurm: /v-submit" },
   { conf("Prolog=/site/own\n" .. GOOD), "prolog", "error",
      "Prolog=/site/own does not run: /e/slurm.conf:4 is the last such line [/e/slurm.conf:1]: of several only" },
   { set("scripts.prolog.1", { path = "/etc/syscheck/slurm-prolog", guard = true, err = "is not there" }), "prolog",
      "error", "drains the node; syscheck setup --write on this node" },
   { set("health", "/l/health"), "health", "info", "add: HealthCheckProgram=/l/health and, each on its own line, " },
   { function(f)
      f.conf, f.health = parse(GOOD .. "HealthCheckProgram=/usr/sbin/nhc\nHealthCheckInterval=300\n"), "/l/health"
      f.scripts.health = { { path = "/usr/sbin/nhc", calls = false } }
   end, "health", "info", "let it name a script that runs both: /usr/sbin/nhc, then /l/health" },
   { function(f)
      f.conf, f.health = parse(GOOD .. "HealthCheckProgram=/e/health\nHealthCheckInterval=300\n"), "/l/health"
      f.scripts.health = { { path = "/e/health", calls = true, missing = "/o/health" } }
   end, "health", "warn", "HealthCheckProgram calls /o/health, which is not there [/e/health]: a node that idles" },
   { function(f)
      f.conf, f.health = parse(GOOD .. "HealthCheckProgram=/o/health\nHealthCheckInterval=300\n"), "/l/health"
      f.scripts.health = { { path = "/o/health", err = "is not there" } }
   end, "health", "warn", "HealthCheckProgram is not there [/o/health]: a node that idles is not checked, nor" },
   { function(f)
      f.conf, f.health = parse(GOOD .. "HealthCheckProgram=/e/health\n"), "/l/health"
      f.scripts.health = { { path = "/e/health", calls = true } }
   end, "health", "warn", "HealthCheckInterval is not set" },
   { health("ALLOC"), "health", "warn", "HealthCheckNodeState leaves out idle nodes [/e/slurm.conf:15]: they are not "
      .. "checked, nor resumed after a repair; add: HealthCheckNodeState=IDLE,CYCLE" },
   { health("NONDRAINED_IDLE,CYCLE"), "health", "warn", "leaves out drained nodes" },
   { conf(without("ReturnToService")), "return-to-service", "info", "add: ReturnToService=1" },
   { conf(GOOD .. "SlurmdUser=slurm"), "slurmd-user", "error", "add: SlurmdUser=root" },
   { conf((GOOD:gsub("CPUs=8", "CPUs=4"))), "whole-node", "warn", "[/e/slurm.conf:12]" },
   { conf((GOOD:gsub("CPUs=8", "CPUs=8 CoreSpecCount=1 ThreadsPerCore=2"))), "whole-node", "warn", "node_cpus = 6" },
   { conf(GOOD .. "what"), "syntax", "error", "[/e/slurm.conf:13]" },
   { conf(GOOD .. "PrologFlags=Alloc,DeferBatch,X11\n"), "twice", "warn", "/e/slurm.conf:5" },
   { set("stack.exists", false), "plugstack", "error", "add: include /etc/slurm/plugstack.conf.d/*.conf" },
   { set("stack.ours.1.kind", "required"), "plugstack", "error",
      "add: optional /l/spank_syscheck.so status_dir=/run/s agent=/l/agent.lua" },
   { set("stack.ours.1.args", { "status_dir=/run/s" }), "plugstack", "info", "no agent=" },
   { set("stack.ours.1.args", { "agent=/l/agent.lua" }), "plugstack", "error",
      "status_dir=/run/syscheck, the policy's run is /run/s" },
   { set("stack.ours.1.version", "24.11.5"), "plugin-version", "error",
      "built for Slurm 24.11.5, scontrol is 22.05.1" },
   { set("kernels.1.err", "exit code 127: libhwloc"), "kernels", "error", "libhwloc" },
   { set("kernels.1.version", "0"), "kernels", "warn", "version 0" },
   { set("modules.1", { name = "luv", err = "no" }), "modules", "error", "luv does not load: no" },
   { set("tools.1", { name = "flock", program = "flock", err = "no", why = "w" }), "tools", "error", "flock: no" },
   { set("others", { { prefix = "/usr/local", version = "0" } }), "installations", "warn",
      "version 0 of syscheck is installed in /usr/local, too" },
   { set("others", { { prefix = "/usr/local", version = "0", prolog = { file = "/e/slurm.conf", line = 3 } } }),
      "installations", "warn",
      "is slurm.conf's Prolog [/e/slurm.conf:3]: nodes are checked by that one, this is version 1" },
   { set("trust.1", { severity = "error", path = "/f", text = "t", why = "w" }), "trust", "error", "t [/f]: w" },
   { set("policy.absent", true), "policy", "warn", "no policy" },
   { set("policy.err", "bad"), "policy", "error", "a node goes on with its last good copy" },
   { function(f)
      f.conf = parse(GOOD .. "PartitionName=main\nPartitionName=DEFAULT State=UP")
      f.policy.value.partitions.mian = {}
      f.policy.value.partitions.main = {}
   end, "partitions", "warn",
      '"mian", slurm.conf has none [/p.lua]: its levels hold for no job; did you mean "main"?' },
   { set("policy.value.mode", "observe"), "policy", "info", 'mode = "enforce"' },
   { set("policy.value.kernels.stream", { quick = 9, full = 2 }), "boxes", "warn", "deadline is 15 s" },
   { set("policy.value.kernels.stream", { quick = 20, full = 2 }), "boxes", "error", "never run" },
   { set("policy.value.kernels.dgemm", { quick = 1, full = 5 }), "boxes", "warn",
      "dgemm runs for 1 s at level quick, for 5 s at full [/p.lua]: a baseline is learned from the one" },
   { set("baseline", { file = "/b", absent = true }), "baseline", "warn", "no baseline" },
   { function(f)
      f.baseline, f.policy.value.mode = { file = "/b", absent = true }, "observe"
      f.conf = parse(GOOD)
   end, { baseline = true, policy = true }, "info", "no baseline" },
   { set("baseline.err", "bad"), "baseline", "error", "bad" },
   { set("class", "other"), "baseline", "warn", "no class other" },
   { function(f)
      f.topology.class_before = "m-1"
      f.class = "m-1.2.3-1"
   end, "baseline", "warn", "the baseline calls this host's class m-1, which this version calls m-1.2.3-1" },
   { set("slurmd", { allowed = "0-7", online = "0-7", wanted = "2-7", lacks = "", left_out = "0-1" }), "baseline",
      "warn", "the baseline is of all cores, here jobs get CPUs 2-7" },
   { set("policy.value.tolerance", 0.31), "tolerance", "warn", "tolerance = 0.31" },
   { set("policy.value.limits", { gflops = { tolerance = 1 } }), "tolerance", "warn", "limits.gflops.tolerance = 1" },
   { set("policy.value.limits", { latency_ns = { min = 90 } }), "limits", "warn", "what is bad has a max" },
   { set("slurmd", { allowed = "0-1", online = "0-7", wanted = "0-7", lacks = "" }), "slurmd-cpus", "warn",
      "slurmd may use CPUs 0-1 of 0-7: " },
   { set("slurmd", { allowed = "0-1", online = "0-7", wanted = "2-7", lacks = "1", known = true }), "slurmd-cpus",
      "info", "slurmd may use CPUs 0-1 of 0-7, not the memory of node 1: kernels leave them and measure CPUs 2-7" },
   { function(f)
      f.baseline.value.classes["m-2s8c-768g"] = { metrics = {} }
      f.class = "m-2s8c-736g"
   end, "baseline", "warn", "this host is rated as m-2s8c-768g; see what it has lost" },
   { set("baseline.time", 1e9 - 200 * 86400), "baseline", "info", "200 days old" },
   { set("baseline.time", 1e9 + 3 * 86400), "baseline", "warn", "3 days ahead" },
   { set("dirs.1.err", "not writable"), "directories", "error", "records are lost" },
   { set("dirs.1.open", "writable by everybody"), "directories", "error", "forge" },
   { set("dirs.1.shared", "NFS"), "directories", "warn", "NFS" },
   { set("dirs.1.free", 1048576), "directories", "warn", "1 MiB free" },
   { set("log.rotated", false), "log", "info", "logrotate" },
   { set("log.err", "is a fifo"), "log", "warn", "is a fifo" },
   { set("controller.skew_s", -30), "clock", "warn", "30 s behind slurmctld" },
   { set("controller", { err = "x", refused = "Parsing error at unrecognized key: Prollog" }), "syntax", "error",
      "Slurm refuses it: Parsing error at unrecognized key: Prollog" },
   { set("controller.skew_s", 200), "clock", "error", "200 s ahead of slurmctld" },
   { set("controller.config.prolog", "/other"), "running", "warn", "slurmctld runs with /other" },
}

function TestRules:test_each_change_is_found()
   for i, c in ipairs(CASES) do
      local f = facts()
      c[1](f)
      local found, text = examine(f)
      local name = ("case %d (%s): %s"):format(i, tostring(c[2]), text)
      local hit
      for _, finding in ipairs(found.findings) do
         local line = doctor.line(finding)
         if finding.severity == c[3] and line:find(c[4], 1, true) then
            hit = true
         end
         -- No other rule joins in.
         lu.assertTrue(finding.rule == c[2] or type(c[2]) == "table" and c[2][finding.rule], name)
      end
      lu.assertTrue(hit, name)
   end
end

function TestRules:test_what_is_right_is_not_told()
   for i, change in ipairs({
      conf((GOOD:gsub("Alloc,DeferBatch", "deferbatch,X11"))),
      conf((GOOD:gsub("BatchStartTimeout=100", "BatchStartTimeout=INFINITE"))),
      conf((GOOD:gsub("CPUs=8", "Sockets=2 CoresPerSocket=2 ThreadsPerCore=2"))),
      conf((GOOD:gsub("AuthInfo=[^\n]*", "SchedulerParameters=nohold_on_prolog_fail,requeue_delay=5")
         :gsub("\nSchedulerParameters=nohold_on_prolog_fail\n", "\n"))),
      set("controller.config", { schedulerparameters = "NOHOLD_ON_PROLOG_FAIL",
         prologflags = "Alloc,Contain,DeferBatch", jobsubmitplugins = "lua", messagetimeout = "100 sec" }),
      set("controller.skew_s", 6),
      function(f)
         f.conf, f.health, f.is_node = parse(GOOD .. "HealthCheckProgram=/e/health\n"), "/l/health", false
         f.scripts.health = { { path = "/e/health", err = "is not there" } }
      end,
      health("IDLE,CYCLE"), health("ANY"), health("CYCLE"), health("MIXED,IDLE"),
      set("scripts.prolog.1", { path = "/etc/syscheck/slurm-prolog", guard = true, calls = true }),
      set("submit", { file = "/f", exists = true, calls = true, chained = true }),
      function(f)
         f.conf, f.major = parse("Prolog=/site/own\n" .. GOOD), 24
      end,
      function(f)
         f.is_node = false
         f.scripts.prolog[1] = { path = "/etc/syscheck/slurm-prolog", guard = true, err = "is not there" }
      end,
   }) do
      local f = facts()
      f.major = i == 4 and 26 or 22
      change(f)
      f.controller.uncertain_s = 2
      local _, text = examine(f)
      lu.assertEquals(text, "", "case " .. i)
   end
end

function TestRules:test_a_rule_that_breaks_or_cannot_look()
   local found = doctor.examine({}, {
      { id = "a", check = function() error("oops") end },
      { id = "b", check = function() return "no answer" end },
      { id = "c", check = function(_, say)
         say("info", { text = "i", why = "w" })
         say("error", { text = "e", why = "w" })
      end },
   })
   lu.assertEquals({ found.rules, found.errors, found.infos, #found.skipped }, { 1, 1, 1, 2 })
   lu.assertEquals(found.findings[1].severity, "error")
   local f = facts()
   f.controller, f.node = { err = "slurmctld does not answer" }, "elsewhere"
   found = doctor.examine(f)
   lu.assertEquals(#found.skipped, 3)
   lu.assertEquals(found.errors + found.warnings, 0)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
