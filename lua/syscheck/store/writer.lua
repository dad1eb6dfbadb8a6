--- Writes batches of records into a store: each in one transaction with how far the files
-- they came from are read. A batch that was written and is given again changes nothing.
local cache = require("syscheck.store.cache")
local fields = require("syscheck.catalogue.fields")
local record = require("syscheck.store.record")
local rows = require("syscheck.store.rows")
local runs = require("syscheck.store.runs")
local schema = require("syscheck.store.schema")

local writer = {}
writer.__index = writer

local WORDS, NODES, RUNS, CHECKS = 20000, 20000, 20000, 20000 -- kept in memory, at least
local SEEN_S = 86400 -- a node's row says this well when it was seen last
local ENDED = 1024 -- of a run's records, kept in memory; of a larger one the store is asked
local LATE_S = 86400 -- a record is written so long after its run, at most
local CHECK_S = 86400 -- a check is looked for this long before its job's begin

local RUN_NUMBERS = { "restart", "array_job_id", "array_task_id", "het_job_id", "het_offset", "nodes" }
local RUN_WORDS = { "user", "name", "account", "partition" }
local RUN_COLUMNS = { "id", "cluster", "job_id", "restart", "array_job_id", "array_task_id", "het_job_id", "het_offset",
   "batch", "nodes", "user", "name", "account", "partition", "seen", "begin_s", "end_s" }

