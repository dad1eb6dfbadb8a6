--- What a check looks at: kernels, the values that they measure, and what the node has.
-- Rating, the policy's keys, the store's columns, `why` and doctor read these lists; each
-- counter of a job stands with its source (counters/). Pure; runs on 5.1 to 5.4, because the
-- policy reads it.
local metrics = {}

--- In the order in which they run.
--   name        its executable, its folder in kernels/
--   seconds     time box at each level that may run it: what holds where the policy is silent. One for both
--               levels where a baseline rates it: in a longer one it is another quantity
--   directories it measures each of the policy's io_paths, not the node; it is never rated
metrics.KERNELS = {
   { name = "stream", seconds = { quick = 2, full = 2 } },
   { name = "dgemm", seconds = { quick = 1, full = 1 } },
   { name = "noise", seconds = { quick = 0.5, full = 2 } },
   { name = "numa", seconds = { full = 5 } },
   { name = "scaling", seconds = { full = 5 } },
   { name = "io", seconds = { full = 3 }, directories = true },
}

local function of_three_arrays(r)
   return type(r.array_mb) == "number" and 3 * r.array_mb, r.array_limit or r.limit
end

-- Only where the kernel cannot flush what it visits from the caches (not x86-64).
local function of_chase(r)
   return r.flushed == false and type(r.chase_mb) == "number" and r.chase_mb, r.limit
end

-- A few % slower than what the node reaches: neither its rate nor the best that it can be.
local function of_matrices(r)
   if r.size_limit == "memory" then
      return ("memory for n = %s only"):format(type(r.n) == "number" and ("%.0f"):format(r.n) or "?")
   end
end

--- In the order of the user's line. Those that no `expected` marks are columns of the
-- store's table check_node, too; of those that have a kernel, a baseline learns.
--   name     key in a kernel's JSON (or of a counter), in limits and baselines
--   label    in the user's line; `long` where there is room for it; `plain` for who knows no benchmarks
--   kernel   which one measures it; nil for a counter
--   better   which way is good
--   digits   after the point (0), see metrics.show
--   count    of one check; no measurement of a node that its peers' compare with
--   static   a baseline does not rate it, only a limit of the policy
--   limit    the policy's limits.NAME where the policy is silent
--   cause    what it speaks for when a job was slow: a group of questions/why/causes.lua
--   measured_in function(result) -> MB that it was measured in, and what cut them; nil: no
--            memory bandwidth
--   unlike   function(result) -> why it compares with no other node's; nil: it does
--   expected of the inventory (a field of inventory.read): compared with policy.expect,
--            else with what most nodes of the class have
--   fabric   of a node, by `syscheck fabric`: a column of fabric_node in place of check_node
--   usual    what it is on a healthy node
--   setting  of the inventory, too, but no number of parts: reported when it differs
metrics.LIST = {
   { name = "triad_gbs", label = "triad", plain = "memory", unit = "GB/s", kernel = "stream", better = "higher",
      digits = 1, cause = "memory", measured_in = of_three_arrays },
   { name = "gflops", label = "dgemm", plain = "computing", unit = "GFLOP/s", kernel = "dgemm", better = "higher",
      cause = "clock", unlike = of_matrices },
   { name = "noise_pct", label = "noise", plain = "noise of the system", unit = "%", kernel = "noise", better = "lower",
      digits = 1, static = true, limit = { action = "warn" }, cause = "daemon" },
   { name = "latency_ns", label = "latency", long = "memory latency", unit = "ns", kernel = "numa", better = "lower",
      limit = { action = "warn" }, cause = "memory", measured_in = of_chase },
   { name = "best_gbs", label = "scaling", plain = "memory at its best thread count", unit = "GB/s", kernel = "scaling",
      better = "higher", digits = 1, limit = { action = "off" }, cause = "memory", measured_in = of_three_arrays },
   { name = "throttle_events", label = "throttle", long = "throttle events before the job", unit = "",
      better = "lower", limit = { max = 0, action = "warn" } },
   -- Only of a node that stays busy, or has processes of an ended job: see verdict/busy.lua.
   { name = "others_cpus", label = "others", long = "CPUs that others use", unit = "CPUs", count = true,
      better = "lower", digits = 1, limit = { max = 0, action = "warn" } },
   -- Of `syscheck fabric`, between nodes; what a NIC's peers do in the same run needs no baseline.
   { name = "fabric_out_ratio", label = "sends", long = "sends to other nodes", unit = "of its peers",
      kernel = "fabric", better = "higher", digits = 2, static = true, fabric = true, usual = 1,
      limit = { min = 0.9, action = "warn" }, cause = "link" },
   { name = "fabric_in_ratio", label = "receives", long = "receives from other nodes", unit = "of its peers",
      kernel = "fabric", better = "higher", digits = 2, static = true, fabric = true, usual = 1,
      limit = { min = 0.9, action = "warn" }, cause = "link" },
   { name = "fabric_out_gbs", label = "sends", long = "sends to other nodes", unit = "GB/s", kernel = "fabric",
      better = "higher", digits = 1, fabric = true, limit = { action = "warn" } },
   { name = "fabric_in_gbs", label = "receives", long = "receives from other nodes", unit = "GB/s", kernel = "fabric",
      better = "higher", digits = 1, fabric = true, limit = { action = "warn" } },
   { name = "fabric_lat_us", label = "message latency", unit = "us", kernel = "fabric", better = "lower", digits = 1,
      fabric = true, limit = { action = "warn" } },
   { name = "memory_gib", label = "memory", unit = "GiB", expected = true },
   { name = "dimms", label = "DIMMs", unit = "", expected = true },
   { name = "packages", label = "packages", unit = "", expected = true },
   { name = "cores", label = "cores", unit = "", expected = true },
   { name = "threads", label = "threads", unit = "", expected = true },
   { name = "numa_nodes", label = "NUMA nodes", unit = "", expected = true },
   { name = "class", label = "class", unit = "", expected = true, setting = true },
   { name = "config", label = "config", unit = "", expected = true, setting = true },
}

