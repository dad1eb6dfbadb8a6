--- What a store holds.
local uv = require("luv")
local schema = require("syscheck.store.schema")

local info = {}

local SIZE = {
   sqlite = function(store)
      local total = 0
      for _, suffix in ipairs({ "", "-wal" }) do
         local stat = uv.fs_stat(store.path .. suffix)
         total = total + (stat and stat.size or 0)
      end
      return total
   end,
   postgresql = function(store)
      return store:row("SELECT CAST(pg_database_size(current_database()) AS double precision)")[1]
   end,
   mariadb = function(store)
      local row = store:row("SELECT SUM(DATA_LENGTH + INDEX_LENGTH) + 0e0 FROM information_schema.tables "
         .. "WHERE TABLE_SCHEMA = DATABASE()")
      return row and row[1]
   end,
}

-- Epoch seconds of a table's first or last row.
local function edge(store, name, order)
   local row = store:row(("SELECT %s FROM %s ORDER BY key %s LIMIT 1"):format(store.driver.KEY_OUT:format("key"), name,
      order))
   return row and math.tointeger(tonumber(row[1])) >> 30
end

--- @return { kind, store, version, bytes, oldest_s, newest_s, jobs, checks, losses, runs, nodes, words, files }
function info.of(store)
   local out = { kind = store.kind, store = store.shown, version = schema.VERSION, bytes = SIZE[store.kind](store) }
   for name, from in pairs({ jobs = "job_node", checks = "check_node", losses = "loss", runs = "run", nodes = "node",
      words = "word", files = "file" }) do
      out[name] = store:row("SELECT COUNT(*) FROM " .. from)[1]
   end
   for _, name in ipairs({ "job_node", "check_node" }) do
      local oldest, newest = edge(store, name, "ASC"), edge(store, name, "DESC")
      out.oldest_s = math.min(oldest or math.huge, out.oldest_s or math.huge)
      out.newest_s = math.max(newest or 0, out.newest_s or 0)
   end
   if out.newest_s == 0 then
      out.oldest_s, out.newest_s = nil, nil
   end
   return out
end

return info
