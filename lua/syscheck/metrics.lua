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

--- A measured value that can be compared.
-- @param metric from metrics.LIST
-- @param r the kernel's object
-- @return number; or nil and why not
function metrics.measured(metric, r)
   -- Too little memory was free for arrays larger than the caches: fast, and no
   -- memory bandwidth. A baseline must not learn it, nor a sick node pass by it.
   if metric.name == "triad_gbs" and r.array_limit == "memory" and type(r.array_mb) == "number"
      and 3 * r.array_mb < (type(r.llc_mb) == "number" and r.llc_mb or 0) then
      return nil, ("stream: memory for %.0f MB of arrays only, caches hold %.0f MB"):format(3 * r.array_mb, r.llc_mb)
   end
   local value = r[metric.name]
   if type(value) ~= "number" or value ~= value or value == math.huge or value < 0
      or (metric.better == "higher" and value == 0) then
      return nil, ("%s: %s is no usable number"):format(metric.kernel, metric.name)
   end
   return value
end

return metrics
