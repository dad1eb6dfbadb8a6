-- Prolog and epilog on a prepared node whose counters a job moves: what its record says, and its line.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local environment = require("syscheck.slurm.environment")
local json = require("cjson")
local nodes = require("syscheck.node.node")
local prepared = require("prepared")
local tree = require("tree")
local uv = require("luv")

TestWaits = { setUp = prepared.setUp, tearDown = prepared.tearDown }

local BOOT = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
local TOTAL = "/sys/fs/resctrl/mon_data/mon_L3_%02d/mbm_total_bytes"
local LOCAL = "/sys/fs/resctrl/mon_data/mon_L3_%02d/mbm_local_bytes"
local START = 9007199254740000 -- beyond 2^53 after a moment

local function counter(cache, gb, own_gb)
   prepared.put(TOTAL:format(cache), ("%d\n"):format(START + math.floor(gb * 1e9)))
   if own_gb then
      prepared.put(LOCAL:format(cache), ("%d\n"):format(START + math.floor(own_gb * 1e9)))
   end
end

-- A job that takes `seconds` by the kernel's clock, which the test moves.
-- @param during function() what happens meanwhile
-- @param o { cpus, seconds, resctrl = false: not mounted, ruler = false: none, source = of the ruler, cgroup = CPU
--   seconds of the job }
-- @return its record, the line at its last step's end
local function job(during, o)
   local dir = tree.new()
   tree.put(dir, "/policy.lua", ('return { spool = "%s/spool", state = "%s/state", run = "%s/run", %s }\n'):format(dir,
      dir, dir, o.policy or ""))
   tree.cpus(prepared.root, { kind = "intel", packages = 2, cores = 4, smt = 1 })
   tree.system(prepared.root, 768 * 1048576)
   if o.resctrl ~= false then
      counter(0, 0, 0)
      counter(1, 0, 0)
   end
   local env = { SLURM_JOB_ID = "1", SLURM_JOB_PARTITION = "main", SLURM_NODELIST = "b", SLURMD_NODENAME = "b",
      SPANK_SYSCHECK = "passive", SLURM_JOB_CPUS_PER_NODE = o.cpus or "8" }
   local function get(name)
      return env[name]
   end
   local options = { root = prepared.root, policy = dir .. "/policy.lua", copy = dir .. "/policy.good" }
   local node = nodes.open("b", options)
   local class = require("syscheck.hardware.inventory").read(prepared.root).class
   if o.ruler ~= false then
      local points = {}
      for threads, gbs in pairs({ 50, 90, 115, 140, 145, 148, 149, 150 }) do
         points[threads] = { threads = threads, triad_gbs = gbs }
      end
      assert(node:write_state("ruler.json", { ruler = { source = o.source or "resctrl", class = class,
         boot_id = o.boot or BOOT, peak_gbs = 200, ratio = 4 / 3, spread_pct = 1, cores = 8,
         caches = { ["0"] = 100, ["1"] = 100 } },
         curve = { class = class, compact = points } }))
   end
   -- The clock stands still otherwise: how long this machine takes is in no share of a time.
   local real, now = uv.hrtime, uv.hrtime()
   uv.hrtime = function() -- luacheck: ignore
      return now
   end
   lu.assertEquals(dofile("prolog/prolog.lua").main(get, options), 0)
   now = now + (o.seconds or 100) * 1000000000
   during(dir)
   local line = dofile("epilog/stepend.lua").line(get, options)
   dofile("epilog/epilog.lua").main(get, options)
   uv.hrtime = real -- luacheck: ignore
   local record
   for text in io.lines(dir .. "/spool/records.jsonl") do
      local one = json.decode(text)
      record = one.kind == "job" and one or record
   end
   tree.remove(dir)
   return record, line
end

local function both(gbs)
   return function()
      counter(0, 100 * gbs, 90 * gbs)
      counter(1, 100 * gbs, 90 * gbs)
   end
end

