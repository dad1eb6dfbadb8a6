--- A node's story for people, spreadsheets and programs.
local alike = require("syscheck.questions.job.alike")
local fields = require("syscheck.catalogue.fields")
local jobid = require("syscheck.questions.jobid")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local spark = require("syscheck.questions.node.spark")
local terminal = require("syscheck.lib.terminal")
local time = require("syscheck.lib.time")

local show = {}

local PARTS = 48
local LEAST_PARTS = 10 -- on a narrow terminal
local BESIDE_BARS = 30 -- columns of the value's name and what is around the bars
local STYLES = { drain = "bad", storm = "bad", undecided = "bad", observed = "warn", resume = "good", throttle = "warn",
   memory = "bad", machine = "bad", link = "warn", fabric = "warn", loss = "warn" }

-- Throttle events since the last look: nothing where none was ever.
local function is_shown(m)
   return m.field.unit ~= "count" or m.max > 0
end

local function over_time(tale, m, parts)
   return spark.buckets(m.points, tale.since, tale.to, parts or PARTS, m.field.better == "higher")
end

local function measured(tale, as_utf8, width)
   local parts = width and math.max(LEAST_PARTS, math.min(PARTS, width - BESIDE_BARS))
   local rows = { { "CHECK", "UNIT", "LAST", "MEDIAN", "MIN", "MAX", "N", "OVER TIME" } }
   for _, m in ipairs(tale.metrics) do
      if is_shown(m) then
         local f = m.field
         rows[#rows + 1] = { f.label, f.unit == "count" and "-" or f.unit, fields.show(f, m.last),
            fields.show(f, m.median), fields.show(f, m.min), fields.show(f, m.max), ("%d"):format(m.n),
            "|" .. spark.line(over_time(tale, m, parts), as_utf8) .. "|" }
      end
   end
   return rows
end

local function job_cell(run)
   return run and jobid.label(run) or "-"
end

local function number(value, divisor, digits)
   return value and ("%." .. digits .. "f"):format(value / divisor) or "-"
end

local function of_total(list, total)
   return total > #list and (" (last %d of %d; --limit)"):format(#list, total) or ""
end

