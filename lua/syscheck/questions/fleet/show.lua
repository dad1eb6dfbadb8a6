--- A fleet's comparison for people, spreadsheets and programs. See logic.lua.
local files = require("syscheck.questions.fleet.files")
local fields = require("syscheck.catalogue.fields")
local printable = require("syscheck.lib.printable")
local fleet = require("syscheck.questions.fleet.logic")
local output = require("syscheck.lib.output")
local terminal = require("syscheck.lib.terminal")
local time = require("syscheck.lib.time")

local show = {}

local MOST_OUT = 50 -- of a class and metric, in the table; JSON and CSV have all

local value = fields.show
local LABELS = { link_rate_gbps = "link rate", link_ports = "link ports" }
local UNITS = { gbps = "Gbit/s" }

local function label(field)
   return LABELS[field.name] or field.label
end

local function percent(v)
   return v and ("%.1f"):format(v) or "-"
end

-- "12 took 1.31x: slow"
local function felt(jobs)
   return jobs and ("%d took %.2fx%s"):format(jobs.runs, jobs.ratio,
      jobs.felt == nil and "" or jobs.felt and ": slow" or ": not slow") or "-"
end

-- A column that only has something where noise is out, and a check said what it was made of.
local function without_noise(outs)
   local final = #outs[1]
   for r = 2, #outs do
      if outs[r][final] ~= "" then
         return outs
      end
   end
   for _, row in ipairs(outs) do
      row[final] = nil
   end
   return outs
end

-- Where a fault between nodes is: a leaf switch, a pair, a node.
local function place_of(f)
   return f.leaf or table.concat(f.nodes, ",")
end

--- Which policy and baseline nodes go by, a sentence each.
function show.files(answer)
   local out, clusters = {}, {}
   for _, one in ipairs(answer.files) do
      clusters[one.cluster] = true
   end
   for i, one in ipairs(answer.files) do
      out[i] = files.sentence(one, next(clusters, next(clusters)) ~= nil)
   end
   return out
end

