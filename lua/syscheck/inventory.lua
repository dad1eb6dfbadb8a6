--- What a node is: its hardware class and the configuration it runs with.
local files = require("syscheck.files")

local inventory = {}

local CPUS = "/sys/devices/system/cpu"

-- Words that tell no two machines apart.
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

-- Packages, cores, threads of the online CPUs.
local function topology(root)
   local packages, cores, threads = {}, {}, 0
   local n_packages, n_cores = 0, 0
   for _, name in ipairs(files.list(root .. CPUS)) do
      local dir = name:match("^cpu%d+$") and root .. CPUS .. "/" .. name .. "/topology/"
      local package = dir and files.line(dir .. "physical_package_id")
      if package then
         local die = files.line(dir .. "die_id") or ""
         local core = package .. ":" .. die .. ":" .. (files.line(dir .. "core_id") or name)
         threads = threads + 1
         if not packages[package] then
            packages[package], n_packages = true, n_packages + 1
         end
         if not cores[core] then
            cores[core], n_cores = true, n_cores + 1
         end
      end
   end
   return { packages = n_packages, cores = n_cores, threads = threads }
end

-- "always [madvise] never" -> "madvise"
local function chosen(text)
   return text and (text:match("%[(%S+)%]") or text) or nil
end

--- Reads a node's class and configuration.
-- @return { class, packages, cores, threads, memory_gib, config = { kernel,
--   microcode, bios, governor, smt, thp, numa_balancing } }; what the machine does
--   not tell is absent
function inventory.read(root)
   local model, microcode = model_of(root)
   local topo = topology(root)
   local kib = tonumber((files.read(root .. "/proc/meminfo") or ""):match("MemTotal:%s*(%d+)"))
   local gib = kib and inventory.round_memory(kib)
   return {
      class = ("%s-%ds%dc-%sg"):format(model, topo.packages, topo.cores, gib or "?"),
      packages = topo.packages,
      cores = topo.cores,
      threads = topo.threads,
      memory_gib = gib,
      config = {
         kernel = files.line(root .. "/proc/sys/kernel/osrelease"),
         microcode = microcode,
         bios = files.line(root .. "/sys/class/dmi/id/bios_version"),
         governor = files.line(root .. CPUS .. "/cpu0/cpufreq/scaling_governor"),
         smt = files.line(root .. CPUS .. "/smt/control"),
         thp = chosen(files.line(root .. "/sys/kernel/mm/transparent_hugepage/enabled")),
         numa_balancing = files.line(root .. "/proc/sys/kernel/numa_balancing"),
      },
   }
end

return inventory
