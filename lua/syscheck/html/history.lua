--- What happened to one thing over time: each metric in a panel of its own, events and jobs on the same axis. Pure.
local axis = require("syscheck.html.axis")
local canvas = require("syscheck.html.canvas")
local element = require("syscheck.html.element")
local scale = require("syscheck.html.scale")
local statistics = require("syscheck.lib.statistics")

local LEFT, RIGHT = 150, canvas.WIDE - 72
local EVENTS, PANEL, GAP, JOBS = 32, 44, 12, 16
local COLUMNS = 540 -- of a panel, in each of which the lowest and the highest value are drawn
local MOST_MARKS, MOST_JOBS = 400, 600
-- A healthy node's own scatter is no mountain range: the scale spans this share of the median.
local LEAST = 0.10

-- Of many points those that a picture shows: of each column the lowest and the highest.
local function thinned(points, from, to)
   local columns, order = {}, {}
   for _, point in ipairs(points) do
      local i = math.floor((point[1] - from) / math.max(1, to - from) * COLUMNS)
      local column = columns[i]
      if not column then
         columns[i], order[#order + 1] = { point, point }, i
      elseif point[2] < column[1][2] then
         column[1] = point
      elseif point[2] > column[2][2] then
         column[2] = point
      end
   end
   local out = {}
   for _, i in ipairs(order) do
      local low, high = columns[i][1], columns[i][2]
      out[#out + 1] = low
      out[#out + 1] = high ~= low and high or nil
   end
   return out
end

local function panel(c, s, top, one, spec)
   local values, low, high = {}, math.huge, -math.huge
   for i, point in ipairs(one.points) do
      values[i] = point[2]
      low, high = math.min(low, point[2]), math.max(high, point[2])
   end
   local median = statistics.median(values)
   local least = LEAST * math.abs(median)
   local from, to = low, high
   if high - low < least then
      from, to = (low + high - least) / 2, (low + high + least) / 2
   elseif high == low then
      from, to = low - 1, high + 1
   end
   local y = function(value)
      return top + PANEL - (value - from) / (to - from) * PANEL
   end
   c:text(0, top + PANEL / 2, element.name(one.label, 22), "s", "h")
   c:text(0, top + PANEL / 2 + 15, one.unit, "s", "q")
   c:line(LEFT, top + PANEL, RIGHT, top + PANEL, "g")
   c:line(LEFT, y(median), RIGHT, y(median), "g")
   local parts = {}
   for i, point in ipairs(thinned(one.points, spec.from, spec.to)) do
      parts[i] = canvas.dot(s.at(point[1]), y(point[2]))
   end
   c:path(table.concat(parts), #parts > 120 and "d1" or "d")
   -- Lowest, median, highest, where they do not cover each other.
   local texts = { { at = y(high), text = one.show(high) }, { at = y(median), text = one.show(median) },
      { at = y(low), text = one.show(low) } }
   for i, text in ipairs(texts) do
      local covers = i == 2 and (text.at - texts[1].at < 12 or texts[3].at - text.at < 12)
         or i == 3 and text.at - texts[1].at < 12
      if not covers then
         c:text(RIGHT + 8, text.at + 4, text.text, "s", "q")
      end
   end
end

-- What each kind of mark is, below the picture.
local function legend(c, kinds, y)
   local x = 0
   for _, kind in ipairs(kinds) do
      c:mark(kind.shape, x + 6, y - 4, 5, kind.class)
      c:text(x + 16, y, kind.text, "s", "q")
      x = x + 30 + #kind.text * axis.CHAR
   end
end

--- @param spec { label, from, to (epoch seconds), panels = list of { label, unit, show, points = list of { time,
--   value } }, events = list of { at, kind = { shape, class, text }, title }, jobs = list of { from, to, title } }
-- @return markup of a picture as wide as the page
return function(spec)
   local height = EVENTS + #spec.panels * (PANEL + GAP) + JOBS + 40 + (#spec.events > 0 and 26 or 0)
   local c = canvas.new(canvas.WIDE, height, spec.label)
   local s = scale.time(spec.from, spec.to, LEFT, RIGHT)
   local base = EVENTS + #spec.panels * (PANEL + GAP) + JOBS
   local kinds, known, lines = {}, {}, {}
   for i = 1, math.min(MOST_MARKS, #spec.events) do
      lines[i] = ("M%.1f %dV%.1f"):format(s.at(spec.events[i].at), EVENTS - 6, base)
   end
   c:path(table.concat(lines), "g")
   for k, one in ipairs(spec.panels) do
      panel(c, s, EVENTS + (k - 1) * (PANEL + GAP), one, spec)
   end
   c:text(0, base - 3, "jobs", "s", "h")
   local from = math.max(1, #spec.jobs - MOST_JOBS + 1)
   for i = from, #spec.jobs do
      local job = spec.jobs[i]
      local x = s.at(job.from)
      c:rect(x, base - 12, math.max(1.2, s.at(job.to) - x), 9, "pass", job.title)
   end
   if #spec.events > 0 then
      c:text(0, 14, "events", "s", "h")
   end
   for i = 1, math.min(MOST_MARKS, #spec.events) do
      local event = spec.events[i]
      c:mark(event.kind.shape, s.at(event.at), 11, 5, event.kind.class, event.title)
      if not known[event.kind.text] then
         known[event.kind.text] = true
         kinds[#kinds + 1] = event.kind
      end
   end
   axis.below(c, s, LEFT, RIGHT, base, "UTC")
   legend(c, kinds, height - 4)
   return c:done("w")
end
