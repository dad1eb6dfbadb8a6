--- The tables, and the way from each version of them to the next.
-- docs/store.md says what the columns mean.
local fields = require("syscheck.catalogue.fields")
local views = require("syscheck.store.views")

local schema = {}

schema.VERSION = 3

local function columns(list)
   local out = {}
   for i, field in ipairs(list) do
      out[i] = field.name .. " $number"
   end
   return table.concat(out, ", ")
end

-- $type is the driver's, see TYPES there.
local FIRST = {
   "CREATE TABLE IF NOT EXISTS word (id $int PRIMARY KEY, text $word NOT NULL UNIQUE, private $int NOT NULL)",
   "CREATE TABLE IF NOT EXISTS node (id $int PRIMARY KEY, cluster $int NOT NULL, name $word NOT NULL, class $int, "
      .. "seen_s $number, leaf $word, UNIQUE (cluster, name))",
   "CREATE TABLE IF NOT EXISTS run (id $int PRIMARY KEY, cluster $int NOT NULL, job_id $number NOT NULL, "
      .. "restart $number, array_job_id $number, array_task_id $number, het_job_id $number, "
      .. "het_offset $number, batch $number, user $int, name $int, "
      .. "account $int, partition $int, nodes $number, seen $number NOT NULL, begin_s $number, end_s $number, "
      .. "elapsed_s $number, nodelist $number)",
   "CREATE INDEX IF NOT EXISTS run_job ON run (job_id)",
   "CREATE INDEX IF NOT EXISTS run_array ON run (array_job_id, array_task_id) WHERE array_job_id IS NOT NULL",
   "CREATE INDEX IF NOT EXISTS run_het ON run (het_job_id, het_offset) WHERE het_job_id IS NOT NULL",
   "CREATE INDEX IF NOT EXISTS run_like ON run (user, name, nodes)",
   "CREATE INDEX IF NOT EXISTS run_name ON run (name)",
   "CREATE TABLE IF NOT EXISTS job_node (key $key, id $id NOT NULL, node $int NOT NULL, run $int NOT NULL, "
      .. "check_key $big, begin_s $number, elapsed_s $number, class $int, config $int, boot $int, "
      .. "policy $int, baseline $int, "
      .. columns(fields.JOB) .. ", detail $text)",
   "CREATE INDEX IF NOT EXISTS job_node_node ON job_node (node, key)",
   "CREATE INDEX IF NOT EXISTS job_node_run ON job_node (run)",
   "CREATE TABLE IF NOT EXISTS check_node (key $key, id $id NOT NULL, node $int NOT NULL, run $int, "
      .. "trigger $int, level $int, asked $int, status $int, action $int, class $int, config $int, boot $int, "
      .. "policy $int, baseline $int, lesson $int, "
      .. columns(fields.CHECK) .. ", text $text, detail $text)",
   "CREATE INDEX IF NOT EXISTS check_node_node ON check_node (node, key)",
   "CREATE INDEX IF NOT EXISTS check_node_run ON check_node (run)",
   "CREATE TABLE IF NOT EXISTS config (id $int PRIMARY KEY, text $text NOT NULL)",
   "CREATE TABLE IF NOT EXISTS loss (key $key, id $id NOT NULL, node $int NOT NULL, boot $int, records $number, "
      .. "bytes $number, reason $int)",
   "CREATE INDEX IF NOT EXISTS loss_node ON loss (node, key)",
   "CREATE TABLE IF NOT EXISTS file (path $word PRIMARY KEY, inode $number, head $word, offset $number NOT NULL, "
      .. "lines $number NOT NULL, size $number NOT NULL, bad $number NOT NULL, time_s $number NOT NULL)",
   "CREATE INDEX IF NOT EXISTS file_head ON file (head)",
}

local FABRIC = {
   "CREATE TABLE IF NOT EXISTS fabric_node (key $key, id $id NOT NULL, node $int NOT NULL, boot $int, class $int, "
      .. "status $int, action $int, lesson $int, " .. columns(fields.FABRIC) .. ", text $text, detail $text)",
   "CREATE INDEX IF NOT EXISTS fabric_node_node ON fabric_node (node, key)",
}

-- The newest of each node's checks in each of `slot`s, see writer.lua.
local NOISE = {
   "CREATE TABLE IF NOT EXISTS noise_node (key $key, id $id NOT NULL, node $int NOT NULL, boot $int, class $int, "
      .. "slot $int NOT NULL, detail $text, without $text)",
   "CREATE INDEX IF NOT EXISTS noise_node_node ON noise_node (node, slot)",
}

-- [n]: from version n to n + 1, in one transaction (MariaDB commits each statement).
local MIGRATIONS = {
   [0] = FIRST,
   [1] = FABRIC,
   [2] = NOISE,
}

local META = "CREATE TABLE IF NOT EXISTS meta (name $word PRIMARY KEY, value $word)"

local function run_all(store, list)
   for _, text in ipairs(list) do
      text = text:gsub("%$(%l+)", store.driver.TYPES)
      if text:find("^CREATE INDEX") and store.driver.WHOLE_INDEXES then
         text = text:gsub(" WHERE .*$", "")
      end
      store:exec(text .. (text:find("^CREATE TABLE") and store.driver.TABLE_END or ""))
   end
end

