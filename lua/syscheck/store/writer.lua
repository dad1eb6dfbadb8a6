--- Writes batches of records into a store: each in one transaction with how far the files
-- they came from are read. A batch that was written and is given again changes nothing.
local cache = require("syscheck.store.cache")
local fields = require("syscheck.catalogue.fields")
local ids = require("syscheck.store.ids")
local lessons = require("syscheck.store.lessons")
local record = require("syscheck.store.record")
local rows = require("syscheck.store.rows")
local runrows = require("syscheck.store.runrows")
local schema = require("syscheck.store.schema")

local writer = {}
writer.__index = writer

local CONFIGS, NODES, CHECKS = 20000, 20000, 20000 -- kept in memory, at least
local SEEN_S = 86400 -- a node's row says this well when it was seen last
local CHECK_S = 86400 -- a check is looked for this long before its job's begin

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

local JOB_FIRST = { "key", "id", "node", "run", "check_key", "begin_s", "elapsed_s", "class", "config", "boot",
   "policy", "baseline" }
local CHECK_FIRST = { "key", "id", "node", "run", "class", "config", "boot", "trigger", "level", "asked", "status",
   "action", "policy", "baseline", "lesson" }
local FABRIC_FIRST = { "key", "id", "node", "boot", "class", "status", "action", "lesson" }
assert(#JOB_FIRST == record.JOB_BASE and #CHECK_FIRST == record.CHECK_BASE and #FABRIC_FIRST == record.FABRIC_BASE)
local JOB_COLUMNS = names(fields.JOB, JOB_FIRST, { "detail" })
local CHECK_COLUMNS = names(fields.CHECK, CHECK_FIRST, { "text", "detail" })
local FABRIC_COLUMNS = names(fields.FABRIC, FABRIC_FIRST, { "text", "detail" })
local NOISE_COLUMNS = { "key", "id", "node", "boot", "class", "slot", "detail", "without" }
local TABLES = { "check", "noise", "job", "fabric", "loss" }
-- Of what noise does to quanta a node keeps its newest check of each slot, 3 h of the day, and its newest of level
-- full, which samples for longer and knows names: some 30 kB.
local SLOT_S, SLOTS = 10800, 8

--- @param store opened for writing
-- @param notices of notices.open, which look at what is new; or nil
function writer.new(store, notices)
   local driver = store.driver
   local numbers, job = ids.new(store), rows.new(store, "job_node", JOB_COLUMNS)
   return setmetatable({
      store = store,
      notices = notices,
      ids = numbers,
      nodes = cache.new(NODES), -- cluster and name -> { id, class, seen_s }
      runs = runrows.new(store, numbers, job),
      checks = cache.new(CHECKS), -- id of a check -> its key
      configs = cache.new(CONFIGS),
      job = job,
      check = rows.new(store, "check_node", CHECK_COLUMNS),
      noise = rows.new(store, "noise_node", NOISE_COLUMNS),
      fabric = rows.new(store, "fabric_node", FABRIC_COLUMNS),
      loss = rows.new(store, "loss", { "key", "id", "node", "boot", "records", "bytes", "reason" }),
      older_noise = ("DELETE FROM noise_node WHERE node = ? AND slot = ? AND key < %s"):format(driver.KEY_IN),
      find_check = ("SELECT %s FROM check_node WHERE node = ? AND key >= %s AND key < %s AND id = %s"):format(
         driver.KEY_OUT:format("key"), driver.KEY_IN, driver.KEY_IN, driver.ID_IN),
   }, writer)
end

-- Locks out other writers, and forgets what they may have changed.
local function lock(self)
   local meta = self.store:lock()
   if meta.schema_version ~= tostring(schema.VERSION) then
      error(("version %s, made by a newer syscheck; this one writes %d"):format(meta.schema_version, schema.VERSION), 0)
   end
   if self.failed or meta.batches ~= self.batches or meta.generation ~= self.generation then
      self.runs:clear()
      self.ids:forget()
   end
   if self.failed or meta.generation ~= self.generation then
      for _, name in ipairs({ "ids", "nodes", "checks", "configs" }) do
         self[name]:clear()
      end
   end
   self.failed = true -- until committed
   self.batches, self.generation = ("%d"):format((tonumber(meta.batches) or 0) + 1), meta.generation
   self.runs:begin()
   if self.notices then
      self.notices:clear()
   end
   self.newest_noise = {}
   for _, name in ipairs(TABLES) do
      self[name]:clear()
   end
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
         node = { id = self.ids:next("node"), class = class, seen_s = row.time_s }
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

-- A text of table config, by a short name of it.
local function config_of(self, name, text_of, row)
   if not name then
      return nil
   end
   local id = self.ids:word(name)
   if not self.configs:get(id) then
      self.configs:put(id, true)
      local text = text_of(row)
      if text and not self.store:row("SELECT id FROM config WHERE id = ?", id) then
         self.store:exec("INSERT INTO config (id, text) VALUES (?, ?)", id, text)
      end
   end
   return id
end

local function lesson_text(row)
   return row.lesson
end

local function lesson_of(self, row)
   return config_of(self, row.lesson and lessons.name(row.lesson), lesson_text, row)
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
   local run = self.runs:of(cluster, node, row)
   local v = row.values
   v[3], v[4], v[5], v[6], v[7] = node, run.id, check_of(self, row, node), row.begin_s, row.elapsed_s
   v[8], v[9], v[10] = class, config, self.ids:word(row.boot)
   v[11], v[12] = self.ids:word(row.policy), self.ids:word(row.baseline)
   v[#JOB_COLUMNS] = row.detail
   local key = self.job:put(row, v)
   if key then
      self.runs:add(run, node, row)
   end
   return key
end

function PUT.check(self, row, node, class, config, cluster)
   local run = row.job and self.runs:of(cluster, node, row).id
   local v = row.values
   v[3], v[4], v[5], v[6], v[7], v[8] = node, run, class, config, self.ids:word(row.boot), self.ids:word(row.trigger)
   v[9], v[10], v[11], v[12] = self.ids:word(row.level), self.ids:word(row.asked), self.ids:word(row.status),
      self.ids:word(row.action)
   v[13], v[14], v[15] = self.ids:word(row.policy), self.ids:word(row.baseline), lesson_of(self, row)
   v[#CHECK_COLUMNS - 1], v[#CHECK_COLUMNS] = row.text, row.detail
   local key, known = self.check:put(row, v)
   self.checks:put(row.id, key or known)
   if key and row.delays then
      local slot = row.level == "full" and SLOTS or row.time_s // SLOT_S % SLOTS
      local newest = self.noise:put(row, { 0, 0, node, self.ids:word(row.boot), class, slot, row.delays, row.without })
      local of = ("%d %d"):format(node, slot)
      local before = self.newest_noise[of]
      if newest and (not before or before.key < newest) then
         self.newest_noise[of] = { node = node, slot = slot, key = newest }
      end
   end
   return key
end

-- What this batch has newer ones of.
local function drop_older_noise(self)
   for _, one in pairs(self.newest_noise) do
      self.store:exec(self.older_noise, one.node, one.slot, ("%d"):format(one.key))
   end
end

function PUT.fabric(self, row, node, class)
   local v = row.values
   v[3], v[4], v[5], v[6], v[7] = node, self.ids:word(row.boot), class, self.ids:word(row.status),
      self.ids:word(row.action)
   v[8] = lesson_of(self, row)
   v[#FABRIC_COLUMNS - 1], v[#FABRIC_COLUMNS] = row.text, row.detail
   return self.fabric:put(row, v)
end

function PUT.loss(self, row, node)
   return self.loss:put(row, { 0, 0, node, self.ids:word(row.boot), row.records, row.bytes, self.ids:word(row.reason) })
end

local function put(self, row)
   local cluster, class = self.ids:word(row.cluster), self.ids:word(row.class)
   -- What its links are of says nothing of the node's hardware.
   local node = node_of(self, row, cluster, row.kind ~= "fabric" and class or nil)
   return PUT[row.kind](self, row, node, class, config_of(self, row.config, record.settings, row), cluster)
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
            if self.notices then
               self.notices:record(row)
            end
         end
      end
      for _, name in ipairs(TABLES) do
         self[name]:flush()
      end
      drop_older_noise(self)
      self.runs:write()
      write_files(self, batch.files)
      self.store:exec("UPDATE meta SET value = ? WHERE name = 'batches'", self.batches)
      return count
   end)
   self.failed = false
   return new
end

return writer
