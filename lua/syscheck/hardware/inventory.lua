--- What a node is: its hardware class and the configuration it runs with.
local clocks = require("syscheck.hardware.clocks")
local dimms = require("syscheck.hardware.dimms")
local files = require("syscheck.lib.files")
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

-- Model, from the first CPU's block only: the whole of /proc/cpuinfo costs
-- milliseconds on hundreds of CPUs. aarch64 has no name, only numbers.
local function model_of(root)
   local text = files.read(root .. "/proc/cpuinfo", 4096) or ""
   local model = text:match("model name%s*:%s*([^\n]+)")
   if model then
      return inventory.short_model(model), text:match("microcode%s*:%s*(%S+)")
   end
   local implementer, part = text:match("CPU implementer%s*:%s*(%S+)"), text:match("CPU part%s*:%s*(%S+)")
   if implementer and part then
      return ("arm-%s-%s"):format(implementer, part), nil
   end
   return "unknown", nil
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
   local hash = 0x811C9DC5
   local text = table.concat(lines)
   for i = 1, #text do
      hash = ((hash ~ text:byte(i)) * 0x01000193) & 0xFFFFFFFF
   end
   return ("%08x"):format(hash)
end

-- A count that is not known is absent, not zero.
local function count(list)
   return #list > 0 and #list or nil
end

--- Reads a node's class and configuration.
-- @return { class, packages, cores, threads (0: not known), memory_gib, dimms = count,
--   numa_nodes, config = flat table (docs/records.md), config_id }; what is not
--   known is absent
function inventory.read(root)
   local model, microcode = model_of(root)
   local topo = topology.read(root)
   local clock = clocks.read(root)
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
   return {
      class = ("%s-%ds%dc-%sg"):format(model, #topo.packages, #topo.cores, gib or "?"),
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
