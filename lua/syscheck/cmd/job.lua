--- syscheck job ID: what each node measured before a job and went through in it.
local json = require("cjson").new()
local counters = require("syscheck.counters")
local metrics = require("syscheck.metrics")
local render = require("syscheck.render")
local spool = require("syscheck.spool")

local job = {}

json.encode_invalid_numbers("null")

function job.add_to(parser)
   local command = parser:command("job", "Show what each node measured before a job and went through during it.")
      :summary("Show a job's checks and counters, per node.")
   local id = command:argument("id", "Job ID. A task of an array has one of its own (squeue -o %A)."):args(1)
   id:convert(function(value)
      if #value <= 10 and value:match("^%d+$") then
         return tonumber(value)
      end
      return nil, ('job ID must be a number like 4711, not "%s"%s'):format(render.safe(value, 32),
         value:match("^%d+[_+]") and "; the task's own number is in squeue -o %A" or "")
   end)
   command:flag("--json", "Print the job's records as one JSON array.")
   spool.add_options(command)
end

-- One row for each run on each node: its check, its job record, or one of them.
local function pair(list)
   local rows, by_check = {}, {}
   for _, record in ipairs(list) do
      if record.kind == "check" then
         local row = { node = record.node, check = record, time = record.time }
         rows[#rows + 1] = row
         by_check[record.id] = row
      end
   end
   for _, record in ipairs(list) do
      if record.kind == "job" then
         local row = type(record.check) == "table" and by_check[record.check.id]
         if not row then
            row = { node = record.node, time = type(record.begin) == "table" and record.begin.time or record.time }
            rows[#rows + 1] = row
         end
         row.job = record
      end
   end
   table.sort(rows, function(a, b)
      if a.time ~= b.time then
         return a.time < b.time
      end
      return a.node < b.node
   end)
   return rows
end

local function metric_cell(check, name)
   for _, r in ipairs(check and check.metrics or {}) do
      if r.name == name and type(r.value) == "number" then
         return metrics.show(metrics.BY_NAME[name], r.value)
      end
   end
   return "-"
end

local function number_cell(value, divisor, digits)
   return type(value) == "number" and ("%." .. digits .. "f"):format(value / divisor) or "-"
end

local HEAD = { "NODE", "CHECKED", "LEVEL", "STATUS", "TRIAD_GB/s", "DGEMM_GF/s", "NOISE_%", "ELAPSED_s",
   "THROTTLE", "THROTTLE_ms", "IO_STALL_s", "IOWAIT_s", "DISK_BUSY_s", "NFS_s", "MB_READ", "MB_WRITTEN" }

local function cells(row)
   local check, run = row.check, row.job or {}
   local brief = check or (type(run.check) == "table" and run.check) or {}
   local d = type(run.delta) == "table" and run.delta or {}
   local throttle, pressure, cpu, disk, nfs = d.throttle or {}, d.pressure or {}, d.cpu or {}, d.disk or {}, d.nfs or {}
   local ms = throttle.package_ms and math.max(throttle.package_ms, throttle.core_ms or 0) or throttle.core_ms
   return {
      render.safe(row.node),
      render.safe(row.time),
      brief.level or "-",
      brief.status or "-",
      metric_cell(check, "triad_gbs"),
      metric_cell(check, "gflops"),
      metric_cell(check, "noise_pct"),
      number_cell(run.elapsed_s, 1, 0),
      number_cell(counters.throttle_events(d.throttle), 1, 0),
      number_cell(ms, 1, 0),
      number_cell(pressure.io_some_us, 1e6, 2),
      number_cell(cpu.iowait_ms, 1e3, 2),
      number_cell(disk.busy_ms, 1e3, 2),
      number_cell(nfs.op_ms, 1e3, 2),
      number_cell(disk.read_bytes, 1e6, 1),
      number_cell(disk.written_bytes, 1e6, 1),
   }
end

-- What the table does not say in numbers.
local function remarks(rows)
   local lines = {}
   local function add(row, text)
      lines[#lines + 1] = ("%s: %s"):format(render.safe(row.node), render.safe(text, 400))
   end
   for _, row in ipairs(rows) do
      local check, run = row.check, row.job
      for _, r in ipairs(check and check.metrics or {}) do
         if r.status == "fail" or r.status == "warn" or r.status == "unknown" then
            add(row, ("%s: %s"):format(r.status, r.text or r.name))
         end
      end
      if check and check.action == "drain" then
         local drain = check.drain or {}
         add(row, drain.done and "drained, the job did not start there" or "out of service by the prolog's exit code: "
            .. (drain.kept and "already drained: " .. drain.kept or drain.error or "?"))
      elseif check and check.action == "observed" then
         add(row, "would have been drained (mode is observe)")
      end
      if check and check.note then
         add(row, check.note)
      end
      local seen = {}
      for _, record in ipairs({ check or {}, run or {} }) do
         for _, problem in ipairs(record.problems or {}) do
            if not seen[problem] then
               seen[problem] = true
               add(row, "problem: " .. tostring(problem))
            end
         end
      end
      local events = run and type(run.delta) == "table" and counters.throttle_events(run.delta.throttle)
      if events and events > 0 then
         local ms = run.delta.throttle.package_ms
         add(row, ("throttled %d times during the job%s"):format(events, ms and (" (%d ms)"):format(ms) or ""))
      end
      local oom = run and type(run.delta) == "table" and run.delta.oom
      if oom and oom.kills > 0 then
         add(row, ("%d processes killed for memory during the job"):format(oom.kills))
      end
      if check and not run then
         add(row, "no job record yet: the job still runs there, or its epilog did not")
      end
   end
   return lines
end

local function head(rows)
   -- The last run's: a requeued job has had other nodes before.
   local last = rows[#rows]
   local j = (last.job or last.check).job
   return ("job %d  user %s  account %s  partition %s  nodes %s"):format(j.id, render.safe(j.user or "-"),
      render.safe(j.account or "-"), render.safe(j.partition or "-"), render.safe(j.nodelist or "-", 200))
end

function job.run(args)
   local self, err = spool.node(args)
   if not self then
      io.stderr:write("syscheck: ", err, "\n")
      return 2
   end
   local found = {}
   -- A decoded line costs a hundred times a search in it.
   local needle = ("%d"):format(args.id)
   local records, where = spool.records(args, self, function(line)
      return line:find(needle, 1, true) ~= nil
   end)
   for record in records do
      if type(record.job) == "table" and record.job.id == args.id then
         found[#found + 1] = record
      end
   end
   if #found == 0 then
      io.stderr:write(("syscheck: job %d: no record in %s\n"):format(args.id, where))
      return 1
   end
   if args.json then
      print(json.encode(found))
      return 0
   end
   local rows = pair(found)
   local lines = { HEAD }
   for _, row in ipairs(rows) do
      lines[#lines + 1] = cells(row)
   end
   print(head(rows))
   print()
   print(render.table(lines))
   local notes = remarks(rows)
   if #notes > 0 then
      print()
      print(table.concat(notes, "\n"))
   end
   return 0
end

return job
