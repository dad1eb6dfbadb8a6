--- A job's answer for people, spreadsheets and programs. See job_records.lua for its form.
local fields = require("syscheck.fields")
local jobid = require("syscheck.jobid")
local metrics = require("syscheck.metrics")
local output = require("syscheck.output")
local peers = require("syscheck.questions.peers")
local render = require("syscheck.render")
local since = require("syscheck.since")
local units = require("syscheck.units")

local show = {}

-- The table's columns; `mark` names the fields whose being out marks the cell.
local function field(head, name, divisor, digits)
   return { head = head, mark = { name }, of = function(row)
      return row.values and row.values[name]
   end, divisor = divisor, digits = digits }
end

local function measured(head, name)
   return { head = head, mark = { "check." .. name }, of = function(row)
      return row.metrics[name]
   end, show = function(value)
      return metrics.show(metrics.BY_NAME[name], value)
   end }
end

local COLUMNS = {
   measured("TRIAD_GB/s", "triad_gbs"),
   measured("DGEMM_GF/s", "gflops"),
   measured("NOISE_%", "noise_pct"),
   { head = "ELAPSED_s", mark = {}, of = function(row) return row.elapsed_s end, divisor = 1, digits = 0 },
   field("THROTTLE", "throttle_events", 1, 0),
   { head = "THROTTLE_ms", mark = { "throttle_package_ms", "throttle_core_ms" }, of = function(row)
      local v = row.values or {}
      return v.throttle_package_ms and math.max(v.throttle_package_ms, v.throttle_core_ms or 0) or v.throttle_core_ms
   end, divisor = 1, digits = 0 },
   field("IO_STALL_s", "io_some_us", 1e6, 2),
   field("IOWAIT_s", "iowait_ms", 1e3, 2),
   field("DISK_BUSY_s", "disk_busy_ms", 1e3, 2),
   field("NFS_s", "nfs_op_ms", 1e3, 2),
   field("MB_READ", "disk_read_bytes", 1e6, 1),
   field("MB_WRITTEN", "disk_written_bytes", 1e6, 1),
}

-- Fields that have a column in the table.
local SHOWN = {}
for _, column in ipairs(COLUMNS) do
   for _, name in ipairs(column.mark) do
      SHOWN[name] = true
   end
end

local function cell(column, row, marks)
   local value = column.of(row)
   if type(value) ~= "number" then
      return "-"
   end
   local text = column.show and column.show(value) or ("%." .. column.digits .. "f"):format(value / column.divisor)
   for _, name in ipairs(column.mark) do
      if marks[name] then
         return output.cell(text .. "*", "bad")
      end
   end
   return text
end

local STATUS_STYLE = { pass = "good", fail = "bad", warn = "warn", unknown = "warn" }

local function brief(row)
   return row.check or row.job and row.job.check or {}
end

