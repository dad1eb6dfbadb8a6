--- A fleet's comparison as a page. Pure.
local distribution = require("syscheck.html.distribution")
local element = require("syscheck.html.element")
local files = require("syscheck.questions.fleet.files")
local fleet = require("syscheck.questions.fleet.logic")
local heat = require("syscheck.html.heat")
local hostlist = require("syscheck.lib.hostlist")
local metrics = require("syscheck.catalogue.metrics")
local page = require("syscheck.html.page")
local strip = require("syscheck.html.strip")
local time = require("syscheck.lib.time")
local units = require("syscheck.lib.units")

local MAPPED = 2000 -- nodes of a class in its map: of more, those that are farthest from the median
local ROWS = 250 -- of a table
local LANES = 100 -- strips
local FEW = 12 -- rows of a list that is open
local NAMES = 5 -- of nodes in the answer
local GAP_S = 2 * 86400 -- for so long a check says how a node is
local WORST = { fail = 1, unknown = 2, warn = 3 }

local function shower(field)
   local m = metrics.BY_NAME[field.name]
   return function(value)
      return m and metrics.show(m, value, true) or units.show(field.unit, value)
   end
end

-- How far a value is from the median, in what makes it out; worse is more than 0.
local function distance(m, value)
   local off = (m.field.better == "higher" and m.median - value or value - m.median) / (m.room > 0 and m.room or 1)
   -- Among few nodes none is out.
   return m.nodes >= fleet.MIN_NODES and off or math.max(-0.99, math.min(0.99, off))
end

