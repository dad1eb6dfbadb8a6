-- Who used the node while a kernel measured: processes, CPUs, quotas of a prepared tree.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local others = require("syscheck.measure.others")
local prepared = require("prepared")
local process = require("syscheck.lib.process")
local processes = require("syscheck.measure.processes")

local function stat(pid, name, parent, flags, own, children, start)
   return ("%d (%s) R %d 1 1 0 -1 %d 0 0 0 0 %d 0 %d 0 20 0 1 0 %d 1 1\n"):format(pid, name, parent, flags, own,
      children, start)
end

TestProcesses = {}

function TestProcesses:test_names_hold_anything()
   local p = process.parse(stat(7, ") R 1 (x\n", 2, 0x200040, 40, 3, 99))
   lu.assertEquals(p, { name = ") R 1 (x\n", state = "R", parent = 2, flags = 0x200040, own = 40, children = 3,
      start = 99 })
   for _, bad in ipairs({ "", "7", "7 (a) R 1", "7 (a R 1 2 3" }) do
      lu.assertNil(process.parse(bad))
   end
   lu.assertNil(process.parse(nil))
end

local function list(t)
   local out = {}
   for pid, text in pairs(t) do
      out[pid] = process.parse(text)
   end
   return out
end

function TestProcesses:test_time_since()
   local before = list({ [1] = stat(1, "init", 0, 0, 5, 1000, 1), [10] = stat(10, "make", 1, 0, 3, 100, 5),
      [11] = stat(11, "cc", 10, 0, 70, 0, 6), [12] = stat(12, "old", 1, 0, 900, 0, 7) })
   -- 11 has ended, with 90 in all: 20 of them are new. 12 is another process of the same number.
   local after = list({ [1] = stat(1, "init", 0, 0, 5, 1900, 1), [10] = stat(10, "make", 1, 0, 4, 190, 5),
      [12] = stat(12, "new", 1, 0, 2, 0, 50), [13] = stat(13, "cc", 10, 0, 30, 0, 51) })
   local found = {}
   for i, one in ipairs(processes.since(before, after, 100, 40)) do
      found[i] = { one.pid, one.ticks }
   end
   -- Of init's 900, it is not known when: 11's parent has it.
   lu.assertEquals(found, { { 13, 30 }, { 10, 21 }, { 12, 2 } })
   -- Whose children init has waited for, nobody knows: it is no busy service.
   lu.assertEquals(processes.since(list({ [1] = stat(1, "systemd", 0, 0, 5, 1000, 1) }),
      list({ [1] = stat(1, "systemd", 0, 0, 5, 1090, 1) }), 100, 40), {})
   -- A daemon that the first list did not reach has not used all of its life's time since.
   lu.assertEquals(processes.since({}, list({ [3000] = stat(3000, "slurmd", 1, 0, 900000, 500, 39) }), 100, 40), {})
end

-- Whoever's processes they are, they cost a prolog no time: a long chain, and two that are each other's parents.
function TestProcesses:test_who_is_left_is_not_looked_for_without_end()
   local before = { [2] = process.parse(stat(2, "a", 3, 0, 1, 0, 1)), [3] = process.parse(stat(3, "b", 2, 0, 1, 0, 1)) }
   for pid = 4, 5000 do
      before[pid] = process.parse(stat(pid, "c", pid - 1, 0, 1, 0, 1))
   end
   lu.assertEquals(processes.since(before, {}, 100, 1), {})
end

function TestProcesses:test_whose_it_is()
   for text, want in pairs({
      ["0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n"] = { nil, 4711 },
      ["4:memory:/slurm/uid_1000/job_17\n0::/\n"] = { nil, 17 },
      ["1:name=systemd:/system.slice/crond.service\n"] = { "service" },
      ["0::/init.scope\n"] = { "service" },
      ["0::/user.slice/user-1000.slice/session-3.scope\n"] = {},
      ["0::/user.slice/job_x\n"] = {},
      [""] = {},
   }) do
      local kind, job = processes.of_cgroup(text, 0)
      lu.assertEquals({ kind, job }, want, text)
      -- A user's process in a service's cgroup (cron, sshd, slurmd without proctrack/cgroup) is no service.
      lu.assertEquals({ processes.of_cgroup(text, 1000) }, { nil, want[2] }, text)
      lu.assertEquals({ processes.of_cgroup(text, nil) }, { nil, want[2] }, text)
   end
   lu.assertEquals({ processes.of_cgroup(nil, 0) }, {})
end

function TestProcesses:test_the_most_of_this_machine()
   local root, before = "", processes.list("")
   lu.assertNotNil(before[1])
   lu.assertNil(before[require("luv").os_getpid()])
   -- Nobody stands out where nobody has a fifth.
   lu.assertNil(processes.most(root, processes.since(before, before, 100, 0), 1, 1))
end

TestMost = { setUp = prepared.setUp, tearDown = prepared.tearDown }

function TestMost:test_a_users_process_that_slurmd_s_service_holds()
   prepared.put("/proc/77/cgroup", "0::/system.slice/slurmd.service\n")
   prepared.put("/proc/77/stat", stat(77, "a.out", 1, 0, 200, 0, 9))
   local function most(uid)
      prepared.put("/proc/77/status", ("Name:\ta.out\nUid:\t%d\t0\t0\t0\n"):format(uid))
      local one = processes.most(prepared.root, processes.since({}, processes.list(prepared.root), 400, 0), 2, 1)
      return { one.uid, one.kind }
   end
   lu.assertEquals(most(1234), { 1234 })
   lu.assertEquals(most(0), { 0, "service" })
