--- What nodes went through in runs, read from the store. Inside `why`, nodes and classes are the numbers that the
-- store gives them.
local fields = require("syscheck.catalogue.fields")
local baseline = require("syscheck.verdict.baseline")
local causes = require("syscheck.questions.why.causes")
local job_store = require("syscheck.questions.job.read")

local rows = {}

local BATCH = 20

-- Columns of table job_node that are read.
local JOB = {}
for _, field in ipairs(fields.JOB) do
   JOB[#JOB + 1] = (field.cause or field.work or causes.PARTS[field.name]) and field or nil
end

local SELECT = ("SELECT j.run, j.node, j.class, j.elapsed_s, %s FROM job_node j WHERE "):format(
   job_store.columns(JOB, "j"))
local KEYED = ("SELECT j.run, j.node, j.class, j.elapsed_s, %s, j.key >> 30 FROM job_node j WHERE "):format(
   job_store.columns(JOB, "j"))
-- The key's low bits are random: a share of them is a share of the nodes, and the index of
-- runs holds the key, so rows that are not wanted are not read.
local OF_RUN = SELECT .. "j.run = ?"
local SHARE_OF_RUN = SELECT .. "j.run = ? AND (j.key & 1023) < ?"
rows.IN_BATCH = " IN (" .. ("?, "):rep(BATCH - 1) .. "?)"
local OF_RUNS = SELECT .. "j.run" .. rows.IN_BATCH
local DETAILS = "SELECT j.run, j.detail FROM job_node j WHERE "
local BEFORE = "j.node = ? AND j.key < ? AND j.key >= ? ORDER BY j.key DESC LIMIT "
local AFTER = "j.node = ? AND j.key > ? AND j.key < ? ORDER BY j.key LIMIT "

local RUNS_OF = "SELECT j.run, j.key >> 30 FROM job_node j WHERE j.node = ? AND j.key "
local RUNS_BEFORE, RUNS_AFTER = RUNS_OF .. "< ? ORDER BY j.key DESC LIMIT ", RUNS_OF .. ">= ? ORDER BY j.key LIMIT "

--- @param store what rows are read of
-- @param rated of classes.rated_as, or nil where nodes are not compared by their class
-- @return a reader; it knows what is in a class's name once it has seen one
function rows.new(store, rated)
   return setmetatable({ store = store, rated = rated, word = job_store.words(store), classes = {} },
      { __index = rows })
end

--- What is in a class's name: { cores, memory_gib or nil }.
function rows:of_class(class)
   local known = self.classes[class or 0]
   if not known then
      local word = self.word(class)
      local parts = baseline.parse_class(word)
      known = { cores = causes.cores(word), memory_gib = parts and parts.memory_gib }
      self.classes[class or 0] = known
   end
   return known
end

--- Whose row it is; with an empty one, of a node of which nothing but that is known.
-- @param class of its record
function rows:of_node(row, run, node, class)
   row.run, row.node, row.class = run, node, self.rated and self.rated(node, class) or class
   row.cores = self:of_class(row.class).cores
   return row
end

function rows:of(t)
   local row = self:of_node(job_store.numbers(JOB, t, 5), t[1], t[2], t[3])
   row.elapsed_s = t[4]
   row.memory_gib, row.class_memory_gib = self:of_class(t[3]).memory_gib, self:of_class(row.class).memory_gib
   causes.add_parts(row)
   return row
end

function rows:list(text, ...)
   local out = {}
   for t in self.store:rows(text, ...) do
      out[#out + 1] = self:of(t)
   end
   return out
end

--- Goes through rows.
-- @param where SQL, of table j
-- @return iterator of rows, each with stored_s, epoch seconds of its record
function rows:each(where, ...)
   local next_of, state, control = self.store:rows(KEYED .. where, ...)
   return function()
      local t = next_of(state, control)
      if not t then
         return nil
      end
      local row = self:of(t)
      row.stored_s = t[#JOB + 5]
      return row
   end
end

--- At most about `most` rows of a run, of which `seen` are stored.
function rows:some(run, seen, most)
   if seen <= most then
      return self:list(OF_RUN, run)
   end
   return self:list(SHARE_OF_RUN, run, math.max(1, math.ceil(1024 * most / seen)))
end

--- The rows of a run, at most so many.
function rows:all(run, most)
   return self:list(OF_RUN .. " LIMIT " .. most, run)
end

--- A node's rows before and after a record.
-- @param low, high keys between which they lie
-- @param each at most so many on either side
function rows:around(node, key, low, high, each)
   local out = self:list(SELECT .. BEFORE .. each, node, key, low)
   return table.move(self:list(SELECT .. AFTER .. each, node, key, high), 1, each, #out + 1, out)
end

--- The details of the same rows: key of the run -> list of their texts or false.
function rows:details_around(node, key, low, high, each)
   local out = {}
   for text, bound in pairs({ [BEFORE] = low, [AFTER] = high }) do
      for t in self.store:rows(DETAILS .. text .. each, node, key, bound) do
         out[t[1]] = out[t[1]] or {}
         table.insert(out[t[1]], t[2] or false)
      end
   end
   return out
end

--- Which runs a node was in around a record, at most so many on either side.
-- @return { runs = set of their keys; from_s, to_s: the time of which all are known }
function rows:runs_around(node, key, each)
   local out = { runs = {}, from_s = -math.huge, to_s = math.huge }
   for side, text in pairs({ from_s = RUNS_BEFORE, to_s = RUNS_AFTER }) do
      local count = 0
      for t in self.store:rows(text .. each, node, key) do
         out.runs[t[1]], count = true, count + 1
         out[side] = count == each and t[2] or out[side]
      end
   end
   return out
end

--- Calls batch(list of BATCH values) over a list; what lacks at the end is -1.
function rows.batches(list, batch)
   for from = 1, #list, BATCH do
      local part = {}
      for i = 1, BATCH do
         part[i] = list[from + i - 1] or -1
      end
      batch(part)
   end
end

--- Asks in batches for what belongs to many runs.
-- @param text SQL that ends before the list of runs
-- @param keys of the runs
-- @param each function(row)
function rows.each_of(store, text, keys, each)
   text = text .. rows.IN_BATCH
   rows.batches(keys, function(part)
      for t in store:rows(text, table.unpack(part)) do
         each(t)
      end
   end)
end

--- Rows of many small runs, by run.
function rows:of_runs(keys)
   local by_run = {}
   rows.batches(keys, function(part)
      for _, row in ipairs(self:list(OF_RUNS, table.unpack(part))) do
         by_run[row.run] = by_run[row.run] or {}
         table.insert(by_run[row.run], row)
      end
   end)
   return by_run
end

return rows
