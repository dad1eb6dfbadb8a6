--- Records without a cluster, as health checks once were, are of the node of that name whose cluster
-- is known: of the only one, or of the one that had the same boot. What neither decides stays.
local files = require("syscheck.lib.files")

local clusters = {}

local TABLES = { "job_node", "check_node", "noise_node", "fabric_node", "loss" }

-- Which rows are meant: a node's, of one boot or of all. @return end of a statement, its values
local function rows_of(node, boot)
   if boot then
      return " WHERE node = ? AND boot = ?", node.id, boot
   end
   return " WHERE node = ?", node.id
end

-- Values of a column in such rows, each once.
local function values(store, column, names, where, ...)
   local out, seen = {}, {}
   for _, name in ipairs(names) do
      for t in store:rows(("SELECT DISTINCT %s FROM %s"):format(column, name) .. where, ...) do
         if t[1] and not seen[t[1]] then
            seen[t[1]], out[#out + 1] = true, t[1]
         end
      end
   end
   return out
end

local function has_rows(store, where, ...)
   for _, name in ipairs(TABLES) do
      if store:row(("SELECT node FROM %s%s LIMIT 1"):format(name, where), ...) then
         return true
      end
   end
   return false
end

-- Runs go along with their rows, unless their job has runs in that cluster already.
local SAME_JOB = "SELECT r.id FROM run r WHERE r.job_id = ? AND r.cluster = ? LIMIT 1"

local function move_runs(store, from, to, boot)
   for _, id in ipairs(values(store, "run", { "job_node", "check_node" }, rows_of(from, boot))) do
      local run = store:row("SELECT r.cluster, r.job_id FROM run r WHERE r.id = ?", id)
      if run and run[1] == from.cluster and not store:row(SAME_JOB, run[2], to.cluster) then
         store:exec("UPDATE run SET cluster = ? WHERE id = ?", to.cluster, id)
      end
   end
end

local function move(store, from, to, boot)
   store:transaction(function()
      -- An ingest that runs beside this one may know where the node is: it forgets that.
      store:exec("UPDATE meta SET value = ? WHERE name = 'generation'", files.random_id(8))
      move_runs(store, from, to, boot)
      local where = rows_of(from, boot)
      for _, name in ipairs(TABLES) do
         store:exec(("UPDATE %s SET node = ?"):format(name) .. where, to.id, select(2, rows_of(from, boot)))
      end
      if not boot and from.seen_s > to.seen_s then
         store:exec("UPDATE node SET class = ?, seen_s = ? WHERE id = ?", from.class or to.class, from.seen_s, to.id)
      end
      if not has_rows(store, rows_of(from)) then
         store:exec("DELETE FROM node WHERE id = ?", from.id)
      end
   end)
end

-- Of several clusters' nodes that of the same boot.
local function move_by_boot(store, from, homes)
   for _, boot in ipairs(values(store, "boot", TABLES, rows_of(from))) do
      local home, count = nil, 0
      for _, one in ipairs(homes) do
         if has_rows(store, rows_of(one, boot)) then
            home, count = one, count + 1
         end
      end
      if count == 1 then
         move(store, from, home, boot)
      end
   end
end

--- Moves what records without a cluster left, a transaction for each node.
-- @param store opened for writing
function clusters.unite(store)
   local none = store:row("SELECT w.id FROM word w WHERE w.text = ''")
   if not none then
      return
   end
   local of, without = {}, {}
   for t in store:rows("SELECT n.id, n.cluster, n.name, n.class, n.seen_s FROM node n ORDER BY n.id") do
      local node = { id = t[1], cluster = t[2], name = t[3], class = t[4], seen_s = t[5] or 0 }
      if node.cluster == none[1] then
         without[#without + 1] = node
      else
         of[node.name] = of[node.name] or {}
         table.insert(of[node.name], node)
      end
   end
   for _, node in ipairs(without) do
      local homes = of[node.name] or {}
      if #homes == 1 then
         move(store, node, homes[1])
      elseif #homes > 1 then
         move_by_boot(store, node, homes)
      end
   end
end

return clusters