function TestWaits:test_a_job_that_waits_for_memory()
   local record, line = job(both(92), {})
   local one = record.saturation
   -- A moment more than 100 s passed.
   lu.assertAlmostEquals(one.mem_gbs_mean, 184, 1)
   lu.assertAlmostEquals(one.used_pct, 92, 1)
   lu.assertEquals({ one.cores, one.cores_needed, one.remote_pct, one.peak_gbs, one.source, one.covered_pct },
      { 8, 4, 10, 200, "resctrl", 100 })
   lu.assertEquals(one.domain_imbalance, 0)
   lu.assertStrContains(line, "syscheck: b used 92 % of its memory bandwidth, 4 of 8 cores move as much during")
end

function TestWaits:test_a_job_that_does_not()
   local record, line = job(both(10), {})
   lu.assertAlmostEquals(record.saturation.used_pct, 10, 1)
   lu.assertNil(line)
end

-- Each of these has a reason, and no number.
function TestWaits:test_what_is_not_known()
   local function text_of(word)
      return function()
         both(92)()
         prepared.put(TOTAL:format(1), word .. "\n")
      end
   end
   local cases = {
      { both(92), { seconds = 2 }, "less than 10 s" },
      { both(92), { cpus = "4" }, "other jobs may have run" },
      { both(92), { ruler = false }, "no check in this boot" },
      { both(92), { boot = "another" }, "no check in this boot" },
      { both(192), {}, "memory moves 200" },
      { text_of("Unavailable"), {}, "could not be read at the end" },
      { text_of("Unassigned"), {}, "could not be read at the end" },
      { text_of("Error"), {}, "could not be read at the end" },
      { text_of(""), {}, "could not be read at the end" },
      { text_of(("%d"):format(5)), {}, "went back" },
      -- Unmounted meanwhile; another's group; a CPU's cache that went; one that came.
      { function() tree.remove(prepared.root .. "/sys/fs/resctrl") end, {}, "could not be read at the end" },
      { function()
         both(92)()
         prepared.put("/sys/fs/resctrl/theirs/mon_data/mon_L3_00/mbm_total_bytes", "5\n")
      end, {}, "came meanwhile" },
      { function()
         both(92)()
         tree.remove(prepared.root .. "/sys/fs/resctrl/mon_data/mon_L3_01")
      end, {}, "went meanwhile" },
      { function()
         both(92)()
         counter(2, 1)
      end, {}, "came meanwhile" },
   }
   for i, case in ipairs(cases) do
      tree.remove(prepared.root)
      prepared.setUp()
      local one = job(case[1], case[2]).saturation
      lu.assertStrContains(one.unknown or "none", case[3], nil, nil, tostring(i))
      lu.assertNil(one.used_pct)
   end
end

-- On a shared node a job's own traffic is its group's. Directories of resctrl go whole.
local GROUP = "/sys/fs/resctrl/mon_groups/syscheck_1"

local function shared(during, o)
   local rmdir = uv.fs_rmdir
   local function whole(path)
      if path:find("/mon_groups/syscheck_%d+$") and uv.fs_stat(path) then
         assert(os.execute("rm -r " .. path))
         return true
      end
      return rmdir(path)
   end
   uv.fs_rmdir = whole -- luacheck: ignore
   prepared.put("/sys/fs/resctrl/mon_groups/theirs/mon_data/mon_L3_00/mbm_total_bytes", "9\n")
   prepared.put("/sys/fs/resctrl/mon_groups/syscheck_77/mon_data/mon_L3_00/mbm_total_bytes", "9\n")
   local record, line = job(function(dir)
      if not o.none then
         lu.assertEquals(assert(io.open(dir .. "/run/1.group")):read("a"), prepared.root .. GROUP .. "\n")
         lu.assertNotNil(uv.fs_stat(prepared.root .. GROUP))
         for cache = 0, 1 do
            prepared.put((GROUP .. "/mon_data/mon_L3_%02d/mbm_total_bytes"):format(cache), o[cache + 1] .. "\n")
            prepared.put((GROUP .. "/mon_data/mon_L3_%02d/mbm_local_bytes"):format(cache), "0\n")
         end
         for _, mark in ipairs(o.marks or { "counted" }) do
            tree.put(dir, "/run/1." .. mark, "")
         end
      end
      during()
   end, { cpus = o.cpus or "4", policy = o.policy or "traffic = { groups = true }" })
   uv.fs_rmdir = rmdir -- luacheck: ignore
   return record.saturation, line
