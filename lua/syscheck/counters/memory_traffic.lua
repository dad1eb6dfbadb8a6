--- Memory traffic: resctrl's bytes between the L3 caches and memory, where the site has
-- mounted it. Documentation/arch/x86/resctrl.rst. The kernel adds the hardware's short
-- counters up to 64 bits itself.
local memory_traffic = {}

memory_traffic.fields = {
   { "bytes", name = "traffic_bytes", unit = "bytes", label = "memory traffic" },
   -- Of the caches that tell it apart; the rest of theirs went to another NUMA node.
   { "local_bytes", name = "traffic_local_bytes", unit = "bytes", label = "memory traffic to the own NUMA node",
      late = true },
}

--- Where the kernel has it.
memory_traffic.DIR = "/sys/fs/resctrl"

--- Where the kernel describes the memory controllers' counters, which count only while they are open.
memory_traffic.PMUS = "/sys/bus/event_source/devices"

local DIR = memory_traffic.DIR
local NO_GROUP = { info = true, mon_data = true, mon_groups = true }

-- Each read asks a CPU of that cache. With more groups than this the sum is not known.
local MAX_READS = 256
-- So many are read twice: what went to the own NUMA node, too.
local MAX_LOCAL = 128

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

--- Caches of a group, as the kernel names them; empty without such counters.
-- @param group "" or a name and a slash
function memory_traffic.caches(machine, group)
   return machine:list(("%s/%smon_data"):format(DIR, group), "^mon_L3_%d+$")
end

--- Where counters are that can be read around triads: resctrl's, else the memory controllers'; nil: there are none.
-- @param perf true: these may be used
function memory_traffic.directory(machine, perf)
   if #memory_traffic.caches(machine, "") > 0 then
      return DIR
   end
   for _, pmu in ipairs(perf and { "^uncore_imc_?%d*$", "^amd_umc_?%d*$" } or {}) do
      if machine:list(memory_traffic.PMUS, pmu)[1] then
         return memory_traffic.PMUS
      end
   end
   return nil
end

-- Adds what one place counts. "Unavailable", "Unassigned" or "Error" are no number.
local function add(out, machine, key, dir, has_local)
   out["bytes:" .. key] = machine:number(dir .. "mbm_total_bytes")
   out["local_bytes:" .. key] = has_local and machine:number(dir .. "mbm_local_bytes") or nil
end

--- One group alone. @param group "mon_groups/NAME/"
-- @return { bytes:L3, local_bytes:L3 }; nil where not all of its caches can be read
function memory_traffic.read_group(machine, group)
   local out = {}
   for _, cache in ipairs(memory_traffic.caches(machine, group)) do
      add(out, machine, cache, ("%s/%smon_data/%s/"):format(DIR, group, cache), true)
      if not out["bytes:" .. cache] then
         return nil
      end
   end
   return out
end

--- @return { bytes:GROUP/L3, local_bytes:GROUP/L3 }
function memory_traffic.read(machine)
   local places = {}
   for _, group in ipairs(groups(machine)) do
      for _, cache in ipairs(memory_traffic.caches(machine, group)) do
         places[#places + 1] = { group .. cache, ("%s/%smon_data/%s/"):format(DIR, group, cache) }
         if #places > MAX_READS then
            return nil
         end
      end
   end
   local out = {}
   for _, place in ipairs(places) do
      add(out, machine, place[1], place[2], #places <= MAX_LOCAL)
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

-- "bytes:batch/mon_L3_07" -> "bytes", "7"
local function parts_of(key)
   local what, cache = key:match("^([%l_]+):.*mon_L3_(%d+)$")
   return what, cache and ("%d"):format(tonumber(cache))
end

-- How many numbers of its kind each cache has, of all groups.
local function counts_of(values, what)
   local out = {}
   for key in pairs(values) do
      local kind, cache = parts_of(key)
      if kind == what then
         out[cache] = (out[cache] or 0) + 1
      end
   end
   return out
end

-- Adds up what caches grew by; nil and a key whose growth is not known.
local function grown(before, now, wanted)
   local out = {}
   for key, value in pairs(now) do
      local what, cache = parts_of(key)
      if what == wanted then
         local step = type(before[key]) == "number" and memory_traffic.growth(before[key], value)
         if not step then
            return nil, key
         end
         out[cache] = (out[cache] or 0) + step
      end
   end
   return out
end

--- What each L3 cache moved from one reading to a later one, of all groups together.
-- @param before, now of read(), as a snapshot keeps them
-- @return { [number as text] = { bytes, local_bytes (nil: not known) } }; nil and why not all of it is known
function memory_traffic.by_cache(before, now)
   for key in pairs(before) do
      if parts_of(key) == "bytes" and now[key] == nil then
         return nil, "a group or cache of resctrl went meanwhile, or could not be read at the end"
      end
   end
   local total, wrong = grown(before, now, "bytes")
   if not total then
      return nil, before[wrong] == nil and "a group or cache of resctrl came meanwhile, or could not be read at first"
         or "a counter of resctrl went back: its group is another one"
   elseif not next(total) then
      return nil, "no counter of memory traffic could be read"
   end
   local own = grown(before, now, "local_bytes") or {}
   local of_total, of_own, out = counts_of(now, "bytes"), counts_of(now, "local_bytes"), {}
   for cache, bytes in pairs(total) do
      out[cache] = { bytes = bytes, local_bytes = of_total[cache] == of_own[cache] and own[cache] or nil }
   end
   return out
end

return memory_traffic
