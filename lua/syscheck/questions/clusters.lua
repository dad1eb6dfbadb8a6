--- Nodes of several clusters, as people mean them. Pure.
local clusters = {}

--- A node of no known cluster is the one of its name where just one cluster has it: until ingest
-- has moved its records (store/clusters.lua) they are read from both.
-- @param list of { key, name, cluster }
-- @return the list without such; the nodes that they are have `also`, the key of theirs
function clusters.united(list)
   local homes, out = {}, {}
   for _, node in ipairs(list) do
      if (node.cluster or "") ~= "" then
         homes[node.name] = homes[node.name] or {}
         table.insert(homes[node.name], node)
      end
   end
   for _, node in ipairs(list) do
      local of = homes[node.name] or {}
      if (node.cluster or "") == "" and #of == 1 then
         of[1].also = node.key
      else
         out[#out + 1] = node
      end
   end
   return out
end

--- A statement that begins with `X.node = ?`, and its values: of a node or, where it has `also`, of both.
-- @param ... values of its other marks
-- @return what store:rows takes
function clusters.asked(text, node, ...)
   if node.also then
      return text:gsub("%.node = %?", ".node IN (?, ?)"), node.key, node.also, ...
   end
   return text, node.key, ...
end

return clusters
