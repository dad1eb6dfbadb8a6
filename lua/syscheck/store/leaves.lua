--- Leaf switches of nodes (node.leaf), as Slurm's topology has them.
local leaves = {}

local ASKED = "topology " -- of which cluster: a name in table meta
local HOUR = 3600

--- Names of the clusters that have nodes.
function leaves.clusters(store)
   local list = {}
   for row in store:rows("SELECT w.text FROM word w WHERE w.text <> '' AND w.id IN (SELECT cluster FROM node) "
      .. "ORDER BY w.text") do
      list[#list + 1] = row[1]
   end
   return list
end

-- @param at epoch seconds when it was asked last, as text; nil: never
local function is_over(at, now)
   at = tonumber(at)
   return not at or at > now or at + HOUR <= now
end

--- Whether Slurm may be asked for a cluster's topology: once an hour, whatever comes of it and whoever asks.
-- @param now epoch seconds
function leaves.is_due(store, cluster, now)
   local name = ASKED .. cluster
   local row = store:row("SELECT value FROM meta WHERE name = ?", name)
   return is_over(row and row[1], now) and store:transaction(function()
      local at = store:lock()[name]
      if is_over(at, now) then
         store:exec(at and "UPDATE meta SET value = ? WHERE name = ?"
            or "INSERT INTO meta (value, name) VALUES (?, ?)", ("%d"):format(now), name)
         return true
      end
      return false
   end)
end

--- Writes the leaves that are others than before. A node that the topology does not have keeps its own.
-- @param leaf_of { node's name = its leaf's }
-- @return how many
function leaves.write(store, cluster, leaf_of)
   local changed = {}
   for row in store:rows("SELECT n.id, n.name, n.leaf FROM node n JOIN word w ON w.id = n.cluster WHERE w.text = ?",
      cluster) do
      local leaf = leaf_of[row[2]]
      if leaf and leaf ~= row[3] then
         changed[#changed + 1] = { id = row[1], leaf = leaf }
      end
   end
   if changed[1] then
      store:transaction(function()
         store:lock()
         for _, node in ipairs(changed) do
            store:exec("UPDATE node SET leaf = ? WHERE id = ?", node.leaf, node.id)
         end
      end)
   end
   return #changed
end

return leaves
