--- A node's story as a page. Pure.
local alike = require("syscheck.questions.job.alike")
local distribution = require("syscheck.html.distribution")
local element = require("syscheck.html.element")
local fleet = require("syscheck.questions.fleet.logic")
local history = require("syscheck.html.history")
local jobid = require("syscheck.questions.jobid")
local memory = require("syscheck.questions.run.memory")
local metrics = require("syscheck.catalogue.metrics")
local page = require("syscheck.html.page")
local time = require("syscheck.lib.time")

local ROWS = 400 -- of a table

-- How events look: by shape and by colour.
local KINDS = { drain = { "triangle", "bad", "drained" }, storm = { "triangle", "odd", "bad, not drained" },
   undecided = { "triangle", "odd", "bad, not drained" }, observed = { "triangle", "odd", "bad, not drained" },
   resume = { "circle", "own", "back in service" }, check = { "diamond", "warn", "check" },
   throttle = { "square", "warn", "throttled" }, memory = { "cross", "cross", "errors" },
   machine = { "cross", "cross", "errors" }, oom = { "cross", "cross", "errors" },
   link = { "square", "ink", "network" }, fabric = { "square", "ink", "network" },
   class = { "diamond", "odd", "changed" }, config = { "diamond", "odd", "changed" }, loss = { "circle", "ring",
      "records lost" } }

local function show_of(field)
   local m = metrics.BY_NAME[field.name]
   return function(value)
      return m and metrics.show(m, value) or ("%.4g"):format(value)
   end
end

local function with_unit(field)
   local show, unit = show_of(field), field.unit ~= "count" and " " .. field.unit or ""
   return function(value)
      return show(value) .. unit
   end
end

local function history_section(tale)
   local panels, events, jobs, rows = {}, {}, {}, {}
   for _, m in ipairs(tale.metrics) do
      -- Throttle events since the last look: nothing where none was ever.
      if m.field.unit ~= "count" or m.max > 0 then
         panels[#panels + 1] = { label = m.field.label, unit = m.field.unit ~= "count" and m.field.unit or "",
            show = show_of(m.field), points = m.points }
         rows[#rows + 1] = { m.field.label, with_unit(m.field)(m.last), with_unit(m.field)(m.median),
            with_unit(m.field)(m.min), with_unit(m.field)(m.max), ("%d"):format(m.n) }
      end
   end
   for i, e in ipairs(tale.events) do
      local kind = KINDS[e.event] or { "circle", "ring", e.event }
      events[i] = { at = e.time, kind = { shape = kind[1], class = kind[2], text = kind[3] },
         title = ("%s %s: %s"):format(time.show(e.time), e.event, element.name(e.text, 300)) }
   end
   for i, j in ipairs(tale.jobs) do
      jobs[i] = { from = j.begin_s or j.time - (j.elapsed_s or 0), to = j.time,
         title = ("job %s%s, ended %s"):format(j.run and jobid.label(j.run) or "?",
            j.run and j.run.user and " of " .. element.name(j.run.user) or "", time.show(j.time)) }
   end
   if #panels == 0 and #events == 0 and #jobs == 0 then
      return false
   end
   return page.section({ title = ("Since %s: what was measured, and what happened"):format(time.show(tale.since)),
      say = "A dot is a check; beside each panel its highest, median and lowest value. Bars are jobs.",
      pictures = { history({ label = "The node's history", from = tale.since, to = tale.to, panels = panels,
         events = events, jobs = jobs }) },
      table = page.table({ "metric", "last", "median", "lowest", "highest", "checks" }, rows, 1) })
end

