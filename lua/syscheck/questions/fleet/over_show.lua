--- What changed in a fleet, for people, programs and spreadsheets. See over.lua.
local drift = require("syscheck.questions.fleet.drift")
local fields = require("syscheck.catalogue.fields")
local hostlist = require("syscheck.lib.hostlist")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local terminal = require("syscheck.lib.terminal")
local time = require("syscheck.lib.time")

local show = {}

local NAMES_CHARS = 120 -- of a list of nodes

local function date(epoch)
   return epoch and time.show(epoch):sub(1, 10)
end

local function nodes_text(names)
   return printable.safe(hostlist.fold(names), NAMES_CHARS)
end

local function unit_of(m)
   return m.field.unit == "%" and "points" or "%"
end

-- "2026-11-12", "2026-11-09 to 2026-11-12" where nothing was measured between, or it took so long.
local function day_of(change, span_s)
   if change.gradual then
      return ("%s to %s"):format(date(change.from_day), date(change.to_day))
   elseif change.before_day and change.day - change.before_day > span_s then
      return ("%s to %s"):format(date(change.before_day), date(change.day))
   end
   return date(change.day)
end

local function who(change)
   if change.few then
      return nodes_text(change.moved)
   end
   return ("%d of %d nodes"):format(#change.moved, #change.moved + #change.stayed)
end

-- "kernel 6.1 -> 6.2 on all of them, on 1 of the others".
local function what(change)
   local parts = {}
   for _, one in ipairs(change.settings) do
      parts[#parts + 1] = ("%s on %s%s"):format(printable.safe(one.text, 200),
         one.moved == #change.moved and "all of them" or ("%d of them"):format(one.moved),
         one.stayed > 0 and (", on %d of the others"):format(one.stayed) or "")
   end
   local text = table.concat(parts, "; ")
   if text == "" then
      text = change.gradual and "little by little" or "no setting that is recorded"
   end
   -- Few that did not go along are worth their names.
   if not change.few and #change.stayed > 0 and #change.stayed <= #change.moved then
      text = ("%s; not on %s"):format(text, nodes_text(change.stayed))
   end
   return text
end

-- "triad beyond 1.0 %, noise beyond 0.5 points"
local function limits(list)
   local out = {}
   for i, m in ipairs(list) do
      out[i] = ("%s beyond %.1f %s"):format(m.field.label, m.least, unit_of(m))
   end
   return table.concat(out, ", ")
end

local function add_class(class, rows, notes, span_s)
   local quiet, few = {}, {}
   for _, m in ipairs(class.metrics) do
      for _, c in ipairs(m.changes) do
         local worse = (c.pct < 0) == (m.field.better == "higher")
         rows[#rows + 1] = { printable.safe(class.class), m.field.label, day_of(c, span_s),
            output.cell(("%+.1f %s"):format(c.pct, unit_of(m)), worse and "bad" or "good"),
            c.from and fields.show(m.field, c.from) or "-", c.to and fields.show(m.field, c.to) or "-",
            m.field.unit, who(c), what(c) }
      end
      if m.few then
         few[#few + 1] = ("%s (%d day%s, %d node%s)"):format(m.field.label, m.days, m.days == 1 and "" or "s", m.nodes,
            m.nodes == 1 and "" or "s")
      elseif #m.changes == 0 then
         quiet[#quiet + 1] = m
      end
   end
   if #quiet > 0 then
      notes[#notes + 1] = ("%s: no change of %s"):format(printable.safe(class.class), limits(quiet))
   end
   if #few > 0 then
      notes[#notes + 1] = ("%s: too little to say of %s: it takes %d days and %d nodes"):format(
         printable.safe(class.class), table.concat(few, ", "), drift.MIN_DAYS, drift.MIN_NODES)
   end
end

--- Text for a terminal.
-- @param answer of over.find
function show.table(answer, color, _, width)
   local rows = { { "CLASS", "METRIC", "DAY", "CHANGE", "FROM", "TO", "UNIT", "ON", "WITH" } }
   local notes, span_s = {}, answer.span_days * 86400
   for _, class in ipairs(answer) do
      add_class(class, rows, notes, span_s)
   end
   local parts = { terminal.wrap(("fleet since %s: when what a class measures changed%s"):format(date(answer.since),
      answer.span_days > 1 and (", in spans of %d days"):format(answer.span_days) or ""), width) }
   if #rows > 1 then
      parts[2] = "\n" .. output.fitted(rows, color, width, { prose = true })
   end
   if #notes > 0 then
      parts[#parts + 1] = "\n" .. terminal.wrap(table.concat(notes, "\n"), width, 2)
   end
   return table.concat(parts, "\n")
end

--- One object: { v, kind = "drift", since, days, span_days, classes }.
function show.json(answer)
   local function change(c)
      return { day = date(c.day), before = date(c.before_day), pct = c.pct, from = c.from, to = c.to,
         gradual = c.gradual, class = not c.few, first = c.gradual and date(c.from_day), last = c.gradual and
         date(c.to_day), nodes = output.list(c.moved), unmoved = output.list(c.stayed),
         settings = output.each(c.settings, function(one)
            return { text = one.text, nodes = one.moved, unmoved = one.stayed }
         end) }
   end
   return output.json({ v = 1, kind = "drift", since = date(answer.since), days = answer.days,
      span_days = answer.span_days, classes = output.each(answer, function(class)
         return { class = class.class, metrics = output.each(class.metrics, function(m)
            return { name = m.field.name, unit = m.field.unit, days = m.days, nodes = m.nodes, judged = not m.few,
               least = m.least, points = m.field.unit == "%" or nil, changes = output.each(m.changes, change) }
         end) }
      end) })
end

local CSV = { "class", "metric", "unit", "days", "nodes", "least", "day", "before", "pct", "from", "to", "gradual",
   "moved", "unmoved", "moved_nodes", "settings" }

--- One line for each change; for a metric without one, one without a day.
function show.csv(answer)
   local rows = {}
   for _, class in ipairs(answer) do
      for _, m in ipairs(class.metrics) do
         for _, c in ipairs(m.changes[1] and m.changes or { false }) do
            local row = { class.class, m.field.name, m.field.unit, m.days, m.nodes, m.least }
            if c then
               local texts = {}
               for i, one in ipairs(c.settings) do
                  texts[i] = one.text
               end
               table.move({ date(c.day), date(c.before_day) or "", c.pct, c.from or "", c.to or "", c.gradual or false,
                  #c.moved, #c.stayed, hostlist.fold(c.moved), table.concat(texts, "; ") }, 1, 10, 7, row)
            end
            rows[#rows + 1] = row
         end
      end
   end
   return output.csv(CSV, rows)
end

return show
