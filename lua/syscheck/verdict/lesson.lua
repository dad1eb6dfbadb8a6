--- What a record of a check teaches: its values and what they depend on. The one place that reads it, for records of a
-- spool and for what the store keeps of them. Pure.
local baseline = require("syscheck.verdict.baseline")
local cpus = require("syscheck.verdict.cpus")
local metrics = require("syscheck.catalogue.metrics")

local lesson = {}

-- A record that is older than the evidence of who else used the node: noise beyond this, in %,
-- is not the system's own.
local MAX_NOISE = 10

local function is_old(record)
   local noise
   for _, one in ipairs(record.runs) do
      local result = type(one) == "table" and type(one.result) == "table" and one.result or {}
      if type(result.lost_pct) == "number" then
         return false
      end
      noise = type(result.noise_pct) == "number" and result.noise_pct or noise
   end
   return noise ~= nil and noise > MAX_NOISE
end

-- A median is of one time box: in a longer one dgemm's matrices are larger and the clock under load another.
-- @return seconds; 0 where the record does not say it
local function box_of(one)
   local known = type(one.box_s) == "number" and one.box_s > 0 and one.box_s <= baseline.MAX_VALUE
   return known and one.box_s or 0
end

-- Measured values of a check: of each kernel's first measurement, as a second one is there
-- because the first was bad.
-- @return { metric = { value, box_s } }, of which none was taken while others used the node; whether some were
local function values_of(record)
   local values, busy = {}, type(record.runs) == "table" and is_old(record)
   if busy then
      return values, true
   end
   for _, one in ipairs(type(record.runs) == "table" and record.runs or {}) do
      if type(one) == "table" and type(one.others) == "table" and one.others.loss_pct ~= 0 then
         busy = true
      elseif type(one) == "table" and one.state == "ok" and not one.path and type(one.result) == "table" then
         for _, m in ipairs(metrics.LIST) do
            if m.kernel and m.kernel == one.kernel and one.attempt ~= 2 and not values[m.name] then
               local value = metrics.measured(m, one.result)
               values[m.name] = value and value > 0 and value <= baseline.MAX_VALUE
                  and { value = value, box_s = box_of(one) } or nil
            end
         end
      end
   end
   return values, busy
end

-- Which CPUs a check measured. Records from before have them in each kernel's object, and no word on whether
-- jobs get them: as many as the class has cores are all of them, and where nothing is said, too.
-- @return { left_out (nil: not known), list (nil: all), count, of, jobs }
local function cpus_of(record)
   local c = record.cpus
   if type(c) == "table" and not cpus.wrong(c) and c.left_out then
      return c
   end
   local class = baseline.parse_class(record.class)
   local of = class and class.cores
   for _, one in ipairs(record.runs) do
      local r = type(one) == "table" and one.state == "ok" and not one.path and one.result
      if type(r) == "table" and type(r.threads) == "number" and type(r.cpus) == "string" then
         local all = r.threads == of
         c = { list = r.cpus, count = r.threads, of = of, left_out = all and "" or nil, jobs = all }
         return not cpus.wrong(c) and c or nil
      end
   end
   return { left_out = "", jobs = true }
end

-- What a node has, from its record; older records have the DIMMs' layout only.
local function parts_of(record)
   local parts = {}
   local given = type(record.parts) == "table" and record.parts or {}
   for _, name in ipairs(metrics.PARTS) do
      local value = given[name]
      parts[name] = type(value) == "number" and value > 0 and value < 1e9 and value or nil
   end
   return parts
end

--- Whether a record of this class can teach anything.
function lesson.is_of_class(kind, class)
   return kind == "check" and baseline.parse_class(class) ~= nil or kind == "fabric" and baseline.is_of_links(class)
end

--- @param record decoded, of a class that teaches
-- @return { id, node, class, values = { metric = { value, box_s (0: not known) } }, busy = whether others disturbed
--   some of it, cpus = of the values, nil where there is none, parts, config = table or nil }
function lesson.of(record)
   local values, busy = values_of(record)
   return { id = record.id, node = record.node, class = record.class, values = values, busy = busy,
      cpus = next(values) and cpus_of(record) or nil, parts = parts_of(record),
      config = type(record.config) == "table" and record.config or nil }
end

--- Lessons of an iterator of decoded records.
function lesson.each(records)
   return function()
      for record in records do
         if lesson.is_of_class(record.kind, record.class) and type(record.node) == "string" then
            return lesson.of(record)
         end
      end
   end
end

return lesson
