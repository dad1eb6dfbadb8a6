--- What may make a node slow: each number of a job or a check, as `why` compares it. Pure.
local fields = require("syscheck.catalogue.fields")

local causes = {}

--- Groups of metrics that the same trouble shows in, as people name it.
causes.GROUPS = {
   clock = "throttling or a low clock",
   daemon = "other work on the node",
   quota = "the job's CPU quota",
   storage = "slow storage",
   memory = "slow or failing memory",
   shortage = "too little memory",
   link = "a bad link",
   neighbour = "another job on the node",
   input = "more work than like runs",
   unrecorded = "its jobs were slow, too",
   unknown = "something that was not recorded",
   nothing = "chance: its kind varies as much",
}

-- What a number of milliseconds is, as no job loses more than wall time and one CPU is enough to hold it up:
--   unit  of one CPU, core or package: wall time
--   sum   over CPUs, cores or operations in flight: all of it may have been one's after the other
--   mean  over CPUs (PSI): one CPU of 128 that starves shows as 1/128
local OVER = {
   iowait_ms = "sum", steal_ms = "sum", throttle_core_ms = "sum", throttle_package_ms = "sum", nfs_op_ms = "sum",
   lustre_op_us = "sum", disk_op_ms = "sum", cg_throttled_us = "sum", wait_ms = "sum", disk_busy_ms = "sum",
   cpu_some_us = "mean", io_some_us = "mean", io_full_us = "mean", memory_some_us = "mean", memory_full_us = "mean",
   cg_io_some_us = "mean",
}

--- How far below and above what a condition may cost at most a loss lies: `most / wide` to `most * beyond`.
local RANGE = {
   unit = { wide = 20, beyond = 1.2 }, sum = { wide = 200, beyond = 1 }, mean = { wide = 200, beyond = 1 },
   count = { wide = 300, beyond = 1 }, counted_in_part = { wide = 300, beyond = 10 },
   share = { wide = 300, beyond = 2 }, value = { wide = 10, beyond = 1.5 }, temperature = { wide = 20, beyond = 3 },
   latency = { wide = 200, beyond = 1.5 }, turns = { wide = 20, beyond = 2 },
}

-- Of these a node counts some: its link's other end counts its own, and a storm of corrected errors is silenced, or
-- logged by the firmware now and then.
local IN_PART = { link_errors = true, memory_corrected = true, machine_checks = true }

-- Who waits for a core finds it cold after each turn of the other, and was perhaps holding what others wait for.
local TURNS = { sched_wait_worst_ms = true, steal_worst_ms = true }

local MORE = 100 -- what an event costs is a guess, and may be so many times as much

-- Scales on which values are compared: higher is worse, a difference is a ratio.
--   value(item, v, row) -> scaled, or nil
--   cost(item, v, usual, row) -> seconds that it may have cost at most, beyond the usual
--   back(x) -> the value, of those that have no elapsed time
--   prior: see stats.exceeds
local SCALES = {}

-- Share of the elapsed time that is too small to explain what is called slow (5 %): what lies
-- below is all alike. Without it, one event instead of none would be an infinite ratio.
local FLOOR = 0.02

local function share(item, v, row)
   return v * item.each_s / row.elapsed_s * (item.over == "mean" and row.cores or 1)
end

-- As a share of the elapsed time, since longer jobs gather more.
SCALES.time = {
   prior = 0.5,
   value = function(item, v, row)
      return math.log(share(item, v, row) + FLOOR)
   end,
   cost = function(item, v, usual, row)
      return math.min(1, share(item, v, row) - math.max(0, math.exp(usual) - FLOOR)) * row.elapsed_s
   end,
}
SCALES.count = SCALES.time

-- The mean share of time, in percent, that the system took from a core. All of it may have been one's, which the others
-- then waited for.
SCALES.share = {
   prior = 0.5,
   value = function(_, v, row)
      return math.log(row.cores * v / 100 + FLOOR)
   end,
   lost = function(usual, level)
      return math.min(1, math.exp(usual + level) - math.exp(usual))
   end,
   back = function(x, cores)
      return 100 * math.max(0, math.exp(x) - FLOOR) / cores
   end,
}

local NONE = 1e-3 -- of a rate that may be none: its logarithm is to be a number

