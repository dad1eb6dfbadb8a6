--- How the values of one metric are spread over nodes: a dot for each node, those that are out by shape and name. Pure.
local axis = require("syscheck.html.axis")
local canvas = require("syscheck.html.canvas")
local element = require("syscheck.html.element")
local scale = require("syscheck.html.scale")
local statistics = require("syscheck.lib.statistics")

local WIDTH, HEIGHT = 360, 90
local LEFT, RIGHT, BASE = 8, 352, 70 -- of the dots
local ROOM = 34 -- height of the highest stack
local BIN = 5
local DOTS = 400 -- more nodes are bars
local NAMED, NAME_CHARS = 3, 16 -- of those that are out
-- A healthy fleet's own scatter is no mountain range: the axis spans this share of the median.
local LEAST = 0.10

local function ends(values, median, extra, span)
   local low, high = math.huge, -math.huge
   for _, one in ipairs(values) do
      low, high = math.min(low, one.value), math.max(high, one.value)
   end
   low, high = math.min(low, extra or low), math.max(high, extra or high)
   local least = math.max(LEAST * math.abs(median), span or 0)
   if high - low < least then
      local positive = low >= 0
      low, high = (low + high - least) / 2, (low + high + least) / 2
      if positive and low < 0 then
         low, high = 0, least
      end
   end
   return low, high
end

-- Dots in stacks, or bars where there are too many: one path.
local function stacked(values, s)
   local bins, most = {}, 0
   for _, one in ipairs(values) do
      local i = math.floor((s.at(one.value) - LEFT) / BIN)
      bins[i] = (bins[i] or 0) + 1
      most = math.max(most, bins[i])
   end
   local as_bars = #values > DOTS
   local step = as_bars and ROOM / most or math.min(BIN, ROOM / most)
   local order, parts = {}, {}
   for i in pairs(bins) do
      order[#order + 1] = i
   end
   table.sort(order)
   for _, i in ipairs(order) do
      local x = LEFT + i * BIN
      if as_bars then
         parts[#parts + 1] = canvas.box(x, BASE, BIN - 0.6, -bins[i] * step)
      else
         for k = 1, bins[i] do
            parts[#parts + 1] = canvas.dot(x + BIN / 2, BASE - 3 - (k - 1) * step)
         end
      end
   end
   return table.concat(parts), as_bars and "f" or "d"
end

-- Texts of what is marked, beside each other above the dots.
local function names(c, marked)
   local last = -math.huge
   for _, one in ipairs(marked) do
      local text = element.name(one.text, NAME_CHARS)
      local half = (utf8.len(text) or #text) * axis.CHAR / 2
      local x = math.max(half, math.min(WIDTH - half, one.x))
      if x - half > last then
         c:text(x, BASE - ROOM - 4, text, "m", one.class)
         last = x + half + 4
      end
   end
end

--- @param spec { label, unit (of the axis), per (what a value is divided by to be in it, default 1), show =
--   function(value) -> text with its unit, values = list of { name, value, out = "worse" | "better" | nil }, marked =
-- name of the node that the page is about, or nil, limit = value or nil, span =
--   what the axis covers at least }
-- @return markup of a picture that is half a page wide
return function(spec)
   local list = {}
   for i, one in ipairs(spec.values) do
      list[i] = one.value
   end
   local median = statistics.median(list)
   local c = canvas.new(WIDTH, HEIGHT, ("%s of %d nodes, median %s"):format(spec.label, #list, spec.show(median)))
   local low, high = ends(spec.values, median, spec.limit, spec.span)
   local per = spec.per or 1
   local s = scale.linear(low / per, high / per, LEFT, RIGHT, 5)
   local placed = s.at
   s.at = function(value)
      return placed(value / per)
   end
   local usual, special = {}, {}
   for _, one in ipairs(spec.values) do
      local is = spec.marked ~= nil and one.name == spec.marked
      table.insert((one.out or is) and special or usual, one)
      one.is = is or nil
   end
   table.sort(special, function(a, b)
      if a.value ~= b.value then
         return a.value < b.value
      end
      return a.name < b.name
   end)
   local right = ("median %s, %d nodes"):format(spec.show(median), #list)
   local unit = spec.unit and spec.unit ~= "" and ", " .. spec.unit or ""
   -- The median has it, too.
   local fits = (#spec.label + #unit + #right + 2) * axis.CHAR <= WIDTH
   c:text(0, 13, spec.label .. (fits and unit or ""), "s", "h")
   c:text(WIDTH, 13, right, "e", "q")
   axis.below(c, s, LEFT, RIGHT, BASE, nil)
   local d, class = stacked(usual, s)
   c:path(d, class)
   c:line(s.at(median), BASE - ROOM, s.at(median), BASE, "m")
   if spec.limit then
      c:path(("M%s %sv%d"):format(element.number(s.at(spec.limit)), element.number(BASE - ROOM), ROOM), "r",
         "limit " .. spec.show(spec.limit))
   end
   local marked = {}
   for _, one in ipairs(special) do
      local x = s.at(one.value)
      local title = ("%s: %s"):format(element.name(one.name), spec.show(one.value))
      local kind = one.out == "worse" and "bad" or one.out == "better" and "odd" or "own"
      c:mark(one.out == "worse" and "triangle" or one.out == "better" and "circle" or "diamond", x, BASE - 7, 5, kind,
         title)
      if one.is or #special <= NAMED then
         marked[#marked + 1] = { text = one.name, x = x, class = one.is and "h" or nil }
      end
   end
   if #marked == 0 and #special > NAMED then
      marked[1] = { text = ("%d are out"):format(#special), x = s.at(special[1].value) }
   end
   names(c, marked)
   return c:done()
end
