--- The values that are rated: where each comes from and how it is shown.
local metrics = {}

--- In the order of the user's line.
--   name     key in a kernel's JSON (or of a counter), in limits and baselines
--   kernel   the executable that measures it; nil for a counter
--   better   which way is good
--   static   a baseline does not rate it, only a limit of the policy
--   expected of the inventory (a field of inventory.read): compared with policy.expect,
--            else with what most nodes of the class have
--   setting  of the inventory, too, but no number of parts: told when it differs
metrics.LIST = {
   { name = "triad_gbs", label = "triad", unit = "GB/s", kernel = "stream", better = "higher", digits = 1 },
   { name = "gflops", label = "dgemm", unit = "GFLOP/s", kernel = "dgemm", better = "higher", digits = 0 },
   { name = "noise_pct", label = "noise", unit = "%", kernel = "noise", better = "lower", digits = 1, static = true },
   { name = "latency_ns", label = "latency", unit = "ns", kernel = "numa", better = "lower", digits = 0 },
   { name = "best_gbs", label = "scaling", unit = "GB/s", kernel = "scaling", better = "higher", digits = 1 },
   { name = "throttle_events", label = "throttle", unit = "", better = "lower", digits = 0 },
   { name = "memory_gib", label = "memory", unit = "GiB", expected = true, digits = 0 },
   { name = "dimms", label = "DIMMs", unit = "", expected = true, digits = 0 },
   { name = "packages", label = "packages", unit = "", expected = true, digits = 0 },
   { name = "cores", label = "cores", unit = "", expected = true, digits = 0 },
   { name = "threads", label = "threads", unit = "", expected = true, digits = 0 },
   { name = "numa_nodes", label = "NUMA nodes", unit = "", expected = true, digits = 0 },
   { name = "class", label = "class", unit = "", expected = true, setting = true, digits = 0 },
   { name = "config", label = "config", unit = "", expected = true, setting = true, digits = 0 },
}

metrics.BY_NAME = {}
for _, m in ipairs(metrics.LIST) do
   metrics.BY_NAME[m.name] = m
end

--- "61.3" or, with unit, "61.3 GB/s". At least three significant digits, so that
-- a small rate is not shown as 0.
function metrics.show(metric, value, with_unit)
   local digits = metric.digits
   local size = math.abs(value)
   if metric.kernel and size > 0 and size < 100 then
      digits = math.max(digits, size < 1 and 2 or size < 10 and digits > 0 and 2 or 1)
   end
   if metric.name == "noise_pct" then
      digits = size < 0.1 and 2 or 1
   end
   local text = ("%." .. digits .. "f"):format(value)
   return with_unit and metric.unit ~= "" and text .. " " .. metric.unit or text
end

-- MB that a value was measured in, and what cut them. Latency only where the kernel
-- cannot flush what it visits from the caches (not x86-64).
local MEASURED_IN = {
   triad_gbs = function(r)
      return type(r.array_mb) == "number" and 3 * r.array_mb, r.array_limit
   end,
   best_gbs = function(r)
      return type(r.array_mb) == "number" and 3 * r.array_mb, r.limit
   end,
   latency_ns = function(r)
      return r.flushed == false and type(r.chase_mb) == "number" and r.chase_mb, r.limit
   end,
}

-- Too little memory was free, or too little time to touch it, for arrays larger than
-- the caches: fast, and no memory bandwidth. A baseline must not learn it, nor a sick
-- node pass by it. The bound is once the caches, not the 4 times that are wanted: passes
-- go through the arrays in turn, so that what is next was used longest ago, and a cache
-- smaller than all of them has just dropped it. A virtual machine is shown its host's
-- whole cache (500 MB for 2 cores): 4 times that no short box could touch. For once the
-- caches the kernels touch up to half of their box.
local function too_small(m, r)
   if not MEASURED_IN[m.name] then
      return nil
   end
   local mb, limit = MEASURED_IN[m.name](r)
   if mb and mb < (type(r.llc_mb) == "number" and r.llc_mb or 0) then
      return ("%s: %s for %.0f MB of arrays only, caches hold %.0f MB"):format(m.kernel,
         limit == "memory" and "memory" or "time", mb, r.llc_mb)
   end
end

--- A measured value that can be compared.
-- @param metric from metrics.LIST
-- @param r the kernel's object
-- @return number; or nil and why not
function metrics.measured(metric, r)
   local small = too_small(metric, r)
   if small then
      return nil, small
   end
   local value = r[metric.name]
   if type(value) ~= "number" or value ~= value or value == math.huge or value < 0
      or (metric.better == "higher" and value == 0) then
      return nil, ("%s: %s is no usable number"):format(metric.kernel, metric.name)
   end
   return value
end

return metrics
