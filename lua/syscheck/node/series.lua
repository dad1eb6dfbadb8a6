--- A node's metrics for Prometheus: what is kept of its checks, and the families made of that. Pure.
--
-- Counts are of this boot, as the kernel's own are: a reboot sets all of them to 0, which is the one reset that
-- Prometheus expects. So they need no fsync: after a power failure no count is lower than before and not 0. Drains and
-- what kept one from being outlive a reboot, as one that comes again after it would not be seen; so does what checks
-- measured. docs/metrics.md says what each means.
local baseline = require("syscheck.verdict.baseline")
local deltas = require("syscheck.counters.deltas")
local metrics = require("syscheck.catalogue.metrics")
local standing = require("syscheck.verdict.standing")

local series = {}

-- Prefixes of all names, and of what the kernels measure: name, metric of the catalogue, what 1 of the metric is in
-- the base unit, what it is.
local PREFIX = "syscheck_"
local MEASURED = {
   { "memory_bandwidth_bytes_per_second", "triad_gbs", 1e9, "Memory bandwidth (STREAM triad) of the whole node" },
   { "dgemm_flops", "gflops", 1e9, "Floating point operations a second (DGEMM) of the whole node" },
   { "noise_ratio", "noise_pct", 0.01, "Share of time that the operating system takes" },
   { "memory_latency_seconds", "latency_ns", 1e-9, "Latency of the worst NUMA node to its own memory" },
}
local KEPT = {}
for _, m in ipairs(MEASURED) do
   KEPT[m[2]] = true
end

local LEVELS = { "passive", "quick", "full" }
local OF_STATE = " as of the last check that measured it."
local OTHER = "other"
--- Why a node that was found bad was not drained, by the record's action.
local WITHHELD = { storm = "cap", undecided = "undecided", observed = "observe" }

