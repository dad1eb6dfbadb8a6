--- What each class measured day by day, read from the store, and where that changed.
--
-- Of a node and day the last checks are read, by an index: as many looks as there are days with checks, however many
-- records there are.
local clusters = require("syscheck.questions.clusters")
local drift = require("syscheck.questions.fleet.drift")
local fields = require("syscheck.catalogue.fields")
local fleet_store = require("syscheck.questions.fleet.read")
local job_store = require("syscheck.questions.job.read")
local schema = require("syscheck.store.schema")
local settings = require("syscheck.questions.settings")
local sorted = require("syscheck.lib.sorted")
local statistics = require("syscheck.lib.statistics")

local over = {}

local DAY_S = 86400
local CHECKS = 3 -- of a node and day
local MOST_LOOKS = 300000 -- of all nodes; more take minutes
local MOST_DAYS = 100 -- to seek a change among
local MOST_SETTINGS = 3 -- that changed with the values

local FIELDS, MEASURED = {}, {}
for _, field in ipairs(fields.CHECK) do
   if field.unit ~= "count" then
      FIELDS[#FIELDS + 1], MEASURED[#MEASURED + 1] = field, ("c.%s IS NOT NULL"):format(field.name)
   end
end
local NEWEST = ([[SELECT c.key >> 30, c.config, c.class, %s FROM check_node c WHERE c.node = ? AND c.key >= ?
   AND c.key < ? AND (%s) ORDER BY c.key DESC LIMIT %d]]):format(job_store.columns(FIELDS, "c"),
   table.concat(MEASURED, " OR "), CHECKS)

-- What peers do is in a share already.
local LINKS = {}
for _, field in ipairs(fields.FABRIC) do
   LINKS[#LINKS + 1] = not field.usual and field or nil
end
local FABRIC = ([[SELECT c.key >> 30, c.node, c.class, %s FROM fabric_node c WHERE c.key >= ? ORDER BY c.key]]):format(
   job_store.columns(LINKS, "c"))

-- values[class][field name][node name][day]
local function put(values, class, field, node, day, value)
   for _, key in ipairs({ class, field, node }) do
      values[key] = values[key] or {}
      values = values[key]
   end
   values[day] = value
end

-- One node's days, from the newest back: days without checks cost no look.
local function read_node(store, node, from, to, span_s, into)
   local before = to
   repeat
      local lists, day, config = {}, nil, nil
      for t in store:rows(clusters.asked(NEWEST, node, schema.key(from), schema.key(before))) do
         local of = (t[1] - from) // span_s
         day = day or of
         -- Under its name there may have been other hardware.
         local same = of == day and node.was(t[3])
         config = config or same and t[2] or nil
         for i, field in ipairs(same and FIELDS or {}) do
            if type(t[3 + i]) == "number" then
               lists[field] = lists[field] or {}
               table.insert(lists[field], t[3 + i])
            end
         end
      end
      for field, list in pairs(lists) do
         put(into.values, node.class or "?", field.name, node.name, day, statistics.median(list))
      end
      if day then
         into.configs[node.name] = into.configs[node.name] or {}
         into.configs[node.name][day] = config
         before = from + day * span_s
      end
   until not day or before <= from
end

-- Runs of `syscheck fabric`: of a day the last one.
local function read_fabric(store, nodes, from, span_s, into, want)
   local word, by_key = job_store.words(store), {}
   for _, node in ipairs(nodes) do
      by_key[node.key], by_key[node.also or node.key] = node, node
   end
   for t in store:rows(FABRIC, schema.key(from)) do
      local node, class = by_key[t[2]], word(t[3])
      if node and (node.wanted or class == want.class) then
         for i, field in ipairs(LINKS) do
            if type(t[3 + i]) == "number" then
               put(into.values, class or "?", field.name, node.name, (t[1] - from) // span_s, t[3 + i])
            end
         end
      end
   end
end

-- In words what drift.settings found; the same words once.
local function settings_of(store, change, configs)
   local out, by_text = {}, {}
   local function text_of(id)
      local t = store:row("SELECT c.text FROM config c WHERE c.id = ?", id)
      return t and t[1]
   end
   for _, one in ipairs(change.gradual and {} or drift.settings(change, configs)) do
      local text = settings.difference(text_of(one.from), text_of(one.to))
      if one.moved == 0 then
         break -- most first: only others had it
      elseif text ~= "" and by_text[text] then
         by_text[text].moved, by_text[text].stayed = by_text[text].moved + one.moved, by_text[text].stayed + one.stayed
      elseif text ~= "" and #out < MOST_SETTINGS then
         by_text[text] = { text = text, moved = one.moved, stayed = one.stayed }
         out[#out + 1] = by_text[text]
      end
   end
   return out
end

--- @param to epoch seconds: now
-- @param days how many, back from there
-- @param want of fleet_store.nodes
-- @return list of { class, metrics = list of what drift.of returns, with `field`, and in each change `settings` (of
--   settings_of) } with `since`, `span_days` (days that were taken together), `days`; the name that was probably meant
function over.find(store, to, days, want)
   local nodes, near = fleet_store.nodes(store, to - days * DAY_S, want)
   local span_days = math.max(1, math.ceil(days / MOST_DAYS), math.ceil(#nodes * days / MOST_LOOKS))
   local span_s = span_days * DAY_S
   -- Days are those of the calendar (UTC), so that a change's day is one.
   local from = ((to - days * DAY_S) // DAY_S + 1) * DAY_S
   local into, answer = { values = {}, configs = {} }, { since = from, span_days = span_days, days = days }
   for _, node in ipairs(nodes) do
      if node.wanted then
         read_node(store, node, from, to + 1, span_s, into)
      end
   end
   read_fabric(store, nodes, from, span_s, into, want)
   local function at(day)
      return day and from + day * span_s
   end
   for _, class in ipairs(sorted(into.values)) do
      local one = { class = class, metrics = {} }
      for _, field in ipairs(fields.MEASURED) do
         local values = into.values[class][field.name]
         if values then
            local m = drift.of({ values = values, points = field.unit == "%" or nil })
            m.field = field
            for _, change in ipairs(m.changes) do
               change.settings = settings_of(store, change, into.configs)
               for _, name in ipairs({ "day", "before_day", "from_day", "to_day" }) do
                  change[name] = at(change[name])
               end
            end
            table.insert(one.metrics, m)
         end
      end
      table.insert(answer, one)
   end
   return answer, near
end

return over
