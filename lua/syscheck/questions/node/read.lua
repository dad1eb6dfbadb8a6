--- A node's story and a fleet's values, read from the store.
local alike = require("syscheck.questions.job.alike")
local clusters = require("syscheck.questions.clusters")
local fields = require("syscheck.catalogue.fields")
local finding = require("syscheck.questions.finding")
local job_records = require("syscheck.questions.job.records")
local job_store = require("syscheck.questions.job.read")
local lessons = require("syscheck.store.lessons")
local schema = require("syscheck.store.schema")
local settings = require("syscheck.questions.settings")
local story = require("syscheck.questions.node.story")
local spelling = require("syscheck.lib.spelling")
local time = require("syscheck.lib.time")

local node_store = {}

--- Nodes of a name, in any cluster.
-- @return list of { key, name, cluster, class, also (see clusters.united) }
function node_store.find(store, name, cluster)
   local all, list = {}, {}
   for t in store:rows([[SELECT n.id, n.name, wc.text, wk.text FROM node n LEFT JOIN word wc ON wc.id = n.cluster
      LEFT JOIN word wk ON wk.id = n.class WHERE n.name = ? ORDER BY n.id]], name) do
      all[#all + 1] = { key = t[1], name = t[2], cluster = t[3], class = t[4] }
   end
   for _, node in ipairs(clusters.united(all)) do
      list[#list + 1] = (not cluster or node.cluster == cluster) and node or nil
   end
   return list
end

--- The name that was probably meant; nil when none is near.
function node_store.nearest(store, name)
   local names = {}
   for t in store:rows("SELECT DISTINCT n.name FROM node n ORDER BY n.name") do
      names[#names + 1] = t[1]
   end
   return spelling.nearest(name, names)
end

-- What a job record adds to the story: events, and what the list of jobs shows.
local IN_STORY = {}
for _, field in ipairs(fields.JOB) do
   if field.rare or field.name == "io_some_us" then
      IN_STORY[#IN_STORY + 1] = field
   end
end

local CHECKS = ([[SELECT c.key >> 30, c.trigger, c.level, c.status, c.action, c.class, c.config, c.text,
   c.detail, c.run, c.lesson, c.baseline, %s FROM check_node c WHERE c.node = ? AND c.key >= ? ORDER BY c.key]]):format(
   job_store.columns(fields.CHECK, "c"))
local FABRIC = ([[SELECT c.key >> 30, c.status, c.action, c.text, c.detail, %s FROM fabric_node c WHERE c.node = ?
   AND c.key >= ? ORDER BY c.key]]):format(job_store.columns(fields.FABRIC, "c"))
local LOSSES = [[SELECT l.key >> 30, l.records, l.bytes, l.reason FROM loss l WHERE l.node = ? AND l.key >= ?
   ORDER BY l.key]]
local JOBS = ([[SELECT j.key >> 30, j.begin_s, j.elapsed_s, j.class, j.config, j.detail, j.run, %s
   FROM job_node j WHERE j.node = ? AND j.key >= ? ORDER BY j.key]]):format(job_store.columns(IN_STORY, "j"))
local RUN = [[SELECT r.job_id, r.restart, r.array_job_id, r.array_task_id, r.het_job_id, r.het_offset, r.nodes, wu.text,
   wn.text FROM run r LEFT JOIN word wu ON wu.id = r.user LEFT JOIN word wn ON wn.id = r.name WHERE r.id = ?]]

-- What is known of runs, each asked for once.
local function runs_of(store)
   local known = {}
   return function(key)
      if key and known[key] == nil then
         local t = store:row(RUN, key)
         known[key] = t and { job_id = t[1], restart = t[2], array_job_id = t[3], array_task_id = t[4],
            het_job_id = t[5], het_offset = t[6], nodes = t[7], user = t[8], name = t[9] } or false
      end
      return key and known[key] or nil
   end
end

-- Says of each change of the settings which they were.
local function explain_changes(store, events)
   local function text_of(id)
      local row = store:row("SELECT c.text FROM config c JOIN word w ON w.id = c.id WHERE w.text = ?", id)
      return row and row[1]
   end
   for _, e in ipairs(events) do
      local text = e.event == "config" and settings.difference(text_of(e.from), text_of(e.to)) or ""
      e.text = text ~= "" and ("%s: %s"):format(e.text, text) or e.text
   end
end

-- Its newest measured check against its class, where no baseline rated it.
-- @param t row of CHECKS
local function warnings_of(store, node, t, word, about)
   local row = { node = node.name, class = word(t[6]), check = { status = word(t[4]) }, time = time.show(t[1]),
      metrics = job_store.numbers(fields.CHECK, t, 13) }
   job_store.compare_with(row, t[6], about(t[11]), word(t[12]))
   return alike.of_run({ row }, job_store.class_of(store, { row }))
end

--- @param node from find
-- @param from epoch seconds
-- @param limit jobs and events that are kept
-- @return what story:answer returns, with `node`, `since`, `to` (now), `warnings` (of alike.of_run), and `memory`:
--   { scaling, numa }, each the newest there is (see beside.of), and scaling_time,
--   numa_time, epoch seconds
function node_store.story(store, node, from, limit)
   local word, tale, about, newest = job_store.words(store), story.new(limit), lessons.reader(store), nil
   local memory = {}
   for t in store:rows(clusters.asked(CHECKS, node, schema.key(from))) do
      local detail = job_records.part(job_store.detail(t[9]))
      tale:check({ time = t[1], trigger = word(t[2]), level = word(t[3]), status = word(t[4]), action = word(t[5]),
         class = word(t[6]), config = word(t[7]), text = detail.reason or t[8], drain = detail.drain, run = t[10],
         metrics = job_store.numbers(fields.CHECK, t, 13) })
      newest = about(t[11]).cpus and t or newest
      for _, name in ipairs({ "scaling", "numa" }) do
         memory[name] = detail[name] or memory[name]
         memory[name .. "_time"] = detail[name] and t[1] or memory[name .. "_time"]
      end
   end
   for t in store:rows(clusters.asked(JOBS, node, schema.key(from))) do
      tale:job({ time = t[1], begin_s = t[2], elapsed_s = t[3], class = word(t[4]), config = word(t[5]),
         errors = t[6] and job_records.part(job_store.detail(t[6])).errors, run = t[7],
         values = job_store.numbers(IN_STORY, t, 8) })
   end
   for t in store:rows(clusters.asked(FABRIC, node, schema.key(from))) do
      local detail = job_store.detail(t[5])
      local run = finding.looked(detail, word(t[2]))
      tale:fabric({ time = t[1], action = word(t[3]), text = t[4], drain = detail.drain,
         findings = finding.all(detail, run.status, t[4]), metrics = job_store.numbers(fields.FABRIC, t, 6),
         is_over = function(f)
            return finding.is_over(f, node.name, run)
         end })
   end
   for t in store:rows(clusters.asked(LOSSES, node, schema.key(from))) do
      tale:loss({ time = t[1], records = t[2], bytes = t[3], reason = word(t[4]) })
   end
   local answer, run_of = tale:answer(), runs_of(store)
   explain_changes(store, answer.events)
   for _, list in ipairs({ answer.events, answer.jobs }) do
      for _, entry in ipairs(list) do
         entry.run = run_of(entry.run)
      end
   end
   answer.warnings = newest and warnings_of(store, node, newest, word, about) or {}
   answer.memory, answer.node, answer.since, answer.to = memory, node, from, os.time()
   return answer
end

return node_store