metrics.BY_NAME = {}
--- Names of what a node has so many of.
metrics.PARTS = {}
for _, m in ipairs(metrics.LIST) do
   metrics.BY_NAME[m.name] = m
   metrics.PARTS[#metrics.PARTS + 1] = m.expected and not m.setting and m.name or nil
end

--- A metric by the name that a check's record has for it. What a site has looked at (policy/site.lua) has the
-- policy's key and a colon in its name.
function metrics.of(name)
   return metrics.BY_NAME[name] or name:find(":", 1, true) and { name = name, label = name, unit = "", own = true,
      better = "higher" } or nil
end

--- "triad", or "triad at most" of a value that is only the best that it can be.
-- @param rated of verdict.rate
function metrics.label(metric, rated)
   return rated.bound and metric.label .. (metric.better == "higher" and " at most" or " at least") or metric.label
end

--- "61.3" or, with unit, "61.3 GB/s". At least three significant digits, so that
-- a small rate is not shown as 0.
function metrics.show(metric, value, with_unit)
   local digits = metric.digits or 0
   local size = math.abs(value)
   if metric.fabric and not metric.usual then
      return ("%.3g"):format(value) .. (with_unit and " " .. metric.unit or "") -- from 10 Mbit/s to 800 Gbit/s
   end
   if metric.own then
      return ("%.4g"):format(value)
   end
   if metric.kernel and size > 0 and size < 100 then
      digits = math.max(digits, size < 1 and 2 or size < 10 and digits > 0 and 2 or 1)
   end
   if metric.name == "noise_pct" then
      digits = size < 0.1 and 2 or 1
   end
   local text = ("%." .. digits .. "f"):format(value)
   return with_unit and metric.unit ~= "" and text .. " " .. metric.unit or text
end

-- Too little memory was free, or too little time to touch it, for arrays larger than
-- the caches: fast, and no memory bandwidth. A baseline must not learn it, nor a sick
-- node pass by it. The bound is once the caches, not the 4 times that are wanted: passes
-- go through the arrays in turn, so that what is next was used longest ago, and a cache
-- smaller than all of them has just dropped it. A virtual machine is shown its host's
-- whole cache (500 MB for 2 cores): 4 times that no short box could touch. For once the
-- caches the kernels touch up to half of their box.
local function too_small(m, r)
   local mb, limit
   if m.measured_in then
      mb, limit = m.measured_in(r)
   end
   if mb and mb < (type(r.llc_mb) == "number" and r.llc_mb or 0) then
      return ("%s: %s for %.0f MB of arrays only, caches hold %.0f MB"):format(m.kernel,
         limit == "memory" and "memory" or "time", mb, r.llc_mb)
   end
end

-- Why a value is only the best that it can be, and not what was measured; nil: it is.
local function why_bound(m, r)
   if type(r.unfinished) == "string" then
      return m.kernel .. ": too slow for its time box"
   end
   return too_small(m, r)
end

--- A measured value that can be compared.
-- @param metric from metrics.LIST
-- @param r the kernel's object
-- @return number; or nil, why not, and where the time box (or memory) was too short for a measurement the best
--   that the value can be: a rate is at most this, a latency at least
function metrics.measured(metric, r)
   local unlike = metric.unlike and metric.unlike(r)
   if unlike then
      return nil, ("%s: %s"):format(metric.kernel, unlike)
   end
   local value, why = r[metric.name], why_bound(metric, r)
   if type(value) ~= "number" or value ~= value or value == math.huge or value < 0
      or (metric.better == "higher" and value == 0) then
      return nil, why or ("%s: %s is no usable number"):format(metric.kernel, metric.name)
   elseif why then
      return nil, why, value
   end
   return value
end

return metrics
