--- A map of nodes and metrics: how far each value is from its peers'. Pure.
--
-- Nodes stand beside each other in bands, metrics below each other, so that a thousand nodes fit on a screen. A
-- cell's colour is its distance from the median, in the distance from which a node is out; what is out has a dot as
-- well, full where it is worse, open where it is better. Cells of one colour are one path.
local axis = require("syscheck.html.axis")
local canvas = require("syscheck.html.canvas")
local element = require("syscheck.html.element")

local heat = {}

local LABELS = 176 -- width of the metrics' names
local MOST_A_BAND = 100
local CELL_WIDE, CELL_HIGH, HEAD, GAP = 16, 15, 15, 9
local FEW, FEW_WIDE, FEW_CHARS = 8, 72, 8
local NAME_CHARS = 12

--- Steps of the colours: a distance from here on, its class, what it is called.
heat.STEPS = { { 1, "w3", "out, worse" }, { 0.5, "w2", "worse" }, { 0.25, "w1", "" }, { -0.25, "h0", "usual" },
   { -0.5, "b1", "" }, { -1, "b2", "better" }, { -math.huge, "b3", "out, better" } }

--- Class of a distance: 1 or more is out; positive is worse.
function heat.class(distance)
   for _, step in ipairs(heat.STEPS) do
      if distance >= step[1] and distance > -1 or step[1] == -math.huge then
         return step[2]
      end
   end
end

local function legend(c, y)
   local x = LABELS
   for _, step in ipairs(heat.STEPS) do
      c:rect(x, y, 14, 12, step[2])
      if step[2] == "w3" or step[2] == "b3" then
         c:mark("circle", x + 7, y + 6, 2, step[2] == "w3" and "o" or "ring")
      end
      x = x + 16
      if step[3] ~= "" then
         c:text(x + 2, y + 10, step[3], "s", "q")
         x = x + 10 + #step[3] * axis.CHAR
      end
   end
   c:rect(x, y, 14, 12, "none")
   c:text(x + 18, y + 10, "not measured", "s", "q")
end

--- @param spec { label, metrics = list of texts, nodes = list of { name, title, levels = { [metric] = distance } } }
-- @return markup of a picture as wide as the page
function heat.draw(spec)
   local a_band = math.min(MOST_A_BAND, math.max(1, #spec.nodes))
   local wide = #spec.nodes <= FEW and FEW_WIDE or math.min(CELL_WIDE, (canvas.WIDE - LABELS) / a_band)
   local bands = math.ceil(#spec.nodes / a_band)
   local high = HEAD + #spec.metrics * CELL_HIGH + GAP
   local c = canvas.new(canvas.WIDE, bands * high + 18, spec.label)
   local paths, full, open, covers = {}, {}, {}, {}
   local every = math.max(1, math.ceil((NAME_CHARS * axis.CHAR * 0.7) / wide))
   local chars = #spec.nodes <= FEW and FEW_CHARS or NAME_CHARS
   for band = 1, bands do
      local top = (band - 1) * high + HEAD
      for k, label in ipairs(spec.metrics) do
         c:text(LABELS - 8, top + (k - 1) * CELL_HIGH + 11, label, "e", "q")
      end
      for i = 1, math.min(a_band, #spec.nodes - (band - 1) * a_band) do
         local node, x = spec.nodes[(band - 1) * a_band + i], LABELS + (i - 1) * wide
         local name = (i - 1) % every == 0 and element.name(node.name, chars)
         if name and (x + #name * axis.CHAR < c.width or i == 1) then
            c:text(x, top - 4, name, "s", "q")
         end
         for k = 1, #spec.metrics do
            local level, y = node.levels[k], top + (k - 1) * CELL_HIGH
            local class = level and heat.class(level) or "none"
            paths[class] = paths[class] or {}
            table.insert(paths[class], canvas.box(x, y, wide - 0.6, CELL_HIGH - 0.6))
            if class == "w3" or class == "b3" then
               table.insert(class == "w3" and full or open,
                  canvas.shape("circle", x + wide / 2, y + CELL_HIGH / 2, math.min(2.5, wide / 3)))
            end
         end
         covers[#covers + 1] = element.tag("rect", { class = "x", x = x, y = top, width = wide - 0.6,
            height = #spec.metrics * CELL_HIGH - 0.6 }, element.tag("title", nil, node.title))
      end
   end
   for _, class in ipairs({ "none", "h0", "w1", "w2", "w3", "b1", "b2", "b3" }) do
      c:path(table.concat(paths[class] or {}), class)
   end
   c:path(table.concat(full), "o")
   c:path(table.concat(open), "ring")
   for _, cover in ipairs(covers) do
      c:add(cover)
   end
   legend(c, bands * high + 3)
   return c:done("w")
end

return heat
