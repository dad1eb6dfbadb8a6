--- A job's answer for programs and spreadsheets. records.lua has its form.
local alike = require("syscheck.questions.job.alike")
local fields = require("syscheck.catalogue.fields")
local job_records = require("syscheck.questions.job.records")
local metrics = require("syscheck.catalogue.metrics")
local output = require("syscheck.lib.output")
local peers = require("syscheck.questions.job.peers")
local sorted = require("syscheck.lib.sorted")
local time = require("syscheck.lib.time")
local waits = require("syscheck.questions.job.waits")

local export = {}

local IDENTITY = { "job_id", "restart", "array_job_id", "array_task_id", "het_job_id", "het_offset", "cluster", "user",
   "name", "account", "partition", "nodes", "seen" }

local function json_of_row(row, found)
   local check, job = job_records.brief(row), row.job or {}
   return {
      node = row.node, class = row.class, time = row.time, elapsed_s = row.elapsed_s, values = row.values,
      check = check.status and { level = check.level, asked = check.asked, status = check.status,
         action = check.action, text = check.text, reason = check.reason, note = check.note, drain = check.drain,
         metrics = row.metrics, noise = check.noise, io = check.io and output.list(check.io),
         scaling = check.scaling, numa = check.numa } or nil,
      out = output.each(found, function(one)
         return { name = one.name, value = one.value, median = one.median, worst = one.worst, peers = one.peers }
      end),
      others = job.others and output.list(job.others), others_more = job.others_more,
      errors = job.errors and output.list(job.errors), problems = job.problems and output.list(job.problems),
   }
end

--- One object: { v, kind = "job", id, runs, why }, see docs/records.md.
-- @param answer list of runs, its field `id` filled in
function export.json(answer)
   local runs = output.each(answer, function(run)
      local found_of, rows = peers.by_row((peers.of_run(run.rows))), output.list()
      for i, row in ipairs(run.rows) do
         rows[i] = json_of_row(row, found_of[i])
      end
      local warnings = output.each(run.warnings or {}, alike.object)
      local out = { rows = rows, warnings = warnings, memory = waits.object(waits.of_rows(run.rows)),
         begin = run.begin_s and time.show(run.begin_s),
         ["end"] = run.end_s and time.show(run.end_s) }
      for _, name in ipairs(IDENTITY) do
         out[name] = run[name]
      end
      return out
   end)
   return output.json({ v = 1, kind = "job", id = answer.id, runs = runs, why = answer.why })
end

local function names(list, wanted)
   local out = {}
   for _, field in ipairs(list) do
      out[#out + 1] = (not wanted or wanted(field)) and field.name or nil
   end
   return out
end

-- What came later stands last: scripts count columns.
local function is_first(field)
   return metrics.BY_NAME[field.name] ~= nil
end

local function is_last(field)
   return not is_first(field)
end

local function is_early(field)
   return not field.late
end

local function is_late(field)
   return field.late
end

-- Columns of the CSV, by what has their values (see export.csv): names, and what a title has
-- before them.
local COLUMNS = { { { "run" } }, { IDENTITY }, { { "node", "class", "time", "elapsed_s" } },
   { { "level", "asked", "status", "action" } }, { names(fields.CHECK, is_first), "check." },
   { names(fields.JOB, is_early) },
   { { "out", "others" } }, { names(fields.CHECK, is_last), "check." }, { names(fields.JOB, is_late) } }

--- One line for each node and run; every field has its column, in the store's units.
function export.csv(answer)
   local titles, lines = {}, {}
   for _, part in ipairs(COLUMNS) do
      for _, name in ipairs(part[1]) do
         titles[#titles + 1] = (part[2] or "") .. name
      end
   end
   for r, run in ipairs(answer) do
      local _, marks = peers.of_run(run.rows)
      for i, row in ipairs(run.rows) do
         local values = { { run = r }, run, row, job_records.brief(row), row.metrics, row.values or {},
            { out = table.concat(sorted(marks[i]), " "), others = table.concat(job_records.others(row), " ") },
            row.metrics, row.values or {} }
         local cells, n = {}, 0
         for k, part in ipairs(COLUMNS) do
            for _, name in ipairs(part[1]) do
               n = n + 1
               cells[n] = values[k][name]
            end
         end
         lines[#lines + 1] = cells
      end
   end
   return output.csv(titles, lines)
end

return export
