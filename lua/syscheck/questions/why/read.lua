--- What logic.lua weighs, read from the store: bounded work, whatever the store's size.
local classes = require("syscheck.questions.why.classes")
local job_store = require("syscheck.questions.job.read")
local measured = require("syscheck.questions.why.measured")
local rows = require("syscheck.questions.why.rows")
local schema = require("syscheck.store.schema")
local times = require("syscheck.questions.why.times")
local untroubled = require("syscheck.questions.why.untroubled")

local data = {}

local LIKE_RUNS, LIKE_ROWS = 30, 1200 -- like runs whose conditions are read, the nearest; rows of all of them
local OTHER_RUNS, OTHER_SPAN = 160, 100000 -- runs of anybody: so many of so many around this one
local OTHER_ROWS, OTHER_ROWS_OF_ONE = 800, 16
local NODES_MOST = 20000 -- of the job itself
local HISTORY_DAYS, HISTORY_EACH = 15, 14 -- other runs of a node, before and after
local NODE_RUNS = 150 -- runs of a node, before and after, that are known to be on it
local MEANWHILE_SPAN, MEANWHILE = 400, 24 -- runs stored next to this one, and how many that overlap it are looked at
local MEANWHILE_ROWS = { 4, 64 } -- of each, to find one of a node that the job was not on: mostly the first few do
local MEANWHILE_LIKE = 10 -- like runs of each, to know what is usual for it
local LOW_NODES = 64 -- of a run, to look what each was set to
local DAY = 86400

local SOME_RUNS = "SELECT r.id, r.seen FROM run r WHERE r.id"
local OVERLAPPING = "SELECT r.id, r.seen, r.begin_s, r.end_s FROM run r "
   .. "WHERE r.id >= ? AND r.id <= ? AND r.begin_s < ? AND r.end_s > ?"
local DETAILS = "SELECT j.node, j.detail FROM job_node j WHERE j.run = ?"
local WORD = "SELECT w.id FROM word w WHERE w.text = ?"
local FOUND = "SELECT c.node, c.key >> 30, c.text FROM check_node c WHERE c.run = ? AND c.status = ? "
   .. "ORDER BY c.key LIMIT %d"
local CHECKED = "SELECT c.node, c.class FROM check_node c WHERE c.run = ?"
local LEAST = "SELECT min(j.%s) FROM job_node j WHERE j.run = ?"
local LEAF = "SELECT n.leaf FROM node n WHERE n.id = ?"

