--- Memory traffic: resctrl's bytes between the L3 caches and memory, where the site has
-- mounted it. Documentation/arch/x86/resctrl.rst. The kernel adds the hardware's short
-- counters up to 64 bits itself.
local memory_traffic = {}

memory_traffic.fields = {
   { "bytes", name = "traffic_bytes", unit = "bytes", label = "memory traffic" },
}

local DIR = "/sys/fs/resctrl"
local NO_GROUP = { info = true, mon_data = true, mon_groups = true }

-- Each read asks a CPU of that cache. With more groups than this the sum is not known.
local MAX_READS = 256

-- A control group's numbers hold those of its monitoring groups.
local function groups(machine)
   local list = { "" }
   for _, name in ipairs(machine:list(DIR)) do
      if not NO_GROUP[name] then
         list[#list + 1] = name .. "/"
      end
   end
   return list
end

--- @return { bytes:GROUP/L3 }
function memory_traffic.read(machine)
   local out, reads = {}, 0
   for _, group in ipairs(groups(machine)) do
      local dir = ("%s/%smon_data"):format(DIR, group)
      for _, cache in ipairs(machine:list(dir, "^mon_L3_%d+$")) do
         reads = reads + 1
         if reads > MAX_READS then
            return nil
         end
         -- "Unavailable", "Unassigned" or "Error" are no number.
         out[("bytes:%s%s"):format(group, cache)] = machine:number(("%s/%s/mbm_total_bytes"):format(dir, cache))
      end
   end
   return out
end

-- Of 14 digits, as JSON holds them.
local ROUNDED = 1e-13

--- What went back is another group of the same name, or began anew: how much is not known.
function memory_traffic.growth(before, now)
   local step = now - before
   return step >= 0 and step or -step <= before * ROUNDED and 0 or nil
end

return memory_traffic
