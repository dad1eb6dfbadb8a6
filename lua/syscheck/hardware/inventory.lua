--- What a node is: its hardware class and the configuration it runs with.
local clocks = require("syscheck.hardware.clocks")
local dimms = require("syscheck.hardware.dimms")
local files = require("syscheck.lib.files")
local fnv = require("syscheck.lib.fnv")
local topology = require("syscheck.hardware.topology")

local inventory = {}

local DMI = "/sys/class/dmi/id"
-- More is no memory: 4 PiB.
local MAX_KIB = 2 ^ 42
local HUGEPAGES = "/sys/kernel/mm/hugepages"

-- Words that distinguish no machines.
local NOISE = { processor = true, cpu = true, amd = true, intel = true, ampere = true, platinum = true, gold = true,
   silver = true, bronze = true, ["with"] = true, radeon = true, graphics = true }

--- "AMD EPYC 9654 96-Core Processor" -> "epyc-9654"
function inventory.short_model(model)
   local words = {}
   local text = model:lower():gsub("%(r%)", ""):gsub("%(tm%)", ""):gsub("@.*", ""):gsub("%S+%-core", "")
   for word in text:gmatch("[%w+-]+") do
      if not NOISE[word] and #words < 4 then
         words[#words + 1] = word
      end
   end
   return #words > 0 and table.concat(words, "-") or "unknown"
end

--- Installed memory in GiB from what the kernel left of it: up to the next
-- multiple of the largest power of two that is a 16th of it or less. Firmware
-- takes 1 to 3 %, and memory is sold in few, round sizes: 755 -> 768, 503 -> 512.
function inventory.round_memory(kib)
   local gib = kib / 1048576
   local step = 1
   while step * 2 <= gib / 16 do
      step = step * 2
   end
   return math.ceil(gib / step) * step
end

-- Cores of servers by implementer and part, as util-linux' lscpu names them.
local ARM = {
   ["0x41"] = { ["0xd07"] = "cortex-a57", ["0xd08"] = "cortex-a72", ["0xd0c"] = "neoverse-n1",
      ["0xd40"] = "neoverse-v1", ["0xd49"] = "neoverse-n2", ["0xd4f"] = "neoverse-v2" },
   ["0x42"] = { ["0x516"] = "thunderx2" },
   ["0x43"] = { ["0x0a1"] = "thunderx-88xx", ["0x0af"] = "thunderx2-99xx" },
   ["0x46"] = { ["0x001"] = "a64fx" },
   ["0x48"] = { ["0xd01"] = "kunpeng-920" },
   ["0x4e"] = { ["0x004"] = "carmel" },
   ["0x51"] = { ["0xc00"] = "falkor" },
   ["0xc0"] = { ["0xac3"] = "ampere-1", ["0xac4"] = "ampere-1a" },
}

-- Whether a model's name has the number under which it is sold: 9654, e5-2680, 7b13. A cloud's
-- "AMD EPYC" has not, nor has "Intel Xeon Processor @ 2.50GHz".
local function is_a_product(model)
   for word in model:gmatch("[^-]+") do
      if select(2, word:gsub("%d", "")) >= 3 then
         return true
      end
   end
   return false
end

-- "Mt. Jade Server" -> "mt-jade-server", of at most 24 characters; nil for none.
local function product_of(root)
   local words, length = {}, 0
   for word in (files.line(root .. DMI .. "/product_name") or ""):lower():gmatch("%w+") do
      length = length + #word + 1
      words[#words + 1] = length <= 25 and word or nil
   end
   return #words > 0 and table.concat(words, "-") or nil
end

-- What one CPU is, from the first CPU's block only: the whole of /proc/cpuinfo costs
-- milliseconds on hundreds of CPUs. aarch64 has no name, only numbers. Where no product's number
-- is in the name, what else the hardware says of itself: revision of the core, clock rate,
-- machine. Nothing that a setting could change, or a node whose turbo is off would be no slow
-- node but another class.
-- @return model, microcode, what it was called before these were looked at
local function model_of(root, clock)
   local text = files.read(root .. "/proc/cpuinfo", 4096) or ""
   local function field(name)
      return text:match("%f[^\n\0]" .. name .. "%s*:%s*([^\n]*)")
   end
   local microcode = text:match("microcode%s*:%s*(%S+)")
   local name = field("model name")
   local parts, before = {}, "unknown"
   local implementer, part = field("CPU implementer"), field("CPU part")
   if name then
      before = inventory.short_model(name)
      if is_a_product(before) then
         return before, microcode, before
      end
      parts[1] = before
      local family, model, stepping = field("cpu family"), field("model"), field("stepping")
      if family and model then
         parts[2] = ("%s.%s.%s"):format(family, model, stepping or "0"):gsub("[^%d.]", "")
      end
      local ghz = tonumber(name:match("@%s*([%d.]+)GHz"))
      parts[#parts + 1] = ghz and ("%.1fghz"):format(ghz)
   elseif implementer and part then
      before = ("arm-%s-%s"):format(implementer, part)
      parts[1] = (ARM[implementer] or {})[part] or before
      local variant, revision = tonumber(field("CPU variant")), tonumber(field("CPU revision"))
      parts[2] = variant and revision and ("r%dp%d"):format(variant, revision) or nil
      -- The firmware's nominal clock, which no boost setting moves, where it says one.
      local mhz = files.number(root .. topology.DIR .. "/cpu0/acpi_cppc/nominal_freq") or clock.max_mhz
      parts[#parts + 1] = mhz and mhz > 0 and ("%.1fghz"):format(mhz / 1000) or nil
   else
      return before, microcode, before
   end
   parts[#parts + 1] = product_of(root)
   return table.concat(parts, "-"), microcode, before
end

-- "always [madvise] never" -> "madvise"
local function chosen(text)
   return text and (text:match("%[(%S+)%]") or text) or nil
end

-- "1048576kB:4", of the sizes that have pages set aside; nil for none.
local function hugepages(root)
   local set = {}
   for _, name in ipairs(files.list(root .. HUGEPAGES)) do
      local n = files.number(root .. HUGEPAGES .. "/" .. name .. "/nr_hugepages")
      if n and n > 0 then
         set[#set + 1] = ("%s:%d"):format(name:match("[^-]*$"), n)
      end
   end
   return #set > 0 and table.concat(set, ",") or nil
end

-- CPUs that are plugged in and not online: "5,133"; nil for none.
local function offline(topo)
   local missing, online = {}, {}
   for _, cpu in ipairs(topo.online) do
      online[cpu] = true
   end
   for _, cpu in ipairs(topo.present) do
      if not online[cpu] then
         missing[#missing + 1] = cpu
      end
   end
   return #missing > 0 and topology.format_list(missing) or nil
end

--- Eight hex digits that differ when a setting differs (FNV-1a, 32 bits, over the
-- sorted `key=value` lines).
-- @param config flat table of texts and whole numbers
function inventory.fingerprint(config)
   local lines = {}
   for key, value in pairs(config) do
      lines[#lines + 1] = ("%s=%s\n"):format(key, value)
   end
   table.sort(lines)
   return ("%08x"):format(fnv.of32(table.concat(lines)))
end

-- A count that is not known is absent, not zero.
local function count(list)
   return #list > 0 and #list or nil
end

--- Reads a node's class and configuration.
-- @return { class, class_before = its name in versions that told fewer classes apart (nil: the same), packages,
--   cores, threads (0: not known), memory_gib, dimms = count,
--   numa_nodes, config = flat table (docs/records.md), config_id }; what is not
--   known is absent
function inventory.read(root)
   local topo = topology.read(root)
   local clock = clocks.read(root)
   local model, microcode, model_before = model_of(root, clock)
   local modules = dimms.read(root) or {}
   local kib = tonumber((files.read(root .. "/proc/meminfo", 4096) or ""):match("MemTotal:%s*(%d+)"))
   local gib = kib and kib <= MAX_KIB and inventory.round_memory(kib)
   local numa_nodes = count(topology.parse_list(files.line(root .. "/sys/devices/system/node/online")))
   local config = {
      kernel = files.line(root .. "/proc/sys/kernel/osrelease"),
      microcode = microcode,
      bios = files.line(root .. DMI .. "/bios_version"),
      vendor = files.line(root .. DMI .. "/sys_vendor"),
      product = files.line(root .. DMI .. "/product_name"),
      governor = clock.governor,
      driver = clock.driver,
      epp = clock.epp,
      turbo = clock.turbo,
      max_mhz = clock.max_mhz,
      clock_limit_mhz = clock.limit_mhz,
      smt = files.line(root .. topology.DIR .. "/smt/control"),
      thp = chosen(files.line(root .. "/sys/kernel/mm/transparent_hugepage/enabled")),
      hugepages = hugepages(root),
      numa_balancing = files.line(root .. "/proc/sys/kernel/numa_balancing"),
      numa_nodes = numa_nodes,
      dimms = modules.layout,
      offline = offline(topo),
   }
   local function class_of(name)
      return ("%s-%ds%dc-%sg"):format(name, #topo.packages, #topo.cores, gib or "?")
   end
   return {
      class = class_of(model),
      class_before = model_before ~= model and class_of(model_before) or nil,
      packages = #topo.packages,
      cores = #topo.cores,
      threads = #topo.online,
      memory_gib = gib or nil,
      dimms = modules.count,
      numa_nodes = numa_nodes,
      config = config,
      config_id = next(config) and inventory.fingerprint(config) or nil,
   }
end

return inventory