-- Metrics that are counted from the start, at 0: a counter that begins at 1 shows no increase.
local MAY_DRAIN = {}
for _, m in ipairs(metrics.LIST) do
   if m.kernel and not m.fabric then
      MAY_DRAIN[#MAY_DRAIN + 1] = m.name
   end
end

local function count(v)
   return type(v) == "number" and v >= 0 and v < 2^53 and v or 0
end

-- { key = count }, of the keys that this writes
local function counts(given)
   local out = {}
   for key, v in pairs(type(given) == "table" and given or {}) do
      out[key] = type(key) == "string" and #key <= 64 and count(v) or nil
   end
   return out
end

local function finite(v)
   return type(v) == "number" and v == v and math.abs(v) < 1e30 and v or nil
end

--- What was kept, or a new one.
-- @param kept table of the last file, whatever is in it, or nil
-- @param boot_id of now
-- @return { boot_id, checks = { "LEVEL STATUS" = n }, check_s, drains = { metric = n }, times = { level = epoch s },
--   withheld = { why = n }, newest, measured = status, values = { metric = { value, limit, median } } }
function series.open(kept, boot_id)
   kept = type(kept) == "table" and kept or {}
   local same = kept.boot_id == boot_id
   local out = { boot_id = boot_id, checks = counts(same and kept.checks), check_s = same and count(kept.check_s) or 0,
      drains = counts(kept.drains), withheld = counts(kept.withheld), times = {}, values = {},
      newest = standing.of(kept.newest), measured = standing.of(kept.measured) }
   for _, level in ipairs(LEVELS) do
      out.times[level] = type(kept.times) == "table" and finite(kept.times[level]) or nil
   end
   for name in pairs(KEPT) do
      local v = type(kept.values) == "table" and kept.values[name]
      out.values[name] = type(v) == "table" and finite(v.value)
         and { value = v.value, limit = finite(v.limit), median = finite(v.median) } or nil
   end
   return out
end

--- Which metric a drain's reason begins with: "syscheck: triad 19.7 < 31.1 GB/s (...)".
-- @return its name; "other" where none is named
function series.drained_for(reason)
   local text = (reason or ""):gsub("^syscheck: ", "")
   for _, m in ipairs(metrics.LIST) do
      -- A wrong result names its kernel.
      for _, start in ipairs({ m.label, m.kernel }) do
         if text:sub(1, #start) == start and text:find("^[ :]", #start + 1) then
            return m.name
         end
      end
   end
   return OTHER
end

-- Of the class that rates the node.
local function medians(learned, class, class_before)
   local rated_as = learned and baseline.class_for(learned, class, class_before)
   return rated_as and learned.classes[rated_as].metrics or {}
end

--- Adds a check.
-- @param state of series.open; changed
-- @param record of the check
-- @param time_s now
-- @param learned baseline, or nil
-- @param class_before of the inventory
function series.add(state, record, time_s, learned, class_before)
   local status = standing.of(record.status)
   -- An agent that was killed had a level that nobody knows.
   local level = record.level == "none" and status == "unknown" and "passive" or record.level
   if level == "none" or not status then
      return
   end
   local key = level .. " " .. status
   state.checks[key] = (state.checks[key] or 0) + 1
   state.check_s = state.check_s + count(record.duration_s)
   state.times[level] = time_s
   state.newest = status
   state.measured = level ~= "passive" and status or state.measured
   local drain, why = record.drain, WITHHELD[record.action]
   if why then
      state.withheld[why] = (state.withheld[why] or 0) + 1
   end
   if record.action == "drain" and drain and drain.done then
      local name = series.drained_for(drain.reason)
      state.drains[name] = (state.drains[name] or 0) + 1
   end
   local of_class
   for _, r in ipairs(record.metrics or {}) do
      if KEPT[r.name] then
         of_class = of_class or medians(learned, record.class, class_before)
         -- What was not measured this time, or while others used the node, is not known any more.
         local known = r.value and not r.bound and r.status ~= "unknown"
         state.values[r.name] = known and { value = r.value, limit = r.limit,
            median = of_class[r.name] and of_class[r.name].median } or nil
      end
   end
end

local function family(out, name, kind, help, samples)
   out[#out + 1] = { name = PREFIX .. name, type = kind, help = help, samples = samples }
end

local function add_measured(out, state)
   for _, m in ipairs(MEASURED) do
      local v = state.values[m[2]] or {}
      local function add(suffix, value, help)
         family(out, m[1] .. suffix, "gauge", help, { { value = value and value * m[3] } })
      end
      add("", v.value, m[4] .. "," .. OF_STATE)
      add("_limit", v.limit, ("The limit that %s%s was compared with,%s"):format(PREFIX, m[1], OF_STATE))
      add("_class_median", v.median, ("Median of %s%s over nodes of the class,%s"):format(PREFIX, m[1], OF_STATE))
   end
end

local function add_counters(out, snapshot)
   local function total(name)
      local source = snapshot.sources[name]
      return source and deltas.total(source) or {}
   end
   local throttle, memory, link = total("throttle"), total("memory_errors"), total("link")
   local function seconds(ms)
      return ms and ms / 1000
   end
   family(out, "throttled_seconds_total", "counter", "Time that packages and cores were throttled, summed over them.",
      { { value = seconds(throttle.package_ms), "scope", "package" },
         { value = seconds(throttle.core_ms), "scope", "core" } })
   family(out, "memory_errors_total", "counter", "Memory errors that EDAC has counted.",
      { { value = memory.corrected, "severity", "corrected" },
         { value = memory.uncorrected, "severity", "uncorrected" } })
   family(out, "link_errors_total", "counter", "Errors of InfiniBand and RoCE ports.", { { value = link.errors } })
end

local function add_checks(out, state)
   local checks, drains, known, withheld = {}, {}, {}, {}
   for _, level in ipairs(LEVELS) do
      for _, status in ipairs(standing.STATUSES) do
         checks[#checks + 1] = { value = state.checks[level .. " " .. status] or 0, "level", level, "status", status }
      end
   end
   for _, name in ipairs(MAY_DRAIN) do
      drains[#drains + 1], known[name] = { value = state.drains[name] or 0, "metric", name }, true
   end
   for _, m in ipairs(metrics.LIST) do
      if not known[m.name] and state.drains[m.name] then
         drains[#drains + 1] = { value = state.drains[m.name], "metric", m.name }
      end
   end
   drains[#drains + 1] = state.drains[OTHER] and { value = state.drains[OTHER], "metric", OTHER } or nil
   family(out, "checks_total", "counter", "Checks by level and what they found, since boot.", checks)
   family(out, "check_seconds_total", "counter", "Time that checks took, since boot.", { { value = state.check_s } })
   for i, why in ipairs({ "cap", "observe", "undecided" }) do
      withheld[i] = { value = state.withheld[why] or 0, "why", why }
   end
   family(out, "drains_total", "counter", "Times that syscheck has drained the node, by metric.", drains)
   family(out, "drains_withheld_total", "counter", "Times that the node was found bad and not drained.",
      withheld)
end

--- @param state of series.open
-- @param snapshot counters of now
-- @param info { version, class, mode }
-- @return families for lib/prometheus.lua
function series.families(state, snapshot, info)
   local out, times, statuses = {}, {}, {}
   family(out, "info", "gauge", "syscheck on this node, its hardware class, whether it drains (enforce) or observes.",
      { { value = 1, "class", info.class or "", "mode", info.mode, "version", info.version } })
   local now = standing.of(state.newest, state.measured)
   for _, status in ipairs(now and standing.STATUSES or {}) do
      statuses[#statuses + 1] = { value = status == now and 1 or 0, "status", status }
   end
   for _, level in ipairs(LEVELS) do
      times[#times + 1] = { value = state.times[level], "level", level }
   end
   family(out, "node_status", "gauge", "1 for the status of the node, 0 for each other.", statuses)
   family(out, "last_check_timestamp_seconds", "gauge", "When the last check of a level ended.", times)
   add_measured(out, state)
   add_counters(out, snapshot)
   add_checks(out, state)
   return out
end

return series
