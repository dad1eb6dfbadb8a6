--- A job's answer from the store, in the form that records.lua has.
local json = require("cjson.safe").new()
local alike = require("syscheck.questions.job.alike")
local fields = require("syscheck.catalogue.fields")
local job_records = require("syscheck.questions.job.records")
local lessons = require("syscheck.store.lessons")
local time = require("syscheck.lib.time")

local job_store = {}

json.decode_invalid_numbers(false)

-- What a record without a baseline names in its place.
local NONE = "none"

--- Strings by their ids in table word, each asked for once.
-- @return function(id or nil) -> text or nil
function job_store.words(store)
   local known = {}
   return function(id)
      if id == nil then
         return nil
      end
      local text = known[id]
      if text == nil then
         local row = store:row("SELECT w.text FROM word w WHERE w.id = ?", id)
         text = row and row[1] or false
         known[id] = text
      end
      return text or nil
   end
end

--- A row's detail; damage is none.
function job_store.detail(text)
   local value = text and json.decode(text)
   return type(value) == "table" and value or {}
end

--- "t.a, t.b" of the numbers of a table.
function job_store.columns(list, prefix)
   local names = {}
   for i, field in ipairs(list) do
      names[i] = prefix .. "." .. field.name
   end
   return table.concat(names, ", ")
end

--- Numbers of a row, by name.
-- @param from index of the first
function job_store.numbers(list, row, from)
   local out = {}
   for i, field in ipairs(list) do
      local value = row[from + i - 1]
      out[field.name] = type(value) == "number" and value or nil
   end
   return out
end

-- Names not joined: PostgreSQL would read all nodes for a few of them.
local CHECKS = ([[SELECT (SELECT n.name FROM node n WHERE n.id = c.node), c.key >> 30, c.level, c.asked, c.status,
   c.action, c.class, c.text, c.detail, c.lesson, c.baseline, %s
   FROM check_node c WHERE c.run = ? ORDER BY c.key]]):format(
   job_store.columns(fields.CHECK, "c"))
local JOBS = ([[SELECT (SELECT n.name FROM node n WHERE n.id = j.node), j.key >> 30, j.begin_s, j.elapsed_s,
   j.class, j.detail, %s
   FROM job_node j WHERE j.run = ? ORDER BY j.key]]):format(
   job_store.columns(fields.JOB, "j"))

--- Fills in what a check's values compare with where no baseline rated them, see alike.of_run.
-- @param row { class, check = { status } }
-- @param number of its class among the store's words
-- @param about of lessons.reader
-- @param baseline what its record names, or nil
function job_store.compare_with(row, number, about, baseline)
   row.number, row.alike = number, alike.keys(row.class, about.cpus, about.box)
   row.unrated = row.check.status == "unrated" or baseline == NONE
end

-- One row for each check, by node the last one first to be found.
local function checks_of(store, run, word, rows)
   local by_node, about = {}, lessons.reader(store)
   for t in store:rows(CHECKS, run.key) do
      local detail = job_store.detail(t[9])
      local row = { node = t[1], time = time.show(t[2]), class = word(t[7]),
         metrics = job_store.numbers(fields.CHECK, t, 12),
         check = job_records.part(detail) }
      local check = row.check
      check.level, check.asked, check.status, check.action = word(t[3]), word(t[4]), word(t[5]), word(t[6])
      check.text = t[8]
      job_store.compare_with(row, t[7], about(t[10]), word(t[11]))
      rows[#rows + 1] = row
      by_node[row.node] = row
   end
   return by_node
end

local CLASS_S = 30 * 86400 -- other nodes' checks are so much older than the job's at most
local CLASS_NODES = 100 -- are looked at

--- Values of other nodes of rows' classes, each class read once.
-- @param rows with `node`, `time`, and what compare_with fills in
-- @return function for alike.of_run
function job_store.class_of(store, rows)
   local known, here, numbers, from = {}, {}, {}, math.huge
   for _, row in ipairs(rows) do
      here[row.node] = true
      from = math.min(from, time.parse(row.time) or from)
      for _, key in pairs(row.alike or {}) do
         numbers[key] = row.number
      end
   end
   return function(key, name)
      local number = numbers[key]
      known[number] = known[number] or lessons.of_class(store, number, math.max(0, from - CLASS_S), CLASS_NODES,
         function(node)
            return here[node]
         end)
      local values = {}
      for _, one in ipairs(known[number]) do
         local value = one.values[name]
         values[#values + 1] = value and alike.keys(one.class, one.cpus, { [name] = value.box_s })[name] == key
            and value.value or nil
      end
      return values
   end
end

--- Fills in the rows of runs, and `warnings` of alike.of_run.
-- @param runs from jobid.runs
-- @param only_count true: of other jobs on the node only how many, not which
-- @return runs
function job_store.answer(store, runs, only_count)
   local word = job_store.words(store)
   for _, run in ipairs(runs) do
      local rows = {}
      local by_node = checks_of(store, run, word, rows)
      for t in store:rows(JOBS, run.key) do
         local row = by_node[t[1]]
         if not row then
            row = { node = t[1], time = time.show(t[3] or t[2]), class = word(t[5]), metrics = {} }
            rows[#rows + 1] = row
         end
         -- A second epilog's record gets a row of its own.
         by_node[t[1]] = nil
         row.job = job_records.part(job_store.detail(t[6]))
         if only_count and row.job.others then
            row.job.others_more = #row.job.others + (row.job.others_more or 0)
            row.job.others = nil
         end
         row.values, row.elapsed_s = job_store.numbers(fields.JOB, t, 7), t[4]
      end
      run.rows = job_records.sort(rows)
      run.warnings = alike.of_run(run.rows, job_store.class_of(store, run.rows))
   end
   return runs
end

return job_store
