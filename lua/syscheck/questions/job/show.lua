--- A job's answer for people. records.lua has its form.
local fields = require("syscheck.catalogue.fields")
local printable = require("syscheck.lib.printable")
local job_records = require("syscheck.questions.job.records")
local jobid = require("syscheck.questions.jobid")
local metrics = require("syscheck.catalogue.metrics")
local output = require("syscheck.lib.output")
local peers = require("syscheck.questions.job.peers")
local units = require("syscheck.lib.units")

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

-- Events that a healthy node does not have, and the fields they are from.
-- @return list of { text, names }
local function events_of(row)
   local v, list = row.values or {}, {}
   if (v.throttle_events or 0) > 0 then
      local ms = v.throttle_package_ms
      list[1] = { ("throttled %.0f times during the job%s"):format(v.throttle_events,
         ms and (" (%.0f ms)"):format(ms) or ""), { "throttle_events", "throttle_package_ms", "throttle_core_ms" } }
   end
   for _, name in ipairs({ "memory_corrected", "memory_uncorrected", "machine_checks", "link_errors",
      "link_downed" }) do
      if (v[name] or 0) > 0 then
         list[#list + 1] = { ("%s: %.0f"):format(fields.JOB_BY_NAME[name].label, v[name]), { name } }
      end
   end
   if (v.oom_kills or 0) > 0 then
      list[#list + 1] = { ("%.0f process%s killed for memory during the job"):format(v.oom_kills,
         v.oom_kills == 1 and "" or "es"), { "oom_kills" } }
   end
   return list
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
      lines[#lines + 1] = drain.done and "drained, the job did not start there"
         or "out of service by the prolog's exit code: "
            .. (drain.kept and "already drained: " .. tostring(drain.kept) or tostring(drain.error or "?"))
   elseif check.action == "observed" then
      lines[#lines + 1] = "would have been drained (mode is observe)"
   elseif check.action == "storm" then
      lines[#lines + 1] = "bad, not drained: the storm guard's cap was used up"
   elseif check.action == "undecided" then
      lines[#lines + 1] = "bad, not drained, to be settled by the node's next check: "
         .. tostring((check.drain or {}).error or "?")
   end
   lines[#lines + 1] = check.note
   return lines
end

--- What the table does not show in numbers.
-- @param list of peers.of_run
-- @return list of { node, text }
function show.remarks(run, list)
   local out = {}
   local function add(row, text)
      out[#out + 1] = { row.node, tostring(text) }
   end
   local found_of = peers.by_row(list)
   for i, row in ipairs(run.rows) do
      local check, job, mine = row.check, row.job, found_of[i] or {}
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
      local unlike = {}
      for _, found in ipairs(mine) do
         unlike[found.name] = found
      end
      for _, event in ipairs(events_of(row)) do
         local found = unlike[event[2][1]]
         add(row, event[1] .. (found and "; " .. peers.against(found) or ""))
         for _, name in ipairs(event[2]) do
            unlike[name] = nil
         end
      end
      for _, e in ipairs(job and job.errors or {}) do
         add(row, job_records.error_text(e))
      end
      for _, found in ipairs(mine) do
         if unlike[found.name] then
            add(row, "unlike its peers: " .. peers.text(found))
         end
      end
      local ids, more = job_records.others(row), job and job.others_more or 0
      if #ids == 0 and more > 0 then
         add(row, ("shared with %.0f other job%s"):format(more, more == 1 and "" or "s"))
      elseif #ids > 0 then
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
            -- What a value is shown in need not be what it is stored in.
            local title = f.name:gsub("_" .. f.unit .. "$", ""):upper()
            columns[#columns + 1] = { head = title, mark = { out.name }, of = function(row)
               return (is_check and row.metrics or row.values or {})[f.name]
            end, show = function(value)
               return (units.show(f.unit, value):gsub(" ", ""))
            end }
         end
      end
   end
   return columns
end

--- Text for a terminal.
-- @param answer list of runs; `why`: the sentence of why/answer.blame, or nil
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
         local b = job_records.brief(row)
         local cells = { printable.safe(row.node), output.name(row.time), output.name(b.level),
            b.status and output.cell(printable.safe(b.status), STATUS_STYLE[b.status]) or "-" }
         for _, column in ipairs(columns) do
            cells[#cells + 1] = cell(column, row, found[r].marks[i])
         end
         if #answer > 1 then
            table.insert(cells, 1, ("%d"):format(r))
         end
         rows[#rows + 1] = cells
      end
      for _, note in ipairs(show.remarks(run, found[r].out)) do
         notes[#notes + 1] = ("%s%s: %s"):format(#answer > 1 and ("run %d, "):format(r) or "", printable.safe(note[1]),
            printable.safe(note[2], 400))
      end
   end
   -- The last run's: a requeued job has had other nodes before.
   local parts = { head(answer[#answer]), "", output.table(rows, color) }
   if answer.why then
      notes[#notes + 1] = ("why: %s."):format(answer.why)
   end
   if #notes > 0 then
      parts[#parts + 1] = ""
      parts[#parts + 1] = table.concat(notes, "\n")
   end
   return table.concat(parts, "\n")
end

return show
