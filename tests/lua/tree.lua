--- Prepared trees: what /proc and /sys of a node look like below a directory; of real
-- machines in tests/fixtures/machines. The tests read small ones, tests/bench/passive.sh one of 256 CPUs.
local files = require("syscheck.lib.files")
local topology = require("syscheck.hardware.topology")
local uv = require("luv")

local tree = {}

local CPUS = "/sys/devices/system/cpu"

--- Writes one file and the directories above it.
function tree.put(root, path, text)
   assert(files.mkdir((root .. path):match("^(.*)/")))
   local f = assert(io.open(root .. path, "w"))
   f:write(text)
   f:close()
end

-- Many files of one directory: { name = text }.
local function put_all(root, dir, texts)
   assert(files.mkdir(root .. dir))
   for name, text in pairs(texts) do
      local f = assert(io.open(root .. dir .. "/" .. name, "w"))
      f:write(text, "\n")
      f:close()
   end
end

-- "/a/{b,c}" -> "/a/b", "/a/c"
function tree.expand(path, found)
   local before, choice, after = path:match("^(.-){([^}]*)}(.*)$")
   if not before then
      found[#found + 1] = path
      return found
   end
   for one in choice:gmatch("[^,]+") do
      tree.expand(before .. one .. after, found)
   end
   return found
end

--- Unpacks tests/fixtures/machines/NAME.tree, the files of a machine in one text:
-- `@ PATH LINE` is a file of one line, `@@ PATH` one of the lines that follow; {a,b} in
-- a path makes several files.
function tree.machine(root, name)
   local long, lines
   local function finish()
      for _, path in ipairs(long and tree.expand(long, {}) or {}) do
         tree.put(root, path, table.concat(lines, "\n") .. "\n")
      end
   end
   for line in io.lines("tests/fixtures/machines/" .. name .. ".tree") do
      local mark, path, text = line:match("^(@@?) (%S+) ?(.*)$")
      if mark then
         finish()
         long, lines = mark == "@@" and path, {}
         for _, one in ipairs(mark == "@" and tree.expand(path, {}) or {}) do
            tree.put(root, one, text .. "\n")
         end
      elseif long then
         lines[#lines + 1] = line
      end
   end
   finish()
end

--- Removes a directory with all that is in it.
function tree.remove(path)
   for _, name in ipairs(files.list(path)) do
      tree.remove(path .. "/" .. name)
   end
   if not uv.fs_rmdir(path) then
      uv.fs_unlink(path)
   end
end

--- A new empty directory.
function tree.new()
   local root = os.tmpname()
   os.remove(root)
   assert(files.mkdir(root))
   return root
end

local function online_of(o, wanted)
   local cpus = {}
   for cpu = 0, o.threads - 1 do
      if not o.offline[cpu] and (not wanted or wanted(cpu)) then
         cpus[#cpus + 1] = cpu
      end
   end
   return topology.format_list(cpus)
end

local function put_topology(root, cpu, o, place)
   local function same(level)
      return online_of(o, function(other)
         local p = o.place(other)
         return p.package == place.package and (level == "package" or p.core == place.core)
      end)
   end
   local core, package = same("core"), same("package")
   put_all(root, ("%s/cpu%d/topology"):format(CPUS, cpu), {
      physical_package_id = place.package, die_id = 0, core_id = place.core, cluster_id = place.core,
      core_cpus_list = core, thread_siblings_list = core, cluster_cpus_list = core,
      package_cpus_list = package, core_siblings_list = package, die_cpus_list = package,
   })
end

local function put_clocks(root, cpu, o)
   put_all(root, ("%s/cpufreq/policy%d"):format(CPUS, cpu), {
      affected_cpus = cpu, related_cpus = cpu, cpuinfo_max_freq = 3800000, cpuinfo_min_freq = 800000,
      cpuinfo_transition_latency = 0, scaling_cur_freq = 2000000, scaling_driver = o.driver,
      scaling_governor = o.governor, scaling_available_governors = "performance powersave",
      scaling_max_freq = 3800000, scaling_min_freq = 800000, scaling_setspeed = "<unsupported>",
      energy_performance_preference = o.intel and "performance" or nil,
   })
end

-- The files of arch/x86/../therm_throt.c; the package's in every CPU's folder.
local function put_throttle(root, cpu)
   local texts = {}
   for _, kind in ipairs({ "core", "package" }) do
      for _, name in ipairs({ "throttle_count", "throttle_max_time_ms", "throttle_total_time_ms",
         "power_limit_count" }) do
         texts[kind .. "_" .. name] = "0"
      end
   end
   put_all(root, ("%s/cpu%d/thermal_throttle"):format(CPUS, cpu), texts)
end

local CPUINFO = {
   intel = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n"
      .. "model name\t: Intel(R) Xeon(R) Platinum 8592+\nstepping\t: 2\nmicrocode\t: 0x21000240\n",
   amd = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
      .. "model name\t: AMD EPYC 9654 96-Core Processor\nstepping\t: 1\nmicrocode\t: 0xa101144\n",
   arm = "BogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\n",
}

--- CPUs of a node, their clocks and throttle counters.
-- @param o { kind = intel|amd|arm, packages, cores = per package, smt = threads per
--   core, offline = list of CPUs, governor }
function tree.cpus(root, o)
   o = setmetatable({ offline = {}, intel = o.kind == "intel", governor = o.governor or "performance",
      driver = o.kind == "intel" and "intel_pstate" or "acpi-cpufreq" }, { __index = o })
   for _, cpu in ipairs(getmetatable(o).__index.offline or {}) do
      o.offline[cpu] = true
   end
   o.threads = o.packages * o.cores * o.smt
   -- Linux on x86: first a thread of every core, then their siblings.
   function o.place(cpu)
      local core = cpu % (o.packages * o.cores)
      return { package = core // o.cores, core = core % o.cores }
   end
   local info = {}
   for cpu = 0, o.threads - 1 do
      if not o.offline[cpu] then
         put_topology(root, cpu, o, o.place(cpu))
         put_clocks(root, cpu, o)
         if o.intel then
            put_throttle(root, cpu)
         end
         info[#info + 1] = ("processor\t: %d\n%s\n"):format(cpu, CPUINFO[o.kind])
      else
         assert(files.mkdir(("%s%s/cpu%d"):format(root, CPUS, cpu)))
      end
   end
   local all = ("0-%d\n"):format(o.threads - 1)
   put_all(root, CPUS, { online = online_of(o), present = all, possible = all })
   tree.put(root, CPUS .. "/smt/control", o.smt > 1 and "on\n" or "notsupported\n")
   tree.put(root, CPUS .. (o.intel and "/intel_pstate/no_turbo" or "/cpufreq/boost"), o.intel and "0\n" or "1\n")
   tree.put(root, "/proc/cpuinfo", table.concat(info, "\n"))
end

--- DIMMs as EDAC shows them, spread over n_mc controllers.
-- @param sizes list of MiB
function tree.edac(root, sizes, n_mc)
   for i, mib in ipairs(sizes) do
      local mc = (i - 1) % n_mc
      local dir = ("/sys/devices/system/edac/mc/mc%d"):format(mc)
      put_all(root, dir, { ce_count = 0, ue_count = 0, size_mb = mib })
      put_all(root, ("%s/dimm%d"):format(dir, (i - 1) // n_mc), { size = mib, dimm_ce_count = 0, dimm_ue_count = 0,
         dimm_label = ("CPU_SrcID#%d_MC#%d_Chan#0_DIMM#0"):format(mc // 4, mc % 4), dimm_mem_type = "Registered-DDR5" })
   end
end

--- One SMBIOS structure of type 17: a memory device.
-- @param mib size; 0 is an empty slot; nil a size that firmware does not know
-- @param kind byte at 0x12: 0x22 DDR5, 0x09 flash
function tree.memory_device(mib, kind)
   local size = mib == nil and 0xFFFF or mib >= 0x7FFF and 0x7FFF or mib
   local body = string.pack("<I2I2I2I2I2BBBBBI2I2BBBBBI4I2", 0, 0xFFFE, 80, 64, size, 9, 0, 1, 2, kind or 0x22, 128,
      4800, 3, 4, 5, 6, 2, mib and mib >= 0x7FFF and mib or 0, 4800)
   return string.pack("<BBI2", 17, 4 + #body, 0x1100) .. body .. "DIMM_A1\0P0 CH A\0Maker\0Serial\0Tag\0Part\0\0"
end

--- Type 127, which ends the table.
tree.END_OF_TABLE = "\127\4\0\255\0\0"

--- What does not depend on the number of CPUs.
-- @param kib MemTotal
function tree.system(root, kib)
   put_all(root, "/proc/sys/kernel", { osrelease = "5.14.0-503.el9.x86_64", numa_balancing = "0" })
   tree.put(root, "/proc/sys/kernel/random/boot_id", "1b4e28ba-2fa1-11d2-883f-0016d3cca427\n")
   tree.put(root, "/proc/meminfo", ("MemTotal:       %d kB\nMemFree:        1000 kB\n"):format(kib))
   put_all(root, "/sys/class/dmi/id", { bios_version = "2.1.5", sys_vendor = "ACME Inc.", product_name = "Node 9000" })
   tree.put(root, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
   tree.put(root, "/sys/devices/system/node/online", "0-1\n")
end

return tree
