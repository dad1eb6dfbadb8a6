--- A strip a node over time. Pure.
local axis = require("syscheck.html.axis")
local canvas = require("syscheck.html.canvas")
local element = require("syscheck.html.element")
local scale = require("syscheck.html.scale")

local LABELS = 132
local NAME_CHARS = 19

-- Height of a lane, by how many there are.
local function height_of(lanes)
   return lanes <= 12 and 20 or lanes <= 40 and 15 or lanes <= 128 and 9 or 5
end

--- @param spec { label, from, to (epoch seconds), lanes = list of { name, title, spans = list of { from, to, class,
--   title, share (of the lane's height, default 1) }, marks = list of { at, shape, class, title } } }
-- @return markup of a picture as wide as the page
return function(spec)
   local high = height_of(#spec.lanes)
   local base = #spec.lanes * high + 6
   local c = canvas.new(canvas.WIDE, base + 38, spec.label)
   local right = canvas.WIDE - 10
   local s = scale.time(spec.from, spec.to, LABELS, right)
   local every = math.ceil(11 / high)
   for _, tick in ipairs(s.ticks) do
      c:line(tick.at, 0, tick.at, base, "g")
   end
   local full = high - math.min(4, high / 4)
   for i, lane in ipairs(spec.lanes) do
      local y = (i - 1) * high + 4
      if (i - 1) % every == 0 then
         c:text(LABELS - 8, y + high / 2 + 3, element.name(lane.name, NAME_CHARS), "e", "q")
      end
      local paths, order = {}, {}
      for _, span in ipairs(lane.spans or {}) do
         local x = s.at(span.from)
         local tall = full * (span.share or 1)
         local d = canvas.box(x, y + (full - tall) / 2, math.max(1.5, s.at(span.to) - x), tall)
         if span.title then
            c:path(d, span.class, span.title)
         else
            if not paths[span.class] then
               order[#order + 1], paths[span.class] = span.class, {}
            end
            table.insert(paths[span.class], d)
         end
      end
      for _, class in ipairs(order) do
         c:path(table.concat(paths[class]), class, lane.title)
      end
      for _, mark in ipairs(lane.marks or {}) do
         c:mark(mark.shape, s.at(mark.at), y + full / 2, math.min(4.5, high / 2.2), mark.class, mark.title)
      end
   end
   axis.below(c, s, LABELS, right, base, "UTC")
   return c:done("w")
end