end

TestOthers = { setUp = prepared.setUp, tearDown = prepared.tearDown }

-- Ticks of CPUs 0 to 3: user, irq, softirq, steal
local function proc_stat(...)
   local lines = { "cpu 1 1 1 1 1 1 1 1 0 0" }
   for cpu, t in ipairs({ ... }) do
      lines[cpu + 1] = ("cpu%d %d 0 0 5000 0 %d %d %d 0 0"):format(cpu - 1, t[1], t[2] or 0, t[3] or 0, t[4] or 0)
   end
   prepared.put("/proc/stat", table.concat(lines, "\n") .. "\nintr 1 2 3\n")
end

-- As if the readings had been so many seconds apart.
local function finish(from, result, seconds)
   from.at = require("luv").hrtime() / 1e9 - seconds
   return others.finish(from, result, nil, { boot_id = "b", s = 1 })
end

local RESULT = { cpus = "0-1", lost_pct = 50, lost_core_pct = 50, lost_cpu = 1 }

function TestOthers:test_what_others_used()
   proc_stat({ 100 }, { 100 }, { 0 }, { 0 })
   local from = others.begin(prepared.root)
   proc_stat({ 100 }, { 190, 0, 10 }, { 0 }, { 0 })
   local loss, said = finish(from, RESULT, 2)
   lu.assertTrue(loss > 0.25 and loss < 0.4)
   lu.assertAlmostEquals(said.cpus, 0.5, 0.01)
   lu.assertAlmostEquals(said.cpu_pct, 50, 1)
   lu.assertEquals({ said.cpu, said.steal_pct }, { 1, 0 })
end

-- It lost that in half of the time, and others used no CPU in the other half.
function TestOthers:test_all_of_it_while_the_kernel_worked()
   local function share(worked_s)
      proc_stat({ 100 }, { 100 })
      local from = others.begin(prepared.root)
      proc_stat({ 150 }, { 150 })
      return (finish(from, { cpus = "0-1", lost_pct = 50, lost_core_pct = 50, lost_cpu = 1, worked_s = worked_s }, 2))
   end
   lu.assertTrue(share(1) > 0.5)
   for _, unknown in ipairs({ false, 0, -1, 2.5, "1" }) do
      local all = share(unknown)
      lu.assertTrue(all > 0.25 and all < 0.35)
   end
end

function TestOthers:test_nobody_used_it()
   proc_stat({ 100 }, { 100 }, { 0 }, { 0 })
   local calm = { cpus = "0-1", lost_pct = 0.5, lost_core_pct = 1, lost_cpu = 0 }
   local loss, said = finish(others.begin(prepared.root), calm, 2)
   lu.assertEquals({ loss, said }, { 0 })
end

function TestOthers:test_a_quota_of_our_own()
   proc_stat({ 100 }, { 100 })
   prepared.put("/proc/self/cgroup", "3:cpu,cpuacct:/a/b\n0::/c\n")
   prepared.put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_periods 1\nthrottled_time 0\n")
   prepared.put("/sys/fs/cgroup/c/cpu.stat", "usage_usec 1\nthrottled_usec 0\n")
   local from = others.begin(prepared.root)
   proc_stat({ 300 }, { 300 })
   prepared.put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_periods 1\nthrottled_time 1000000000\n")
   prepared.put("/sys/fs/cgroup/c/cpu.stat", "usage_usec 1\nthrottled_usec 980000\n")
   lu.assertTrue((finish(from, RESULT, 2)) < 0.05)
end

-- Its cgroup is the root that it sees.
function TestOthers:test_a_quota_of_a_container()
   proc_stat({ 100 }, { 100 })
   prepared.put("/proc/self/cgroup", "0::/\n")
   prepared.put("/sys/fs/cgroup/cpu.stat", "usage_usec 1\nthrottled_usec 0\n")
   local from = others.begin(prepared.root)
   proc_stat({ 300 }, { 300 })
   prepared.put("/sys/fs/cgroup/cpu.stat", "usage_usec 1\nthrottled_usec 1980000\n")
   lu.assertTrue((finish(from, RESULT, 2)) < 0.05)
end

function TestOthers:test_interrupts_are_named()
   proc_stat({ 100 }, { 100 })
   local from = others.begin(prepared.root, true)
   proc_stat({ 100 }, { 100, 40, 60 })
   local _, said = finish(from, RESULT, 2)
   lu.assertEquals(said.most.kind, "interrupts")
   lu.assertAlmostEquals(said.most.cpus, 0.5, 0.01)
end

-- Kernels of before, or none at all: nothing is known, which is not nothing.
function TestOthers:test_without_evidence()
   proc_stat({ 100 }, { 100 })
   for _, result in ipairs({ {}, { cpus = "0" }, { cpus = "", lost_pct = 1, lost_cpu = 0 },
      { cpus = "9", lost_pct = 1, lost_cpu = 9 }, { cpus = 1, lost_pct = "x", lost_cpu = 0 } }) do
      lu.assertNil((finish(others.begin(prepared.root), result, 2)))
   end
   lu.assertNil((finish(others.begin(prepared.root), nil, 2)))
   lu.assertNil((finish(others.begin(prepared.root .. "/none"), RESULT, 2)))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
