--- What changed from one snapshot of the counters to a later one. Pure.
--
-- Only within one boot, and never negative. Only what both snapshots hold has a delta: a
-- CPU, a disk, a port that came or went takes its own share away and no other's.
local growth = require("syscheck.counters.growth")
local sources = require("syscheck.counters.sources")

local deltas = {}

local NONE = {}
local MAX_ERRORS = 64
-- What the store takes: 11 days at 1 TB/s.
local MOST = 1e18

-- Adds to the name of a key without its unit: "package_count:0" -> "package_count".
-- @return that name
local function add_to(sum, key, value)
   local name = key:match("^[^:]*")
   sum[name] = (sum[name] or 0) + value
   return name
end

--- Adds the units of one source up: { name = number }.
function deltas.total(source)
   local sum = {}
   for key, value in pairs(source) do
      add_to(sum, key, value)
   end
   return sum
end

--- The time between two snapshots, by the kernel's own clock: the wall clock may be set.
-- @return seconds, to the millisecond; nil across a boot, or where either lacks it
function deltas.seconds(from, to)
   local a, b = from.uptime_s, to.uptime_s
   local known = from.boot_id == to.boot_id and type(a) == "number" and type(b) == "number" and b >= a
   return known and math.floor((b - a) * 1000 + 0.5) / 1000 or nil
end

local function span_of(from, to)
   local seconds = deltas.seconds(from, to)
   return { seconds = seconds or math.huge, known = seconds ~= nil }
end

-- The second table of a source; a snapshot may come from a file.
local function beside_of(snapshot, source)
   local beside = source.beside and snapshot[source.beside]
   return type(beside) == "table" and beside or nil
end

-- @return { name = number }, or nil for none
local function grown(source, before, now, span)
   local sum, worst = {}, source.worst or NONE
   span.before, span.now = before, now
   for key, value in pairs(now) do
      local step
      if type(before[key]) == "number" then
         step = (source.growth or growth.plain)(before[key], value, key, span)
      elseif before[key] == nil and source.since_new then
         step = source.since_new(value, key, span)
      end
      local largest = step and worst[add_to(sum, key, step)]
      if largest then
         sum[largest] = math.max(sum[largest] or 0, step)
      end
   end
   for name, value in pairs(sum) do
      sum[name] = value <= MOST and value or nil
   end
   return next(sum) and sum or nil
end

--- What happened from one snapshot to a later one.
-- @return { source = { name = number } }; or nil and why
function deltas.delta(from, to)
   if from.boot_id ~= to.boot_id then
      return nil, "the node rebooted in between"
   end
   if type(from.sources) ~= "table" then
      return nil, "the earlier snapshot is damaged"
   end
   local delta, span = {}, span_of(from, to)
   for name, now in pairs(to.sources) do
      local source, before = sources[name] or NONE, from.sources[name]
      span.beside = beside_of(to, source) or NONE
      delta[name] = grown(source, type(before) == "table" and before or NONE, now, span)
   end
   return delta
end

local function section(snapshot, source)
   local values = type(snapshot.sources) == "table" and snapshot.sources[source.name]
   return { values = type(values) == "table" and values or NONE, beside = beside_of(snapshot, source) }
end

--- Which module, which port had errors.
-- @return list of { kind = dimm|controller|link, unit, corrected, uncorrected, errors,
--   downed } with what grew, most first, at most 64; nil for none
function deltas.errors(from, to)
   local list, by_unit = {}, {}
   local function add(kind, unit, name, n)
      if n and n > 0 then
         local key = kind .. " " .. unit
         if not by_unit[key] then
            by_unit[key] = { total = 0, entry = { kind = kind, unit = unit } }
            list[#list + 1] = by_unit[key]
         end
         local one = by_unit[key]
         one.total = one.total + n
         one.entry[name] = (one.entry[name] or 0) + n
      end
   end
   if from.boot_id == to.boot_id then
      for _, source in ipairs(sources) do
         if source.errors then
            source.errors(section(from, source), section(to, source), add)
         end
      end
   end
   table.sort(list, function(a, b)
      if a.total ~= b.total then
         return a.total > b.total
      end
      return a.entry.kind .. a.entry.unit < b.entry.kind .. b.entry.unit
   end)
   local out = {}
   for i = 1, math.min(#list, MAX_ERRORS) do
      out[i] = list[i].entry
   end
   return #out > 0 and out or nil
end

return deltas
