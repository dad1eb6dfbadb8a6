--- Between the nodes: what the newest run of `syscheck fabric` found of each, since when. Pure.
local finding = require("syscheck.questions.finding")

local fabric = {}
fabric.__index = fabric

function fabric.new()
   return setmetatable({ nodes = {} }, fabric)
end

--- A node in one run; runs of a node come in order of time.
-- @param node any key
-- @param run { time, class, status, values = { name = value }, findings = of finding.all,
--   is_over = function(f) -> true: this run, which does not find it, says that it is over }
function fabric:add(node, run)
   local one = self.nodes[node] or { open = {} }
   self.nodes[node] = one
   one.open, one.time = finding.follow(one.open, run), run.time
   if next(run.values) and run.class ~= one.class then
      one.class, one.values = run.class, nil -- other links are another quantity
   end
   for name, value in pairs(run.values) do
      one.values = one.values or {}
      one.values[name] = { value = value, time = run.time, status = run.status }
   end
end

--- @return { time, class, values = { name = the newest { value, time, status } }, open = of finding.follow }, or nil
function fabric:of(node)
   return self.nodes[node]
end

--- What stands of some nodes, each fault once: a leaf's is found at each of its nodes, a pair's at both.
-- @param nodes list of { name, of = from of() }
-- @return list of { nodes = names, own, leaf, text, since, last, runs }, nodes' own first, then the oldest
function fabric.standing(nodes)
   local by, list = {}, {}
   for _, node in ipairs(nodes) do
      for key, one in pairs(node.of.open) do
         local place = one.f.own and key .. " " .. node.name or key
         local known = by[place]
         if not known then
            known = { nodes = {}, own = one.f.own, leaf = one.f.leaf, since = one.since, last = 0, runs = 0 }
            by[place], list[#list + 1] = known, known
         end
         table.insert(known.nodes, node.name)
         known.since, known.runs = math.min(known.since, one.since), math.max(known.runs, one.runs)
         if one.last > known.last then
            known.last, known.text = one.last, one.text
         end
      end
   end
   table.sort(list, function(a, b)
      if a.own ~= b.own then
         return a.own
      elseif a.since ~= b.since then
         return a.since < b.since
      end
      return a.text < b.text
   end)
   return list
end

return fabric
