--- A job's answer from the records of spool directories. Pure.
--
-- An answer is a list of runs, oldest first (a requeued job has several): each what is known
-- of the job, and `rows`, one for each node's check or job record:
--   { node, class, time = text, key = of the order, check = a check's record or the part of it
--     that was kept (see part), job = likewise of the job record, metrics = { name = value },
--     values = { name of fields.JOB = value }, elapsed_s, alike, unrated (see alike.of_run) }
-- and `warnings`, of alike.of_run.
local alike = require("syscheck.questions.job.alike")
local beside = require("syscheck.catalogue.beside")
local fields = require("syscheck.catalogue.fields")
local lesson = require("syscheck.verdict.lesson")
local store_runs = require("syscheck.store.runs")

local job_records = {}

-- What is known of the job itself, and its type.
local JOB = { user = "string", account = "string", partition = "string", name = "string", nodelist = "string",
   nodes = "number", restart = "number", array_job_id = "number", array_task_id = "number", het_job_id = "number",
   het_offset = "number" }

local TEXTS = { "level", "asked", "status", "action", "text", "reason", "note" }
-- Lists, and what each item has to be.
local LISTS = { metrics = "table", errors = "table", problems = "string", others = "number" }

--- What is shown of a record besides its numbers; nothing that is not of its type, as
-- anybody may have written the file.
-- @param record or a part of one
function job_records.part(record)
   local out = {}
   for _, name in ipairs(TEXTS) do
      out[name] = type(record[name]) == "string" and record[name] or nil
   end
   for name, kind in pairs(LISTS) do
      local given = record[name]
      if type(given) == "table" then
         out[name] = {}
         for _, item in ipairs(given) do
            if type(item) == kind then
               table.insert(out[name], item)
            end
         end
      end
   end
   out.others_more = type(record.others_more) == "number" and record.others_more or nil
   out.drain = type(record.drain) == "table" and record.drain or nil
   -- A record has it in its runs, the store by itself.
   local _, more = beside.of(record)
   more = next(more) and more or record
   out.noise = type(more.noise) == "table" and more.noise or nil
   out.io = type(more.io) == "table" and more.io or nil
   local memory = beside.memory(more)
   out.scaling, out.numa = memory.scaling, memory.numa
   local waits = type(record.saturation) == "table" and record.saturation or {}
   out.saturation = { unknown = type(waits.unknown) == "string" and waits.unknown or nil,
      source = type(waits.source) == "string" and waits.source or nil }
   out.check = type(record.check) == "table" and job_records.part(record.check) or nil
   return out
end

--- Rows in the order of their time, then by name.
function job_records.sort(rows)
   table.sort(rows, function(a, b)
      if a.time ~= b.time then
         return a.time < b.time
      end
      return a.node < b.node
   end)
   return rows
end

--- Which part, and what it counted: "mc0 CPU0_DIMM_A1: corrected 12".
-- @param e of a job record's `errors`
function job_records.error_text(e)
   local counts = {}
   for _, name in ipairs({ "corrected", "uncorrected", "errors", "downed" }) do
      if type(e[name]) == "number" and e[name] > 0 then
         counts[#counts + 1] = ("%s %.0f"):format(name, e[name])
      end
   end
   return ("%s: %s"):format(tostring(e.unit or e.kind), table.concat(counts, ", "))
end

--- IDs of the other jobs on a row's node, as text.
function job_records.others(row)
   local out = {}
   for i, id in ipairs(row.job and row.job.others or {}) do
      out[i] = tostring(math.tointeger(id) or id)
   end
   return out
end

--- A row's check, or what the job record kept of it.
function job_records.brief(row)
   return row.check or row.job and row.job.check or {}
end

--- What a check measured, by name.
function job_records.metrics(check)
   local out = beside.of(check or {})
   for _, r in ipairs(check and type(check.metrics) == "table" and check.metrics or {}) do
      if type(r) == "table" and type(r.value) == "number" and fields.CHECK_BY_NAME[r.name] then
         out[r.name] = r.value
      end
   end
   return out
end

local function values_of(record)
   local out = {}
   for _, field in ipairs(fields.JOB) do
      out[field.name] = fields.of(record, field)
   end
   return out
end

local function text(value)
   return type(value) == "string" and value or ""
end

-- Fills in what its values compare with where no baseline rated them.
local function compare_with(row, record)
   if lesson.is_of_class("check", record.class) then
      local one, boxes = lesson.of(record), {}
      for name, value in pairs(one.values) do
         boxes[name] = value.box_s
      end
      row.alike = alike.keys(record.class, one.cpus, boxes)
      row.unrated = record.status == "unrated" or type(record.baseline) == "table" and record.baseline.hash == "none"
   end
end

-- One row for each run on each node: its check, its job record, or both.
local function pair(list)
   local rows, by_check = {}, {}
   for _, record in ipairs(list) do
      if record.kind == "check" then
         local row = { node = record.node, class = record.class, check = job_records.part(record), of = record,
            time = text(record.time), metrics = job_records.metrics(record) }
         compare_with(row, record)
         rows[#rows + 1] = row
         by_check[record.id] = row
      end
   end
   for _, record in ipairs(list) do
      if record.kind == "job" then
         local row = type(record.check) == "table" and by_check[record.check.id]
         if not row then
            row = { node = record.node, class = record.class, metrics = {}, of = record,
               time = text(type(record.begin) == "table" and record.begin.time or record.time) }
            rows[#rows + 1] = row
         end
         row.job, row.values, row.ended = job_records.part(record), values_of(record), record
         row.elapsed_s = fields.ran_s(record)
      end
   end
   return job_records.sort(rows)
end

-- The run that a record is of, the latest that it can be: the nodes that Slurm chose are its own, its restart count
-- is none other (only some records know it), and it has not this node: then the job came back to the same ones.
local function find_run(runs, row)
   local record = row.of
   local restart = row.ended and row.ended.job.restart or record.job.restart
   for i = #runs, 1, -1 do
      local run = runs[i]
      if run.cluster == record.cluster and run.on == record.job.nodelist and not run.has[row.node]
         and (run.restart == nil or restart == nil or run.restart == restart) then
         return run
      end
   end
end

-- Takes what a run lacks from a record's job.
local function widen(run, job)
   if type(job) ~= "table" then
      return
   end
   local known = { batch = job.batch == true }
   for name, kind in pairs(JOB) do
      known[name] = type(job[name]) == kind and job[name] or nil
   end
   store_runs.identify(run, known)
   for name in pairs(JOB) do
      if run[name] == nil then
         run[name] = known[name]
      end
   end
end

--- @param list records of one job
-- @return answer
function job_records.answer(list)
   local runs = {}
   for _, row in ipairs(pair(list)) do
      local record = row.of
      local run = find_run(runs, row)
      if not run then
         run = { job_id = record.job.id, cluster = record.cluster, on = record.job.nodelist, rows = {}, has = {} }
         runs[#runs + 1] = run
      end
      widen(run, record.job)
      widen(run, row.ended and row.ended.job)
      run.has[row.node] = true
      run.rows[#run.rows + 1] = row
   end
   for _, run in ipairs(runs) do
      run.seen = #run.rows
      run.warnings = alike.of_run(run.rows)
   end
   return runs
end

return job_records
