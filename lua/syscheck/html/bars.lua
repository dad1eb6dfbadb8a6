--- Bars beside each other, each with its text: shares of a whole, or a value beside what is usual. Pure.
local axis = require("syscheck.html.axis")
local canvas = require("syscheck.html.canvas")
local element = require("syscheck.html.element")

local LABELS, HIGH = 250, 24
local LABEL_CHARS = 35

local SHAPES = { "diamond", "circle", "square" }

--- @param spec { label, rows = list of { label, share (0 to 1: length of the bar), text (behind it), class, title,
--   marks = list of { share, shape = 1, 2 or 3, title } }, marks = texts of these shapes, or nil }
-- @return markup of a picture as wide as the page
return function(spec)
   local c = canvas.new(canvas.WIDE, #spec.rows * HIGH + (spec.marks and 22 or 4), spec.label)
   local room = canvas.WIDE - LABELS - 150
   for i, row in ipairs(spec.rows) do
      local y = (i - 1) * HIGH + 4
      local width = math.max(1, row.share * room)
      c:text(LABELS - 10, y + 13, element.name(row.label, LABEL_CHARS), "e", nil, row.title)
      c:rect(LABELS, y + 2, width, HIGH - 9, row.class or "band", row.title)
      local last = LABELS + width
      for _, mark in ipairs(row.marks or {}) do
         local x = LABELS + mark.share * room
         last = math.max(last, x + 4)
         c:mark(SHAPES[mark.shape], x, y + 2 + (HIGH - 9) / 2, 4, "ring", mark.title)
      end
      c:text(last + 8, y + 13, row.text, "s", "q")
   end
   local x = LABELS
   for i, text in ipairs(spec.marks or {}) do
      c:mark(SHAPES[i], x + 5, #spec.rows * HIGH + 12, 4, "ring")
      c:text(x + 14, #spec.rows * HIGH + 16, text, "s", "q")
      x = x + 30 + #text * axis.CHAR
   end
   return c:done("w")
end
