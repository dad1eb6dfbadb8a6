--- A matrix of values, each in its cell, darker where it is worse: NUMA node to NUMA node. Pure.
local canvas = require("syscheck.html.canvas")

local LEFT, TOP, FOOT = 58, 40, 4
local NARROW, HALF = 360, 8 -- half a page, and so many columns fit into it
local SMALL = 16 -- more rows have narrow cells without texts

-- Darkest is the worst; all alike where they differ by less than this share, which is no pattern.
local LEAST = 0.03
local SHADES = 5

local function shade(value, low, high, higher)
   if high - low < LEAST * high then
      return "s1"
   end
   local share = (value - low) / (high - low)
   share = higher and 1 - share or share
   return "s" .. math.min(SHADES, math.floor(share * SHADES) + 1)
end

--- @param spec { label, title, rows and columns = texts, row, column (what they are), cells = list of rows of values or
--   false, show = function(value) -> text, unit, higher = true where more is better }
-- @return markup
return function(spec)
   local n = math.max(1, #spec.columns)
   local size = n <= HALF and math.min(64, (NARROW - LEFT - 8) / n) or math.max(6, (canvas.WIDE - LEFT - 8) / n)
   local high = math.min(size, 30)
   local c = canvas.new(math.max(NARROW, LEFT + n * size + 8), TOP + #spec.rows * high + FOOT, spec.label)
   local low, most = math.huge, -math.huge
   for _, row in ipairs(spec.cells) do
      for _, value in ipairs(row) do
         if value then
            low, most = math.min(low, value), math.max(most, value)
         end
      end
   end
   c:text(0, 13, spec.title, "s", "h")
   c:text(c.width, 13, spec.unit, "e", "q")
   c:text(LEFT - 8, TOP - 6, spec.corner or "from \\ to", "e", "q")
   local every = math.max(1, math.ceil(22 / size))
   for k, text in ipairs(spec.columns) do
      if (k - 1) % every == 0 then
         c:text(LEFT + (k - 0.5) * size, TOP - 6, text, "m", "q")
      end
   end
   for i, row in ipairs(spec.cells) do
      local y = TOP + (i - 1) * high
      if (i - 1) % every == 0 then
         c:text(LEFT - 8, y + high / 2 + 4, spec.rows[i], "e", "q")
      end
      for k, value in ipairs(row) do
         local x = LEFT + (k - 1) * size
         local class = value and shade(value, low, most, spec.higher) or "none"
         c:rect(x, y, size - 1, high - 1, class, value and ("%s to %s: %s %s"):format(spec.rows[i], spec.columns[k],
            spec.show(value), spec.unit) or nil)
         if n <= SMALL and value then
            c:text(x + size / 2, y + high / 2 + 4, spec.show(value), "m", class .. "t")
         end
      end
   end
   return c:done(c.width > NARROW and "w" or nil)
end