end

function TestWaits:test_a_job_on_a_shared_node()
   local one = shared(both(50), { ("%d"):format(4.6e12), ("%d"):format(4.6e12) })
   -- 92 of the 187 GB/s that 4 of 8 cores move.
   lu.assertAlmostEquals(one.mem_gbs_mean, 92, 1)
   lu.assertEquals({ one.cores, one.remote_pct }, { 4, 100 })
   lu.assertAlmostEquals(one.used_pct, 49.3, 1)
   -- Whose that is does not matter to who waits for it.
   lu.assertAlmostEquals(one.worst_domain_pct, 50, 1)
   -- The group is gone, and those of jobs that are over; others' are not ours.
   lu.assertNil(uv.fs_stat(prepared.root .. GROUP))
   lu.assertNil(uv.fs_stat(prepared.root .. "/sys/fs/resctrl/mon_groups/syscheck_77"))
   lu.assertNotNil(uv.fs_stat(prepared.root .. "/sys/fs/resctrl/mon_groups/theirs"))
end

-- Others' traffic is not sampled for nothing.
function TestWaits:test_who_is_sampled()
   local wanted
   local function is_wanted(dir)
      wanted = uv.fs_stat(dir .. "/run/1.sample") ~= nil
   end
   job(is_wanted, { cpus = "4", policy = "traffic = { sample_s = 10 }" })
   lu.assertFalse(wanted)
   job(is_wanted, { cpus = "8", policy = "traffic = { sample_s = 10 }" })
   lu.assertTrue(wanted)
   prepared.put("/sys/fs/resctrl/mon_groups/theirs/tasks", "")
   job(is_wanted, { cpus = "4", policy = "traffic = { sample_s = 10, groups = true }" })
   lu.assertTrue(wanted)
end

-- Of several nodes on one machine none knows the others' jobs.
function TestWaits:test_groups_of_another_node_of_the_machine_stay()
   local one = shared(both(50), { ("%d"):format(4.6e12), ("%d"):format(4.6e12),
      policy = 'traffic = { groups = true }, lock = "/run/syscheck-no-lock"' })
   lu.assertAlmostEquals(one.mem_gbs_mean, 92, 1)
   lu.assertNotNil(uv.fs_stat(prepared.root .. "/sys/fs/resctrl/mon_groups/syscheck_77"))
end

function TestWaits:test_groups_that_say_nothing()
   local good = ("%d"):format(4.6e12)
   for i, case in ipairs({
      { { good, good, marks = {} }, "no task of the job joined" },
      { { good, good, marks = { "counted", "uncounted" } }, "could not join" },
      { { good, "Unavailable" }, "could not be read" },
      { { "Unassigned", good }, "could not be read" },
      { { "Error", good }, "could not be read" },
      { { none = true, policy = "traffic = { groups = false }" }, "other jobs may have run" },
      { { none = true, policy = "traffic = {}" }, "other jobs may have run" },
   }) do
      tree.remove(prepared.root)
      prepared.setUp()
      local one = shared(both(50), case[1])
      lu.assertStrContains(one.unknown, case[2], nil, nil, tostring(i))
      lu.assertNil(one.mem_gbs_mean)
      lu.assertNil(uv.fs_stat(prepared.root .. GROUP))
   end
end

-- Other programs use them, too.
function TestWaits:test_no_counter_is_free()
   local mkdir = uv.fs_mkdir
   uv.fs_mkdir = function(path, ...) -- luacheck: ignore
      if path:find("/mon_groups/syscheck_", 1, true) then
         return nil, "ENOSPC: no space left on device", "ENOSPC"
      end
      return mkdir(path, ...)
   end
   prepared.put("/sys/fs/resctrl/mon_groups/theirs/tasks", "")
   local one = job(both(50), { cpus = "4", policy = "traffic = { groups = true }" }).saturation
   uv.fs_mkdir = mkdir -- luacheck: ignore
   lu.assertStrContains(one.unknown, "other jobs may have run")
end

