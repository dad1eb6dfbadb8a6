--- A job's answer for programs and spreadsheets. records.lua has its form.
local fields = require("syscheck.catalogue.fields")
local job_records = require("syscheck.questions.job.records")
local output = require("syscheck.lib.output")
local peers = require("syscheck.questions.job.peers")
local sorted = require("syscheck.lib.sorted")
local time = require("syscheck.lib.time")

local export = {}

local IDENTITY = { "job_id", "restart", "array_job_id", "array_task_id", "het_job_id", "het_offset", "cluster", "user",
   "name", "account", "partition", "nodes", "seen" }

local function json_of_row(row, found)
   local check, job = job_records.brief(row), row.job or {}
   return {
      node = row.node, class = row.class, time = row.time, elapsed_s = row.elapsed_s, values = row.values,
      check = check.status and { level = check.level, asked = check.asked, status = check.status,
         action = check.action, text = check.text, reason = check.reason, note = check.note, drain = check.drain,
         metrics = row.metrics } or nil,
      out = output.each(found, function(one)
         return { name = one.name, value = one.value, median = one.median, worst = one.worst, peers = one.peers }
      end),
      others = job.others and output.list(job.others), others_more = job.others_more,
      errors = job.errors and output.list(job.errors), problems = job.problems and output.list(job.problems),
   }
end

--- One object: { v, kind = "job", id, runs }, see docs/records.md.
-- @param answer list of runs, its field `id` filled in
function export.json(answer)
   local runs = output.each(answer, function(run)
      local found_of, rows = peers.by_row((peers.of_run(run.rows))), output.list()
      for i, row in ipairs(run.rows) do
         rows[i] = json_of_row(row, found_of[i])
      end
      local out = { rows = rows, begin = run.begin_s and time.show(run.begin_s),
         ["end"] = run.end_s and time.show(run.end_s) }
      for _, name in ipairs(IDENTITY) do
         out[name] = run[name]
      end
      return out
   end)
   return output.json({ v = 1, kind = "job", id = answer.id, runs = runs })
end

--- One line for each node and run; every field has its column, in the store's units.
function export.csv(answer)
   local titles = { "run" }
   local function add(...)
      for _, name in ipairs({ ... }) do
         titles[#titles + 1] = name
      end
   end
   add(table.unpack(IDENTITY))
   add("node", "class", "time", "elapsed_s", "level", "asked", "status", "action")
   for _, f in ipairs(fields.CHECK) do
      add("check." .. f.name)
   end
   for _, f in ipairs(fields.JOB) do
      add(f.name)
   end
   add("out", "others")
   local lines = {}
   for r, run in ipairs(answer) do
      local _, marks = peers.of_run(run.rows)
      for i, row in ipairs(run.rows) do
         local cells, n = {}, 0
         local function put(value)
            n = n + 1
            cells[n] = value
         end
         put(r)
         for _, name in ipairs(IDENTITY) do
            put(run[name])
         end
         local b = job_records.brief(row)
         put(row.node) put(row.class) put(row.time) put(row.elapsed_s)
         put(b.level) put(b.asked) put(b.status) put(b.action)
         for _, f in ipairs(fields.CHECK) do
            put(row.metrics[f.name])
         end
         for _, f in ipairs(fields.JOB) do
            put(row.values and row.values[f.name])
         end
         local others = {}
         for k, id in ipairs(row.job and row.job.others or {}) do
            others[k] = tostring(math.tointeger(id) or id)
         end
         put(table.concat(sorted(marks[i]), " "))
         put(table.concat(others, " "))
         lines[#lines + 1] = cells
      end
   end
   return output.csv(titles, lines)
end

return export
