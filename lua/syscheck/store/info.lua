--- What a store holds.
local schema = require("syscheck.store.schema")

local info = {}

-- Epoch seconds of a table's first or last row.
local function edge(store, name, order)
   local row = store:row(("SELECT %s FROM %s ORDER BY key %s LIMIT 1"):format(store.driver.KEY_OUT:format("key"), name,
      order))
   return row and math.tointeger(tonumber(row[1])) >> 30
end

--- @return { kind, store, version, bytes, oldest_s, newest_s, jobs, checks, fabric, losses, runs, nodes, words, files }
function info.of(store)
   local out = { kind = store.driver.kind, store = store.shown, version = schema.VERSION,
      bytes = store.driver.size(store) }
   for name, from in pairs({ jobs = "job_node", checks = "check_node", fabric = "fabric_node", losses = "loss",
      runs = "run", nodes = "node", words = "word", files = "file" }) do
      out[name] = store:row("SELECT COUNT(*) FROM " .. from)[1]
   end
   for _, name in ipairs({ "job_node", "check_node", "fabric_node" }) do
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
