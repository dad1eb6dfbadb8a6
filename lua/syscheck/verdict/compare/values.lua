--- The values of a check's record that two checks are compared by: those that are rated, and what else kernels
-- measured. Pure.
local metrics = require("syscheck.catalogue.metrics")
local number = require("syscheck.verdict.detail.values").number

local values = {}

-- name, label, unit, better: beside a kernel's rated values. `steady`: a median of short moments, which does not
-- get worse by what others take in between.
local MORE = {
   stream = { { "copy_gbs", "copy", "GB/s" }, { "scale_gbs", "scale", "GB/s" }, { "add_gbs", "add", "GB/s" } },
   dgemm = { { "gflops_core_min", "slowest core", "GFLOP/s" },
      { "clock_mhz", "clock under load", "MHz", steady = true },
      { "clock_mhz_min", "lowest clock", "MHz", steady = true } },
   noise = { { "noise_pct_max", "noise, worst core", "%", "lower" } },
   numa = { { "remote_ns_max", "remote latency", "ns", "lower" }, { "local_gbs_min", "local bandwidth", "GB/s" },
      { "remote_gbs_min", "remote bandwidth", "GB/s" } },
   scaling = { { "one_thread_gbs", "one thread", "GB/s" }, { "node_best_gbs", "first NUMA node", "GB/s" } },
}
local OF_DIRECTORY = { { "write_gbs", "write", "GB/s" }, { "read_gbs", "read", "GB/s" },
   { "fsync_us", "fsync", "us", "lower" }, { "creates_per_s", "creates", "1/s" } }

-- Threads that had to wait for a larger share of the time may have made the value lower by as much.
local LOST_PCT = 5

-- What others took from a measurement, in % of the value at most; 0: nothing worth naming.
local function loss_of(one)
   local others = type(one.others) == "table" and number(one.others.loss_pct) or 0
   local lost = one.kernel ~= "noise" and number(one.result.lost_pct) or 0
   local most = math.max(others, lost)
   return most >= LOST_PCT and most or 0
end

-- Half of the 10th to 90th percentile, of the rates that have it: ± of a moment.
local function spread_of(result, name)
   local spread = number(result[(name:gsub("_gbs$", "_spread_pct"))])
   return name:find("_gbs$") and spread and spread / 2 or nil
end

-- @return whether what kernel `one` measured can be compared
local function is_whole(one)
   return one.state == "ok" and type(one.result) == "table" and type(one.result.unfinished) ~= "string"
end

--- Those of a record.
-- @param add function(key, { label, unit, better, kernel, metric or nil, steady, value, loss_pct,
--   spread_pct, box_s }), in the order of the table
function values.each(record, add)
   local last, rated = {}, {}
   for _, one in ipairs(type(record.runs) == "table" and record.runs or {}) do
      if type(one) == "table" and is_whole(one) and type(one.path) ~= "string" then
         last[one.kernel or ""] = one
      end
   end
   for _, one in ipairs(type(record.metrics) == "table" and record.metrics or {}) do
      if type(one) == "table" and one.status ~= "unknown" and not one.bound and not one.corrupt then
         rated[one.name or ""] = number(one.value)
      end
   end
   -- @param what as in MORE
   local function give(key, one, what, value)
      if value then
         add(key, { label = what[2], unit = what[3], better = what[4] or "higher", kernel = one.kernel,
            metric = what.metric, value = value, steady = what.steady, loss_pct = what.steady and 0 or loss_of(one),
            spread_pct = spread_of(one.result, what[1]), box_s = number(one.box_s) })
      end
   end
   for _, kernel in ipairs(metrics.KERNELS) do
      local one = last[kernel.name]
      for _, m in ipairs(one and metrics.LIST or {}) do
         if m.kernel == kernel.name then
            give(m.name, one, { m.name, m.label, m.unit, m.better, metric = m }, rated[m.name])
         end
      end
      for _, more in ipairs(one and MORE[kernel.name] or {}) do
         give(more[1], one, more, number(one.result[more[1]]))
      end
      local caches = one and one.result.cache_latency
      for _, level in ipairs(type(caches) == "table" and caches or {}) do
         local at = type(level) == "table" and number(level.level)
         if at then
            local name = ("l%.0f_ns"):format(at)
            give(name, one, { name, ("L%.0f latency"):format(at), "ns", "lower" }, number(level.ns))
         end
      end
   end
   for _, one in ipairs(type(record.runs) == "table" and record.runs or {}) do
      if type(one) == "table" and is_whole(one) and type(one.path) == "string" then
         for _, more in ipairs(OF_DIRECTORY) do
            give(("io %s %s"):format(one.path, more[1]), one,
               { more[1], ("io %s %s"):format(one.path, more[2]), more[3], more[4] }, number(one.result[more[1]]))
         end
      end
   end
end

--- Kernels of a record that computed something wrong.
function values.wrong(record)
   local out = {}
   for _, one in ipairs(type(record.runs) == "table" and record.runs or {}) do
      out[#out + 1] = type(one) == "table" and one.state == "corrupt" and tostring(one.kernel) or nil
   end
   return out
end

return values