-- Conditions of like runs, the nearest in the order of the store.
local function like_rows(reader, run)
   local near = table.move(run.like, 1, #run.like, 1, {})
   table.sort(near, function(a, b)
      local da, db = math.abs(a.key - run.key), math.abs(b.key - run.key)
      return da < db or (da == db and a.key < b.key)
   end)
   local list, count = {}, math.min(LIKE_RUNS, #near)
   for i = 1, count do
      local one = near[i]
      local found = reader:some(one.key, one.seen, math.max(OTHER_ROWS_OF_ONE, LIKE_ROWS // count))
      found.begin_s, found.key = one.begin_s, one.key
      list[#list + 1] = found[1] and { key = one.key, seen = one.seen, begin_s = one.begin_s,
         elapsed_s = one.elapsed_s, rows = found } or nil
   end
   return list
end

-- Runs of anybody on nodes of the job's classes, spread evenly around the job.
-- @param wanted set of these classes
local function other_runs(store, reader, key, wanted, not_these)
   local last = store:row("SELECT max(r.id) FROM run r")[1] or 0
   local from = math.max(1, math.min(key - OTHER_SPAN // 2, last - OTHER_SPAN))
   local to = math.min(last, from + OTHER_SPAN)
   local ids, runs, small = {}, {}, {}
   local step = math.max(1, (to - from + 1) / OTHER_RUNS)
   for i = 0, math.min(OTHER_RUNS, to - from + 1) - 1 do
      local id = from + math.floor(i * step)
      ids[#ids + 1] = not not_these[id] and id or nil
   end
   rows.each_of(store, SOME_RUNS, ids, function(t)
      if (t[2] or 0) > 1 then
         runs[#runs + 1] = { key = t[1], seen = t[2] }
      end
   end)
   local list, count = {}, 0
   local function add(found)
      if found and found[1] and found[1].class and wanted[found[1].class] then
         list[#list + 1] = { rows = found }
         count = count + #found
      end
   end
   for _, run in ipairs(runs) do
      if run.seen <= OTHER_ROWS_OF_ONE then
         small[#small + 1] = run.key
      elseif count < OTHER_ROWS // 2 then
         add(reader:some(run.key, run.seen, OTHER_ROWS_OF_ONE))
      end
   end
   for from_small = 1, #small, 40 do
      if count < OTHER_ROWS then
         local part = table.move(small, from_small, math.min(#small, from_small + 39), 1, {})
         local by_run = reader:of_runs(part)
         for _, id in ipairs(part) do
            add(by_run[id])
         end
      end
   end
   return list
end

-- Which jobs shared each node.
-- @return set of the nodes that were shared
local function add_others(store, key, list)
   local by_node, shared = {}, {}
   for _, row in ipairs(list) do
      by_node[row.node] = row
   end
   for t in store:rows(DETAILS, key) do
      local others = by_node[t[1]] and job_store.detail(t[2]).others
      local ids = {}
      for _, id in ipairs(type(others) == "table" and others or {}) do
         ids[#ids + 1] = type(id) == "number" and math.tointeger(id) or nil
      end
      if ids[1] then
         by_node[t[1]].others, shared[t[1]] = ids, true
      end
   end
   return shared
end

--- What the job's own checks found wrong: its begin, to be said whatever is named.
-- @return list of { node, status, time_s, text }, failed ones first
function data.found(store, run, most)
   local out = {}
   for _, status in ipairs({ "fail", "warn" }) do
      local word = store:row(WORD, status)
      for t in store:rows(FOUND:format(most), run.key, word and word[1] or -1) do
         out[#out + 1] = { node = t[1], status = status, time_s = t[2], text = t[3] }
      end
   end
   return table.move(out, 1, math.min(most, #out), 1, {})
end

-- Adds nodes that were checked as a run began, and whose record of it never came: their checks and other runs are
-- known.
local function add_gone(store, reader, run, list)
   local has = {}
   for _, row in ipairs(list) do
      has[row.node] = true
   end
   for t in store:rows(CHECKED, run.key) do
      list[#list + 1] = not has[t[1]] and reader:of_node({ gone = true }, run.key, t[1], t[2]) or nil
      has[t[1]] = true
   end
end

-- What the other nodes of runs went through, of those that had few.
local function add_peers(reader, node, list)
   local keys = {}
   for _, one in ipairs(list) do
      keys[#keys + 1] = one.seen > 1 and one.seen <= OTHER_ROWS_OF_ONE and one.key or nil
   end
   local of = reader:of_runs(keys)
   for _, one in ipairs(list) do
      for _, row in ipairs(of[one.key] or {}) do
         one.peers = one.peers or {}
         table.insert(one.peers, row.node ~= node and row or nil)
      end
   end
end

-- Whether runs around one were on a node.
local function runs_on(reader, node, run)
   reader.on = reader.on or {}
   reader.on[node] = reader.on[node]
      or times.on(reader:runs_around(node, schema.key(math.floor(run.begin_s)), NODE_RUNS))
   return reader.on[node]
end

-- Which of a node's other runs had it for themselves.
-- @param details of rows.details_around
local function add_alone(list, details)
   for _, one in ipairs(list) do
      one.alone = true
      for _, text in ipairs(details[one.key] or {}) do
         one.alone = one.alone and job_store.detail(text).others == nil
      end
   end
end

--- Other runs of a node around a job.
-- @param shared whether another job used the node beside this one
-- @return list of { row, peers = rows of the run's other nodes or nil, days (from the job's begin), e, y, key, alone =
--   of a shared node: whether no other job used it then }
function data.history(reader, known, node, run, shared)
   local at, out, on = math.floor(run.begin_s), {}, runs_on(reader, node, run)
   local key, low, high = schema.key(at), schema.key(at - HISTORY_DAYS * DAY), schema.key(at + HISTORY_DAYS * DAY)
   for _, row in ipairs(reader:around(node, key, low, high, HISTORY_EACH)) do
      local other = row.run ~= run.key and known:of(row.run, true)
      local e = other and other.e and times.without(other, on)
      if e and other.y then
         out[#out + 1] = { row = row, days = (other.begin_s - run.begin_s) / DAY, e = e, y = other.y,
            key = row.run, seen = other.seen }
      end
   end
   add_peers(reader, node, out)
   if shared then
      add_alone(out, reader:details_around(node, key, low, high, HISTORY_EACH))
   end
   return out
end

-- A row of each of the like runs that are nearest to one, and were not beside the job: those may have had the same.
local function one_of_each(reader, run, job)
   local near = {}
   for _, one in ipairs(run.like) do
      local beside = one.begin_s < job.end_s and one.begin_s + (one.elapsed_s or 0) > job.begin_s
      near[#near + 1] = one.seen <= OTHER_ROWS_OF_ONE and not beside and one or nil
   end
   table.sort(near, function(a, b)
      local da, db = math.abs(a.key - run.key), math.abs(b.key - run.key)
      return da < db or (da == db and a.key < b.key)
   end)
   local keys, out = {}, {}
   for i = 1, math.min(MEANWHILE_LIKE, #near) do
      keys[i] = near[i].key
   end
   for _, found in pairs(reader:of_runs(keys)) do
      out[#out + 1] = found[1]
   end
   return out
end

-- A row of a run, of a node that the job was not on: what is wrong with one of the job's own others beside it had, too.
local function row_elsewhere(reader, run, is_own)
   for _, most in ipairs(MEANWHILE_ROWS) do
      for _, row in ipairs(reader:some(run.key, run.seen, most)) do
         if not is_own[row.node] then
            return row
         end
      end
   end
end

-- Other runs that overlapped a job in time, elsewhere.
local function meanwhile(store, reader, known, run, is_own)
   local out, found = {}, {}
   for t in store:rows(OVERLAPPING, run.key - MEANWHILE_SPAN, run.key + MEANWHILE_SPAN, run.end_s, run.begin_s) do
      local both = math.min(t[4], run.end_s) - math.max(t[3], run.begin_s)
      found[#found + 1] = t[1] ~= run.key
         and { key = t[1], seen = t[2] or 0, both = both / math.max(1, t[4] - t[3]) } or nil
   end
   local step = math.max(1, #found / MEANWHILE)
   for i = 1, math.min(MEANWHILE, #found) do
      local one = found[math.floor(1 + (i - 1) * step)]
      local other = known:of(one.key, true)
      local row = other.e and other.y and row_elsewhere(reader, one, is_own)
      if row then
         out[#out + 1] = { row = row, e = other.e, y = other.y, key = other.key, both = one.both,
            like = one_of_each(reader, other, run) }
      end
   end
   return out
end

-- The least that a node of a run was set to; nil: not known, or too many nodes to look at.
local function least_of(store)
   local known = {}
   return function(name, run)
      local key = ("%s %d"):format(name, run.key)
      if known[key] == nil then
         local t = (run.seen or 0) <= LOW_NODES and store:row(LEAST:format(name), run.key)
         known[key] = t and t[1] or false
      end
      return known[key] or nil
   end
end

local function once(f)
   local known = {}
   return function(x)
      local key = x or 0
      known[key] = known[key] or f(x)
      return known[key]
   end
end

--- Reads what why.analyse wants.
-- @param run from jobid.runs
-- @return input; names = function(node) -> its name; comparable = whether user, name and node count
--   are known; more = how many of the job's nodes were left out
function data.read(store, run)
   local reader, known = rows.new(store, classes.rated_as(store)), times.new(store)
   local list = reader:all(run.key, NODES_MOST)
   local time = known:of(run.key)
   time.elapsed_s = times.elapsed(list)
   local recorded = #list
   if recorded > 0 and recorded < NODES_MOST then -- else it has not ended, or not all were read
      add_gone(store, reader, run, list)
   end
   local span = { key = run.key, begin_s = run.begin_s or 0, end_s = run.end_s or run.begin_s or 0, kind = time.kind }
   local wanted, not_these, is_own = {}, { [run.key] = true }, {}
   for _, row in ipairs(list) do
      wanted[row.class or 0], is_own[row.node] = true, true
   end
   local like = like_rows(reader, time)
   known:leave_out(time, untroubled.of(like))
   for _, one in ipairs(like) do
      not_these[one.key] = true
   end
   measured.of_nodes(store, span, list)
   local shared = add_others(store, run.key, list)
   local names, least = {}, least_of(store)
   local function name(node)
      if node and not names[node] then
         local t = store:row("SELECT n.name FROM node n WHERE n.id = ?", node)
         names[node] = t and t[1] or ("%d"):format(node)
      end
      return node and names[node]
   end
   return { rows = list, recorded = recorded, begin_s = span.begin_s, elapsed_s = time.elapsed_s,
      e = time.e, count = #time.like, like = like,
      others = other_runs(store, reader, run.key, wanted, not_these),
      checks = measured.of_classes(store, span.end_s, wanted),
      history = once(function(node)
         return data.history(reader, known, node, span, shared[node])
      end),
      on = function(node)
         return runs_on(reader, node, span)
      end,
      low = function(setting, value)
         return function(one)
            local lowest = least(setting, one)
            if lowest then
               return lowest <= value
            end
         end
      end,
      without = function(has, key)
         local one = key and known:of(key, true) or time
         local e = times.without(one, has)
         return e ~= one.e and e or nil
      end,
      meanwhile = once(function()
         return meanwhile(store, reader, known, span, is_own)
      end),
      leaf = once(function(node)
         local t = store:row(LEAF, node)
         return t and t[1]
      end) }, name, time.kind ~= nil, math.max(0, (run.seen or 0) - recorded)
end

return data
