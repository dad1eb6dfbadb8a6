-- Which CPUs a check measures: what slurmd may use, what jobs get, what a kernel has measured.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local cpus = require("syscheck.hardware.cpus")
local prepared = require("prepared")
local topology = require("syscheck.hardware.topology")
local tree = require("tree")

local V1 = "29 23 0:26 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset\n"
   .. "30 23 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
   .. "31 23 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
local V2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

-- 16 CPUs: 8 cores of 2 packages, CPU n's sibling is n + 8.
local function node(allowed, o)
   o = o or {}
   tree.cpus(prepared.root, { kind = "intel", packages = 2, cores = 4, smt = 2, offline = o.offline })
   prepared.put("/sys/devices/system/node/has_memory", "0-1\n")
   prepared.put("/proc/self/status", ("Name:\tlua\nCpus_allowed:\tffff\nCpus_allowed_list:\t%s\n"
      .. "Mems_allowed_list:\t%s\n"):format(allowed, o.mems or "0-1"))
   prepared.put("/proc/self/cgroup", o.cgroup or "3:cpuset:/system.slice/slurmd.service\n1:cpu:/\n")
   prepared.put("/proc/self/mountinfo", o.mounts or V1)
   return cpus.read(prepared.root, o.node_cpus or "threads", not o.user, o.remembered)
end

TestCpus = { setUp = prepared.setUp, tearDown = prepared.tearDown }

function TestCpus:test_nothing_confines()
   local set = node("0-15")
   lu.assertEquals({ set.args, set.jobs }, { {} })
   lu.assertEquals(set:describe({ cpus = "0-7", mems = "0-1" }),
      { list = "0-7", count = 8, of = 8, left_out = "", jobs = true })
end

function TestCpus:test_confined_and_not_known_what_jobs_get()
   lu.assertEquals(node("0-1").args, { "--widen", "0-15", "--cgroup", "/sys/fs/cgroup/cpuset" })
   lu.assertEquals(node("0-1", { mounts = V2, cgroup = "0::/system.slice/slurmd.service\n" }).args,
      { "--widen", "0-15", "--cgroup", "/sys/fs/cgroup" })
   -- By affinity alone: there is no group to leave.
   lu.assertEquals(node("0-1", { cgroup = "3:cpuset:/\n" }).args, { "--widen", "0-15" })
   -- Another's root is mounted there (a container's), or a name that nobody should build a path of.
   for _, mounts in ipairs({ (V1:gsub("0:26 /", "0:26 /docker/1")), (V1:gsub("/cpuset rw", "/cpu\\040set rw")), "" }) do
      lu.assertEquals(node("0-1", { mounts = mounts }).args, { "--widen", "0-15" })
   end
   lu.assertEquals(node("0-1", { user = true }).args, {})
   -- Memory of one node only has the same shape.
   lu.assertEquals(node("0-15", { mems = "0" }).args, { "--widen", "0-15", "--cgroup", "/sys/fs/cgroup/cpuset" })
end

function TestCpus:test_reserved_cores_are_left_out()
   -- CoreSpecCount=1: slurmd has core 0, jobs have 14 CPUs.
   local set = node("0,8", { node_cpus = 14 })
   lu.assertEquals({ set.args[2], set.jobs }, { "1-7,9-15", "1-7,9-15" })
   lu.assertEquals(set:describe({ cpus = "1-7", mems = "0-1" }),
      { list = "1-7", count = 7, of = 8, left_out = "0", jobs = true })
   -- It stayed confined.
   lu.assertEquals(set:describe({ cpus = "0", mems = "0-1" }),
      { list = "0", count = 1, of = 8, left_out = "1-7", jobs = false })
   -- slurm.conf counts cores; slurmd has what jobs have (SlurmdOffSpec).
   lu.assertEquals(node("0,8", { node_cpus = 7 }).args[2], "1-7,9-15")
   lu.assertEquals(node("1-7,9-15", { node_cpus = 14 }).args, {})
   -- A number that fits neither, or both, tells nothing.
   lu.assertEquals(node("0,8", { node_cpus = 12 }).args[2], "0-15")
   lu.assertEquals(node("0-3,8-11", { node_cpus = 8 }).args[2], "0-15")
   -- Root's shell is not confined: what the prolog saw holds, as long as it fits.
   lu.assertEquals(node("0-15", { node_cpus = 14, remembered = "1-7,9-15" }).args[2], "1-7,9-15")
   lu.assertEquals(node("0-15", { node_cpus = 12, remembered = "1-7,9-15" }).args, {})
   lu.assertEquals(node("0-15", { node_cpus = 14, remembered = "4-17" }).args, {})
end

function TestCpus:test_half_a_core_is_reserved()
   local set = node("0", { node_cpus = 15 })
   lu.assertEquals(set.args[2], "1-15")
   -- hwloc takes the core's other CPU.
   local measured = set:describe({ cpus = "1-7,8", mems = "0-1" })
   lu.assertEquals({ measured.left_out, measured.jobs }, { "", true })
end

function TestCpus:test_a_jobs_own_cgroup_is_never_left()
   for _, path in ipairs({ "3:cpuset:/slurm/uid_1000/job_4711/step_extern\n",
      "3:cpuset:/\n1:freezer:/slurm_n1/uid_1/job_7\n",
      "0::/system.slice/slurmstepd.scope/job_4711/step_extern/slurm\n" }) do
      local set = node("1-7,9-15", { cgroup = path, node_cpus = 14, mems = "0" })
      lu.assertEquals(set.args, {})
      lu.assertTrue(set:describe({ cpus = "1-7", mems = "0-1" }).jobs)
      -- A job of a part of the node.
      set = node("1-4", { cgroup = path })
      lu.assertEquals(set.args, {})
      lu.assertFalse(set:describe({ cpus = "1-4", mems = "0-1" }).jobs)
   end
   lu.assertEquals(#node("0-1", { cgroup = "3:cpuset:/slurm/job_runner.service\n" }).args, 4)
end

function TestCpus:test_a_lost_core_leaves_nothing_out()
   local set = node("0-2,4-10,12-15", { offline = { 3, 11 } })
   lu.assertEquals(set.args, {})
   lu.assertEquals(set:describe({ cpus = "0-2,4-7", mems = "0-1" }),
      { list = "0-2,4-7", count = 7, of = 7, left_out = "", jobs = true })
end

function TestCpus:test_what_is_not_known()
   -- A prepared tree, a kernel of before.
   local set = cpus.read(prepared.root, "threads", true)
   lu.assertEquals({ set.args, set.wanted }, { {}, {} })
   lu.assertTrue(set:describe({ cpus = "0-7" }).jobs)
   set = node("0-15")
   for _, bad in ipairs({ 7, {}, "", "x", "0-7\n", ("0-65535,"):rep(5000) }) do
      lu.assertNil(set:describe({ cpus = bad }))
   end
   lu.assertNil(set:describe({}))
   lu.assertTrue(set:describe({ cpus = "0-7", mems = 7 }).jobs)
   -- Bounded, however often a list names all CPUs.
   lu.assertTrue(#topology.parse_list(("0-65535,"):rep(2000)) <= 3 * 65536)
   for _, text in ipairs({ "", "\n\n", "::\n", "3:cpuset:\n", "\0", "0::/\n", "x" }) do
      cpus.cgroup(text, V1)
      cpus.cgroup("3:cpuset:/a\n", text)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
