--- What may make a node slow: each number of a job or a check, as `why` compares it. Pure.
local fields = require("syscheck.catalogue.fields")

local causes = {}

--- Groups of numbers that tell of the same trouble, as people name it.
causes.GROUPS = {
   clock = "throttling or a low clock",
   daemon = "other work on the node",
   quota = "the job's CPU quota",
   storage = "slow storage",
   memory = "slow or failing memory",
   shortage = "too little memory",
   link = "a bad link",
}

-- Scales on which values are compared: higher is worse, a difference is a ratio.
--   value(item, v, elapsed) -> scaled, or nil
--   cost(item, v, usual, elapsed) -> seconds that it may have cost at most, beyond the usual
--   back(x) -> the value, of those that have no elapsed time
--   prior: see stats.exceeds
local SCALES = {}

-- Share of the elapsed time that is too small to explain what is called slow (5 %): what lies
-- below is all alike. Without it, one event instead of none would be an infinite ratio.
local FLOOR = 0.02

-- What it cost at most, as a share of the elapsed time, since longer jobs gather more.
SCALES.time = {
   prior = 0.5,
   value = function(item, v, elapsed)
      return math.log(v * item.each_s / elapsed + FLOOR)
   end,
   cost = function(item, v, usual, elapsed)
      return v * item.each_s - math.max(0, (math.exp(usual) - FLOOR) * elapsed)
   end,
}
SCALES.count = SCALES.time

-- The mean share of time, in percent, that the system took from a core. A job that waits for
-- its slowest core loses more than the mean.
local SLOWEST_CORE = 4
SCALES.share = {
   prior = 0.5,
   value = function(_, v)
      return math.log(SLOWEST_CORE * v / 100 + FLOOR)
   end,
   cost = function(_, v, usual, elapsed)
      return (SLOWEST_CORE * v / 100 - math.exp(usual) + FLOOR) * elapsed
   end,
   back = function(x)
      return 100 * math.max(0, math.exp(x) - FLOOR) / SLOWEST_CORE
   end,
}

-- A rate (higher is better): a job can lose as much as the rate is lower.
SCALES.rate = {
   prior = 0.01,
   value = function(_, v)
      return v > 0 and -math.log(v) or nil
   end,
   cost = function(_, v, usual, elapsed)
      return elapsed * (1 - v / math.exp(-usual))
   end,
   back = function(x)
      return math.exp(-x)
   end,
}

-- A duration (lower is better), likewise.
SCALES.duration = {
   prior = 0.01,
   value = function(_, v)
      return v > 0 and math.log(v) or nil
   end,
   cost = function(_, v, usual, elapsed)
      return elapsed * (1 - math.exp(usual) / v)
   end,
   back = math.exp,
}

-- each_s: seconds that one event may cost at the very most. Corrected error, machine check:
-- firmware that looks at it first stops all cores for up to 0.1 s. Link error: a lost packet
-- is sent again after the transport's time-out, 0.5 to 1 s as MPI libraries set it. Link down:
-- retrained and routed anew within a minute. Throttle event without a duration: 10 s, since
-- a new one is counted only after the last has ended.
local JOB = {
   { "throttle_events", "clock", "count", each_s = 10, unless = { "throttle_package_ms", "throttle_core_ms" } },
   { "throttle_package_ms", "clock", "time" },
   { "throttle_core_ms", "clock", "time" },
   { "clock_limit_mhz", "clock", "rate" },
   { "cpu_some_us", "daemon", "time" },
   { "steal_ms", "daemon", "time" },
   { "io_some_us", "storage", "time" },
   { "io_full_us", "storage", "time" },
   { "iowait_ms", "storage", "time" },
   { "nfs_op_ms", "storage", "time" },
   { "lustre_op_us", "storage", "time" },
   { "cg_io_some_us", "storage", "time" },
   { "memory_some_us", "shortage", "time" },
   { "memory_full_us", "shortage", "time" },
   { "oom_kills", "shortage", "count", each_s = 60 },
   { "cg_oom_kills", "shortage", "count", each_s = 60 },
   { "memory_corrected", "memory", "count", each_s = 0.1 },
   { "memory_uncorrected", "memory", "count", each_s = 60 },
   { "machine_checks", "memory", "count", each_s = 0.1 },
   { "link_errors", "link", "count", each_s = 1 },
   { "link_downed", "link", "count", each_s = 60 },
   { "cg_throttled_us", "quota", "time" },
}

local CHECK = {
   { "triad_gbs", "memory", "rate" },
   { "best_gbs", "memory", "rate" },
   { "latency_ns", "memory", "duration" },
   { "gflops", "clock", "rate" },
   { "noise_pct", "daemon", "share" },
}

local SECONDS = { ms = 1e-3, us = 1e-6 }

local function items(list, by_name, source)
   local out = {}
   for i, row in ipairs(list) do
      local field = assert(by_name[row[1]], row[1])
      out[i] = { name = row[1], group = row[2], kind = row[3], scale = SCALES[row[3]], source = source,
         each_s = row.each_s or SECONDS[field.unit], unless = row.unless, unit = field.unit, label = field.label }
   end
   return out
end

--- In the order of the tables above; `source` is "job" or "check".
causes.JOB = items(JOB, fields.JOB_BY_NAME, "job")
causes.CHECK = items(CHECK, fields.CHECK_BY_NAME, "check")

--- What the job itself did: never blamed, told where nothing else explains.
causes.WORK = {}
for _, name in ipairs({ "cg_cpu_us", "cg_read_bytes", "cg_written_bytes", "disk_read_bytes", "disk_written_bytes",
   "nfs_bytes", "lustre_read_bytes", "lustre_written_bytes" }) do
   causes.WORK[#causes.WORK + 1] = fields.JOB_BY_NAME[name]
end

--- A value on its scale; nil where there is none.
function causes.scaled(item, v, elapsed)
   local usable = type(v) == "number" and v >= 0 and v < math.huge
      and (item.source == "check" or (type(elapsed) == "number" and elapsed > 0))
   return usable and item.scale.value(item, v, elapsed) or nil
end

return causes
