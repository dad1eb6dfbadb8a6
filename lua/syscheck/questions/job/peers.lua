--- Which nodes of a job stand out from the others that ran it. Pure.
--
-- A value is out when it is worse than the median of its peers (the other nodes of the same
-- run) by more than SPREADS times their spread (scaled MAD), and by more than what is worth a
-- looking at: FLOOR below. What the job itself did there (kind load) is not compared.
local fields = require("syscheck.catalogue.fields")
local sorted = require("syscheck.lib.sorted")
local statistics = require("syscheck.lib.statistics")
local units = require("syscheck.lib.units")

local peers = {}

local SPREADS = 4
-- The spread of fewer peers than these is not known well: half of their range, if that is more.
local FEW = 8
-- One node of so many does not move median and MAD: they are computed once for all.
local MANY = 16
-- What a healthy fleet differs by (DESIGN: 3 to 5 %), share of the run, share of a count.
local FLOOR = { share = 0.05, time = 0.01, count = 0.5, percent = 1 }
-- The spread of fewer values is not known. Events need one peer: on a healthy node they are 0.
local MIN_PEERS = 3

local function is_rare(field)
   return field.rare or (field.unit == "count" and field.better ~= nil)
end

-- By how much a value has to be worse than the median.
local function floor_of(field, median, elapsed_s)
   local time = units.per_second(field.unit)
   if is_rare(field) then
      return FLOOR.count * median
   elseif time then
      return FLOOR.time * (elapsed_s or 0) * time
   elseif field.unit == "%" then
      return math.max(FLOOR.percent, FLOOR.share * median)
   end
   return FLOOR.share * math.abs(median)
end

-- The worst of a sorted list without one that has this value.
local function worst_other(ascending, value, higher)
   local i, step = higher and #ascending or 1, higher and -1 or 1
   return ascending[i] == value and ascending[i + step] or ascending[i]
end

-- Compares each node with its peers in one field.
-- @param each function(row, value, beyond (by how much it is worse than their median), room (from there it is out),
--   median, worst (of the peers), how many)
local function compare(field, values, elapsed, each)
   local rows, list = sorted(values), {}
   for i, row in ipairs(rows) do
      list[i] = values[row]
   end
   local higher = field.better ~= "higher"
   if not field.better or #list - 1 < (is_rare(field) and 1 or MIN_PEERS) then
      return
   end
   local ascending = table.move(list, 1, #list, 1, {})
   table.sort(ascending)
   local median, scaled
   if #list > MANY then
      median, scaled = statistics.robust(list)
   end
   for i, row in ipairs(rows) do
      if #list <= MANY then
         local others = table.move(list, 1, #list, 1, {})
         table.remove(others, i)
         median, scaled = statistics.robust(others)
      end
      if #list - 1 < FEW and not is_rare(field) then
         scaled = math.max(scaled, (worst_other(ascending, list[i], true) - worst_other(ascending, list[i], false)) / 2)
      end
      each(row, list[i], higher and list[i] - median or median - list[i],
         math.max(SPREADS * scaled, floor_of(field, median, elapsed[row])), median,
         worst_other(ascending, list[i], higher), #list - 1)
   end
end

--- Nodes that are out in one field.
-- @param field of fields.JOB or fields.CHECK
-- @param values { [row] = number }, rows that know it
-- @param elapsed { [row] = seconds }
-- @return list of { row, value, median, worst (of the peers), peers }
function peers.of_field(field, values, elapsed)
   local out = {}
   compare(field, values, elapsed, function(row, value, beyond, room, median, worst, count)
      if beyond > room then
         out[#out + 1] = { row = row, value = value, median = median, worst = worst, peers = count }
      end
   end)
   return out
end

--- How far each node is from its peers' median, as a share of what makes it out: more than 1 is out, less than 0 is
-- better than they are. Parameters as of of_field.
-- @return { [row] = number }; empty where they cannot be compared
function peers.distances(field, values, elapsed)
   local out = {}
   compare(field, values, elapsed, function(row, _, beyond, room)
      out[row] = beyond == 0 and 0 or room > 0 and beyond / room or beyond > 0 and math.huge or -math.huge
   end)
   return out
end

--- Everything that is out in one run.
-- @param rows list of { metrics = { name = number }, values = { name = number }, elapsed_s }
-- @return list of { row, field, value, median, worst, peers }, in the order of rows; and
--   { [row] = { [field name] = true } }. A check's fields have the prefix "check.".
function peers.of_run(rows)
   local elapsed, list, marks = {}, {}, {}
   for i, row in ipairs(rows) do
      elapsed[i] = row.elapsed_s
      marks[i] = {}
   end
   for _, kind in ipairs({ { fields.CHECK, "metrics", "check." }, { fields.JOB, "values", "" } }) do
      for _, field in ipairs(kind[1]) do
         local values = {}
         for i, row in ipairs(rows) do
            values[i] = row[kind[2]] and row[kind[2]][field.name]
         end
         for _, out in ipairs(peers.of_field(field, values, elapsed)) do
            out.field, out.name = field, kind[3] .. field.name
            marks[out.row][out.name] = true
            list[#list + 1] = out
         end
      end
   end
   table.sort(list, function(a, b)
      if a.row ~= b.row then
         return a.row < b.row
      end
      return a.name < b.name
   end)
   return list, marks
end

--- What of_run found, by row.
function peers.by_row(list)
   local out = {}
   for _, found in ipairs(list) do
      out[found.row] = out[found.row] or {}
      table.insert(out[found.row], found)
   end
   return out
end

--- "63 peers: median 0, worst 3"
function peers.against(out)
   local unit = out.field.unit
   return ("%d peer%s: median %s, worst %s"):format(out.peers, out.peers == 1 and "" or "s",
      units.show(unit, out.median), units.show(unit, out.worst))
end

--- "triad 61.3 GB/s; 63 peers: median 86.2 GB/s, worst 84.1 GB/s"
function peers.text(out)
   return ("%s %s; %s"):format(out.field.label, units.show(out.field.unit, out.value), peers.against(out))
end

return peers
