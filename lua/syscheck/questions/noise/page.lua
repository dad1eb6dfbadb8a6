--- What noise costs as a page. An answer is as show.lua has it. Pure.
local chart = require("syscheck.html.chart")
local page = require("syscheck.html.page")
local time = require("syscheck.lib.time")
local words = require("syscheck.questions.noise.words")

local ROWS = 200

-- Loss against the number of nodes, a line for each quantum.
local function picture(one)
   local most, sizes = 0, one.works[1].rows
   for _, work in ipairs(one.works) do
      for _, row in ipairs(work.rows) do
         most = math.max(most, row.high_pct or row.pct)
      end
   end
   local low = 0.01
   local c = chart.new({ label = "Loss against the number of nodes, by the time between barriers", width = 640,
      height = 300, x = { low = sizes[1].nodes, high = sizes[#sizes].nodes, kind = "log2", count = 9,
         show = function(n) return ("%.0f"):format(n) end, label = "nodes of the job" },
      y = { low = low, high = math.max(most, 1), kind = "log", label = "% of the time lost" } })
   for _, work in ipairs(one.works) do
      local points, marks = {}, {}
      for i, row in ipairs(work.rows) do
         points[i] = { row.nodes, math.max(low, row.pct) }
         marks[i] = { row.nodes, math.max(low, row.pct), ("%d node%s, %s between barriers: %s %%"):format(row.nodes,
            row.nodes == 1 and "" or "s", words.span(work.work_us), words.cell(row)) }
      end
      c:line(points)
      c:marks(marks, "circle", "f", 3)
      local last = points[#points]
      c:note(last[1], last[2], words.span(work.work_us))
   end
   return c:done()
end

local function losses(one)
   local head, rows = { "nodes" }, {}
   for i, work in ipairs(one.works) do
      head[i + 1] = words.span(work.work_us)
      for r, row in ipairs(work.rows) do
         rows[r] = rows[r] or { ("%d"):format(row.nodes) }
         rows[r][i + 1] = words.cell(row)
      end
   end
   return page.table(head, rows, 1, ROWS)
end

local function sources(one)
   local rows = {}
   for i, source in ipairs(one.sources) do
      rows[i] = { source.name or "not known", words.cells(source, source.regular and words.regular(source.regular)
         or words.nodes(source.names)) }
   end
   return page.table({ "source", "lasts", "every", "nodes", "where", "in phase", "costs %", "without it %" }, rows, 3,
      ROWS)
end

local function measured(one)
   local rows = words.verify_rows(one.verify)
   return rows and page.table({ "between barriers", "predicted %", "measured %", "steps", "agrees" }, rows, 1, ROWS)
end

--- @param answer list of those of noise.of, `made`
-- @return text of the file
return function(answer)
   local sections = {}
   for _, one in ipairs(answer) do
      local of = one.class or one.of
      sections[#sections + 1] = page.section({ title = ("What %s lose"):format(one.own and one.of or "jobs of " .. of),
         say = #answer > 1 and words.head(one) .. "." or nil,
         pictures = #one.works[1].rows > 1 and { picture(one) } or {},
         table = losses(one), more = page.list(words.notes(one)) })
      local beside = measured(one)
      sections[#sections + 1] = beside and page.section({ title = "Measured", table = beside,
         say = "Fixed work and an allreduce on these nodes, mean and standard error of a step; agrees: within a fifth "
            .. "of the larger one and two standard errors." })
      local found = sources(one)
      sections[#sections + 1] = found and page.section({ title = "By whom", table = found,
         say = "Periodic sources; what each costs, and what would be left without it, is of the job of the answer." })
   end
   return page.build({ title = "Noise", answer = words.head(answer[1]),
      facts = { { "since", time.show(answer.since) } }, sections = sections, made = answer.made })
end
