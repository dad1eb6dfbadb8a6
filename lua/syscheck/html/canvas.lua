--- A picture: an SVG to which lines, texts and marks are added. Pure.
--
-- Colours and line widths stand in the page's style (style.lua), by class, so that a picture is the same in light,
-- dark and on paper, and a thousand cells take a thousand times four bytes. Many things of one class are one path.
local element = require("syscheck.html.element")

local canvas = {}
canvas.__index = canvas

local tag, number = element.tag, element.number

--- The width of a picture that takes the page's whole width, in its own units (pixels on a wide screen).
canvas.WIDE = 760

--- @param width, height in its own units
-- @param label what a reader who does not see it is told
function canvas.new(width, height, label)
   return setmetatable({ width = width, height = height, label = label, parts = {} }, canvas)
end

function canvas:add(markup)
   self.parts[#self.parts + 1] = markup
   return self
end

local function titled(title)
   return title and tag("title", nil, title) or nil
end

function canvas:line(x1, y1, x2, y2, class)
   return self:add(tag("path", { class = class,
      d = ("M%s %sL%s %s"):format(number(x1), number(y1), number(x2), number(y2)) }))
end

--- @param anchor "s", "m" or "e": x is its start, its middle, its end
function canvas:text(x, y, text, anchor, class, title)
   local classes = (anchor or "s") .. (class and " " .. class or "")
   return self:add(tag("text", { x = x, y = y, class = classes }, titled(title), text))
end

--- @param d of a path
function canvas:path(d, class, title)
   return d ~= "" and self:add(tag("path", { d = d, class = class }, titled(title))) or self
end

function canvas:rect(x, y, width, height, class, title)
   return self:path(canvas.box(x, y, width, height), class, title)
end

--- A rectangle as part of a path.
function canvas.box(x, y, width, height)
   return ("M%s %sh%sv%sh%sz"):format(number(x), number(y), number(width), number(height), number(-width))
end

--- A round dot as part of a path: a line of no length with round ends.
function canvas.dot(x, y)
   return ("M%s %sh0"):format(number(x), number(y))
end

--- A line through points, as a path.
-- @param points list of { x, y }
function canvas.through(points)
   local parts = {}
   for i, point in ipairs(points) do
      parts[i] = (i == 1 and "M" or "L") .. number(point[1]) .. " " .. number(point[2])
   end
   return table.concat(parts)
end

-- Shapes around a point, of a size: what is told apart by colour is told apart by shape as well.
local SHAPES = {
   circle = function(x, y, r)
      local d, w = number(r), number(2 * r)
      return ("M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 -%s 0z"):format(number(x - r), number(y), d, d, w, d, d, w)
   end,
   triangle = function(x, y, r)
      return ("M%s %sl%s %sh%sz"):format(number(x), number(y - 1.2 * r), number(1.1 * r), number(2 * r),
         number(-2.2 * r))
   end,
   diamond = function(x, y, r)
      return ("M%s %sl%s %sl%s %sl%s %sz"):format(number(x), number(y - 1.3 * r), number(1.3 * r), number(1.3 * r),
         number(-1.3 * r), number(1.3 * r), number(-1.3 * r), number(-1.3 * r))
   end,
   square = function(x, y, r)
      return canvas.box(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r)
   end,
   cross = function(x, y, r)
      return ("M%s %sl%s %sm0 %sl%s %s"):format(number(x - r), number(y - r), number(2 * r), number(2 * r),
         number(-2 * r), number(-2 * r), number(2 * r))
   end,
}

--- A shape as part of a path. @param shape circle, triangle, diamond, square, cross
function canvas.shape(shape, x, y, r)
   return SHAPES[shape](x, y, r)
end

--- One mark with what it says when the pointer is on it.
function canvas:mark(shape, x, y, r, class, title)
   return self:path(canvas.shape(shape, x, y, r), class, title)
end

--- Markup of the picture.
-- @param class of the svg, or nil: "w" may be scrolled sideways on a narrow screen
function canvas:done(class)
   return tag("svg", { viewBox = ("0 0 %s %s"):format(number(self.width), number(self.height)), role = "img",
      ["aria-label"] = self.label, class = class }, self.parts)
end

return canvas