-- Where the node stands in its class: each metric over the nodes, and this one marked.
local function class_section(tale)
   local pictures, rows, name = {}, {}, tale.node.name
   for _, class in ipairs(tale.peers and fleet.compare(tale.peers) or {}) do
      for _, m in ipairs(class.metrics) do
         local out, values, own = {}, {}, nil
         for _, one in ipairs(m.out) do
            out[one.node] = one.worse and "worse" or "better"
         end
         for _, node in ipairs(tale.peers) do
            local v = (node.class or "?") == class.class and node.values[m.field.name]
            if v then
               values[#values + 1] = { name = node.node, value = v.value, out = out[node.node] }
               own = node.node == name and v.value or own
            end
         end
         if own and #values > 1 then
            pictures[#pictures + 1] = distribution({ label = m.field.label, unit = m.field.unit, values = values,
               marked = name, show = with_unit(m.field) })
            local text = with_unit(m.field)(own)
            rows[#rows + 1] = { m.field.label, out[name] and page.bad(text) or text, with_unit(m.field)(m.median),
               m.median ~= 0 and ("%+.1f %%"):format(100 * (own / m.median - 1)), ("%d"):format(m.nodes) }
         end
      end
   end
   return #pictures > 0 and page.section({ title = ("Where it stands in its class, %s"):format(
      element.name(tale.node.class)), grid = true, pictures = pictures, long = true,
      say = "Each node's newest value; a diamond, with its name, is this node; a triangle is out, worse; a ring "
         .. "is out, better; the line is the median.",
      table = page.table({ "metric", "this node", "median", "off", "nodes" }, rows, 1) })
end

local function job_text(run)
   return run and jobid.label(run) or "-"
end

local function lists(tale)
   local events, jobs = {}, {}
   for i, e in ipairs(tale.events) do
      events[i] = { time.show(e.time), e.event, job_text(e.run), element.name(e.text, 300) }
   end
   for i, j in ipairs(tale.jobs) do
      local run = j.run or {}
      jobs[i] = { time.show(j.time), job_text(j.run), element.name(run.user), element.name(run.name, 48),
         run.nodes and ("%.0f"):format(run.nodes), j.elapsed_s and ("%.0f"):format(j.elapsed_s),
         ("%.0f"):format(j.values.throttle_events or 0) }
   end
   local function of(list, total)
      return total > #list and (", the last %d of %d (--limit)"):format(#list, total) or ""
   end
   return #events > 0 and page.section({ title = "Events" .. of(events, tale.events_total), long = true,
         more = page.table({ "time", "event", "job", "what" }, events, nil, ROWS) }),
      #jobs > 0 and page.section({ title = "Jobs" .. of(jobs, tale.jobs_total),
         table = page.table({ "ended", "job", "user", "name", "nodes", "s", "throttled" }, jobs, 4, ROWS) })
end

-- "n2: 96 checks (95 pass, 1 fail), 88 jobs; drained 1 time, throttled in 2 jobs"
local function sentence(tale)
   local statuses, counts, what = {}, {}, {}
   for _, name in ipairs({ "pass", "warn", "fail", "unknown", "unrated" }) do
      statuses[#statuses + 1] = tale.statuses[name] and ("%d %s"):format(tale.statuses[name], name) or nil
   end
   for _, e in ipairs(tale.events) do
      counts[e.event] = (counts[e.event] or 0) + 1
   end
   for _, pair in ipairs({ { "drain", "drained" }, { "observed", "would have been drained" },
      { "throttle", "throttled" },
      { "memory", "had memory errors" }, { "machine", "had machine checks" }, { "link", "had link errors" },
      { "oom", "ran out of memory" } }) do
      local n = counts[pair[1]]
      what[#what + 1] = n and ("%s %s"):format(pair[2], n == 1 and "once" or n == 2 and "twice"
         or ("%d times"):format(n))
         or nil
   end
   return ("%s: %d check%s%s, %d job%s; %s"):format(element.name(tale.node.name), tale.checks,
      tale.checks == 1 and "" or "s",
      #statuses > 0 and " (" .. table.concat(statuses, ", ") .. ")" or "", tale.jobs_total,
      tale.jobs_total == 1 and "" or "s", #what > 0 and table.concat(what, ", ") or "nothing went wrong")
end

local function warned(tale)
   local facts = {}
   for i, warning in ipairs(tale.warnings or {}) do
      facts[i] = { i == 1 and "warn" or "", element.name(alike.sentence(warning), 300) }
   end
   return facts
end

--- @param tale of read.story, with `peers` (nodes of its class, as fleet.compare takes them; or nil) and `made`
-- @return text of the file
return function(tale)
   local node = tale.node
   local events, jobs = lists(tale)
   local kept = tale.memory or {}
   return page.build({ title = "Node " .. element.name(node.name), made = tale.made, answer = sentence(tale),
      facts = { { "cluster", node.cluster and element.name(node.cluster) }, { "class", element.name(node.class) },
         { "since", time.show(tale.since) }, table.unpack(warned(tale)) },
      sections = { history_section(tale), class_section(tale), memory.scaling(kept.scaling),
         memory.numa(kept.numa), events, jobs } })
end