--- Text for a terminal.
-- @param tale from read.story
function show.table(tale, color, as_utf8, width)
   local node, statuses = tale.node, {}
   for _, name in ipairs({ "pass", "warn", "fail", "unknown", "unrated" }) do
      statuses[#statuses + 1] = tale.statuses[name] and ("%d %s"):format(tale.statuses[name], name) or nil
   end
   local parts = {
      ("node %s  cluster %s  class %s  since %s"):format(printable.safe(node.name), output.name(node.cluster),
         output.name(node.class), time.show(tale.since)),
      ("checks %d%s  jobs %d%s"):format(tale.checks, #statuses > 0 and " (" .. table.concat(statuses, ", ") .. ")"
         or "", tale.jobs_total, tale.fabric_runs > 0 and ("  fabric runs %d"):format(tale.fabric_runs) or ""),
   }
   for _, warning in ipairs(tale.warnings or {}) do
      parts[#parts + 1] = "warn: newest measured check: " .. printable.safe(alike.sentence(warning), 300)
   end
   for i, text in ipairs(parts) do
      parts[i] = terminal.wrap(text, width, 2)
   end
   local rows = measured(tale, as_utf8, width)
   if #rows > 1 then
      parts[#parts + 1] = "\n" .. output.fitted(rows, color, width)
   end
   if #tale.events > 0 then
      rows = { { "TIME", "EVENT", "JOB", "WHAT" } }
      for _, e in ipairs(tale.events) do
         rows[#rows + 1] = { time.show(e.time), output.cell(e.event, STYLES[e.event]), job_cell(e.run),
            printable.safe(e.text, 300) }
      end
      parts[#parts + 1] = ("\nevents%s\n%s"):format(of_total(tale.events, tale.events_total),
         (output.fitted(rows, color, width, { prose = true })))
   end
   if #tale.jobs > 0 then
      rows = { { "ENDED", "JOB", "USER", "NAME", "NODES", "ELAPSED_s", "THROTTLE", "IO_STALL_s" } }
      for _, j in ipairs(tale.jobs) do
         local run = j.run or {}
         rows[#rows + 1] = { time.show(j.time), job_cell(j.run), output.name(run.user), output.name(run.name, 32),
            number(run.nodes, 1, 0), number(j.elapsed_s, 1, 0), number(j.values.throttle_events, 1, 0),
            number(j.values.io_some_us, 1e6, 2) }
      end
      parts[#parts + 1] = ("\njobs%s\n%s"):format(of_total(tale.jobs, tale.jobs_total),
         (output.fitted(rows, color, width, { lead = 2 })))
   end
   return table.concat(parts, "\n")
end

local function run_of(run)
   return run and { id = jobid.label(run):match("^%S+"), job_id = run.job_id, restart = run.restart, user = run.user,
      name = run.name, nodes = run.nodes } or nil
end

-- Of JSON: lists of numbers, each with its time.
local function memory_of(memory)
   local function with_time(name)
      local one = memory[name]
      if not one then
         return nil
      end
      local out = { time = time.show(memory[name .. "_time"]) }
      for key, value in pairs(one) do
         out[key] = value
      end
      return out
   end
   local out = { scaling = with_time("scaling"), numa = with_time("numa") }
   return next(out) and out or nil
end

--- One object: { v, kind = "node", node, cluster, class, since, checks, metrics, events, jobs }.
function show.json(tale)
   local node = tale.node
   return output.json({ v = 1, kind = "node", node = node.name, cluster = node.cluster, class = node.class,
      since = time.show(tale.since), ["until"] = time.show(tale.to), checks = tale.checks,
      fabric_runs = tale.fabric_runs, statuses = tale.statuses,
      metrics = output.each(tale.metrics, function(m)
         return { name = m.field.name, unit = m.field.unit, n = m.n, last = m.last, median = m.median, min = m.min,
            max = m.max, series = output.list(over_time(tale, m)) }
      end),
      warnings = output.each(tale.warnings or {}, alike.object),
      memory = memory_of(tale.memory or {}),
      events = output.each(tale.events, function(e)
         return { time = time.show(e.time), event = e.event, text = e.text, job = run_of(e.run) }
      end),
      events_total = tale.events_total,
      jobs = output.each(tale.jobs, function(j)
         return { time = time.show(j.time), begin = j.begin_s and time.show(j.begin_s), elapsed_s = j.elapsed_s,
            class = j.class, config = j.config, values = j.values, job = run_of(j.run) }
      end),
      jobs_total = tale.jobs_total })
end

--- One line for each measured value, event and job, in this order, each by time.
function show.csv(tale)
   local titles = { "node", "time", "what", "job", "user", "name", "nodes", "elapsed_s", "text", "metric", "value",
      "unit" }
   local rows, name = {}, tale.node.name
   local function add(cells)
      rows[#rows + 1] = cells
   end
   for _, m in ipairs(tale.metrics) do
      for _, point in ipairs(m.points) do
         add({ name, time.show(point[1]), "check", [10] = m.field.name, [11] = point[2], [12] = m.field.unit })
      end
   end
   for _, e in ipairs(tale.events) do
      local run = run_of(e.run) or {}
      add({ name, time.show(e.time), e.event, run.id, run.user, run.name, run.nodes, [9] = e.text })
   end
   for _, j in ipairs(tale.jobs) do
      local run, throttled = run_of(j.run) or {}, j.values.throttle_events
      add({ name, time.show(j.time), "job", run.id, run.user, run.name, run.nodes, j.elapsed_s,
         [10] = throttled and "throttle_events", [11] = throttled,
         [12] = throttled and fields.JOB_BY_NAME.throttle_events.unit })
   end
   return output.csv(titles, rows)
end

return show