--- Text for a terminal.
-- @param answer of fleet.compare, with what felt.add, `since`, `unknown` and `fabric` (of read.newest) and `files` (of
--   files.of) fill in
function show.table(answer, color, _, width)
   local rows = { { "CLASS", "METRIC", "UNIT", "NODES", "MEDIAN", "SLOWEST", "ON", "FASTEST", "ON", "SPREAD_%",
      "WITHOUT_OUT_%", "OUT" } }
   local outs = { { "OUT", "CLASS", "METRIC", "VALUE", "MEDIAN", "OFF_%", "STATUS", "MEASURED", "ITS_JOBS",
      "NOISE" } }
   local notes = {}
   for _, c in ipairs(answer) do
      for _, m in ipairs(c.metrics) do
         rows[#rows + 1] = { printable.safe(c.class), label(m.field), UNITS[m.field.unit] or m.field.unit,
            ("%d"):format(m.nodes), value(m.field, m.median),
            value(m.field, m.slowest.value), printable.safe(m.slowest.node),
            value(m.field, m.fastest.value), printable.safe(m.fastest.node), percent(m.spread_pct), percent(m.rest_pct),
            m.nodes >= fleet.MIN_NODES and output.cell(("%d"):format(#m.out), #m.out > 0 and "bad" or nil) or "-" }
         for i, o in ipairs(m.out) do
            if i <= MOST_OUT then
               outs[#outs + 1] = { output.cell(printable.safe(o.node), o.worse and "bad" or "warn"),
                  printable.safe(c.class), label(m.field), value(m.field, o.value), value(m.field, m.median),
                  o.pct and ("%+.1f"):format(o.pct) or "-", output.name(o.status), time.show(o.time), felt(o.jobs),
                  o.noise and printable.safe(o.noise, 200) or "" }
            end
         end
         if #m.out > MOST_OUT then
            notes[#notes + 1] = ("%s, %s: %d more are out (--csv has all)"):format(printable.safe(c.class),
               label(m.field), #m.out - MOST_OUT)
         end
         if m.slowest.noise and #m.out == 0 then
            notes[#notes + 1] = ("%s: most noise is on %s: %s"):format(printable.safe(c.class),
               printable.safe(m.slowest.node), printable.safe(m.slowest.noise, 200))
         end
      end
   end
   local parts = { terminal.wrap(("fleet since %s: each node's newest measured values"):format(time.show(answer.since)),
      width) }
   if #rows > 1 then
      parts[2] = "\n" .. output.fitted(rows, color, width, { lead = 2 })
   end
   if #outs > 1 then
      parts[#parts + 1] = "\n" .. output.fitted(without_noise(outs), color, width, { lead = 3 })
   end
   local between = { { "BETWEEN_NODES", "SINCE", "RUNS", "LAST", "WHAT" } }
   for i, f in ipairs(answer.fabric) do
      if i <= MOST_OUT then
         between[#between + 1] = { output.cell(printable.safe(place_of(f)), f.own and "bad" or "warn"),
            time.show(f.since), ("%d"):format(f.runs), time.show(f.last), printable.safe(f.text, 300) }
      end
   end
   if #between > 1 then
      parts[#parts + 1] = "\n" .. output.fitted(between, color, width, { prose = true })
   end
   if #answer.fabric > MOST_OUT then
      notes[#notes + 1] = ("%d more faults between nodes (--csv has all)"):format(#answer.fabric - MOST_OUT)
   end
   local blind = { { "NEWEST_CHECK_UNKNOWN", "CLASS", "SINCE", "WHY" } }
   for i, u in ipairs(answer.unknown) do
      if i <= MOST_OUT then
         blind[#blind + 1] = { output.cell(printable.safe(u.node), "warn"), output.name(u.class), time.show(u.time),
            printable.safe(u.text or "-", 120) }
      end
   end
   if #blind > 1 then
      parts[#parts + 1] = "\n" .. output.fitted(blind, color, width, { prose = true })
   end
   if #answer.unknown > MOST_OUT then
      notes[#notes + 1] = ("%d more nodes' newest check is unknown (--csv has all)"):format(#answer.unknown - MOST_OUT)
   end
   for _, text in ipairs(show.files(answer)) do
      notes[#notes + 1] = printable.safe(text, 400)
   end
   if #notes > 0 then
      parts[#parts + 1] = "\n" .. terminal.wrap(table.concat(notes, "\n"), width, 2)
   end
   return table.concat(parts, "\n")
end

local function place(item)
   return { node = item.node, value = item.value, time = time.show(item.time), status = item.status, pct = item.pct,
      worse = item.worse, noise = item.noise, jobs = item.jobs and { runs = item.jobs.runs, ratio = item.jobs.ratio,
         slow = item.jobs.felt } or nil }
end

--- One object: { v, kind = "fleet", since, classes, fabric, unknown, files }.
function show.json(answer)
   local function metric(m)
      return { name = m.field.name, unit = m.field.unit, nodes = m.nodes, median = m.median, room = m.room,
         slowest = place(m.slowest), fastest = place(m.fastest), spread_pct = m.spread_pct,
         spread_without_out_pct = m.rest_pct, out = output.each(m.out, place), judged = m.nodes >= fleet.MIN_NODES }
   end
   local classes = output.each(answer, function(c)
      return { class = c.class, nodes = c.nodes, metrics = output.each(c.metrics, metric) }
   end)
   return output.json({ v = 1, kind = "fleet", since = time.show(answer.since), classes = classes,
      fabric = output.each(answer.fabric, function(f)
         return { nodes = output.list(f.nodes), leaf = f.leaf, own = f.own, since = time.show(f.since),
            last = time.show(f.last), runs = f.runs, text = f.text }
      end),
      unknown = output.each(answer.unknown, function(u)
         return { node = u.node, class = u.class, time = time.show(u.time), text = u.text }
      end),
      files = output.each(answer.files, function(one)
         return { cluster = one.cluster, file = one.kind, silent = one.silent, away = one.away,
            groups = output.each(one.groups, function(group)
               return { hash = group.hash, version = group.version, nodes = output.list(group.nodes) }
            end) }
      end) })
end

--- One line for each class and metric, one for each node that is out of it, for each fault between nodes, and for each
-- node whose newest check is unknown, and for each node that goes by another policy or baseline than most.
function show.csv(answer)
   local titles = { "what", "class", "metric", "unit", "nodes", "median", "node", "value", "pct", "status", "time",
      "slowest", "slowest_value", "fastest", "fastest_value", "spread_pct", "spread_without_out_pct", "out",
      "text", "jobs", "jobs_ratio", "since" }
   local rows = {}
   for _, c in ipairs(answer) do
      for _, m in ipairs(c.metrics) do
         rows[#rows + 1] = { "metric", c.class, m.field.name, m.field.unit, m.nodes, m.median,
            [12] = m.slowest.node, [13] = m.slowest.value, [14] = m.fastest.node, [15] = m.fastest.value,
            [16] = m.spread_pct, [17] = m.rest_pct, [18] = m.nodes >= fleet.MIN_NODES and #m.out or nil }
         for _, o in ipairs(m.out) do
            rows[#rows + 1] = { "out", c.class, m.field.name, m.field.unit, m.nodes, m.median, o.node,
               o.value, o.pct, o.status, time.show(o.time), [19] = o.noise, [20] = o.jobs and o.jobs.runs,
               [21] = o.jobs and o.jobs.ratio }
         end
      end
   end
   for _, f in ipairs(answer.fabric) do
      rows[#rows + 1] = { "fabric", [5] = f.runs, [7] = place_of(f), [11] = time.show(f.last), [19] = f.text,
         [22] = time.show(f.since) }
   end
   for _, u in ipairs(answer.unknown) do
      rows[#rows + 1] = { "unknown", u.class, [7] = u.node, [10] = "unknown", [11] = time.show(u.time), [19] = u.text }
   end
   for _, one in ipairs(answer.files) do
      for i = 2, #one.groups do
         for _, node in ipairs(one.groups[i].nodes) do
            rows[#rows + 1] = { one.kind, [7] = node, [19] = ("%s, most have %s"):format(
               files.name(one.groups[i], one.kind), files.name(one.groups[1], one.kind)) }
         end
      end
   end
   return output.csv(titles, rows)
end

return show
