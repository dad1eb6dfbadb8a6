--- How many records nodes lost, since ever: what prune removes stays counted, so that the number never goes down.
local lost = {}

local PRUNED = "lost "
local SUMS = "SELECT n.cluster, SUM(l.records) FROM loss l JOIN node n ON n.id = l.node%s GROUP BY n.cluster"

--- Adds what is about to be removed, in the transaction that does it.
-- @param edge key below which reports of losses go
function lost.keep(store, edge)
   local sums = {}
   for t in store:rows(SUMS:format(" WHERE l.key < " .. store.driver.KEY_IN), edge) do
      sums[t[1]] = t[2] or 0
   end
   for cluster, sum in pairs(sums) do
      local name = ("%s%d"):format(PRUNED, cluster)
      local before = store:row("SELECT value FROM meta WHERE name = ?", name)
      store:exec(before and "UPDATE meta SET value = ? WHERE name = ?"
         or "INSERT INTO meta (value, name) VALUES (?, ?)",
         ("%.0f"):format(sum + (before and tonumber(before[1]) or 0)), name)
   end
end

--- @return { cluster (its word) = records }; of a cluster that lost none nothing
function lost.totals(store)
   local out = {}
   for t in store:rows(SUMS:format("")) do
      out[t[1]] = t[2]
   end
   for t in store:rows("SELECT m.name, m.value FROM meta m WHERE m.name LIKE 'lost %'") do
      local cluster = math.tointeger(tonumber(t[1]:sub(#PRUNED + 1)))
      if cluster then
         out[cluster] = (out[cluster] or 0) + (tonumber(t[2]) or 0)
      end
   end
   return out
end

return lost
