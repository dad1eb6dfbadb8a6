--- Drains, read from the store: one look through the checks since then, and a short one for the end of each.
local actions = require("syscheck.catalogue.actions")
local clusters = require("syscheck.questions.clusters")
local drains = require("syscheck.questions.drains.logic")
local job_store = require("syscheck.questions.job.read")
local schema = require("syscheck.store.schema")

local drains_store = {}

local CHECKS = [[SELECT c.key >> 30, c.node, c.run, c.trigger, c.level, c.action, c.text, c.detail FROM check_node c
   WHERE c.key >= ? AND c.action IN (%s) ORDER BY c.key]]
local FABRIC = [[SELECT c.key >> 30, c.node, c.action, c.text, c.detail FROM fabric_node c
   WHERE c.key >= ? AND c.action IN (%s) ORDER BY c.key]]
local NODES = "SELECT n.id, n.name, w.text FROM node n LEFT JOIN word w ON w.id = n.cluster ORDER BY n.id"
-- A prolog runs where a job starts: the node is in service. So is it where a job began that is not the drained one.
local STARTED = "SELECT c.key >> 30, c.run FROM check_node c WHERE c.node = ? AND c.key > ? AND c.trigger = ? "
   .. "ORDER BY c.key LIMIT 8"
local BEGAN = "SELECT j.begin_s, j.run FROM job_node j WHERE j.node = ? AND j.key > ? AND j.begin_s > ? "
   .. "ORDER BY j.key LIMIT 8"
local WELL = "SELECT c.key >> 30 FROM check_node c WHERE c.node = ? AND c.key > ? AND c.status = ? "
   .. "AND c.level IN (?, ?, ?) ORDER BY c.key LIMIT 1"
local WELL_FABRIC = "SELECT c.key >> 30 FROM fabric_node c WHERE c.node = ? AND c.key > ? AND c.status = ? "
   .. "ORDER BY c.key LIMIT 1"

-- Function that gives a word's number; of one that the store has not, one that no row has.
local function numbers(store)
   local known = {}
   return function(text)
      if not known[text] then
         local row = store:row("SELECT w.id FROM word w WHERE w.text = ?", text)
         known[text] = row and row[1] or -1
      end
      return known[text]
   end
end

-- Nodes by the number of each of their rows.
local function nodes_of(store)
   local all, by_key = {}, {}
   for t in store:rows(NODES) do
      all[#all + 1] = { key = t[1], name = t[2], cluster = t[3] }
   end
   for _, node in ipairs(clusters.united(all)) do
      by_key[node.key] = node
      by_key[node.also or node.key] = node
   end
   return by_key
end

-- Both kinds in the order of time.
local function events_of(store, since, number, word)
   local marks, ids, list = {}, {}, {}
   for i, name in ipairs(actions.NAMES) do
      marks[i], ids[i] = "?", number(name)
   end
   marks = table.concat(marks, ", ")
   for t in store:rows(CHECKS:format(marks), schema.key(since), table.unpack(ids)) do
      list[#list + 1] = { time = t[1], node = t[2], run = t[3], trigger = word(t[4]), level = word(t[5]),
         action = word(t[6]), text = t[7], drain = job_store.detail(t[8]).drain }
   end
   for t in store:rows(FABRIC:format(marks), schema.key(since), table.unpack(ids)) do
      list[#list + 1] = { time = t[1], node = t[2], action = word(t[3]), text = t[4], fabric = true,
         drain = job_store.detail(t[5]).drain }
   end
   for i, e in ipairs(list) do
      e.order = i
   end
   table.sort(list, function(a, b)
      if a.time ~= b.time then
         return a.time < b.time
      end
      return a.order < b.order
   end)
   return list
end

-- When a job first started on a node after its drain; nil: none has.
local function used_again(store, entry, number)
   local first
   local function look(text, ...)
      for t in store:rows(clusters.asked(text, entry.node, schema.key(entry.time + 1), ...)) do
         if t[1] and t[2] ~= entry.run and t[1] > entry.time then
            first = math.min(first or t[1], t[1])
         end
      end
   end
   look(STARTED, number("prolog"))
   look(BEGAN, entry.time)
   return first and (not entry.to or first <= entry.to) and first or entry.to
end

-- When what was found is measured again, and good.
local function well_again(store, entry, number)
   local text, more = WELL_FABRIC, {}
   if not entry.fabric then
      local active = entry.level == "quick" or entry.level == "full"
      text, more = WELL, { number("quick"), number("full"), number(active and "full" or "passive") }
   end
   local t = store:row(clusters.asked(text, entry.node, schema.key(entry.last + 1), number("pass"),
      table.unpack(more)))
   return t and t[1]
end

local RUN = "SELECT r.job_id, r.restart, r.array_job_id, r.array_task_id, r.het_job_id, r.het_offset FROM run r "
   .. "WHERE r.id = ?"

local function run_of(store, key)
   local t = key and store:row(RUN, key)
   return t and { job_id = t[1], restart = t[2], array_job_id = t[3], array_task_id = t[4], het_job_id = t[5],
      het_offset = t[6] } or nil
end

--- @param since epoch seconds
-- @return list of drains.entries, each with its `node` (name, cluster) and `job` (a run), and with `back` and `how`:
--   "resume", "used" (in service again, by hand), "well" (measured and good), or what became of it
function drains_store.read(store, since)
   local number, nodes = numbers(store), nodes_of(store)
   local events = events_of(store, since, number, job_store.words(store))
   for _, e in ipairs(events) do
      e.node = nodes[e.node] or { key = e.node, name = "?" }
   end
   local list = drains.entries(events)
   list.checked = #events > 0 or store:row("SELECT c.node FROM check_node c WHERE c.key >= ? LIMIT 1",
      schema.key(since)) ~= nil
   for _, entry in ipairs(list) do
      entry.job = run_of(store, entry.run)
      if not entry.back and entry.what == "drain" then
         entry.back = used_again(store, entry, number)
         entry.how = entry.back and "used"
      elseif not entry.back and drains.is_withheld(entry) then
         entry.back = well_again(store, entry, number)
         entry.how = entry.back and "well"
      end
   end
   return list
end

return drains_store