local function names(list, first, last)
   local out = { table.unpack(first) }
   for _, field in ipairs(list) do
      out[#out + 1] = field.name
   end
   for _, name in ipairs(last) do
      out[#out + 1] = name
   end
   return out
end

local JOB_FIRST = { "key", "id", "node", "run", "check_key", "begin_s", "elapsed_s", "class", "config", "boot" }
local CHECK_FIRST = { "key", "id", "node", "run", "class", "config", "boot", "trigger", "level", "asked", "status",
   "action" }
assert(#JOB_FIRST == record.JOB_BASE and #CHECK_FIRST == record.CHECK_BASE)
local JOB_COLUMNS = names(fields.JOB, JOB_FIRST, { "detail" })
local CHECK_COLUMNS = names(fields.CHECK, CHECK_FIRST, { "text", "detail" })

--- @param store opened for writing
function writer.new(store)
   local driver = store.driver
   local set = {}
   for i = 2, #RUN_COLUMNS do
      set[#set + 1] = RUN_COLUMNS[i] .. " = ?"
   end
   return setmetatable({
      store = store,
      words = cache.new(WORDS), -- text -> id and how private it is
      nodes = cache.new(NODES), -- cluster and name -> { id, class, seen_s }
      runs = cache.new(RUNS), -- cluster and job -> list of runs
      checks = cache.new(CHECKS), -- id of a check -> its key
      configs = cache.new(WORDS),
      job = rows.new(store, "job_node", JOB_COLUMNS),
      check = rows.new(store, "check_node", CHECK_COLUMNS),
      loss = rows.new(store, "loss", { "key", "id", "node", "boot", "records", "bytes", "reason" }),
      meta = "SELECT name, value FROM meta" .. driver.LOCK,
      find_run = ("SELECT %s FROM run WHERE job_id = ? AND cluster = ?"):format(table.concat(RUN_COLUMNS, ", ")),
      new_run = ("INSERT INTO run (%s) VALUES (%s)"):format(table.concat(RUN_COLUMNS, ", "),
         ("?, "):rep(#RUN_COLUMNS - 1) .. "?"),
      set_run = ("UPDATE run SET %s WHERE id = ?"):format(table.concat(set, ", ")),
      find_job = ("SELECT %s, key >> 30 FROM job_node WHERE node = ? AND key >= %s AND key < %s AND run = ?"):format(
         driver.ID_OUT:format("id"), driver.KEY_IN, driver.KEY_IN),
      find_check = ("SELECT %s FROM check_node WHERE node = ? AND key >= %s AND key < %s AND id = %s"):format(
         driver.KEY_OUT:format("key"), driver.KEY_IN, driver.KEY_IN, driver.ID_IN),
   }, writer)
end

-- Locks out other writers, and forgets what they may have changed.
local function lock(self)
   local meta = {}
   for row in self.store:rows(self.meta) do
      meta[row[1]] = row[2]
   end
   if meta.schema_version ~= tostring(schema.VERSION) then
      error(("version %s, made by a newer syscheck; this one writes %d"):format(meta.schema_version, schema.VERSION), 0)
   end
   if self.failed or meta.batches ~= self.batches or meta.generation ~= self.generation then
      self.runs:clear()
      self.next = {}
   end
   if self.failed or meta.generation ~= self.generation then
      for _, name in ipairs({ "words", "nodes", "checks", "configs" }) do
         self[name]:clear()
      end
   end
   self.failed = true -- until committed
   self.batches, self.generation = ("%d"):format((tonumber(meta.batches) or 0) + 1), meta.generation
   self.dirty, self.moved = {}, {}
   for _, name in ipairs({ "job", "check", "loss" }) do
      self[name]:clear()
   end
end

-- A new row's id in a table: nobody else makes any meanwhile.
local function next_id(self, name)
   local id = self.next[name]
   if not id then
      local row = self.store:row(("SELECT MAX(id) FROM %s"):format(name))
      id = (row and row[1] or 0) + 1
   end
   self.next[name] = id + 1
   return id
end

-- What a word gives away: nothing about anybody; who somebody is; what a job is called. In
-- PostgreSQL a user need not see others' (docs/store.md), and prune removes names of jobs
-- that are gone.
local PUBLIC, PERSON, JOB_NAME = 0, 1, 2

-- @param private one of these; the least private use of a word counts
-- @return id of a text; nil for nil
local function word(self, text, private)
   if text == nil then
      return nil
   end
   private = private or PUBLIC
   local known = self.words:get(text)
   if not known then
      local row = self.store:row("SELECT id, private FROM word WHERE text = ?", text)
      if row then
         known = row[1] << 2 | row[2]
      else
         local id = next_id(self, "word")
         self.store:exec("INSERT INTO word (id, text, private) VALUES (?, ?, ?)", id, text, private)
         known = id << 2 | private
      end
      self.words:put(text, known)
   end
   if known & 3 > private then
      known = known & ~3 | private
      self.store:exec("UPDATE word SET private = ? WHERE id = ?", private, known >> 2)
      self.words:put(text, known)
   end
   return known >> 2
end

local function node_of(self, row, cluster, class)
   local name = cluster .. "\0" .. row.node
   local node = self.nodes:get(name)
   if not node then
      local found = self.store:row("SELECT id, class, seen_s FROM node WHERE cluster = ? AND name = ?", cluster,
         row.node)
      if found then
         node = { id = found[1], class = found[2], seen_s = found[3] }
      else
         node = { id = next_id(self, "node"), class = class, seen_s = row.time_s }
         self.store:exec("INSERT INTO node (id, cluster, name, class, seen_s) VALUES (?, ?, ?, ?, ?)", node.id, cluster,
            row.node, class, row.time_s)
      end
      self.nodes:put(name, node)
   end
   if row.time_s >= node.seen_s and ((class and class ~= node.class) or row.time_s >= node.seen_s + SEEN_S) then
      node.class, node.seen_s = class or node.class, row.time_s
      self.store:exec("UPDATE node SET class = ?, seen_s = ? WHERE id = ?", node.class, node.seen_s, node.id)
   end
   return node.id
end

local function config_of(self, row)
   if not row.config then
      return nil
   end
   local id = word(self, row.config)
   if not self.configs:get(id) then
      self.configs:put(id, true)
      local text = record.settings(row)
      if text and not self.store:row("SELECT id FROM config WHERE id = ?", id) then
         self.store:exec("INSERT INTO config (id, text) VALUES (?, ?)", id, text)
      end
   end
   return id
end

-- Runs of a job, from the store where they are not known here.
local function runs_of(self, cluster, job_id)
   local name = cluster << 40 | job_id
   local list = self.runs:get(name)
   if not list then
      list = {}
      for row in self.store:rows(self.find_run, job_id, cluster) do
         local run = {}
         for i, column in ipairs(RUN_COLUMNS) do
            run[column] = row[i]
         end
         list[#list + 1] = run
      end
      self.runs:put(name, list)
   end
   return list
end

-- Two runs are one after all: a record spans both.
local function merge(self, list, run, parts)
   for _, part in ipairs(parts) do
      runs.identify(run, part)
      runs.widen(run, part, RUN_NUMBERS)
      runs.widen(run, part, RUN_WORDS)
      run.seen, run.ended = run.seen + part.seen, nil
      for i, other in ipairs(list) do
         if other == part then
            table.remove(list, i)
            break
         end
      end
      self.dirty[part] = nil
      self.moved[part.id] = run
      if not part.new then
         self.store:exec("DELETE FROM run WHERE id = ?", part.id)
      end
   end
   self.dirty[run] = true
end

local RUN_PRIVATE = { user = PERSON, name = JOB_NAME, account = PERSON }

-- A node's job record in a run. @return { id, time_s }, or nil
local function record_in(self, run, node)
   if run.ended then
      return run.ended[node]
   end
   self.job:flush() -- some of its nodes came before this process
   local found = self.store:row(self.find_job, node, ("%d"):format(schema.key(math.floor(run.begin_s))),
      ("%d"):format(schema.key(math.floor(run.end_s) + LATE_S)), run.id)
   return found and { id = found[1], time_s = found[2] }
end

-- Whether a record cannot be of a run, as that has another job record of its node; a check comes before it.
local function is_another(self, run, node, row)
   local known = record_in(self, run, node)
   return known ~= nil and (row.kind == "job" and known.id ~= row.id
      or row.kind == "check" and known.time_s < row.time_s)
end

-- Whether two runs have records of one node: then they are two.
local function share_a_node(self, run, part)
   self.job:flush()
   return self.store:row("SELECT a.node FROM job_node a, job_node b WHERE a.run = ? AND b.run = ? AND b.node = a.node "
      .. "LIMIT 1", run.id, part.id) ~= nil
end

local function run_of(self, cluster, node, row)
   local job = row.job
   local list = runs_of(self, cluster, job.id)
   job.user_id = word(self, job.user, PERSON)
   local run, parts = runs.find(list, job, function(one)
      return is_another(self, one, node, row)
   end)
   for i = #(parts or {}), 1, -1 do
      if share_a_node(self, run, parts[i]) then
         table.remove(parts, i)
      end
   end
   if not run then
      run = { id = next_id(self, "run"), cluster = cluster, job_id = job.id, seen = 0, begin_s = job.begin_s,
         end_s = job.end_s, ended = {}, new = true }
      list[#list + 1] = run
      self.dirty[run] = true
   elseif parts and parts[1] then
      merge(self, list, run, parts)
   end
   local batch = run.batch
   runs.identify(run, job)
   if runs.widen(run, job, RUN_NUMBERS) or run.batch ~= batch then
      self.dirty[run] = true
   end
   for i = 1, #RUN_WORDS do
      local name = RUN_WORDS[i]
      if run[name] == nil and job[name] ~= nil then
         run[name] = word(self, job[name], RUN_PRIVATE[name])
         self.dirty[run] = true
      end
   end
   return run
end

-- Key of the check that a job's record names.
local function check_of(self, row, node)
   local id = row.check_id
   if not id then
      return nil
   end
   local key = self.checks:get(id)
   if key then
      return ("%d"):format(key)
   elseif #id == 32 then
      self.check:flush()
      local from = (row.begin_s or row.time_s) - CHECK_S
      local found = self.store:row(self.find_check, node, ("%d"):format(schema.key(from)),
         ("%d"):format(schema.key(row.time_s + 1)), self.store.driver.id(id))
      return found and found[1]
   end
end

local PUT = {}

function PUT.job(self, row, node, class, config, cluster)
   local run = run_of(self, cluster, node, row)
   local v = row.values
   v[3], v[4], v[5], v[6], v[7] = node, run.id, check_of(self, row, node), row.begin_s, row.elapsed_s
   v[8], v[9], v[10] = class, config, word(self, row.boot)
   v[#JOB_COLUMNS] = row.detail
   local key = self.job:put(row, v)
   if key then
      run.seen = run.seen + 1
      run.ended = run.seen <= ENDED and run.ended or nil
      if run.ended then
         run.ended[node] = { id = row.id, time_s = row.time_s }
      end
      self.dirty[run] = true
   end
   return key
end

function PUT.check(self, row, node, class, config, cluster)
   local run = row.job and run_of(self, cluster, node, row).id
   local v = row.values
   v[3], v[4], v[5], v[6], v[7], v[8] = node, run, class, config, word(self, row.boot), word(self, row.trigger)
   v[9], v[10], v[11], v[12] = word(self, row.level), word(self, row.asked), word(self, row.status),
      word(self, row.action)
   v[#CHECK_COLUMNS - 1], v[#CHECK_COLUMNS] = row.text, row.detail
   local key, known = self.check:put(row, v)
   self.checks:put(row.id, key or known)
   return key
end

function PUT.loss(self, row, node)
   return self.loss:put(row, { 0, 0, node, word(self, row.boot), row.records, row.bytes, word(self, row.reason) })
end

local function put(self, row)
   local cluster, class = word(self, row.cluster), word(self, row.class)
   local node = node_of(self, row, cluster, class)
   return PUT[row.kind](self, row, node, class, config_of(self, row), cluster)
end

local function write_runs(self)
   for run in pairs(self.dirty) do
      local values = {}
      for i, column in ipairs(RUN_COLUMNS) do
         values[i] = run[column]
      end
      local n = #RUN_COLUMNS
      if run.new then
         self.store:exec(self.new_run, table.unpack(values, 1, n))
         run.new = nil
      else
         values[n + 1] = run.id
         self.store:exec(self.set_run, table.unpack(values, 2, n + 1))
      end
   end
   for from, to in pairs(self.moved) do
      while self.moved[to.id] do
         to = self.moved[to.id]
      end
      self.store:exec("UPDATE job_node SET run = ? WHERE run = ?", to.id, from)
      self.store:exec("UPDATE check_node SET run = ? WHERE run = ?", to.id, from)
   end
end

local function write_files(self, list)
   for _, file in ipairs(list) do
      local values = { file.inode, file.head, file.offset, file.lines, file.size, file.bad, os.time(), file.path }
      if self.store:exec("UPDATE file SET inode = ?, head = ?, offset = ?, lines = ?, size = ?, bad = ?, time_s = ? "
         .. "WHERE path = ?", table.unpack(values, 1, 8)) == 0
         and not self.store:row("SELECT offset FROM file WHERE path = ?", file.path) then
         self.store:exec("INSERT INTO file (inode, head, offset, lines, size, bad, time_s, path) "
            .. "VALUES (?, ?, ?, ?, ?, ?, ?, ?)", table.unpack(values, 1, 8))
      end
   end
end

--- Writes a batch: all of it, or nothing (then it raises).
-- @param batch { rows = from record.read, files = list of { path, inode, head, offset,
--   lines, size, bad } }
-- @return how many rows were new
function writer:write(batch)
   local new = self.store:transaction(function()
      lock(self)
      local count = 0
      for _, row in ipairs(batch.rows) do
         if put(self, row) then
            count = count + 1
         end
      end
      self.check:flush()
      self.job:flush()
      self.loss:flush()
      write_runs(self)
      write_files(self, batch.files)
      self.store:exec("UPDATE meta SET value = ? WHERE name = 'batches'", self.batches)
      return count
   end)
   self.failed = false
   return new
end

return writer
