--- A store for a test, in a file of its own, as prepared.lua is a node's.
local json = require("cjson").new()
local record = require("syscheck.store.record")
local store = require("syscheck.store.store")
local writer = require("syscheck.store.writer")

local own = { db = nil }
local path
local ids = 0

function own.setUp()
   path = os.tmpname()
   os.remove(path)
   own.db = assert(store.open(path, { write = true, create = true, lazy = true }))
end

function own.tearDown()
   own.db:close()
   for _, suffix in ipairs({ "", "-wal", "-shm" }) do
      os.remove(path .. suffix)
   end
end

--- A record as ingest reads it from a line.
-- @param r what it says beside version, ID and cluster; a time in epoch seconds
function own.record(r)
   ids = ids + 1
   local full = { v = 1, cluster = "c", id = ("%08x%024x"):format(ids * 2654435761 % 4294967296, ids) }
   for name, value in pairs(r) do
      full[name] = value
   end
   full.time = os.date("!%Y-%m-%dT%H:%M:%SZ", r.time)
   return assert(record.read(json.encode(full)))
end

--- Writes records of own.record, as one ingest.
-- @param notices of notices.open, or nil
function own.write(list, notices)
   writer.new(own.db, notices):write({ rows = list, files = {} })
end

--- Names of suspects, sorted.
-- @param list of questions/suspects/read's find
function own.names(list)
   local out = {}
   for i, one in ipairs(list) do
      out[i] = one.name
   end
   table.sort(out)
   return out
end

return own
