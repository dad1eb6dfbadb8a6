--- Table run in the batches of the writer: which run a record is of, and what its records say of a run.
local cache = require("syscheck.store.cache")
local elapsed = require("syscheck.store.elapsed")
local ids = require("syscheck.store.ids")
local runs = require("syscheck.store.runs")
local schema = require("syscheck.store.schema")

local runrows = {}
runrows.__index = runrows

local RUNS = 20000 -- kept in memory, at least
local ENDED = 1024 -- of a run's records, kept in memory; of a larger one the store is asked
local LATE_S = 86400 -- a record is written so long after its run, at most

local NUMBERS = { "restart", "array_job_id", "array_task_id", "het_job_id", "het_offset", "nodes",
   "nodelist" }
local WORDS = { "user", "name", "account", "partition" }
local PRIVATE = { user = ids.PERSON, name = ids.JOB_NAME, account = ids.PERSON }
local COLUMNS = { "id", "cluster", "job_id", "restart", "array_job_id", "array_task_id", "het_job_id", "het_offset",
   "batch", "nodes", "nodelist", "user", "name", "account", "partition", "seen", "begin_s", "end_s", "elapsed_s" }

--- @param store opened for writing
-- @param numbers from ids.new
-- @param job rows of job_node
function runrows.new(store, numbers, job)
   local driver, set = store.driver, {}
   for i = 2, #COLUMNS do
      set[#set + 1] = COLUMNS[i] .. " = ?"
   end
   return setmetatable({
      store = store,
      ids = numbers,
      job = job,
      cache = cache.new(RUNS), -- cluster and job -> list of runs
      find = ("SELECT %s FROM run WHERE job_id = ? AND cluster = ?"):format(table.concat(COLUMNS, ", ")),
      insert = ("INSERT INTO run (%s) VALUES (%s)"):format(table.concat(COLUMNS, ", "),
         ("?, "):rep(#COLUMNS - 1) .. "?"),
      update = ("UPDATE run SET %s WHERE id = ?"):format(table.concat(set, ", ")),
      find_job = ("SELECT %s, key >> 30 FROM job_node WHERE node = ? AND key >= %s AND key < %s AND run = ?"):format(
         driver.ID_OUT:format("id"), driver.KEY_IN, driver.KEY_IN),
   }, runrows)
end

--- Forgets what another writer may have changed.
function runrows:clear()
   self.cache:clear()
end

--- Begins a batch.
function runrows:begin()
   self.dirty, self.moved = {}, {}
end

-- Runs of a job, from the store where they are not known here.
local function runs_of(self, cluster, job_id)
   local name = cluster << 40 | job_id
   local list = self.cache:get(name)
   if not list then
      list = {}
      for row in self.store:rows(self.find, job_id, cluster) do
         local run = {}
         for i, column in ipairs(COLUMNS) do
            run[column] = row[i]
         end
         run.was = run.seen
         list[#list + 1] = run
      end
      self.cache:put(name, list)
   end
   return list
end

-- Two runs are one after all: a record spans both.
local function merge(self, list, run, parts)
   for _, part in ipairs(parts) do
      runs.identify(run, part)
      runs.widen(run, part, NUMBERS)
      runs.widen(run, part, WORDS)
      run.seen, run.was, run.ended, run.times, run.changed = run.seen + part.seen, 0, nil, nil, true
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

--- The run that a record is of, made where there is none.
-- @param cluster, node their ids
-- @param row from record.read, with a job
function runrows:of(cluster, node, row)
   local job = row.job
   local list = runs_of(self, cluster, job.id)
   job.user_id = self.ids:word(job.user, ids.PERSON)
   local run, parts = runs.find(list, job, function(one)
      return is_another(self, one, node, row)
   end)
   for i = #(parts or {}), 1, -1 do
      if share_a_node(self, run, parts[i]) then
         table.remove(parts, i)
      end
   end
   if not run then
      run = { id = self.ids:next("run"), cluster = cluster, job_id = job.id, seen = 0, was = 0, begin_s = job.begin_s,
         end_s = job.end_s, ended = {}, times = {}, new = true }
      list[#list + 1] = run
      self.dirty[run] = true
   elseif parts and parts[1] then
      merge(self, list, run, parts)
   end
   local batch = run.batch
   runs.identify(run, job)
   if runs.widen(run, job, NUMBERS) or run.batch ~= batch then
      self.dirty[run] = true
   end
   for i = 1, #WORDS do
      local name = WORDS[i]
      if run[name] == nil and job[name] ~= nil then
         run[name] = self.ids:word(job[name], PRIVATE[name])
         self.dirty[run] = true
      end
   end
   return run
end

--- A job record of a run was stored.
function runrows:add(run, node, row)
   run.seen = run.seen + 1
   run.ended = run.seen <= ENDED and run.ended or nil
   if run.ended then
      run.ended[node] = { id = row.id, time_s = row.time_s }
   end
   run.times = run.seen <= elapsed.ALL and run.times or nil
   if run.times then
      run.times[#run.times + 1] = row.elapsed_s
   end
   run.changed = true
   self.dirty[run] = true
end

-- How long it took, with what this batch added.
local function measure(self, run)
   if run.times or elapsed.is_due(run.was, run.seen, run.nodes) then
      local times = run.times or elapsed.read(self.store, run.id, run.seen)
      run.times = run.seen <= elapsed.ALL and times or nil
      run.elapsed_s = runs.elapsed(times)
   end
   run.was, run.changed = run.seen, nil
end

--- Writes what the batch changed, once its job records are written.
function runrows:write()
   for from, to in pairs(self.moved) do
      while self.moved[to.id] do
         to = self.moved[to.id]
      end
      self.store:exec("UPDATE job_node SET run = ? WHERE run = ?", to.id, from)
      self.store:exec("UPDATE check_node SET run = ? WHERE run = ?", to.id, from)
   end
   for run in pairs(self.dirty) do
      if run.changed then
         measure(self, run)
      end
      local values, n = {}, #COLUMNS
      for i, column in ipairs(COLUMNS) do
         values[i] = run[column]
      end
      if run.new then
         self.store:exec(self.insert, table.unpack(values, 1, n))
         run.new = nil
      else
         values[n + 1] = run.id
         self.store:exec(self.update, table.unpack(values, 2, n + 1))
      end
   end
end

return runrows
