-- What is read of a prepared machine for what its policy names.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local policy = require("syscheck.policy.policy")
local prepared = require("prepared")
local site = require("syscheck.measure.site")
local tree = require("tree")

TestSite = { setUp = prepared.setUp, tearDown = prepared.tearDown }

-- @return { [name of an entry] = "status|text" }, why
local function look(text, more)
   local node = { policy = assert(policy.parse("return {" .. text .. "}", "p")), root = prepared.root, name = "n1",
      run_dir = prepared.root .. "/run", problems = {} }
   for key, value in pairs(more or {}) do
      node[key] = value
   end
   local entries, why = site.look(node, node.left_s or 5)
   local out = {}
   for _, e in ipairs(entries) do
      out[e.name] = e.status .. "|" .. e.text
   end
   return out, why
end

function TestSite:test_a_policy_without_any_looks_at_nothing()
   lu.assertFalse(site.is_wanted(policy.default()))
   lu.assertEquals({ look("") }, { {} })
end

function TestSite:test_a_service_is_its_group_of_processes()
   for _, place in ipairs({ "", "/systemd", "/unified" }) do
      local at = "/sys/fs/cgroup" .. place .. "/system.slice/s" .. #place .. ".service/"
      prepared.put(at .. "cgroup.procs", "17\n")
   end
   prepared.put("/sys/fs/cgroup/system.slice/v2.service/cgroup.events", "populated 1\nfrozen 0\n")
   local found = look('services = { "s0", "s8", "s8.service", "v2" }')
   for _, name in ipairs({ "s0", "s8", "s8.service", "v2" }) do
      lu.assertEquals(found["services:" .. name], ("pass|service %s: active"):format(name))
   end
end

function TestSite:test_ports_and_devices()
   local ib = "/sys/class/infiniband/mlx5_0/ports/"
   prepared.put(ib .. "1/state", "4: ACTIVE\n")
   prepared.put(ib .. "1/rate", "200 Gb/sec (4X HDR)\n")
   prepared.put(ib .. "2/state", "1: DOWN\n")
   prepared.put("/sys/class/net/eth0/operstate", "up\n")
   prepared.put("/sys/class/net/eth0/speed", "25000\n")
   prepared.put("/sys/class/net/br0/operstate", "unknown\n")
   prepared.put("/sys/class/net/br0/carrier", "1\n")
   prepared.put("/sys/class/net/br0/speed", "-1\n")
   local found = look([[links = { { name = "mlx5_0", rate = 200 }, "mlx5_0/2", { name = "eth0", rate = 100 }, "br0",
      "x", { name = "infiniband", rate = 400 } }]])
   lu.assertEquals(found, { ["links:mlx5_0"] = "pass|link mlx5_0: up",
      ["links:mlx5_0/2"] = "fail|link mlx5_0/2: is DOWN",
      ["links:infiniband"] = "fail|link infiniband: 200 Gbit/s < 400 (policy)",
      ["links:eth0"] = "fail|link eth0: 25 Gbit/s < 100 (policy)", ["links:br0"] = "pass|link br0: up",
      ["links:x"] = "fail|link x: absent" })
end

function TestSite:test_slots()
   local function device(address, class, width, most, speed)
      local dir = "/sys/bus/pci/devices/" .. address .. "/"
      prepared.put(dir .. "class", class .. "\n")
      if width then
         prepared.put(dir .. "current_link_width", width .. "\n")
         prepared.put(dir .. "max_link_width", most .. "\n")
         prepared.put(dir .. "current_link_speed", speed .. " GT/s PCIe\n")
      end
   end
   device("0000:01:00.0", "0x030200", 16, 16, "2.5")
   device("0000:02:00.0", "0x030000") -- the board's own
   device("0000:03:00.0", "0x010802", 2, 4, "16.0")
   device("0000:04:00.0", "0x020700", 16, 16, "32.0")
   local found = look([[pcie = { { kind = "gpu", count = 1 }, { kind = "nvme" },
      { kind = "infiniband", speed = 32 } }]])
   lu.assertEquals(found, { ["pcie:gpu"] = "pass|PCIe gpu: 1 at full width",
      ["pcie:nvme"] = "fail|PCIe nvme: 0000:03:00.0 width x2 < 4 (policy)",
      ["pcie:infiniband"] = "pass|PCIe infiniband: 1 at full width" })