-- A class's nodes, as people count them.
local function nodes_of(answer, name)
   local out = {}
   for _, node in ipairs(answer.nodes) do
      if (node.class or "?") == name then
         out[#out + 1] = { node = node, key = hostlist.order(node.node) }
      end
   end
   table.sort(out, function(a, b)
      return a.key < b.key
   end)
   return out
end

-- Those that a map has room for, as they stand in the list.
local function farthest(class, nodes)
   if #nodes <= MAPPED then
      return nodes
   end
   local order, off, out = {}, {}, {}
   for i, one in ipairs(nodes) do
      order[i], off[i] = i, 0
      for _, m in ipairs(class.metrics) do
         local v = one.node.values[m.field.name]
         off[i] = math.max(off[i], v and math.abs(distance(m, v.value)) or 0)
      end
   end
   table.sort(order, function(a, b)
      if off[a] ~= off[b] then
         return off[a] > off[b]
      end
      return a < b
   end)
   table.move(order, 1, MAPPED, 1, out)
   table.sort(out)
   for k, i in ipairs(out) do
      out[k] = nodes[i]
   end
   return out
end

local function map_section(class, nodes)
   local labels, cells = {}, {}
   for k, m in ipairs(class.metrics) do
      labels[k] = element.name(m.field.label, 20)
   end
   for i, one in ipairs(farthest(class, nodes)) do
      local node, levels, says = one.node, {}, {}
      for k, m in ipairs(class.metrics) do
         local v = node.values[m.field.name]
         levels[k] = v and distance(m, v.value)
         if v and math.abs(levels[k]) > 0.5 then
            says[#says + 1] = ("%s %s"):format(m.field.label, shower(m.field)(v.value))
         end
      end
      cells[i] = { name = node.node, levels = levels,
         title = element.name(node.node) .. (says[1] and ": " .. table.concat(says, ", ") or "") }
   end
   local rows = {}
   for _, m in ipairs(class.metrics) do
      for _, o in ipairs(m.out) do
         local jobs = o.jobs
         rows[#rows + 1] = { element.name(o.node), m.field.label, o.worse and page.bad(shower(m.field)(o.value))
            or shower(m.field)(o.value), shower(m.field)(m.median), o.pct and ("%+.1f %%"):format(o.pct), o.status,
            time.show(o.time), jobs and ("%d took %.2fx%s"):format(jobs.runs, jobs.ratio,
               jobs.felt == nil and "" or jobs.felt and ": slow" or ": not slow") }
      end
   end
   return page.section({ title = ("Class %s: %d nodes"):format(element.name(class.class), class.nodes), long = true,
      say = "Orange is worse than the median of the class, blue better; a dot: so far that it is out. Point at a node "
         .. "for its numbers." .. (#nodes > MAPPED and (" Only the farthest %d nodes."):format(MAPPED) or ""),
      pictures = { heat.draw({ label = "How far each node is from its class, by metric", metrics = labels,
         nodes = cells }) }, called = ("%d values are out"):format(#rows),
      table = #rows > 0 and page.table({ "node", "metric", "value", "median", "off", "status", "measured", "its jobs" },
         rows, nil, ROWS) })
end

local function spread_section(class, nodes)
   local pictures, rows = {}, {}
   for _, m in ipairs(class.metrics) do
      local out, values, show = {}, {}, shower(m.field)
      for _, o in ipairs(m.out) do
         out[o.node] = o.worse and "worse" or "better"
      end
      for _, one in ipairs(nodes) do
         local v = one.node.values[m.field.name]
         values[#values + 1] = v and { name = one.node.node, value = v.value, out = out[one.node.node] } or nil
      end
      pictures[#pictures + 1] = distribution({ label = m.field.label, unit = m.field.unit, values = values,
         show = show })
      local function place(one)
         return ("%s on %s"):format(show(one.value), element.name(one.node))
      end
      rows[#rows + 1] = { m.field.label, ("%d"):format(m.nodes), show(m.median), place(m.slowest), place(m.fastest),
         m.spread_pct and ("%.1f %%"):format(m.spread_pct), m.rest_pct and ("%.1f %%"):format(m.rest_pct),
         m.nodes >= fleet.MIN_NODES and ("%d"):format(#m.out) }
   end
   return page.section({ title = ("How each metric is spread over %s"):format(element.name(class.class)), grid = true,
      say = "A triangle: out, worse; a ring: out, better; the line is the median.", pictures = pictures, long = true,
      table = page.table({ "metric", "nodes", "median", "slowest", "fastest", "spread", "without out", "out" },
         rows, 1) })
end

-- How high a span is: what is wrong is told apart without colours, too.
local SHARES = { pass = 0.25, warn = 0.6, ink = 0.6, bad = 1 }
local CLASSES = { pass = "pass", unrated = "pass", fail = "bad", warn = "warn", unknown = "ink" }

-- A node's checks as spans of one status each, and the worst that was.
local function lane_of(one, to)
   local spans, worst = {}, math.huge
   for i, check in ipairs(one.checks) do
      local last, class = spans[#spans], CLASSES[check.status] or "ink"
      local next_at = one.checks[i + 1] and one.checks[i + 1].time or to
      local finish = math.min(next_at, check.time + GAP_S)
      worst = math.min(worst, WORST[check.status] or math.huge)
      if last and last.class == class and check.time - last.to <= 1 then
         last.to = finish
      else
         spans[#spans + 1] = { from = check.time, to = finish, class = class, share = SHARES[class] }
      end
   end
   return spans, worst
end

local function strip_section(answer)
   local lanes, rest, rows = {}, 0, {}
   for _, one in ipairs(answer.checks or {}) do
      local spans, worst = lane_of(one, answer.to)
      if worst < math.huge then
         lanes[#lanes + 1] = { name = one.node, spans = spans, worst = worst, key = hostlist.order(one.node) }
      elseif #spans > 0 then
         rest = rest + 1
      end
   end
   table.sort(lanes, function(a, b)
      if a.worst ~= b.worst then
         return a.worst < b.worst
      end
      return a.key < b.key
   end)
   local more = #lanes - LANES
   for i, lane in ipairs(lanes) do
      local counts = {}
      for _, span in ipairs(lane.spans) do
         counts[span.class] = (counts[span.class] or 0) + (span.to - span.from) / 86400
      end
      rows[i] = { element.name(lane.name) }
      for k, class in ipairs({ "bad", "warn", "ink" }) do
         rows[i][k + 1] = counts[class] and ("%.1f"):format(counts[class])
      end
      lane.title = i <= LANES and element.name(lane.name) or nil
   end
   for i = LANES + 1, #lanes do
      lanes[i] = nil
   end
   if #lanes == 0 then
      return rest > 0 and page.section({ title = ("Checks since %s"):format(time.show(answer.since)),
         say = ("None of %d nodes failed, warned, or could not tell."):format(rest) })
   end
   return page.section({ title = ("Checks since %s: nodes that did not pass them all"):format(time.show(answer.since)),
      long = #lanes > 30, say = ("High and orange: failed; half high and ochre: warned, and black: found out "
         .. "nothing; low: passed. %d other node%s passed all%s."):format(rest, rest == 1 and "" or "s",
         more > 0 and ("; %d more like these"):format(more) or ""),
      pictures = { strip({ label = "Checks of nodes over time", from = answer.since, to = answer.to, lanes = lanes }) },
      table = page.table({ "node", "days failed", "days warned", "days not known" }, rows, 1, ROWS) })
end

local function lists(answer)
   local between, unknown = {}, {}
   for i, f in ipairs(answer.fabric) do
      between[i] = { element.name(f.leaf or table.concat(f.nodes, ","), 120), time.show(f.since), ("%d"):format(f.runs),
         time.show(f.last), element.name(f.text, 300) }
   end
   for i, u in ipairs(answer.unknown) do
      unknown[i] = { element.name(u.node), element.name(u.class), time.show(u.time), element.name(u.text or "-", 200) }
   end
   return #between > 0 and page.section({ title = "Between the nodes", long = true,
         more = page.table({ "where", "since", "runs", "last", "what" }, between, nil, ROWS) }),
      #unknown > 0 and page.section({ title = ("%d node%s whose newest check found out nothing"):format(#unknown,
         #unknown == 1 and "" or "s"), long = true, [#unknown <= FEW and "more" or "table"] =
         page.table({ "node", "class", "since", "why" }, unknown, nil, ROWS) })
end

-- "3 of 1,000 nodes are worse than their class: n5 (triad -29 %), n9 (...)"
local function sentence(answer)
   local bad, known, total = {}, {}, 0
   for _, class in ipairs(answer) do
      total = total + class.nodes
      for _, m in ipairs(class.metrics) do
         for _, o in ipairs(m.out) do
            if o.worse and not known[o.node] then
               known[o.node] = true
               bad[#bad + 1] = { off = math.abs(o.value - m.median) / (m.room > 0 and m.room or 1),
                  text = ("%s (%s%s)"):format(element.name(o.node), m.field.label,
                     o.pct and (" %+.0f %%"):format(o.pct) or "") }
            end
         end
      end
   end
   table.sort(bad, function(a, b)
      return a.off > b.off
   end)
   local texts = {}
   for i = 1, math.min(NAMES, #bad) do
      texts[i] = bad[i].text
   end
   if #bad == 0 then
      return ("none of %d nodes is worse than its class"):format(total)
   end
   return ("%d of %d nodes %s worse than their class: %s%s"):format(#bad, total, #bad == 1 and "is" or "are",
      table.concat(texts, ", "), #bad > NAMES and ", ..." or "")
end

local function facts_of(answer)
   local facts, several = { { "each node's newest values since", time.show(answer.since) } }, {}
   for _, one in ipairs(answer.files or {}) do
      several[one.cluster] = true
   end
   for _, one in ipairs(answer.files or {}) do
      local text = files.sentence(one, next(several, next(several)) ~= nil)
      facts[#facts + 1] = { one.kind, element.name(text:sub(#one.kind + 3), 300) }
   end
   return facts
end

--- @param answer of fleet.compare, as show.table takes it, with `nodes` (that were compared), `checks` (of
--   read.checks), `to` (now) and `made`
-- @return text of the file
return function(answer)
   local maps, spreads = {}, {}
   local between, unknown = lists(answer)
   for _, class in ipairs(answer) do
      local nodes = nodes_of(answer, class.class)
      if #class.metrics > 0 then
         maps[#maps + 1] = map_section(class, nodes)
         spreads[#spreads + 1] = spread_section(class, nodes)
      end
   end
   return page.build({ title = "Fleet", made = answer.made, answer = sentence(answer),
      facts = facts_of(answer), sections = {
      maps, strip_section(answer), between, unknown, spreads } })
end
