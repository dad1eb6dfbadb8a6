--- What a job's nodes and its like runs look like: parts of the pages of `job` and `why`. records.lua has the form of
-- rows. Pure.
local chart = require("syscheck.html.chart")
local distribution = require("syscheck.html.distribution")
local element = require("syscheck.html.element")
local fields = require("syscheck.catalogue.fields")
local heat = require("syscheck.html.heat")
local hostlist = require("syscheck.lib.hostlist")
local job_records = require("syscheck.questions.job.records")
local metrics = require("syscheck.catalogue.metrics")
local page = require("syscheck.html.page")
local peers = require("syscheck.questions.job.peers")
local strip = require("syscheck.html.strip")
local time = require("syscheck.lib.time")
local units = require("syscheck.lib.units")

local pictures = {}

local ROWS = 512 -- of a table
local DRAWN = 1024 -- nodes in a picture: more are in the table

-- What is compared: of the check and of the job, those that tell a good node from a bad one.
local LISTS = { { fields.CHECK, "metrics", "check." }, { fields.JOB, "values", "" } }

--- Rows in the order of their nodes, as people count them: list of indices.
function pictures.order(rows)
   local order, keys = {}, {}
   for i, row in ipairs(rows) do
      order[i], keys[i] = i, hostlist.order(row.node)
   end
   table.sort(order, function(a, b)
      if keys[a] ~= keys[b] then
         return keys[a] < keys[b]
      end
      return a < b
   end)
   return order
end