end

function TestSite:test_memory_load_firmware()
   tree.system(prepared.root, 8 * 1048576)
   prepared.put("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 1048576 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
   prepared.put("/proc/loadavg", "1.50 2.50 3.50 1/100 4711\n")
   prepared.put("/sys/class/dmi/id/bios_version", "2.1\n")
   lu.assertEquals(look([[memory = { { free_gib = 2 } }, load = { { one = 2, fifteen = 3 } },
      dmi = { { name = "bios_version", value = "2.1" } }]]), {
      ["memory:node"] = "warn|memory: 1 GiB available < 2 (policy)",
      ["load:node"] = "warn|load: 3.5 in 15 minutes > 3 (policy)", ["dmi:bios_version"] = "pass|bios_version: 2.1" })
end

-- Whatever is the matter with who looks, nothing is bad, and it says so.
function TestSite:test_what_could_not_be_looked_at_is_unknown()
   local what = [[filesystems = { { path = "/" } }, files = { { path = "/x" } }, processes = { "x" }, clock = { {} },
      leftovers = { {} }]]
   local real = package.loaded.syscheck_native
   for said, state in pairs({
      ["module 'syscheck_native' not found:"] = false,
      ["state: no memory"] = function() error("state: no memory", 0) end,
      ["state: /proc/self/mountinfo: Input/output error"] = function()
         return {}, "state: /proc/self/mountinfo: Input/output error"
      end,
   }) do
      package.loaded.syscheck_native = state and { state = state } or nil
      local cpath = package.cpath
      package.cpath = ""
      local found, why = look(what)
      package.cpath = cpath
      lu.assertStrContains(why, said)
      for name, text in pairs(found) do
         lu.assertStrContains(text, "unknown|", false, name)
      end
   end
   package.loaded.syscheck_native = real
end

function TestSite:test_a_part_that_could_not_be_looked_at_leaves_the_rest()
   package.loaded.syscheck_native = { state = function()
      return { paths = { { state = "answered", type = "ext4" }, { state = "failed" } } },
         "state: /proc: Connection timed out"
   end }
   local found, why = look('filesystems = { { path = "/" } }, files = { { path = "/x" } }, processes = { "x" }')
   package.loaded.syscheck_native = nil
   lu.assertEquals(why, "state: /proc: Connection timed out")
   lu.assertEquals(found, { ["filesystems:/"] = "pass|/: good", ["files:/x"] = "unknown|/x: could not be looked at",
      ["processes:x"] = "unknown|process x: could not be looked at" })
end

function TestSite:test_a_user_is_a_name_before_it_is_a_number()
   prepared.put("/etc/passwd", "root:x:0:0::/:/bin/sh\n12e4:x:77:77::/:/bin/sh\n900:x:78:78::/:/bin/sh\n")
   package.loaded.syscheck_native = { state = function()
      return { processes = { { name = "a", uid = 77, count = 1 }, { name = "b", uid = 78, count = 1 },
         { name = "c", uid = 901, count = 1 } } }
   end }
   local found = look([[processes = { { name = "a", user = "12e4" }, { name = "b", user = "900" },
      { name = "c", user = "901" }, { name = "d", user = "0x1f" } }]])
   package.loaded.syscheck_native = nil
   for _, name in ipairs({ "a", "b", "c" }) do
      lu.assertEquals(found["processes:" .. name], ("pass|process %s: 1 running"):format(name))
   end
   lu.assertStrContains(found["processes:d"], "unknown|process d: user 0x1f is not in /etc/passwd")
end

function TestSite:test_no_time_or_nobody_who_waits_for_it()
   package.loaded.syscheck_native = { state = error }
   local _, why = look('processes = { "x" }', { left_s = 0.54 })
   lu.assertEquals(why, "state: not looked at, the deadline is too near")
   _, why = look('processes = { "x" }', { give_up = function()
      return "slurmd is gone"
   end })
   lu.assertEquals(why, "state: not looked at, as slurmd is gone")
   package.loaded.syscheck_native = nil
end

function TestSite:test_leftovers_are_not_looked_for_where_jobs_may_run()
   lu.assertStrContains(look("leftovers = { {} }", { quiet = false })["leftovers:node"], "unrated|")
   lu.assertStrContains(look("leftovers = { {} }", { lock = "/run/lock/x" })["leftovers:node"], "unrated|")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