-- A rate (higher is better): a job can lose as much as the rate is lower.
SCALES.rate = {
   prior = 0.01,
   value = function(item, v)
      return (v > 0 or item.none) and -math.log(math.max(v, NONE)) or nil
   end,
   cost = function(_, v, usual, row)
      return row.elapsed_s * (1 - v / math.exp(-usual))
   end,
   lost = function(_, level)
      return 1 - math.exp(-level)
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
   cost = function(_, v, usual, row)
      return row.elapsed_s * (1 - math.exp(usual) / v)
   end,
   lost = function(_, level)
      return 1 - math.exp(-level)
   end,
   back = math.exp,
}

-- The mean time of an operation: what is longer may have cost its share of the time in operations.
SCALES.latency = {
   prior = 0.3,
   value = function(_, v)
      return v > 0 and math.log(v) or nil
   end,
   cost = function(item, v, usual, row)
      local in_operations = math.min(1, (row[item.time] or 0) * item.each_s / row.elapsed_s)
      return in_operations * (1 - math.exp(usual) / v) * row.elapsed_s
   end,
   back = math.exp,
}

-- A CPU's temperature, as its rise over the air at the rack's inlet (18 to 27 degrees, ASHRAE class A1): that is heat
-- times thermal resistance. Who has to shed the heat of a worse resistance loses as much power, and that much of the
-- clock at most; at the limit the sensor shows less than that (range.beyond).
-- It is read when the job has ended: who was at its limit then still has half of its rise. Below that all are alike.
local INLET_C, COOL_C = 25, 60
local function rise(v)
   return math.max(v, COOL_C) - INLET_C
end
SCALES.temperature = {
   prior = 0.05,
   value = function(_, v)
      return math.log(rise(v))
   end,
   cost = function(_, v, usual, row)
      return (1 - math.exp(usual) / rise(v)) * row.elapsed_s
   end,
   back = function(x)
      return INLET_C + math.exp(x)
   end,
}

-- Seconds that one unit of it may have cost.
local SECONDS = { ms = 1e-3, us = 1e-6 }

-- Of a field: `each_s`, seconds that one event may cost at the very most (the reason is with the
-- field); `unless`, fields that know better, where they are there.
local function items(list, source, kind_of)
   local out = {}
   for _, field in ipairs(list) do
      local kind = kind_of(field)
      local over = kind == "time" and (OVER[field.name] or "unit") or nil
      local range = RANGE[IN_PART[field.name] and "counted_in_part" or TURNS[field.name] and "turns" or over or kind]
         or RANGE.value
      out[#out + 1] = field.cause and { name = field.name, group = field.cause, kind = kind, scale = SCALES[kind],
         source = source, each_s = field.each_s or SECONDS[field.unit], unless = field.unless, none = field.none,
         unit = field.unit, label = field.label, over = over, range = range, usual = field.usual,
         more = kind == "count" and MORE or nil, rare = field.rare } or nil
   end
   return out
end

--- Of the catalogue's fields those with a cause, in its order; `source` is "job" or "check" (a run of `syscheck fabric`
-- is one, too).
causes.JOB = items(fields.JOB, "job", function(field)
   return field.better == "higher" and "rate" or SECONDS[field.unit] and "time"
      or field.unit == "celsius" and "temperature" or "count"
end)
local function kind_of_check(field)
   return field.better == "higher" and "rate" or field.unit == "%" and "share" or "duration"