-- @return number; nil where there is no store yet
local function version(store)
   local done, row = pcall(store.row, store, "SELECT value FROM meta WHERE name = 'schema_version'")
   if done then
      return row and tonumber(row[1]) or 0
   elseif tostring(row):find("not a store of syscheck", 1, true) then
      return nil
   end
   error(row, 0)
end

local function migrate(store)
   store:transaction(function()
      -- The lock of every writer: a writer that waited for it may find the work done.
      local row = store:row("SELECT value FROM meta WHERE name = 'schema_version'" .. store.driver.LOCK)
      local from = tonumber(row[1])
      for v = from, schema.VERSION - 1 do
         run_all(store, MIGRATIONS[v])
      end
      if from < schema.VERSION then
         store:exec("UPDATE meta SET value = ? WHERE name = 'schema_version'", tostring(schema.VERSION))
      end
   end)
end

-- Several may do this at a time, and MariaDB commits each CREATE by itself.
local function make(store)
   local done, err
   for _ = 1, 3 do
      done, err = pcall(store.transaction, store, function()
         run_all(store, { META })
         for _, row in ipairs({ { "schema_version", "0" }, { "batches", "0" }, { "generation", "0" } }) do
            if not store:row("SELECT value FROM meta WHERE name = ?", row[1]) then
               store:exec("INSERT INTO meta (name, value) VALUES (?, ?)", row[1], row[2])
            end
         end
      end)
      if done then
         return
      end
   end
   error(err, 0)
end

--- Makes a table that only some stores have, where it is absent. Several may do this at a time.
-- @param list statements, each for what may be there already
function schema.add_table(store, list)
   if not pcall(store.transaction, store, function() run_all(store, list) end) then
      store:transaction(function()
         run_all(store, list)
      end)
   end
end

-- Whether a table has these columns. Qualified: SQLite takes a quoted name that it does not
-- know for a text.
local function has(store, name, list)
   local text = ("SELECT t.%s FROM %s t LIMIT 0"):format(table.concat(list, ", t."), name)
   local done, failure = pcall(store.row, store, text)
   if done then
      return true
   end
   -- The server's words are in its own language; the column's name is in them.
   for _, column in ipairs(list) do
      if tostring(failure):find("t." .. column, 1, true) then
         return false
      end
   end
   error(failure, 0)
end

-- Columns that may be younger than a store; numbers, where TYPE says nothing else.
local YOUNGER = { job_node = { "boot", "policy", "baseline" }, check_node = { "boot", "policy", "baseline", "lesson" },
   fabric_node = { "lesson" }, loss = { "boot" },
   run = { "batch", "elapsed_s", "nodelist" }, node = { "leaf" } }
local TYPE = { boot = "$int", policy = "$int", baseline = "$int", lesson = "$int", leaf = "$word" }
for name, list in pairs({ job_node = fields.JOB, check_node = fields.CHECK, fabric_node = fields.FABRIC }) do
   for _, field in ipairs(list) do
      table.insert(YOUNGER[name], field.name)
   end
end

-- Their names in one order for every process: two that lock tables in different ones block each other.
local TABLES = {}
for name in pairs(YOUNGER) do
   TABLES[#TABLES + 1] = name
end
table.sort(TABLES)

-- Those that this store lacks: { statement that adds it, name } each.
local function lacking(store)
   local out = {}
   for _, name in ipairs(TABLES) do
      local names = YOUNGER[name]
      for _, column in ipairs(has(store, name, names) and {} or names) do
         out[#out + 1] = not has(store, name, { column })
            and { ("ALTER TABLE %s ADD COLUMN %s %s"):format(name, column, TYPE[column] or "$number"), column } or nil
      end
   end
   return out
end

local TRIES = 3 -- that do not get on

-- Of several that do this at a time all but one fail, and find it done: once, or, where a database cannot undo what
-- changes a table, at each column.
local function add_columns(store)
   local left, tries = math.huge, 0
   repeat
      local list = {}
      for i, one in ipairs(lacking(store)) do
         list[i] = one[1]
      end
      local done, err = pcall(store.transaction, store, function()
         run_all(store, list)
      end)
      tries = #list < left and 1 or tries + 1
      left = math.min(left, #list)
      if not done and tries == TRIES then
         error(err, 0)
      end
   until done
end

--- The smallest key of a record from a time on: keys of job_node, check_node, noise_node, fabric_node and loss are the
-- record's time, and 30 bits of its id.
-- @param epoch seconds, whole
function schema.key(epoch)
   return math.tointeger(epoch) << 30
end

--- Makes the tables and views, brings them up to date, or says why not.
-- @param options { write, create }
-- @return nil when the store can be used, else one line
function schema.check(store, options)
   local found = version(store)
   if not found and not options.create then
      return "not a store of syscheck" .. (options.write and "" or "; syscheck ingest makes one")
   elseif found and found > schema.VERSION then
      return ("version %d, made by a newer syscheck; this one reads %d"):format(found, schema.VERSION)
   elseif (found or 0) < schema.VERSION and not options.write then
      return ("version %d, this syscheck reads %d; syscheck ingest brings it up to date"):format(found, schema.VERSION)
   elseif (found or 0) < schema.VERSION then
      make(store)
      migrate(store)
   end
   local first = lacking(store)[1]
   if first and not options.write then
      return ("has no column %s yet; syscheck ingest brings it up to date"):format(first[2])
   elseif first then
      add_columns(store)
   end
   if options.write then
      views.make(store)
   end
end

return schema
