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

-- Seconds that one unit of it may have cost.
local SECONDS = { ms = 1e-3, us = 1e-6 }

-- Of a field: `each_s`, seconds that one event may cost at the very most (the reason is with the
-- field); `unless`, fields that know better, where they are there.
local function items(list, source, kind_of)
   local out = {}
   for _, field in ipairs(list) do
      local kind = kind_of(field)
      out[#out + 1] = field.cause and { name = field.name, group = field.cause, kind = kind, scale = SCALES[kind],
         source = source, each_s = field.each_s or SECONDS[field.unit], unless = field.unless, unit = field.unit,
         label = field.label } or nil
   end
   return out
end

--- Of the catalogue's fields those with a cause, in its order; `source` is "job" or "check".
causes.JOB = items(fields.JOB, "job", function(field)
   return field.better == "higher" and "rate" or SECONDS[field.unit] and "time" or "count"
end)
causes.CHECK = items(fields.CHECK, "check", function(field)
   return field.better == "higher" and "rate" or field.unit == "%" and "share" or "duration"
end)

--- What the job itself did: never blamed, named where nothing else explains; its own numbers first.
causes.WORK = {}
for _, own in ipairs({ true, false }) do
   for _, field in ipairs(fields.JOB) do
      causes.WORK[#causes.WORK + 1] = field.work and own == (field.path[1] == "cgroup") and field or nil
   end
end

--- A value on its scale; nil where there is none.
function causes.scaled(item, v, elapsed)
   local usable = type(v) == "number" and v >= 0 and v < math.huge
      and (item.source == "check" or (type(elapsed) == "number" and elapsed > 0))
   return usable and item.scale.value(item, v, elapsed) or nil
end

return causes
