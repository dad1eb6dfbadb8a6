--- What noise costs, for people, programs and spreadsheets. An answer is a list of those of noise.of, each with `of`
-- (whose jobs), `class` or nil, `silent` = names of nodes without samples; with `since`.
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local terminal = require("syscheck.lib.terminal")
local time = require("syscheck.lib.time")
local words = require("syscheck.questions.noise.words")

local show = {}

local LEGEND = "Loss in % of the time, by how long a node works between two barriers: expected, 90 % interval. >=: "
   .. "more than the samples support; what a Pareto tail makes of it in brackets. absorbed: if no node waited "
   .. "for another. COSTS_%: points of the first line; WITHOUT_%: what is left; -: not known."
local MOST_SOURCES = 12

local function losses(one)
   local head, last = { "NODES" }, { "absorbed" }
   for _, work in ipairs(one.works) do
      head[#head + 1] = words.span(work.work_us):gsub(" ", "_")
      last[#last + 1] = words.percent(work.absorbed_pct)
      if one.simulated then
         head[#head + 1], last[#last + 1] = "SIMULATED", ""
      end
   end
   local rows = { head }
   for r, row in ipairs(one.works[1].rows) do
      local cells = { ("%d"):format(row.nodes) }
      for _, work in ipairs(one.works) do
         local of = work.rows[r]
         -- Not all nodes of a job have samples that are long enough for the longest quanta.
         of = of and of.nodes == row.nodes and of or nil
         cells[#cells + 1] = of and words.cell(of) or "-"
         if one.simulated then
            cells[#cells + 1] = of and of.simulated_pct and words.percent(of.simulated_pct) or "-"
         end
      end
      rows[#rows + 1] = cells
   end
   rows[#rows + 1] = last
   return rows
end

local function source_rows(one)
   local rows = { { "SOURCE", "LASTS", "EVERY", "NODES", "WHERE", "IN_PHASE", "COSTS_%", "WITHOUT_%" } }
   for i, source in ipairs(one.sources) do
      if i > MOST_SOURCES then
         break
      end
      rows[#rows + 1] = { source.name and printable.safe(source.name, 32) or "not known",
         words.cells(source, #source.names == one.nodes and "all" or source.regular and words.regular(source.regular)
         or words.nodes(source.names, 40)) }
   end
   return #rows > 1 and rows or nil
end

local function node_rows(one)
   local rows = { { "NODE", "COSTS_%" } }
   for _, node in ipairs(one.worst or {}) do
      rows[#rows + 1] = { printable.safe(node.name), words.percent(node.costs_pct) }
   end
   return #rows > 1 and rows or nil
end

local function block(one, color, width)
   local head = words.head(one)
   local parts = { terminal.wrap(head:sub(1, 1):upper() .. head:sub(2) .. ".", width), "",
      (output.fitted(losses(one), color, width, {})) }
   local measured = words.verify_rows(one.verify)
   if measured then
      table.insert(measured, 1, { "BETWEEN", "PREDICTED_%", "MEASURED_%", "STEPS", "AGREES" })
      parts[#parts + 1] = "\n" .. output.fitted(measured, color, width, {})
   end
   local found = source_rows(one)
   if found then
      parts[#parts + 1] = "\n" .. output.fitted(found, color, width, { lead = 1 })
   end
   local nodes = node_rows(one)
   if nodes then
      parts[#parts + 1] = "\n" .. output.fitted(nodes, color, width, {})
   end
   parts[#parts + 1] = "\n" .. terminal.wrap(table.concat(words.notes(one), "\n"), width, 2)
   return table.concat(parts, "\n")
end

--- Text for a terminal.
function show.table(answer, color, _, width)
   local parts = {}
   for i, one in ipairs(answer) do
      parts[i] = block(one, color, width)
   end
   local kind = answer[1].simulated
   local note = answer[1].verify and " MEASURED_%: mean and standard error of steps of so much work and an "
      .. "allreduce; AGREES: within a fifth of the larger one and two standard errors; cannot tell: these errors are "
      .. "more than the fifth, or >= is predicted and more was measured." or ""
   local simulated = kind and (" SIMULATED: step after step, %s."):format(kind == "halo"
      and "a halo exchange with six neighbours" or "a dissemination barrier") or ""
   parts[#parts + 1] = terminal.flow(LEGEND .. note .. simulated, width)
   return table.concat(parts, "\n\n")
end

local function row_of(row)
   return { nodes = row.nodes, delay_us = row.us, slowdown_pct = row.pct, low_pct = row.low_pct,
      high_pct = row.high_pct, at_least = row.at_least == true, tail_pct = row.most_pct,
      simulated_pct = row.simulated_pct }
end

local function source_of(source)
   return { text = words.source(source), source = source.name, period_ms = source.period_ms,
      duration_us = source.duration_us, nodes = output.list(source.names), lost_pct = source.lost_pct,
      every = source.regular and source.regular.every, first = source.regular and output.list(source.regular.first),
      phase_p = source.phase_p, in_phase = source.in_phase, costs_pct = source.costs_pct,
      without_pct = source.without_pct }
end

--- One object: { v, since, answers }.
function show.json(answer)
   return output.json({ v = 1, since = time.show(answer.since), answers = output.each(answer, function(one)
      local h = one.head
      return { class = one.class, job = one.job, text = words.head(one), nodes = one.nodes, checks = one.checks,
         sampled_s = one.sampled_s, own = one.own == true, complete = one.complete,
         silent = output.list(one.silent or {}),
         notes = output.list(words.notes(one)), simulated = one.simulated,
         allreduce_us = one.allreduce and one.allreduce.us, allreduce_steps = one.allreduce and one.allreduce.steps,
         head = { nodes = h.nodes, work_us = h.work_us, slowdown_pct = h.pct, low_pct = h.low_pct,
            high_pct = h.high_pct, at_least = h.at_least == true },
         works = output.each(one.works, function(work)
            return { work_us = work.work_us, samples = work.samples, absorbed_pct = work.absorbed_pct,
               rows = output.each(work.rows, row_of) }
         end),
         sources = output.each(one.sources, source_of),
         verify = one.verify and output.each(one.verify, function(column)
            return { work_us = column.work_us, predicted_pct = column.predicted_pct,
               at_least = column.at_least == true, measured_pct = column.measured_pct, se_pct = column.se_pct,
               steps = column.steps, step_us = column.step_us, undisturbed_us = column.base_us,
               allreduce_us = column.allreduce_us, scatter_pct = column.scatter_pct, agrees = column.agrees,
               differs = column.differs }
         end),
         worst = output.each(one.worst or {}, function(node)
            return { node = node.name, costs_pct = node.costs_pct }
         end),
         without_worst_pct = one.without_worst_pct,
         spared = one.spared and { cores = one.spared.cores, of = one.spared.of, slowdown_pct = one.spared.pct } }
   end) })
end

--- A line for each size and quantum.
function show.csv(answer)
   local rows = {}
   for _, one in ipairs(answer) do
      local measured = {}
      for _, column in ipairs(one.verify or {}) do
         measured[column.work_us] = column
      end
      for _, work in ipairs(one.works) do
         local of = measured[work.work_us] or {}
         for _, row in ipairs(work.rows) do
            rows[#rows + 1] = { one.class, one.job, row.nodes, work.work_us, row.us, row.pct, row.low_pct, row.high_pct,
               row.at_least and 1 or 0, row.most_pct, row.simulated_pct, work.absorbed_pct, of.measured_pct, of.se_pct,
               of.agrees ~= nil and (of.agrees and 1 or 0) or nil }
         end
      end
   end
   return output.csv({ "class", "job", "nodes", "work_us", "delay_us", "slowdown_pct", "low_pct", "high_pct",
      "at_least", "tail_pct", "simulated_pct", "absorbed_pct", "measured_pct", "se_pct", "agrees" }, rows)
end

return show
