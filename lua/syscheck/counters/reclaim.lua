--- Memory that ran short (/proc/vmstat): what a kernel without PSI (EL 8 and 9 have it off) tells of it.
local reclaim = {}

-- A task that finds no free page frees some itself: 0.05 to 1 ms of clean page cache, 20 where it has to be written. A
-- page of swap is read with seven others (vm.page-cluster) in a seek of a disk.
reclaim.fields = {
   { "stalls", name = "reclaim_stalls", unit = "count", label = "waits to free memory", cause = "shortage",
      each_s = 0.01 },
   { "swapped_in", name = "swapped_in", unit = "count", label = "pages read from swap", cause = "shortage",
      each_s = 0.002 },
}

--- @return { stalls (by zone since 4.8, in one number before), swapped_in (pages) }
function reclaim.read(machine)
   local text, stalls = "\n" .. (machine:read("/proc/vmstat") or ""), nil
   for n in text:gmatch("\nallocstall[%w_]* (%d+)") do
      stalls = (stalls or 0) + tonumber(n)
   end
   return { stalls = stalls, swapped_in = tonumber(text:match("\npswpin (%d+)")) }
end

return reclaim