-- The names of one kind of error's units: "mc0 CPU0_DIMM_A1: corrected 12".
local function error_text(e)
   local counts = {}
   for _, name in ipairs({ "corrected", "uncorrected", "errors", "downed" }) do
      if type(e[name]) == "number" and e[name] > 0 then
         counts[#counts + 1] = ("%s %.0f"):format(name, e[name])
      end
   end
   return ("%s: %s"):format(tostring(e.unit or e.kind), table.concat(counts, ", "))
end
show.error_text = error_text

local function events_text(row)
   local v, lines = row.values or {}, {}
   if (v.throttle_events or 0) > 0 then
      local ms = v.throttle_package_ms
      lines[1] = ("throttled %.0f times during the job%s"):format(v.throttle_events, ms and (" (%.0f ms)"):format(ms)
         or "")
   end
   for _, name in ipairs({ "memory_corrected", "memory_uncorrected", "machine_checks", "link_errors",
      "link_downed" }) do
      if (v[name] or 0) > 0 then
         lines[#lines + 1] = ("%s: %.0f"):format(fields.JOB_BY_NAME[name].label, v[name])
      end
   end
   if (v.oom_kills or 0) > 0 then
      lines[#lines + 1] = ("%.0f processes killed for memory during the job"):format(v.oom_kills)
   end
   return lines
end

local function check_text(check)
   local lines = {}
   for _, r in ipairs(check.metrics or {}) do
      if r.status == "fail" or r.status == "warn" or r.status == "unknown" then
         lines[#lines + 1] = ("%s: %s"):format(r.status, r.text or r.name)
      end
   end
   if check.action == "drain" then
      local drain = check.drain or {}
      lines[#lines + 1] = drain.done and "drained, the job was sent elsewhere"
         or "out of service by the prolog's exit code: "
            .. (drain.kept and "already drained: " .. tostring(drain.kept) or tostring(drain.error or "?"))
   elseif check.action == "observed" then
      lines[#lines + 1] = "would have been drained (mode is observe)"
   elseif check.action == "storm" then
      lines[#lines + 1] = "bad, not drained: the storm guard's cap was used up"
   end
   lines[#lines + 1] = check.note
   return lines
end

--- What the table does not say in numbers.
-- @param list of peers.of_run
-- @return list of { node, text }
function show.remarks(run, list)
   local out = {}
   local function add(row, text)
      out[#out + 1] = { row.node, tostring(text) }
   end
   for i, row in ipairs(run.rows) do
      local check, job = row.check, row.job
      for _, text in ipairs(check and check_text(check) or {}) do
         add(row, text)
      end
      local seen = {}
      for _, record in ipairs({ check or {}, job or {} }) do
         for _, problem in ipairs(record.problems or {}) do
            if not seen[problem] then
               seen[problem] = true
               add(row, "problem: " .. problem)
            end
         end
      end
      for _, text in ipairs(events_text(row)) do
         add(row, text)
      end
      for _, e in ipairs(job and job.errors or {}) do
         add(row, error_text(e))
      end
      for _, found in ipairs(list) do
         if found.row == i then
            add(row, "unlike its peers: " .. peers.text(found))
         end
      end
      local others = job and job.others or {}
      local more = job and job.others_more or 0
      if #others == 0 and more > 0 then
         add(row, ("shared with %.0f other job%s"):format(more, more == 1 and "" or "s"))
      elseif #others > 0 then
         local ids = {}
         for n, id in ipairs(others) do
            ids[n] = tostring(math.tointeger(id) or id)
         end
         add(row, ("shared with job%s %s%s"):format(#ids == 1 and "" or "s", table.concat(ids, ", "),
            more > 0 and (" and %.0f more"):format(more) or ""))
      end
      if check and not job then
         add(row, "no job record yet: the job still runs there, or its epilog did not")
      end
   end
   return out
end

local function head(run)
   local parts = { ("job %s"):format(jobid.label(run)) }
   for _, part in ipairs({ { "name", run.name, 64 }, { "user", run.user }, { "account", run.account },
      { "partition", run.partition }, { "cluster", run.cluster }, { "nodes", run.nodelist or run.nodes, 200 } }) do
      if part[2] ~= nil or part[1] == "user" or part[1] == "nodes" then
         local value = math.type(part[2]) == "float" and math.tointeger(part[2]) or part[2]
         parts[#parts + 1] = ("%s %s"):format(part[1], output.name(value, part[3]))
      end
   end
   if run.nodes and run.seen and run.seen < run.nodes then
      parts[#parts + 1] = ("(records of %d)"):format(run.seen)
   end
   return table.concat(parts, "  ")
end

-- Columns for fields that are out somewhere, and that the table does not have.
local function extra_columns(found)
   local columns, have = {}, {}
   for _, run in ipairs(found) do
      for _, out in ipairs(run.out) do
         if not SHOWN[out.name] and not have[out.name] then
            have[out.name] = true
            local f, is_check = out.field, out.name:sub(1, 6) == "check."
            columns[#columns + 1] = { head = f.name:upper(), mark = { out.name }, of = function(row)
               return (is_check and row.metrics or row.values or {})[f.name]
            end, show = function(value)
               return (units.show(f.unit, value):gsub(" .*", ""))
            end }
         end
      end
   end
   return columns
end

--- Text for a terminal.
-- @param answer list of runs
-- @param color see output.table
function show.table(answer, color)
   local found = {}
   for i, run in ipairs(answer) do
      local out, marks = peers.of_run(run.rows)
      found[i] = { out = out, marks = marks }
   end
   local columns = table.move(COLUMNS, 1, #COLUMNS, 1, {})
   for _, column in ipairs(extra_columns(found)) do
      columns[#columns + 1] = column
   end
   local titles = { "NODE", "CHECKED", "LEVEL", "STATUS" }
   for _, column in ipairs(columns) do
      titles[#titles + 1] = column.head
   end
   if #answer > 1 then
      table.insert(titles, 1, "RUN")
   end
   local rows, notes = { titles }, {}
   for r, run in ipairs(answer) do
      for i, row in ipairs(run.rows) do
         local b = brief(row)
         local cells = { render.safe(row.node), output.name(row.time), output.name(b.level),
            b.status and output.cell(render.safe(b.status), STATUS_STYLE[b.status]) or "-" }
         for _, column in ipairs(columns) do
            cells[#cells + 1] = cell(column, row, found[r].marks[i])
         end
         if #answer > 1 then
            table.insert(cells, 1, ("%d"):format(r))
         end
         rows[#rows + 1] = cells
      end
      for _, note in ipairs(show.remarks(run, found[r].out)) do
         notes[#notes + 1] = ("%s%s: %s"):format(#answer > 1 and ("run %d, "):format(r) or "", render.safe(note[1]),
            render.safe(note[2], 400))
      end
   end
   -- The last run's: a requeued job has had other nodes before.
   local parts = { head(answer[#answer]), "", output.table(rows, color) }
   if #notes > 0 then
      parts[#parts + 1] = ""
      parts[#parts + 1] = table.concat(notes, "\n")
   end
   return table.concat(parts, "\n")
end

local IDENTITY = { "job_id", "restart", "array_job_id", "array_task_id", "het_job_id", "het_offset", "cluster", "user",
   "name", "account", "partition", "nodes", "seen" }

local function out_of(out, row)
   local list = output.list()
   for _, found in ipairs(out) do
      if found.row == row then
         list[#list + 1] = { name = found.name, value = found.value, median = found.median, worst = found.worst,
            peers = found.peers }
      end
   end
   return list
end

--- One object: { v, kind = "job", id, runs }, see docs/records.md.
function show.json(answer, id)
   local runs = output.list()
   for i, run in ipairs(answer) do
      local out, rows = peers.of_run(run.rows), output.list()
      for n, row in ipairs(run.rows) do
         local b = brief(row)
         local job = row.job or {}
         rows[n] = {
            node = row.node, class = row.class, time = row.time, elapsed_s = row.elapsed_s, values = row.values,
            check = b.status and { level = b.level, asked = b.asked, status = b.status, action = b.action,
               text = b.text, reason = b.reason, note = b.note, drain = b.drain, metrics = row.metrics } or nil,
            out = out_of(out, n), others = job.others and output.list(job.others), others_more = job.others_more,
            errors = job.errors and output.list(job.errors), problems = job.problems and output.list(job.problems),
         }
      end
      runs[i] = { rows = rows, begin = run.begin_s and since.show(run.begin_s),
         ["end"] = run.end_s and since.show(run.end_s) }
      for _, name in ipairs(IDENTITY) do
         runs[i][name] = run[name]
      end
   end
   return output.json({ v = 1, kind = "job", id = id, runs = runs })
end

--- One line for each node and run; every field has its column, in the store's units.
function show.csv(answer)
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
   local lines = { output.csv(titles, #titles) }
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
         local b = brief(row)
         put(row.node) put(row.class) put(row.time) put(row.elapsed_s)
         put(b.level) put(b.asked) put(b.status) put(b.action)
         for _, f in ipairs(fields.CHECK) do
            put(row.metrics[f.name])
         end
         for _, f in ipairs(fields.JOB) do
            put(row.values and row.values[f.name])
         end
         local names, others = {}, {}
         for name in pairs(marks[i]) do
            names[#names + 1] = name
         end
         table.sort(names)
         for k, id in ipairs(row.job and row.job.others or {}) do
            others[k] = tostring(math.tointeger(id) or id)
         end
         put(table.concat(names, " "))
         put(table.concat(others, " "))
         lines[#lines + 1] = output.csv(cells, #titles)
      end
   end
   return table.concat(lines)
end

return show