-- The sampler as the extern step runs it: 10 s of the test's clock each.
-- @param shares of the node's peak, one for each sample
-- @return of sample.main's job: its record
local function sampled(shares, o)
   return job(function(dir)
      local moved, at, real = 0, 0, uv.hrtime
      uv.hrtime = function() -- luacheck: ignore
         return real() + math.floor(at * 1e9)
      end
      local env = { SLURM_JOB_ID = "1", SLURMD_NODENAME = "b" }
      dofile("epilog/sample.lua").main(function(name)
         return env[name]
      end, { root = prepared.root, policy = dir .. "/policy.lua", copy = dir .. "/policy.good", sleep = function(s)
         at = at + s
         local share = table.remove(shares, 1)
         if not share then
            uv.fs_unlink(dir .. "/run/1.sample")
            return
         end
         moved = moved + share * 100 * s
         counter(0, moved, moved)
         counter(1, moved, moved)
         if o.damage then
            o.damage(dir, #shares)
         end
      end })
      uv.hrtime = real -- luacheck: ignore
      if o.after then
         o.after(dir)
      end
   end, { policy = o.policy or "traffic = { sample_s = 10 }", seconds = o.seconds or 101, ruler = o.ruler })
end

function TestWaits:test_samples_say_for_how_long()
   local shares = {}
   for i = 1, 10 do
      shares[i] = i <= 7 and 0.92 or 0.02
   end
   local one = sampled(shares, {}).saturation
   lu.assertEquals({ one.saturated_pct, one.saturated_at_pct }, { 70, 92.5 })
   lu.assertAlmostEquals(one.covered_pct, 99, 1)
   lu.assertAlmostEquals(one.used_pct, 64.4, 1)
   lu.assertEquals(one.cores_needed, 4)
end

function TestWaits:test_samples_that_say_nothing()
   local function plain(record)
      lu.assertNil(record.saturation.saturated_pct)
      lu.assertNotNil(record.saturation.used_pct)
   end
   local function six()
      return { 0.9, 0.9, 0.9, 0.9, 0.9, 0.9 }
   end
   plain(sampled({ 0.9, 0.9 }, {})) -- too few
   plain(sampled(six(), { policy = "traffic = {}" })) -- nobody wants them
   for _, text in ipairs({ "", "{", '{"bins":7}', '{"bins":["x"]}', '{"bins":[1,2,3]}', ("9"):rep(5000) }) do
      plain(sampled(six(), { after = function(dir)
         tree.put(dir, "/run/1.samples", text)
      end }))
   end
   -- A counter that cannot be read now and then leaves out its samples, and no others.
   local one = sampled(six(), { damage = function(_, left)
      if left == 3 then
         prepared.put(TOTAL:format(1), "Unavailable\n")
      end
   end }).saturation
   lu.assertEquals(one.saturated_pct, 100)
   lu.assertAlmostEquals(one.covered_pct, 40, 1)
end

function TestWaits:test_without_a_ruler_nothing_is_sampled()
   local record = sampled({ 0.9, 0.9, 0.9, 0.9 }, { ruler = false, after = function(dir)
      lu.assertNil(uv.fs_stat(dir .. "/run/1.samples"))
   end })
   lu.assertStrContains(record.saturation.unknown, "no check in this boot")
end

-- Without such a counter nothing is said at all: absent.
function TestWaits:test_a_machine_without_counters()
   local record, line = job(function() end, {})
   lu.assertEquals(record.saturation.used_pct, 0)
   lu.assertNil(line)
   tree.remove(prepared.root)
   prepared.setUp()
   local put = prepared.put
   prepared.put = function(path, text)
      if not path:find("resctrl", 1, true) then
         put(path, text)
      end
   end
   record = job(function() end, {})
   prepared.put = put
   lu.assertNil(record.saturation)
   lu.assertNil(record.delta.memory_traffic)
end

-- What the plugin leaves of a job for which it held the memory controllers' counters.
-- @param text nil: nothing
local function held(text, o)
   o = o or {}
   return job(function(dir)
      local wanted = io.open(dir .. "/run/1.uncore")
      lu.assertEquals(wanted and wanted:read("a"), o.wanted ~= false and prepared.root
         .. "/sys/bus/event_source/devices\n" or nil)
      if text then
         tree.put(dir, "/run/1.traffic", text)
         os.execute(("chmod %s %s/run/1.traffic"):format(o.mode or "600", dir))
      end
   end, { resctrl = false, source = o.source or "perf", policy = o.policy or "traffic = { perf = true }",
      cpus = o.cpus, seconds = o.seconds })
end

function TestWaits:test_controllers_that_the_plugin_held()
   local one = held("ns 99000000000\n1 9108000000000\n0 9108000000000\n").saturation
   lu.assertEquals({ one.mem_gbs_mean, one.used_pct, one.cores_needed, one.source, one.remote_pct },
      { 184, 92, 4, "perf", nil })
   lu.assertAlmostEquals(one.covered_pct, 99, 0.2)
   lu.assertEquals(one.domain_imbalance, 0)
end

function TestWaits:test_controllers_that_say_nothing()
   local good = "ns 99000000000\n0 1000\n1 1000\n"
   for i, case in ipairs({
      { nil, {}, "nobody held the memory controllers' counters" },
      { "error 16\n", {}, "others counted with the same counters" },
      { "error 1\n", {}, "not allowed" },
      { "error 13\n", {}, "not allowed" },
      { "error 19\n", {}, "a CPU went offline" },
      { "error 99\n", {}, "memory controllers: error 99" },
      { "", {}, "empty" },
      { "ns 99000000000\n", {}, "damaged" },
      { "ns x\n0 1\n", {}, "damaged" },
      { "ns 1\n0 1\n1 x\n", {}, "damaged" },
      { "ns 1\n0 1\n../../x 1\n", {}, "damaged" },
      { ("9"):rep(5000), {}, "damaged" },
      { good, { mode = "666" }, "writable by group or others" },
      { "ns 5000000000\n0 1000\n1 1000\n", {}, "less than 10 s" },
      { "ns 99000000000\n0 1000\n", {}, "fewer memory domains" },
      { "ns 99000000000\n0 1000\n1 1\n28 1\n", {}, "more memory domains" },
      { "ns 99000000000\n0 99108000000000\n1 1\n", {}, "memory moves 200" },
   }) do
      tree.remove(prepared.root)
      prepared.setUp()
      local one = held(case[1], case[2]).saturation
      lu.assertStrContains(one.unknown or "none", case[3], nil, nil, tostring(i))
      lu.assertNil(one.mem_gbs_mean)
   end
   -- Not wanted by the policy, not for a part of the node, not by another counter's ruler: nothing is said.
   for _, o in ipairs({ { policy = "traffic = {}" }, { cpus = "4" }, { source = "resctrl" } }) do
      tree.remove(prepared.root)
      prepared.setUp()
      o.wanted = false
      lu.assertNil(held(good, o).saturation)
   end
end

function TestWaits:test_cores_of_a_job()
   local waits = require("syscheck.node.waits")
   local node = nodes.open("b", { root = prepared.root, without_policy = true })
   local hardware = { threads = 96, cores = 48 }
   local function cores(cpus, cpu_s, seconds, by_tasks)
      return waits.cores(node, function(name)
         return name == "SLURM_JOB_CPUS_PER_NODE" and cpus or nil
      end, assert(environment.job(function(name)
         return name == "SLURM_JOB_ID" and "1" or nil
      end)), hardware, cpu_s and { cpu_us = cpu_s * 1e6, by_tasks = by_tasks }, seconds)
   end
   lu.assertNil(cores("96"))
   lu.assertEquals(cores("24"), 12)
   lu.assertEquals(cores("1"), 1)
   lu.assertNil(cores(nil))
   -- Fewer than it was given were at work.
   lu.assertEquals(cores("96", 1000, 100), 10)
   lu.assertNil(cores("96", 4600, 100))
   lu.assertEquals({ cores("24", 10, 100) }, { 1, 12 })
   -- Whom nobody waited for is not in what the tasks' own accounting says.
   lu.assertNil(cores("96", 10, 100, { "written_bytes", "cpu_us" }))
   lu.assertEquals({ cores("24", 10, 100, { "cpu_us" }) }, { 12, 12 })
   lu.assertEquals(cores("24", 10, 100, { "written_bytes" }), 1)
   hardware.cores = 0
   lu.assertNil(cores("24"))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