--- Metrics in which nodes differ.
-- @return list of { field, name, values by row, distances by row, n = how many know it }
function pictures.compared(rows)
   local out, elapsed = {}, {}
   for i, row in ipairs(rows) do
      elapsed[i] = row.elapsed_s
   end
   for _, list in ipairs(LISTS) do
      for _, field in ipairs(list[1]) do
         local m = { field = field, name = list[3] .. field.name, of_check = list[3] ~= "", values = {}, n = 0 }
         local low, high = math.huge, -math.huge
         for i, row in ipairs(rows) do
            local value = row[list[2]] and row[list[2]][field.name]
            if value then
               m.values[i], m.n = value, m.n + 1
               low, high = math.min(low, value), math.max(high, value)
            end
         end
         if field.better and m.n > 1 and (high > low or m.of_check) then
            m.distances = peers.distances(field, m.values, elapsed)
            m.is_compared = next(m.distances) ~= nil
            out[#out + 1] = (high > low or low ~= 0) and m or nil
         end
      end
   end
   return out
end

-- A value as people read it.
local function show(m, value)
   local metric = m.of_check and metrics.BY_NAME[m.field.name]
   return metric and metrics.show(metric, value, true) or units.show(m.field.unit, value)
end

-- @param list of compared, those with distances
local function heat_of(rows, order, list)
   local nodes = {}
   for k = 1, math.min(DRAWN, #order) do
      local row, levels, says = rows[order[k]], {}, {}
      for j, m in ipairs(list) do
         levels[j] = m.distances[order[k]]
         if m.values[order[k]] and (m.distances[order[k]] or 0) > 1 then
            says[#says + 1] = ("%s %s"):format(m.field.label, show(m, m.values[order[k]]))
         end
      end
      nodes[k] = { name = row.node, levels = levels,
         title = element.name(row.node) .. ": " .. (says[1] and table.concat(says, ", ") or "as its peers") }
   end
   local labels = {}
   for j, m in ipairs(list) do
      labels[j] = element.name(m.field.label, 20)
   end
   return heat.draw({ label = "How far each node is from its peers, by metric", metrics = labels, nodes = nodes })
end

--- All values of all nodes.
function pictures.table(rows, order, list, marks)
   local head, lines = { "node", "check" }, {}
   for j, m in ipairs(list) do
      head[j + 2] = m.field.label
   end
   head[#head + 1] = "took"
   for k, i in ipairs(order) do
      local row = rows[i]
      local cells = { element.name(row.node), job_records.brief(row).status or "-" }
      for j, m in ipairs(list) do
         local text = m.values[i] and show(m, m.values[i])
         cells[j + 2] = text and marks[i][m.name] and page.bad(text) or text
      end
      cells[#head] = row.elapsed_s and ("%.0f s"):format(row.elapsed_s)
      lines[k] = cells
   end
   return page.table(head, lines, 2, ROWS)
end

-- Time of a run that is worth a picture, as a share of it: less is flat.
local WORTH = 0.01
-- What the store's units are on an axis.
local AXES = { us = { 1e6, "s" }, ms = { 1e3, "s" }, bytes = { 1e9, "GB" }, joules = { 1e3, "kJ" }, count = { 1, "" } }

--- How each metric is spread over the nodes: list of markup.
function pictures.distributions(rows, list, marks)
   local drawn, longest = {}, 0
   for _, row in ipairs(rows) do
      longest = math.max(longest, row.elapsed_s or 0)
   end
   for _, m in ipairs(list) do
      local values = {}
      for i, row in ipairs(rows) do
         if m.values[i] then
            values[#values + 1] = { name = row.node, value = m.values[i], out = marks[i][m.name] and "worse" or nil }
         end
      end
      local ticks = units.per_second(m.field.unit)
      local axis = AXES[m.field.unit] or { 1, m.field.unit }
      drawn[#drawn + 1] = distribution({ label = m.field.label, values = values, show = function(value)
         return show(m, value)
      end, per = axis[1], unit = axis[2], span = ticks and WORTH * longest * ticks })
   end
   return drawn
end

-- How a check ended that is worth a mark.
local SHAPES = { fail = { "triangle", "bad" }, warn = { "diamond", "warn" }, unknown = { "cross", "cross" } }

-- Lanes of nodes that ran all of a run with all the others, and had a good check, tell nothing: they are one.
local ALIKE = 0.02

local function lanes_of(answer)
   local lanes, by_node, low, high = {}, {}, math.huge, -math.huge
   for _, run in ipairs(answer) do
      for _, i in ipairs(pictures.order(run.rows)) do
         local row = run.rows[i]
         local begin = time.parse(row.time)
         local lane = begin and by_node[row.node]
         if begin and not lane then
            lane = { name = row.node, spans = {}, marks = {} }
            lanes[#lanes + 1], by_node[row.node] = lane, lane
         end
         if lane then
            local brief = job_records.brief(row)
            local finish, shape = begin + (row.elapsed_s or 0), SHAPES[brief.status]
            lane.title = ("%s: from %s%s; check %s"):format(element.name(row.node), row.time,
               row.elapsed_s and (", %.0f s"):format(row.elapsed_s) or ", no job record", brief.status or "not known")
            table.insert(lane.spans, { from = begin, to = finish, class = "pass", title = lane.title })
            table.insert(lane.marks, shape and { at = begin, shape = shape[1], class = shape[2], title = lane.title })
            low, high = math.min(low, begin), math.max(high, finish)
         end
      end
   end
   return lanes, low, high
end

local function key_of(lane, room)
   local parts = {}
   for _, span in ipairs(lane.spans) do
      parts[#parts + 1] = ("%.0f %.0f"):format(span.from / room, span.to / room)
   end
   return #lane.marks == 0 and table.concat(parts, " ") or nil
end

--- When each node ran the job, and how its check ended. All runs: a requeued job had other nodes before.
-- @param answer list of runs
-- @return markup, or false
function pictures.strip(answer)
   local lanes, low, high = lanes_of(answer)
   local room, count, out = math.max(1, ALIKE * (high - low)), {}, {}
   for _, lane in ipairs(lanes) do
      lane.key = key_of(lane, room)
      count[lane.key or 0] = (count[lane.key or 0] or 0) + 1
   end
   local told = {}
   for _, lane in ipairs(lanes) do
      local n = lane.key and count[lane.key] or 1
      if n <= 2 then
         out[#out + 1] = lane
      elseif not told[lane.key] then
         told[lane.key] = true
         local spans = {}
         for i, span in ipairs(lane.spans) do
            spans[i] = { from = span.from, to = span.to, class = "pass" }
         end
         out[#out + 1] = { name = ("%d nodes alike"):format(n), spans = spans }
      end
   end
   for i = DRAWN + 1, #out do
      out[i] = nil
   end
   return #out > 0 and page.section({ title = "When each node ran it", long = #out > 40,
      pictures = { strip({ label = "When each node ran the job", from = low, to = high, lanes = out }) },
      say = "Nodes that ran at the same times are one bar. A triangle: the check before it failed; a diamond: "
         .. "warned; a cross: found out nothing." .. (#answer > 1 and (" All %d runs of the job."):format(#answer)
         or "") })
end

-- Seconds in a unit that gives numbers people say.
local function unit_of(s)
   return s >= 3 * 3600 and 3600 or s >= 300 and 60 or 1
end
local UNITS = { [3600] = "h", [60] = "min", [1] = "s" }

--- A job's time beside those of its like runs.
-- @param times of why/times.lua, or nil
-- @return markup; false without like runs
function pictures.like(times)
   if not (times and times.elapsed_s and times.begin_s and #times.like > 0) then
      return false
   end
   local points, rows, e = {}, {}, times.e
   local low, high, first, last = times.elapsed_s, times.elapsed_s, times.begin_s, times.begin_s
   local per = unit_of(times.elapsed_s)
   table.sort(times.like, function(a, b)
      return a.begin_s < b.begin_s or a.begin_s == b.begin_s and a.key < b.key
   end)
   for i, one in ipairs(times.like) do
      low, high = math.min(low, one.elapsed_s), math.max(high, one.elapsed_s)
      first, last = math.min(first, one.begin_s), math.max(last, one.begin_s)
      points[i] = { one.begin_s, one.elapsed_s / per, ("%s, %.0f s"):format(time.show(one.begin_s), one.elapsed_s) }
      rows[i] = { time.show(one.begin_s), ("%.0f"):format(one.elapsed_s) }
   end
   local room = math.max((high - low) * 0.08, high * 0.05)
   local room_s = math.max(1800, (last - first) * 0.02)
   local c = chart.new({ label = "How long the job and its like runs took", height = 230,
      x = { low = first - room_s, high = last + room_s, kind = "time", label = "began, UTC" },
      y = { low = math.max(0, low - room) / per, high = (high + room) / per, label = "took, " .. UNITS[per] } })
   if e then
      local sorted = {}
      for i, one in ipairs(times.like) do
         sorted[i] = one.elapsed_s
      end
      table.sort(sorted)
      c:band(sorted[math.max(1, math.floor(#sorted * 0.1))] / per, sorted[math.ceil(#sorted * 0.9)] / per,
         "eight of ten like runs")
      c:horizontal(e.median_s / per, "expected")
   end
   c:marks(points, "circle", "f", 3)
   c:marks({ { times.begin_s, times.elapsed_s / per, ("this job: %.0f s"):format(times.elapsed_s) } }, "diamond",
      "own", 6)
   c:note(times.begin_s, times.elapsed_s / per, "this job", "h")
   local like = ("%d like run%s"):format(#points, #points == 1 and "" or "s")
   return page.section({ title = ("It took %.3g %s; %s"):format(times.elapsed_s / per, UNITS[per],
      e and ("its %s suggest %.3g %s"):format(like, e.median_s / per, UNITS[per])
         or like .. " are too few to expect a time"), say = "Runs of the same cluster, user, job name and node "
            .. "count, the "
      .. "nearest before and after it; the band has eight of ten.", pictures = { c:done() },
      table = page.table({ "began", "took, s" }, rows, 1), called = "The like runs" })
end

--- The map of nodes and metrics, with the table of all values behind it.
-- @param known of compared
function pictures.map(rows, order, known, marks)
   local in_map, behind = {}, pictures.table(rows, order, known, marks)
   for _, m in ipairs(known) do
      in_map[#in_map + 1] = m.is_compared and m or nil
   end
   if #in_map == 0 or #order < 2 then
      return page.section({ title = "What was recorded", more = behind })
   end
   return page.section({ title = ("%d metric%s on %d nodes: what is unlike the peers"):format(#in_map,
      #in_map == 1 and "" or "s", #order),
      say = "Orange is worse than the other nodes of this run, blue is better; a dot: so far that it is out. "
         .. "Point at a node for its numbers.", pictures = { heat_of(rows, order, in_map) }, table = behind })
end

return pictures
