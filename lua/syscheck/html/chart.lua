--- Points and lines over two axes: curves, scatter, stems. Pure.
local axis = require("syscheck.html.axis")
local canvas = require("syscheck.html.canvas")
local scale = require("syscheck.html.scale")

local chart = {}
chart.__index = chart

local LEFT, RIGHT, TOP, BOTTOM = 60, 10, 30, 38
local LINE = 13 -- height of a text
local SCALES = {
   linear = function(s, from, to) return scale.linear(s.low, s.high, from, to, s.count) end,
   exact = function(s, from, to) return scale.linear(s.low, s.high, from, to, s.count, true) end,
   log = function(s, from, to) return scale.log(s.low, s.high, from, to) end,
   log2 = function(s, from, to) return scale.log2(s.low, s.high, from, to, s.show, s.count) end,
   time = function(s, from, to) return scale.time(s.low, s.high, from, to, s.count) end,
}

--- @param spec { label (what is told who does not see it), width, height, x and y = { low, high, kind = linear, exact,
--   log, log2 or time, label, show, count } }
function chart.new(spec)
   local width, height = spec.width or canvas.WIDE, spec.height or 240
   local self = setmetatable({ c = canvas.new(width, height, spec.label), left = LEFT, right = width - RIGHT, top = TOP,
      base = height - BOTTOM, taken = {}, lines = {} }, chart)
   self.x = SCALES[spec.x.kind or "linear"](spec.x, self.left, self.right)
   self.y = SCALES[spec.y.kind or "linear"](spec.y, self.base, self.top)
   axis.left(self.c, self.y, self.left, self.right, spec.y.label)
   self.taken[1] = spec.y.label and { 0, self.top - 10, #spec.y.label * axis.CHAR }
   axis.below(self.c, self.x, self.left, self.right, self.base, spec.x.label)
   return self
end

--- Between two values of y: what is usual.
function chart:band(low, high, title)
   local top = self.y.at(high)
   self.c:rect(self.left, top, self.right - self.left, math.max(1, self.y.at(low) - top), "band", title)
   return self
end

--- @param points list of { x, y }
function chart:line(points, class)
   local placed = {}
   for i, point in ipairs(points) do
      placed[i] = { self.x.at(point[1]), self.y.at(point[2]) }
   end
   self.c:path(canvas.through(placed), class or "l")
   return self
end

--- Many points, as one path.
function chart:dots(points, class)
   local parts = {}
   for i, point in ipairs(points) do
      parts[i] = canvas.dot(self.x.at(point[1]), self.y.at(point[2]))
   end
   self.c:path(table.concat(parts), class or "d")
   return self
end

--- Points that say what they are when the pointer is on them.
-- @param points list of { x, y, title }
function chart:marks(points, shape, class, size)
   for _, point in ipairs(points) do
      self.c:mark(shape, self.x.at(point[1]), self.y.at(point[2]), size or 4, class, point[3])
   end
   return self
end

--- Lines from the base up to points.
function chart:stems(points, class)
   local parts = {}
   for i, point in ipairs(points) do
      parts[i] = ("M%.1f %.1fV%.1f"):format(self.x.at(point[1]), self.base, self.y.at(point[2]))
   end
   self.c:path(table.concat(parts), class or "stem")
   return self
end

-- Whether a text would cover another one, or a line, or leave the picture; if not its place is taken.
local function take(self, x, y, width)
   if x < 0 or x + width > self.c.width or y > self.base - 3 or y < LINE then
      return false
   end
   for _, line in ipairs(self.lines) do
      if math.abs(y - 4 - line) < LINE / 2 then
         return false
      end
   end
   for _, one in ipairs(self.taken) do
      if x < one[1] + one[3] and one[1] < x + width and math.abs(y - one[2]) < LINE then
         return false
      end
   end
   table.insert(self.taken, { x, y, width })
   return true
end

-- Places around a point at which its text may stand: side, and how far from it.
local PLACES = { { "m", 0, -10 }, { "s", 9, 4 }, { "e", -9, 4 }, { "s", 7, -8 }, { "e", -7, -8 }, { "s", 7, 16 },
   { "e", -7, 16 } }

--- Text beside a point, where there is room for it; else it is left out: its mark says it, too.
function chart:note(x, y, text, class)
   local width = (utf8.len(text) or #text) * axis.CHAR
   for _, place in ipairs(PLACES) do
      local px, py = self.x.at(x) + place[2], self.y.at(y) + place[3]
      local from = place[1] == "s" and px or place[1] == "e" and px - width or px - width / 2
      if take(self, from, py, width) then
         self.c:text(px, py, text, place[1], class)
         break
      end
   end
   return self
end

--- A line at a value of x, or of y, and what it is (of y: or nil).
function chart:vertical(x, text)
   local at = self.x.at(x)
   self.c:path(("M%.1f %.1fV%.1f"):format(at, self.top - 4, self.base), "r")
   return self:note(x, self.y.high, text)
end

function chart:horizontal(y, text)
   local at, width = self.y.at(y), text and #text * axis.CHAR
   self.c:path(("M%.1f %.1fH%.1f"):format(self.left, at, self.right), "r")
   self.lines[#self.lines + 1] = at
   if text then
      table.insert(self.taken, { self.right - width, at - 5, width })
      self.c:text(self.right, at - 5, text, "e")
   end
   return self
end

function chart:done(class)
   return self.c:done(class or (self.c.width > 400 and "w" or nil))
end

return chart
