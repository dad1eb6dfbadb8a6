--- Pictures of memory: bandwidth against threads, from NUMA node to NUMA node. What they are given was printed by
-- programs: what is not of its type is not drawn. Pure.
local chart = require("syscheck.html.chart")
local matrix = require("syscheck.html.matrix")
local page = require("syscheck.html.page")

local memory = {}

local TABLE = 1024

local function number(value)
   return type(value) == "number" and value == value and math.abs(value) < 1e300 and value or nil
end

--- A kernel's list as points { x, y }, both positive numbers, in order of x.
function memory.points(list, x, y)
   local out = {}
   for _, one in ipairs(type(list) == "table" and list or {}) do
      local a, b = type(one) == "table" and number(one[x]), type(one) == "table" and number(one[y])
      if a and b and a > 0 and b > 0 then
         out[#out + 1] = { a, b, one }
      end
   end
   table.sort(out, function(p, q)
      return p[1] < q[1]
   end)
   return out
end

--- Points as rows of a table.
function memory.rows(points, form_x, form_y)
   local rows = {}
   for i, point in ipairs(points) do
      rows[i] = { form_x:format(point[1]), form_y:format(point[2]) }
   end
   return rows
end

-- A list of { from, to, value } as a matrix; nil for none.
local function matrix_of(list, name)
   local index, nodes, cells = {}, {}, {}
   for _, one in ipairs(type(list) == "table" and list or {}) do
      for _, key in ipairs({ "from", "to" }) do
         local node = type(one) == "table" and math.tointeger(one[key])
         if node and not index[node] then
            index[node] = true
            nodes[#nodes + 1] = node
         end
      end
   end
   table.sort(nodes)
   local texts = {}
   for i, node in ipairs(nodes) do
      index[node], texts[i], cells[i] = i, ("%d"):format(node), {}
      for k = 1, #nodes do
         cells[i][k] = false
      end
   end
   for _, one in ipairs(#nodes > 0 and list or {}) do
      local from = type(one) == "table" and math.tointeger(one.from)
      local to = type(one) == "table" and math.tointeger(one.to)
      local i, k = from and index[from], to and index[to]
      if i and k then
         cells[i][k] = number(one[name]) or false
      end
   end
   return #nodes > 0 and { texts = texts, cells = cells } or nil
end

--- @param r of the kernel numa, or nil
function memory.numa(r)
   local pictures, rows, of, widest = {}, {}, {}, 0
   for _, kind in ipairs({ { "latency", "ns", "latency", "ns", "%.0f", false },
      { "bandwidth", "gbs", "bandwidth", "GB/s", "%.1f", true } }) do
      local m = r and matrix_of(r[kind[1]], kind[2])
      if m then
         of[#of + 1], widest = kind[3], math.max(widest, #m.texts)
         pictures[#pictures + 1] = matrix({ label = ("NUMA %s from node to node, %s"):format(kind[3], kind[4]),
            title = kind[3], rows = m.texts, columns = m.texts, cells = m.cells, unit = kind[4], higher = kind[6],
            show = function(value)
               return kind[5]:format(value)
            end })
         for i, from in ipairs(m.texts) do
            for k, to in ipairs(m.texts) do
               local value = m.cells[i][k]
               rows[#rows + 1] = { kind[3], from, to, value and kind[5]:format(value) .. " " .. kind[4] }
            end
         end
      end
   end
   return #pictures > 0 and page.section({ title = "Memory from NUMA node to NUMA node: " .. table.concat(of, ", "),
      say = "From a core of a row's node to memory of a column's node; the bluer the worse.", pictures = pictures,
      grid = widest <= 8,
      table = page.table({ "what", "from", "to", "value" }, rows, 3, TABLE) })
end

--- @param r of the kernel scaling, or nil
function memory.scaling(r)
   local compact = r and memory.points(r.compact, "threads", "triad_gbs") or {}
   local spread = r and memory.points(r.spread, "threads", "triad_gbs") or {}
   if #compact < 2 then
      return false
   end
   local high, last = 0, compact[#compact][1]
   for _, list in ipairs({ compact, spread }) do
      for _, point in ipairs(list) do
         high, last = math.max(high, point[2]), math.max(last, point[1])
         point[3] = ("%.0f threads: %.1f GB/s"):format(point[1], point[2])
      end
   end
   local c = chart.new({ label = "Memory bandwidth against threads", height = 250,
      x = { low = 1, high = last, kind = "log2", count = 10, label = "threads", show = function(n)
         return ("%.0f"):format(n)
      end }, y = { low = 0, high = high, label = "triad, GB/s" } })
   local knee, best = number(r.knee_threads), number(r.best_gbs)
   knee = knee and knee < last and knee or nil -- where all threads are needed there is none
   if knee and knee > 0 then
      c:vertical(knee, ("knee at %.0f thread%s"):format(knee, knee == 1 and "" or "s"))
   end
   c:line(compact):marks(compact, "circle", "own", 3.5)
   if #spread > 1 then
      c:line(spread, "l t"):marks(spread, "square", "ink", 3)
   end
   return page.section({ title = best and ("Bandwidth against threads: %.1f GB/s%s"):format(best,
      knee and (", hardly more from %.0f thread%s on"):format(knee, knee == 1 and "" or "s") or "")
         or "Bandwidth against threads",
      say = "Dots: cores filled one NUMA node after another" .. (#spread > 1 and "; squares: spread over all." or "."),
      pictures = { c:done() }, table = page.table({ "threads", "GB/s" }, memory.rows(compact, "%.0f", "%.2f"), 1) })
end

return memory
