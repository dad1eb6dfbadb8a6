--- Points and lines over two axes: curves, scatter, stems. Pure.
local axis = require("syscheck.html.axis")
local canvas = require("syscheck.html.canvas")
local scale = require("syscheck.html.scale")

local chart = {}
chart.__index = chart

local LEFT, RIGHT, TOP, BOTTOM = 52, 10, 30, 38
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
      base = height - BOTTOM }, chart)
   self.x = SCALES[spec.x.kind or "linear"](spec.x, self.left, self.right)
   self.y = SCALES[spec.y.kind or "linear"](spec.y, self.base, self.top)
   axis.left(self.c, self.y, self.left, self.right, spec.y.label)
   axis.below(self.c, self.x, self.left, self.right, self.base, spec.x.label)
   return self
end

--- Between two values of y: what is usual.
function chart:band(low, high, title)
   self.c:rect(self.left, self.y.at(high), self.right - self.left, math.max(1, self.y.at(low) - self.y.at(high)), "band",
      title)
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

--- A line at a value of x, or of y, and what it is.
function chart:vertical(x, text)
   local at = self.x.at(x)
   self.c:path(("M%.1f %.1fV%.1f"):format(at, self.top - 4, self.base), "r")
   local right = at > (self.left + self.right) / 2
   self.c:text(at + (right and -5 or 5), self.top + 4, text, right and "e" or "s")
   return self
end

function chart:horizontal(y, text)
   local at = self.y.at(y)
   self.c:path(("M%.1f %.1fH%.1f"):format(self.left, at, self.right), "r")
   self.c:text(self.right, at - 5, text, "e")
   return self
end

--- Text beside a point.
function chart:note(x, y, text, class)
   local at = self.x.at(x)
   local right = at > self.right - #text * axis.CHAR - 12
   self.c:text(at + (right and -9 or 9), self.y.at(y) + 4, text, right and "e" or "s", class)
   return self
end

function chart:done(class)
   return self.c:done(class or (self.c.width > 400 and "w" or nil))
end

return chart
