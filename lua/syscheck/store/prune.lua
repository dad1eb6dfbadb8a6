--- Removes what is old, in small transactions with room for ingest between them.
local uv = require("luv")
local disk = require("syscheck.lib.files")
local elapsed = require("syscheck.store.elapsed")
local ids = require("syscheck.store.ids")
local lost = require("syscheck.store.lost")
local schema = require("syscheck.store.schema")

local prune = {}

local BATCH = 5000 -- rows a transaction
local PAUSE_MS = 20

-- An ingest that runs may know of what goes: from the same moment it does not.
local function forget(store)
   store:exec("UPDATE meta SET value = ? WHERE name = 'generation'", disk.random_id(8))
end

-- A transaction, and room for ingest.
local function one(store, work)
   local count = store:transaction(work)
   uv.sleep(PAUSE_MS)
   return count
end

-- Deletes job records below a key. Runs that have some beyond the limit get another time; no ingest adds to
-- them meanwhile.
local function delete_jobs(store, edge, limit)
   local key = store.driver.KEY_IN
   -- DISTINCT would have SQLite look through the index of all runs.
   local cut = ("SELECT a.run FROM job_node a WHERE a.key < %s "
      .. "AND EXISTS (SELECT 1 FROM job_node b WHERE b.run = a.run AND b.key >= %s)"):format(key, key)
   return one(store, function()
      store:lock()
      local list = {}
      for row in store:rows(cut, edge, limit) do
         list[row[1]] = true
      end
      if next(list) then
         forget(store)
      end
      local count = store:exec(("DELETE FROM job_node WHERE key < %s"):format(key), edge)
      for run in pairs(list) do
         elapsed.renew(store, run)
      end
      return count
   end)
end

local function delete_losses(store, edge)
   return one(store, function()
      store:lock()
      lost.keep(store, edge)
      return store:exec(("DELETE FROM loss WHERE key < %s"):format(store.driver.KEY_IN), edge)
   end)
end

-- Rows of a table below a key, oldest first.
-- @param say function(done, total), of the time that the rows are of; or nil
local function by_key(store, name, limit, say)
   local driver, total = store.driver, 0
   local edge = ("SELECT %s FROM %s WHERE key < %s ORDER BY key LIMIT 1 OFFSET %d"):format(driver.KEY_OUT:format("key"),
      name, driver.KEY_IN, BATCH)
   local remove = ("DELETE FROM %s WHERE key < %s"):format(name, driver.KEY_IN)
   local first
   while true do
      local row = store:row(edge, limit)
      local to = row and row[1] or limit
      first = first or tonumber(to)
      if say then
         say(tonumber(to) - first, tonumber(limit) - first)
      end
      total = total + (name == "job_node" and delete_jobs(store, to, limit)
         or name == "loss" and delete_losses(store, to) or one(store, function()
         return store:exec(remove, to)
      end))
      if not row then
         return total
      end
   end
end

-- Rows of a table that nothing refers to any more, by ranges of their id.
local function orphans(store, name, say, condition, ...)
   local total = 0
   local bounds = store:row(("SELECT MIN(id), MAX(id) FROM %s"):format(name))
   local from, last = bounds and bounds[1], bounds and bounds[2]
   local first = from
   while from and from <= last do
      if say then
         say(from - first, last - first + 1)
      end
      local where = (" FROM %s WHERE id >= ? AND id < ? AND "):format(name) .. condition
      if store:row("SELECT MIN(id)" .. where, from, from + BATCH, ...)[1] then
         local values = { from, from + BATCH, ... }
         total = total + one(store, function()
            forget(store)
            return store:exec("DELETE" .. where, table.unpack(values))
         end)
      end
      from = from + BATCH
   end
   return total
end

local function files(store)
   local gone = {}
   for row in store:rows("SELECT path FROM file") do
      gone[#gone + 1] = not uv.fs_lstat(row[1]) and row[1] or nil
   end
   for _, path in ipairs(gone) do
      store:exec("DELETE FROM file WHERE path = ?", path)
   end
   return #gone
end

--- Removes what ended before a time. Positions of files are kept as long as the files
-- are there: they must not be read again.
-- @param before_s epoch seconds
-- @param say function(what, done, total) is told how far it is, or nil
-- @return { jobs, checks, noise, fabric, losses, runs, words, files }: how many rows went
function prune.before(store, before_s, say)
   local function of(what)
      return say and function(done, total)
         say(what, done, total)
      end
   end
   local limit = ("%d"):format(schema.key(before_s))
   local count = {
      jobs = by_key(store, "job_node", limit, of("job records")),
      checks = by_key(store, "check_node", limit, of("checks")),
      noise = by_key(store, "noise_node", limit),
      fabric = by_key(store, "fabric_node", limit, of("fabric records")),
      losses = by_key(store, "loss", limit),
   }
   count.runs = orphans(store, "run", of("runs"), "end_s < ? "
      .. "AND NOT EXISTS (SELECT 1 FROM job_node WHERE job_node.run = run.id) "
      .. "AND NOT EXISTS (SELECT 1 FROM check_node WHERE check_node.run = run.id)", before_s)
   -- The rest of the words are few: classes, levels, accounts.
   count.words = orphans(store, "word", of("names"), "private = ? "
      .. "AND NOT EXISTS (SELECT 1 FROM run WHERE run.name = word.id)", ids.JOB_NAME)
   count.files = files(store)
   return count
end

return prune
