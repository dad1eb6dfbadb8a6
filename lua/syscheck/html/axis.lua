--- Axes. Pure.

local axis = {}

local CHAR = 6.9 -- about the width of a character of a tick's text

-- Ticks whose texts do not touch.
local function spaced(ticks)
   local out, last = {}, -math.huge
   for _, tick in ipairs(ticks) do
      local half = #tick.text * CHAR / 2
      if tick.at - half > last then
         out[#out + 1], last = tick, tick.at + half + 6
      end
   end
   return out
end

--- Below a picture: a tick, its text, and on the right of its line what is measured, with its unit.
-- @param c canvas
-- @param s scale
-- @param y coordinate of the axis
-- @param grid y up to which thin lines go, or nil
function axis.below(c, s, from, to, y, label, grid)
   local parts = {}
   for _, tick in ipairs(spaced(s.ticks)) do
      parts[#parts + 1] = ("M%.1f %.1fv4"):format(tick.at, y)
      if grid then
         c:line(tick.at, grid, tick.at, y, "g")
      end
      -- The first and the last text stay within the picture.
      local half = #tick.text * CHAR / 2
      local anchor = tick.at - half < 0 and "s" or tick.at + half > c.width and "e" or "m"
      c:text(anchor == "s" and 0 or anchor == "e" and c.width or tick.at, y + 16, tick.text, anchor, "q")
   end
   c:path(("M%.1f %.1fH%.1f"):format(from, y, to) .. table.concat(parts), "a")
   if label then
      c:text(to, y + 31, label, "e", "q")
   end
end

--- At the left: texts at thin lines across the picture; what is measured stands above it.
function axis.left(c, s, x, to, label)
   local top = math.huge
   for _, tick in ipairs(s.ticks) do
      c:line(x, tick.at, to, tick.at, "g")
      c:text(x - 6, tick.at + 4, tick.text, "e", "q")
      top = math.min(top, tick.at)
   end
   if label then
      c:text(0, math.min(top, s.at(s.high)) - 10, label, "s", "q")
   end
end

axis.CHAR = CHAR

return axis