end
causes.CHECK = items(fields.CHECK, "check", kind_of_check)
--- Of `syscheck fabric`; what is `usual` of them needs no class.
causes.FABRIC = items(fields.FABRIC, "check", kind_of_check)
--- Both, as fields.MEASURED has them.
causes.MEASURED = table.move(causes.FABRIC, 1, #causes.FABRIC, #causes.CHECK + 1,
   table.move(causes.CHECK, 1, #causes.CHECK, 1, {}))

local TRAFFIC_COSTS = 0.6 -- of a job's time, at most

-- Mean time of an operation, where there were enough to have one.
local LEAST_OPS = 20
local LATENCIES = {
   { name = "nfs_latency_ms", ops = "nfs_ops", time = "nfs_op_ms", unit = "ms", label = "NFS time per operation" },
   { name = "lustre_latency_us", ops = "lustre_ops", time = "lustre_op_us", unit = "us",
      label = "Lustre time per operation" },
   { name = "disk_latency_ms", ops = "disk_ops", time = "disk_op_ms", unit = "ms", label = "disk time per operation",
      own = true }, -- a node's, shared with none
}
for _, one in ipairs(LATENCIES) do
   one.group, one.kind, one.scale, one.source = "storage", "latency", SCALES.latency, "job"
   one.each_s, one.over, one.range = SECONDS[one.unit], "sum", RANGE.latency
   causes.JOB[#causes.JOB + 1] = one
end

-- On a shared node more memory traffic than such a job has is another job's, and that may take most of the bandwidth.
SCALES.traffic = {
   prior = 0.3,
   value = function(_, v, row)
      return v > 0 and math.log(v / row.elapsed_s) or nil
   end,
   cost = function(_, v, usual, row)
      return TRAFFIC_COSTS * (1 - math.exp(usual) * row.elapsed_s / v) * row.elapsed_s
   end,
}
causes.JOB[#causes.JOB + 1] = { name = "traffic_bytes", group = "neighbour", kind = "traffic", scale = SCALES.traffic,
   source = "job", unit = "bytes", label = "memory traffic", range = RANGE.value, shared = true }

-- A node that has lost a DIMM shows a smaller class than it was of (classes.rated_as). That is there, whatever a check
-- may have measured since. Pages are laid over all channels: with one of eight gone that much is lost, and most of the
-- rate where what is left no longer fits together.
SCALES.size = {
   prior = 0.01,
   value = function(_, v, row)
      return row.class_memory_gib and -math.log(v / row.class_memory_gib)
   end,
   cost = function(_, v, _, row)
      return (1 - v / row.class_memory_gib) * row.elapsed_s
   end,
}
causes.JOB[#causes.JOB + 1] = { name = "memory_gib", group = "memory", kind = "size", scale = SCALES.size,
   source = "job", unit = "GiB", label = "memory", range = { wide = 4, beyond = 8 }, made = true }

--- Fields without a cause of their own that these, neighbours, or what other work let wait are made of.
causes.PARTS = { traffic_bytes = true, sched_wait_ms = true, cg_cpu_us = true }
for _, one in ipairs(LATENCIES) do
   causes.PARTS[one.ops], causes.PARTS[one.time] = true, true
end

--- Fills in a row's numbers that are made of others.
function causes.add_parts(row)
   for _, one in ipairs(LATENCIES) do
      local ops, time = row[one.ops], row[one.time]
      row[one.name] = ops and time and ops >= LEAST_OPS and time / ops or nil
   end
end

--- What the job itself did: never blamed, named where nothing else explains.
causes.WORK = {}
for _, field in ipairs(fields.JOB) do
   causes.WORK[#causes.WORK + 1] = field.work and field or nil
end

--- How many cores a node of a class has: "epyc-9654-2s192c-768g"; 1 where its name does not say.
function causes.cores(class)
   return tonumber((class or ""):match("%d+s(%d+)c")) or 1
end

--- The class that most rows are of.
function causes.main_class(rows)
   local of, most = {}, nil
   for _, row in ipairs(rows) do
      local class = row.class or 0
      of[class] = (of[class] or 0) + 1
      if not most or of[class] > of[most] or of[class] == of[most] and class < most then
         most = class
      end
   end
   return most
end

--- A value on its scale; nil where there is none.
-- @param row { elapsed_s (not of a check), cores }
function causes.scaled(item, v, row)
   local usable = type(v) == "number" and v >= 0 and v < math.huge
      and (item.source == "check" or (type(row.elapsed_s) == "number" and row.elapsed_s > 0))
   return usable and item.scale.value(item, v, row) or nil
end

--- Whether a row has a field that knows better than this one.
function causes.known_better(item, row)
   local unless = item.unless
   for i = 1, unless and #unless or 0 do
      if row[unless[i]] then
         return true
      end
   end
   return false
end

--- A row's value of a job on its scale; nil where there is none, or another field knows better.
function causes.of_row(item, row)
   local v = row[item.name]
   return v and not causes.known_better(item, row) and causes.scaled(item, v, row) or nil
end

--- What a row's value may have cost at most, as a share of its time; nil where there is none.
function causes.share(item, row, usual)
   return causes.of_row(item, row)
      and math.max(0, item.scale.cost(item, row[item.name], usual, row) / row.elapsed_s) or nil
end

return causes
