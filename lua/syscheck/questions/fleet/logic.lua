--- A fleet by class and metric: slowest, fastest, spread, which nodes are out of it. Pure.
local fields = require("syscheck.catalogue.fields")
local statistics = require("syscheck.lib.statistics")

local fleet = {}

-- The rule by which a baseline drops nodes, see verdict/learning.lua: so many standard deviations from
-- the median, and by more than some %; both ways, as too fast is odd as well.
local SPREADS = 4
local LEAST_PCT = 3
--- Among fewer nodes none is out.
fleet.MIN_NODES = 5

--- What is compared: what checks and `syscheck fabric` measured, and a node's links at the end of its last job.
fleet.FIELDS = table.move({ fields.JOB_BY_NAME.link_rate_gbps, fields.JOB_BY_NAME.link_ports }, 1, 2,
   #fields.MEASURED + 1, table.move(fields.MEASURED, 1, #fields.MEASURED, 1, {}))

-- Noise is itself in %, and half a % on a quiet node is nothing.
local function floor_of(field, median)
   return math.max(LEAST_PCT / 100 * math.abs(median), field.unit == "%" and 1 or 0)
end

local function one(field, list)
   table.sort(list, function(a, b)
      if a.value ~= b.value then
         return a.value < b.value
      end
      return a.node < b.node
   end)
   local values = {}
   for i, item in ipairs(list) do
      values[i] = item.value
   end
   local median, scaled = statistics.robust(values)
   local room = math.max(SPREADS * scaled, floor_of(field, median))
   local out, low, high = {}, nil, nil
   for _, item in ipairs(list) do
      if #list >= fleet.MIN_NODES and math.abs(item.value - median) > room then
         out[#out + 1] = { node = item.node, key = item.key, value = item.value, time = item.time, status = item.status,
            pct = median ~= 0 and 100 * (item.value / median - 1) or nil,
            worse = (item.value < median) == (field.better == "higher") }
      else
         low, high = low or item.value, item.value
      end
   end
   local higher = field.better == "higher"
   local first, final = list[1], list[#list]
   -- (max - min) of what is faster, in %; of healthy nodes alone as well.
   local function range(a, b)
      return b and b ~= 0 and 100 * (b - a) / b or nil
   end
   return { field = field, nodes = #list, median = median, room = room, out = out,
      slowest = higher and first or final, fastest = higher and final or first,
      spread_pct = range(first.value, final.value), rest_pct = low and range(low, high) or nil }
end

--- @param nodes list of { node, key (in the store), class, values = { name = { value, time, status } } }
-- @return list of { class, nodes, metrics = { { field, nodes, median, room (beyond it a node is
--   out), slowest, fastest (each { node, value, time, status }), spread_pct, rest_pct (without
--   those out), out = { { node, key, value, pct (of the median), time, status, worse } } } } }
function fleet.compare(nodes)
   local classes, names = {}, {}
   for _, node in ipairs(nodes) do
      local class = node.class or "?"
      if not classes[class] then
         classes[class] = { class = class, nodes = 0, lists = {} }
         names[#names + 1] = class
      end
      local c = classes[class]
      c.nodes = c.nodes + 1
      for name, v in pairs(node.values) do
         c.lists[name] = c.lists[name] or {}
         table.insert(c.lists[name], { node = node.node, key = node.key, value = v.value, time = v.time,
            status = v.status })
      end
   end
   table.sort(names)
   local answer = {}
   for i, name in ipairs(names) do
      local c = classes[name]
      answer[i] = { class = name, nodes = c.nodes, metrics = {} }
      for _, field in ipairs(fleet.FIELDS) do
         -- Throttle events since the last look are no measurement of a fleet; what peers do is in a share.
         if c.lists[field.name] and field.unit ~= "count" and not field.usual then
            table.insert(answer[i].metrics, one(field, c.lists[field.name]))
         end
      end
   end
   return answer
end

return fleet
