--- A job's answer for people. records.lua has its form.
local fields = require("syscheck.catalogue.fields")
local printable = require("syscheck.lib.printable")
local job_records = require("syscheck.questions.job.records")
local jobid = require("syscheck.questions.jobid")
local output = require("syscheck.lib.output")
local peers = require("syscheck.questions.job.peers")
local remarks = require("syscheck.questions.job.remarks")
local terminal = require("syscheck.lib.terminal")
local units = require("syscheck.lib.units")
local waits = require("syscheck.questions.job.waits")

local show = {}

-- The table's columns; `mark` names the fields whose being out marks the cell.
local function field(head, name, divisor, digits, seldom)
   return { head = head, mark = { name }, of = function(row)
      return row.values and row.values[name]
   end, divisor = divisor, digits = digits, seldom = seldom }
end

-- `seldom`: only where a check of the job measured it.
local function measured(head, name, seldom)
   return { head = head, mark = { "check." .. name }, of = function(row)
      return row.metrics[name]
   end, show = function(value)
      return fields.show(fields.CHECK_BY_NAME[name], value)
   end, seldom = seldom }
end

local COLUMNS = {
   measured("TRIAD_GB/s", "triad_gbs"),
   measured("DGEMM_GF/s", "gflops"),
   measured("NOISE_%", "noise_pct"),
   measured("CLOCK_MHz", "clock_mhz", true),
   measured("LATENCY_ns", "latency_ns", true),
   measured("SCALING_GB/s", "best_gbs", true),
   measured("KNEE", "knee_threads", true),
   measured("NUMA_FACTOR", "numa_factor", true),
   { head = "ELAPSED_s", mark = {}, of = function(row) return row.elapsed_s end, divisor = 1, digits = 0 },
   field("THROTTLE", "throttle_events", 1, 0),
   { head = "THROTTLE_ms", mark = { "throttle_package_ms", "throttle_core_ms" }, of = function(row)
      local v = row.values or {}
      return v.throttle_package_ms and math.max(v.throttle_package_ms, v.throttle_core_ms or 0) or v.throttle_core_ms
   end, divisor = 1, digits = 0 },
   field("MEM_GB/s", "mem_gbs_mean", 1, 1, true),
   field("MEM_%", "mem_used_pct", 1, 0, true),
   field("MEM_FULL_%", "mem_saturated_pct", 1, 0, true),
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

-- The table's columns for these runs.
local function columns_of(answer, found)
   local columns = {}
   for _, column in ipairs(COLUMNS) do
      local wanted = not column.seldom
      for _, run in ipairs(answer) do
         for _, row in ipairs(run.rows) do
            wanted = wanted or column.of(row) ~= nil
         end
      end
      columns[#columns + 1] = wanted and column or nil
   end
   return table.move(extra_columns(found), 1, 1000, #columns + 1, columns)
end

-- The directories that checks measured; nil: none.
local function directories(answer)
   local rows = { { "NODE", "DIRECTORY", "ON", "WRITE_GB/s", "READ_GB/s", "FSYNC_us", "CREATES/s" } }
   local function shown(value, format)
      return type(value) == "number" and format:format(value) or "-"
   end
   for _, run in ipairs(answer) do
      for _, row in ipairs(run.rows) do
         for _, one in ipairs(row.check and row.check.io or {}) do
            rows[#rows + 1] = type(one) == "table" and { printable.safe(row.node), output.name(one.path),
               output.name(one.filesystem, 16), shown(one.write_gbs, "%.3g"), shown(one.read_gbs, "%.3g"),
               shown(one.fsync_us, "%.0f"), shown(one.creates_per_s, "%.0f") } or nil
         end
      end
   end
   return rows[2] and rows or nil
end

-- One row for each node and run.
local function rows_of(answer, found)
   local columns, rows = columns_of(answer, found), { { "NODE", "CHECKED", "LEVEL", "STATUS" } }
   for _, column in ipairs(columns) do
      table.insert(rows[1], column.head)
   end
   for r, run in ipairs(answer) do
      for i, row in ipairs(run.rows) do
         local b = job_records.brief(row)
         local cells = { printable.safe(row.node), output.name(row.time), output.name(b.level),
            b.status and output.cell(printable.safe(b.status), STATUS_STYLE[b.status]) or "-" }
         for _, column in ipairs(columns) do
            cells[#cells + 1] = cell(column, row, found[r].marks[i])
         end
         rows[#rows + 1] = cells
      end
   end
   if #answer > 1 then
      local at = 1
      table.insert(rows[1], 1, "RUN")
      for r, run in ipairs(answer) do
         for _ = 1, #run.rows do
            at = at + 1
            table.insert(rows[at], 1, ("%d"):format(r))
         end
      end
   end
   return rows
end

--- Text for a terminal.
-- @param answer list of runs; `why`: the sentence of why/answer.blame, or nil
-- @param color, width see output.fitted
function show.table(answer, color, _, width)
   local found, notes = {}, {}
   for r, run in ipairs(answer) do
      local out, marks = peers.of_run(run.rows)
      found[r] = { out = out, marks = marks }
      local memory = waits.sentence(waits.of_rows(run.rows))
      notes[#notes + 1] = memory and ("%smemory: %s"):format(#answer > 1 and ("run %d, "):format(r) or "",
         printable.safe(memory, 400)) or nil
      for _, note in ipairs(remarks.of(run, out)) do
         notes[#notes + 1] = ("%s%s: %s"):format(#answer > 1 and ("run %d, "):format(r) or "", printable.safe(note[1]),
            printable.safe(note[2], 400))
      end
   end
   table.move(remarks.noise(answer), 1, remarks.MOST_NOISY + 1, #notes + 1, notes)
   local text, left_out = output.fitted(rows_of(answer, found), color, width, { lead = #answer > 1 and 2 or 1 })
   -- The last run's: a requeued job has had other nodes before.
   local parts = { terminal.wrap(head(answer[#answer]), width, 2), "", text }
   if #left_out > 0 then
      parts[#parts + 1] = "\n" .. terminal.wrap("only - or 0: " .. table.concat(left_out, ", "), width, 2)
   end
   local io = directories(answer)
   if io then
      parts[#parts + 1] = "\n" .. output.fitted(io, color, width, { lead = 2 })
   end
   if answer.why then
      notes[#notes + 1] = ("why: %s."):format(answer.why)
   end
   if #notes > 0 then
      parts[#parts + 1] = "\n" .. terminal.wrap(table.concat(notes, "\n"), width, 2)
   end
   return table.concat(parts, "\n")
end

return show
