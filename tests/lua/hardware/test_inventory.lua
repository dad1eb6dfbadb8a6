-- Inventory: topology, clocks, DIMMs below prepared roots.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local dimms = require("syscheck.hardware.dimms")
local files = require("syscheck.lib.files")
local inventory = require("syscheck.hardware.inventory")
local machine = require("syscheck.hardware.machine")
local prepared = require("prepared")
local throttle = require("syscheck.counters.throttle")
local topology = require("syscheck.hardware.topology")
local tree = require("tree")

local CPUS = "/sys/devices/system/cpu"
local GIB = 1048576 -- KiB

local function intel(offline)
   tree.cpus(prepared.root, { kind = "intel", packages = 2, cores = 4, smt = 2, offline = offline })
end

TestNode = { setUp = prepared.setUp, tearDown = prepared.tearDown }

function TestNode:test_intel_two_sockets()
   tree.system(prepared.root, 503 * GIB)
   intel()
   tree.edac(prepared.root, { 32768, 32768, 32768, 32768 }, 2)
   prepared.put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n")
   prepared.put("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "4\n")
   local node = inventory.read(prepared.root)
   lu.assertEquals(node.config, {
      kernel = "5.14.0-503.el9.x86_64", microcode = "0x21000240", bios = "2.1.5", vendor = "ACME Inc.",
      product = "Node 9000", governor = "performance", driver = "intel_pstate", epp = "performance", turbo = "on",
      max_mhz = 3800, smt = "on", thp = "madvise", hugepages = "1048576kB:4", numa_balancing = "0", numa_nodes = 2,
      dimms = "4x32g",
   })
   lu.assertEquals({ node.class, node.packages, node.cores, node.threads, node.memory_gib, node.dimms,
      node.numa_nodes }, { "xeon-8592+-2s8c-512g", 2, 8, 16, 512, 4, 2 })
   lu.assertStrMatches(node.config_id, "%x%x%x%x%x%x%x%x")
end

function TestNode:test_amd_has_boost_and_no_throttle_counters()
   tree.system(prepared.root, 755 * GIB)
   tree.cpus(prepared.root, { kind = "amd", packages = 1, cores = 4, smt = 1 })
   local node = inventory.read(prepared.root)
   lu.assertEquals({ node.class, node.config.turbo, node.config.driver, node.config.epp },
      { "epyc-9654-1s4c-768g", "on", "acpi-cpufreq" })
   lu.assertNil(throttle.read(machine.at(prepared.root)))
   prepared.put(CPUS .. "/cpufreq/boost", "0\n")
   lu.assertEquals(inventory.read(prepared.root).config.turbo, "off")
end

function TestNode:test_aarch64()
   tree.system(prepared.root, 251 * GIB)
   tree.cpus(prepared.root, { kind = "arm", packages = 1, cores = 3, smt = 1 })
   local node = inventory.read(prepared.root)
   lu.assertEquals({ node.class, node.config.microcode }, { "neoverse-v2-3.8ghz-node-9000-1s3c-256g" })
   lu.assertEquals(node.class_before, "arm-0x41-0xd4f-1s3c-256g")
end

-- The class without sockets, cores and memory, and what it was before.
local function named(cpuinfo, product, nominal)
   tree.remove(prepared.root)
   prepared.put("/proc/cpuinfo", cpuinfo)
   prepared.put("/sys/class/dmi/id/product_name", product or "")
   if nominal then
      prepared.put(CPUS .. "/cpu0/acpi_cppc/nominal_freq", nominal .. "\n")
   end
   local node = inventory.read(prepared.root)
   local function name(class)
      return class and class:gsub("%-0s0c%-%?g$", "")
   end
   return { name(node.class), (name(node.class_before)) }
end

function TestNode:test_what_has_no_products_number_is_told_apart_by_what_else_it_is()
   local function x86(name, family, model, stepping)
      return ("processor\t: 0\nvendor_id\t: X\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: %s\nstepping\t: %d\n"
         .. "microcode\t: 0x1\n"):format(family, model, name, stepping)
   end
   -- Clouds: every generation has one name.
   lu.assertEquals(named(x86("AMD EPYC", 25, 17, 1)), { "epyc-25.17.1", "epyc" })
   lu.assertEquals(named(x86("AMD EPYC", 25, 1, 1)), { "epyc-25.1.1", "epyc" })
   lu.assertEquals(named(x86("AMD EPYC Processor (with IBPB)", 23, 1, 2), "OpenStack Nova\n"),
      { "epyc-ibpb-23.1.2-openstack-nova", "epyc-ibpb" })
   lu.assertEquals(named(x86("Intel(R) Xeon(R) CPU @ 2.20GHz", 6, 79, 0), "Google Compute Engine"),
      { "xeon-6.79.0-2.2ghz-google-compute-engine", "xeon" })
   lu.assertEquals(named(x86("Intel(R) Xeon(R) CPU @ 2.80GHz", 6, 79, 0), "Google Compute Engine"),
      { "xeon-6.79.0-2.8ghz-google-compute-engine", "xeon" })
   -- What is sold under a number keeps its name.
   for name, short in pairs({ ["AMD EPYC 9654 96-Core Processor"] = "epyc-9654", ["AMD EPYC 7B13"] = "epyc-7b13",
      ["Intel(R) Xeon(R) Platinum 8480+"] = "xeon-8480+",
      ["Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz"] = "xeon-e5-2680-v3" }) do
      lu.assertEquals(named(x86(name, 6, 143, 8), "Node 9000"), { short })
   end
   local function arm(implementer, part)
      return ("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: %s\nCPU architecture: 8\nCPU variant\t: 0x3\n"
         .. "CPU part\t: %s\nCPU revision\t: 1\n"):format(implementer, part)
   end
   lu.assertEquals(named(arm("0x41", "0xd0c"), "Mt. Jade", 3000),
      { "neoverse-n1-r3p1-3.0ghz-mt-jade", "arm-0x41-0xd0c" })
   lu.assertEquals(named(arm("0x41", "0xd0c"), "Mt. Jade", 2600),
      { "neoverse-n1-r3p1-2.6ghz-mt-jade", "arm-0x41-0xd0c" })
   lu.assertEquals(named(arm("0x99", "0x123")), { "arm-0x99-0x123-r3p1", "arm-0x99-0x123" })
   -- Nobody's text grows beyond bounds, or into what no class may hold.
   local long = named(x86("AMD EPYC", 25, 17, 1), ("\27[2J;'\" "):rep(50) .. ("x"):rep(300))
   lu.assertEquals(long[1], "epyc-25.17.1-2j-2j-2j-2j-2j-2j-2j-2j")
end

function TestNode:test_a_setting_changes_no_class()
   tree.system(prepared.root, 251 * GIB)
   tree.cpus(prepared.root, { kind = "arm", packages = 1, cores = 3, smt = 1 })
   prepared.put(CPUS .. "/cpu0/acpi_cppc/nominal_freq", "3000\n")
   local class = inventory.read(prepared.root).class
   for cpu = 0, 2 do
      prepared.put(("%s/cpufreq/policy%d/scaling_max_freq"):format(CPUS, cpu), "1000000\n")
      prepared.put(("%s/cpufreq/policy%d/cpuinfo_max_freq"):format(CPUS, cpu), "3300000\n")
   end
   lu.assertEquals(inventory.read(prepared.root).class, class)
end

function TestNode:test_missing_everything()
   local node = inventory.read(prepared.root)
   lu.assertEquals(node, { class = "unknown-0s0c-?g", packages = 0, cores = 0, threads = 0, config = {} })
end

function TestNode:test_empty_and_strange_files()
   for _, path in ipairs({ "/proc/cpuinfo", "/proc/meminfo", CPUS .. "/online", CPUS .. "/present",
      CPUS .. "/cpufreq/policy0/scaling_governor", CPUS .. "/cpufreq/policy0/scaling_max_freq",
      CPUS .. "/cpu0/topology/core_cpus_list", "/sys/devices/system/edac/mc/mc0/dimm0/size",
      "/sys/firmware/dmi/tables/DMI" }) do
      for _, text in ipairs({ "", "\n", "\0\255", "-1\n", "999999999999999999999999\n", ("9-0,"):rep(2000) }) do
         prepared.put(path, text)
         lu.assertIsTable(inventory.read(prepared.root).config)
      end
   end
end

-- What no machine has costs no more than the largest, and is not known. Memory without end took for ever.
function TestNode:test_numbers_that_no_machine_has()
   for text, count in pairs({ ["0-3,8"] = 5, ["0-16383"] = 16384, ["0-65535"] = 16384, ["16384"] = 0, ["5-3"] = 0,
      [("0-16383,"):rep(500)] = 16384, ["99999999999999999999"] = 0, ["0-99999999999999999999,7"] = 16384 }) do
      lu.assertEquals(#topology.parse_list(text), count, text:sub(1, 40))
   end
   for _, kib in ipairs({ ("9"):rep(400), ("9"):rep(30), "9223372036854775807" }) do
      prepared.put("/proc/meminfo", "MemTotal: " .. kib .. " kB\n")
      lu.assertEquals(inventory.read(prepared.root).class, "unknown-0s0c-?g")
   end
   assert(files.mkdir(prepared.root .. CPUS .. "/cpu9223372036854775808"))
   lu.assertEquals(inventory.read(prepared.root).threads, 0)
end

function TestNode:test_offline_cpus_by_name()
   intel({ 5, 12, 13 })
   local node = inventory.read(prepared.root)
   -- CPU 13 is CPU 5's sibling: that core is gone; CPU 12's still has CPU 4.
   lu.assertEquals({ node.packages, node.cores, node.threads, node.config.offline }, { 2, 7, 13, "5,12-13" })
end

function TestNode:test_hotplug_is_seen()
   intel()
   lu.assertEquals(#topology.read(prepared.root).online, 16)
   tree.remove(prepared.root)
   intel({ 15 })
   lu.assertEquals(#topology.read(prepared.root).online, 15)
   lu.assertEquals(inventory.read(prepared.root).config.offline, "15")
end

function TestNode:test_kernels_before_core_cpus_list()
   for cpu = 0, 3 do
      local dir = ("%s/cpu%d/topology/"):format(CPUS, cpu)
      prepared.put(dir .. "thread_siblings_list", cpu % 2 .. "," .. cpu % 2 + 2 .. "\n")
      prepared.put(dir .. "core_siblings_list", "0-3\n")
      prepared.put(dir .. "physical_package_id", "0\n")
   end
   prepared.put(CPUS .. "/online", "0-3\n")
   local topo = topology.read(prepared.root)
   lu.assertEquals({ topo.packages, topo.dies, topo.cores }, { { 0 }, { 0 }, { 0, 1 } })
end

function TestNode:test_two_dies_in_a_package_have_a_count_each()
   intel()
   for cpu = 0, 15 do
      prepared.put(("%s/cpu%d/topology/die_cpus_list"):format(CPUS, cpu), cpu % 4 < 2 and "0-1,4-5,8-9,12-13\n"
         or "2-3,6-7,10-11,14-15\n")
   end
   lu.assertEquals(topology.read(prepared.root).dies, { 0, 2 })
end

function TestNode:test_some_cpus_differ()
   intel()
   prepared.put(CPUS .. "/cpufreq/policy3/scaling_governor", "powersave\n")
   prepared.put(CPUS .. "/cpufreq/policy3/energy_performance_preference", "balance_power\n")
   local config = inventory.read(prepared.root).config
   lu.assertEquals({ config.governor, config.epp }, { "mixed", "mixed" })
end

function TestNode:test_a_clock_limit_on_one_cpu_or_all()
   intel()
   lu.assertNil(inventory.read(prepared.root).config.clock_limit_mhz)
   prepared.put(CPUS .. "/cpufreq/policy15/scaling_max_freq", "2000000\n")
   lu.assertEquals(inventory.read(prepared.root).config.clock_limit_mhz, 2000)
   for cpu = 0, 15 do
      prepared.put(("%s/cpufreq/policy%d/scaling_max_freq"):format(CPUS, cpu), "1900000\n")
   end
   local config = inventory.read(prepared.root).config
   lu.assertEquals({ config.clock_limit_mhz, config.max_mhz }, { 1900, 3800 })
end

function TestNode:test_favoured_cores_are_no_limit()
   intel()
   for _, name in ipairs({ "cpuinfo_max_freq", "scaling_max_freq" }) do
      prepared.put(CPUS .. "/cpufreq/policy2/" .. name, "4100000\n")
   end
   local config = inventory.read(prepared.root).config
   lu.assertEquals({ config.max_mhz, config.clock_limit_mhz }, { 4100 })
end

TestDimms = { setUp = prepared.setUp, tearDown = prepared.tearDown }

local device, DMI = tree.memory_device, "/sys/firmware/dmi/tables/DMI"

function TestDimms:test_edac()
   tree.edac(prepared.root, { 65536, 32768, 32768, 65536, 32768 }, 2)
   lu.assertEquals(dimms.read(prepared.root), { count = 5, layout = "2x64g+3x32g" })
end

function TestDimms:test_edac_that_knows_ranks_only_gives_way_to_the_firmware()
   prepared.put("/sys/devices/system/edac/mc/mc0/rank0/size", "16384\n")
   lu.assertNil(dimms.read(prepared.root))
   prepared.put(DMI, device(32768) .. device(16384) .. tree.END_OF_TABLE)
   lu.assertEquals(dimms.read(prepared.root), { count = 2, layout = "1x32g+1x16g" })
end

function TestDimms:test_firmware_table()
   -- An empty slot and the BIOS' flash are no DIMMs; one of 512 MiB; one of unknown size.
   prepared.put(DMI, "\0\4\1\0\0\0" .. device(131072) .. device(0) .. device(16, 0x09) .. device(512) .. device(nil)
      .. tree.END_OF_TABLE .. device(32768))
   lu.assertEquals(dimms.read(prepared.root), { count = 3, layout = "1x128g+1x512m+1x?" })
end

function TestDimms:test_firmware_entries()
   for i = 0, 2 do
      prepared.put(("/sys/firmware/dmi/entries/17-%d/raw"):format(i), device(i == 1 and 0 or 65536))
   end
   prepared.put("/sys/firmware/dmi/entries/16-0/raw", "junk")
   lu.assertEquals(dimms.read(prepared.root), { count = 2, layout = "2x64g" })
   prepared.put("/sys/firmware/dmi/entries/17-2/raw", device(65536):sub(1, 20))
   lu.assertNil(dimms.read(prepared.root))
end

function TestDimms:test_a_damaged_table_says_nothing()
   local good = device(32768) .. device(32768)
   for length = 1, #good - 1 do
      -- Cut between two structures it is a table without an end; else it is damage.
      local sizes = dimms.smbios(good:sub(1, length))
      if length == #good // 2 then
         lu.assertEquals(sizes, { 32768 })
      else
         lu.assertNil(sizes, length)
      end
   end
   for _, bad in ipairs({ ("\0"):rep(4096), "\17\0\0\0\0\0", "\17\3\0\0\0\0", "\17\255\0\0\0\0", good .. "\1" }) do
      lu.assertNil(dimms.smbios(bad))
   end
   -- A structure too short for a size holds none.
   lu.assertEquals(dimms.smbios("\17\4\0\0\0\0" .. device(1024)), { 1024 })
   lu.assertEquals(dimms.smbios(""), {})
end

function TestDimms:test_random_bytes_end()
   math.randomseed(4711)
   for _ = 1, 2000 do
      local bytes = {}
      for i = 1, math.random(0, 200) do
         bytes[i] = string.char(math.random(4) == 1 and math.random(0, 40) or math.random(0, 255))
      end
      local sizes = dimms.smbios(table.concat(bytes))
      lu.assertTrue(sizes == nil or type(sizes) == "table")
   end
end

TestNames = {}

function TestNames:test_class_names()
   lu.assertEquals(inventory.short_model("AMD EPYC 9654 96-Core Processor"), "epyc-9654")
   lu.assertEquals(inventory.short_model("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz"), "xeon-e5-2680-v3")
   lu.assertEquals(inventory.short_model("Intel(R) Xeon(R) Platinum 8480+"), "xeon-8480+")
   lu.assertEquals(inventory.short_model("\27[2J\"';"), "2j")
end

function TestNames:test_memory_is_rounded_to_what_is_sold()
   for seen, sold in pairs({ [755] = 768, [503] = 512, [23.4] = 24, [251] = 256, [1007] = 1024, [377] = 384,
      [188] = 192,
      [125.6] = 128, [62.7] = 64, [31.2] = 32 }) do
      lu.assertEquals(inventory.round_memory(seen * 1048576), sold)
   end
end

TestFingerprint = {}

function TestFingerprint:test_same_settings_same_id()
   local id = inventory.fingerprint({ a = "x", b = 2 })
   lu.assertEquals(inventory.fingerprint({ b = 2, a = "x" }), id)
   lu.assertNotEquals(inventory.fingerprint({ a = "x", b = 3 }), id)
   lu.assertNotEquals(inventory.fingerprint({ a = "x" }), id)
   lu.assertEquals(inventory.fingerprint({}), "811c9dc5") -- FNV-1a of nothing
   lu.assertEquals(inventory.fingerprint({ [""] = "" }), ("%08x"):format(
      ((((0x811c9dc5 ~ 0x3d) * 0x01000193 & 0xffffffff) ~ 0x0a) * 0x01000193) & 0xffffffff))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
