--- What logic.lua compares, read from the store: bounded work, whatever the store's size.
-- Inside, nodes and classes are the numbers that the store gives them.
local fields = require("syscheck.catalogue.fields")
local causes = require("syscheck.questions.why.causes")
local job_store = require("syscheck.questions.job.read")
local schema = require("syscheck.store.schema")
local why = require("syscheck.questions.why.logic")

local data = {}

local LIKE_BEFORE, LIKE_AFTER = 20, 10 -- like runs: the nearest
local LIKE_ROWS = 1200 -- of all like runs together
local OTHER_RUNS, OTHER_SPAN = 160, 100000 -- runs of anybody: so many of so many around this one
local OTHER_ROWS, OTHER_ROWS_OF_ONE = 800, 16
local BATCH = 20
local NODES_MOST = 20000 -- of the job itself
local CHECK_NODES = 128 -- a larger job: only the checks that it began with
local CHECK_DAYS, CHECKS_LOOKED, CHECKS_EACH = 7, 200, 2 -- of a node, before and after
local CLASS_WINDOWS, CLASS_ROWS, CLASS_DAYS = 12, 120, 30
local DAY = 86400
local PROLOG_S = 120 -- a check before a job is recorded after the job's begin snapshot

-- Columns of table job_node that are read: what causes.JOB and causes.WORK are made of.
local JOB = {}
for _, field in ipairs(fields.JOB) do
   JOB[#JOB + 1] = (field.cause or field.work) and field or nil
end
local CHECK = job_store.columns(causes.CHECK, "c")

local ROWS = ("SELECT j.run, j.node, j.class, j.elapsed_s, %s FROM job_node j WHERE "):format(
   job_store.columns(JOB, "j"))
-- The key's low bits are random: a share of them is a share of the nodes, and the index of
-- runs holds the key, so rows that are not wanted are not read.
local OF_RUN = ROWS .. "j.run = ?"
local SHARE_OF_RUN = ROWS .. "j.run = ? AND (j.key & 1023) < ?"
local IN_BATCH = " IN (" .. ("?, "):rep(BATCH - 1) .. "?)"
local TIMES = "SELECT j.run, j.elapsed_s FROM job_node j WHERE j.run"
local SHARE_OF_TIMES = TIMES .. " = ? AND (j.key & 1023) < ?"
local OF_RUNS = ROWS .. "j.run" .. IN_BATCH
local LIKE = "SELECT r.id, r.seen, r.elapsed_s FROM run r WHERE r.user = ? AND r.name = ? AND r.nodes = ? "
   .. "AND r.cluster = ? AND r.id "
local LIKE_OLDER = LIKE .. "< ? ORDER BY r.id DESC LIMIT " .. LIKE_BEFORE
local LIKE_NEWER = LIKE .. "> ? ORDER BY r.id LIMIT " .. LIKE_AFTER
local SOME_RUNS = "SELECT r.id, r.seen FROM run r WHERE r.id"
local MEASURED = "(" .. CHECK:gsub(",", " IS NOT NULL OR") .. " IS NOT NULL)"
local CHECKS = ("SELECT c.node, c.class, %s FROM check_node c WHERE "):format(CHECK)
-- Most checks measured nothing: on a busy node a week has thousands.
local NEAREST = ("SELECT c.node, c.class, %s FROM (SELECT c.node, c.class, c.key, %s FROM check_node c "
   .. "WHERE c.node = ? AND %%s ORDER BY c.key%%s LIMIT %d) c WHERE %s ORDER BY c.key%%s LIMIT %d"):format(
   CHECK, CHECK, CHECKS_LOOKED, MEASURED, CHECKS_EACH)
local BEFORE = NEAREST:format("c.key < ? AND c.key >= ?", " DESC", " DESC")
local AFTER = NEAREST:format("c.key >= ? AND c.key < ?", "", "")
local CHECKS_OF_RUN = CHECKS .. "c.run = ? AND " .. MEASURED
local CLASS_CHECKS = CHECKS .. "c.key >= ? AND c.key < ? ORDER BY c.key LIMIT " .. CLASS_ROWS

local function row_of(t)
   local row = job_store.numbers(JOB, t, 5)
   row.node, row.class, row.elapsed_s = t[2], t[3], t[4]
   return row
end

local function read_rows(store, text, ...)
   local rows = {}
   for t in store:rows(text, ...) do
      rows[#rows + 1] = row_of(t)
   end
   return rows
end

-- At most about `most` rows of a run, of which `seen` are stored.
local function some_rows(store, run, seen, most)
   if seen <= most then
      return read_rows(store, OF_RUN, run)
   end
   return read_rows(store, SHARE_OF_RUN, run, math.max(1, math.ceil(1024 * most / seen)))
end

-- Like runs: same cluster, user, name and node count, the nearest in the order of the store.
-- @return list of { key, seen }, whether the run is known well enough to have any
local function find_like(store, key)
   local run = store:row("SELECT r.user, r.name, r.nodes, r.cluster FROM run r WHERE r.id = ?", key)
   if not run or not run[1] or not run[2] or not run[3] then
      return {}, false
   end
   local found = {}
   for _, text in ipairs({ LIKE_OLDER, LIKE_NEWER }) do
      for t in store:rows(text, run[1], run[2], run[3], run[4], key) do
         found[#found + 1] = { key = t[1], seen = t[2] or 0, elapsed_s = t[3] }
      end
   end
   return found, true
end

local function like_runs(store, key)
   local list, found, comparable = {}, find_like(store, key)
   for _, run in ipairs(found) do
      local rows = some_rows(store, run.key, run.seen, math.max(OTHER_ROWS_OF_ONE, LIKE_ROWS // #found))
      list[#list + 1] = rows[1] and { key = run.key, rows = rows } or nil
   end
   return list, comparable
end

-- Calls batch(list of BATCH values) over a list; what lacks at the end is -1.
local function batches(list, batch)
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
function data.each_of(store, text, keys, each)
   text = text .. IN_BATCH
   batches(keys, function(part)
      for t in store:rows(text, table.unpack(part)) do
         each(t)
      end
   end)
end

--- Fills in how long runs took, see why.elapsed, where an older ingest has not; of large ones a share of
-- the nodes is read.
-- @param runs list of { key, seen, elapsed_s of table run }, which get elapsed_s
function data.add_elapsed(store, runs)
   local by_key, small, of = {}, {}, {}
   local function add(t)
      of[t[1]] = of[t[1]] or {}
      table.insert(of[t[1]], { elapsed_s = t[2] })
   end
   for _, run in ipairs(runs) do
      by_key[run.key] = run
      if not run.elapsed_s and run.seen <= OTHER_ROWS_OF_ONE then
         small[#small + 1] = run.key
      elseif not run.elapsed_s then
         for t in store:rows(SHARE_OF_TIMES, run.key, math.ceil(1024 * OTHER_ROWS_OF_ONE / run.seen)) do
            add(t)
         end
         run.elapsed_s, of = why.elapsed(of[run.key] or {}), {}
      end
   end
   batches(small, function(part)
      for t in store:rows(TIMES .. IN_BATCH, table.unpack(part)) do
         add(t)
      end
      for key, rows in pairs(of) do
         local run = by_key[key]
         run.elapsed_s = why.elapsed(rows)
      end
      of = {}
   end)
end

--- How long a run's like runs took: list of seconds.
function data.like_times(store, key)
   local runs, times = find_like(store, key), {}
   data.add_elapsed(store, runs)
   for _, run in ipairs(runs) do
      times[#times + 1] = run.elapsed_s
   end
   return times
end

-- Runs of anybody on nodes of the job's classes, spread evenly around the job.
local function other_runs(store, key, classes, not_these)
   local last = store:row("SELECT max(r.id) FROM run r")[1] or 0
   local from = math.max(1, math.min(key - OTHER_SPAN // 2, last - OTHER_SPAN))
   local to = math.min(last, from + OTHER_SPAN)
   local ids, runs, small = {}, {}, {}
   local step = math.max(1, (to - from + 1) / OTHER_RUNS)
   for i = 0, math.min(OTHER_RUNS, to - from + 1) - 1 do
      local id = from + math.floor(i * step)
      ids[#ids + 1] = not not_these[id] and id or nil
   end
   data.each_of(store, SOME_RUNS, ids, function(t)
      if (t[2] or 0) > 1 then
         runs[#runs + 1] = { key = t[1], seen = t[2] }
      end
   end)
   local list, count, by_run = {}, 0, {}
   local function add(rows)
      if rows[1] and rows[1].class and classes[rows[1].class] then
         list[#list + 1] = { rows = rows }
         count = count + #rows
      end
   end
   for _, run in ipairs(runs) do
      if run.seen <= OTHER_ROWS_OF_ONE then
         small[#small + 1] = run.key
      elseif count < OTHER_ROWS // 2 then
         add(some_rows(store, run.key, run.seen, OTHER_ROWS_OF_ONE))
      end
   end
   batches(small, function(part)
      if count < OTHER_ROWS then
         by_run = {}
         for t in store:rows(OF_RUNS, table.unpack(part)) do
            by_run[t[1]] = by_run[t[1]] or {}
            table.insert(by_run[t[1]], row_of(t))
         end
         for _, id in ipairs(part) do
            if by_run[id] then
               add(by_run[id])
            end
         end
      end
   end)
   return list
end

local function check_of(t, when)
   local check = job_store.numbers(causes.CHECK, t, 3)
   check.when = when
   return check
end

-- The nearest checks of each node, before and after.
local function read_checks(store, run, rows)
   local by_node = {}
   for _, row in ipairs(rows) do
      row.checks = {}
      by_node[row.node] = row
   end
   if #rows > CHECK_NODES then
      for t in store:rows(CHECKS_OF_RUN, run.key) do
         local row = by_node[t[1]]
         if row then
            table.insert(row.checks, check_of(t, "before"))
         end
      end
      return
   end
   local between = math.min(run.begin_s + PROLOG_S, math.max(run.end_s, run.begin_s + 1))
   for _, row in ipairs(rows) do
      for t in store:rows(BEFORE, row.node, schema.key(math.floor(between)),
         schema.key(math.floor(between - CHECK_DAYS * DAY))) do
         table.insert(row.checks, check_of(t, "before"))
      end
      for t in store:rows(AFTER, row.node, schema.key(math.floor(between)),
         schema.key(math.floor(between + CHECK_DAYS * DAY))) do
         table.insert(row.checks, check_of(t, "after"))
      end
   end
end

-- What nodes of the job's classes measured in the month before.
local function class_checks(store, run, classes)
   local out = {}
   local step = CLASS_DAYS * DAY // CLASS_WINDOWS
   local from = math.floor(run.end_s) - CLASS_DAYS * DAY
   for i = 0, CLASS_WINDOWS - 1 do
      for t in store:rows(CLASS_CHECKS, schema.key(math.max(0, from + i * step)),
         schema.key(math.max(0, from + (i + 1) * step))) do
         local class = t[2]
         if class and classes[class] then
            out[class] = out[class] or {}
            for name, value in pairs(job_store.numbers(causes.CHECK, t, 3)) do
               out[class][name] = out[class][name] or {}
               table.insert(out[class][name], { node = t[1], value = value })
            end
         end
      end
   end
   return out
end

--- Reads what why.analyse wants.
-- @param run from jobid.runs
-- @return input; names = function(node) -> its name; comparable = whether user, name and node
--   count are known; more = how many of the job's nodes were left out
function data.read(store, run)
   local rows = read_rows(store, OF_RUN .. " LIMIT " .. NODES_MOST, run.key)
   local classes, not_these = {}, { [run.key] = true }
   for _, row in ipairs(rows) do
      classes[row.class or 0] = true
   end
   local like, comparable = like_runs(store, run.key)
   for _, one in ipairs(like) do
      not_these[one.key] = true
   end
   read_checks(store, { key = run.key, begin_s = run.begin_s or 0, end_s = run.end_s or run.begin_s or 0 }, rows)
   local known = {}
   local function name(node)
      if node and not known[node] then
         local t = store:row("SELECT n.name FROM node n WHERE n.id = ?", node)
         known[node] = t and t[1] or ("%d"):format(node)
      end
      return node and known[node]
   end
   return { rows = rows, like = like, others = other_runs(store, run.key, classes, not_these),
      checks = class_checks(store, { end_s = run.end_s or run.begin_s or 0 }, classes) }, name, comparable,
      math.max(0, (run.seen or 0) - #rows)
end

return data
