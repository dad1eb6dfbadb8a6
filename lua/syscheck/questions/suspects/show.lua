--- Suspects for people, programs and spreadsheets. An answer is the list of suspects.find, each
-- with what read.describe fills in, its field `totals` of read.read, and `since`.
local causes = require("syscheck.questions.why.causes")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local suspects = require("syscheck.questions.suspects.logic")
local time = require("syscheck.lib.time")
local words = require("syscheck.questions.why.words")

local show = {}

local MOST_RUNS = 20 -- slow runs of a suspect in JSON

local HEAD = { "NODE", "SLOW_RUNS", "OF", "EXPECTED", "TIMES", "P", "CAUSE", "IN", "WHAT" }

local function what(c)
   return words.evidence(c.first.evidence[1])
end

--- Text for a terminal.
function show.table(answer, color)
   local totals = answer.totals
   local parts = { ("%d of %d runs were slow since %s: more than %.0f %% over the median of at least %d like runs "
      .. "(same cluster, user, name, node count; %d kind%s) and beyond their spread"):format(totals.slow,
      totals.compared, time.show(answer.since), 100 * (suspects.SLOW - 1), suspects.MIN_RUNS, totals.kinds,
      totals.kinds == 1 and "" or "s") }
   if totals.looked < totals.slow then
      parts[2] = ("the newest %d of them are looked at"):format(totals.looked)
   end
   parts[#parts + 1] = ""
   if #answer == 0 then
      parts[#parts + 1] = "no node is in more of them than chance explains."
      return table.concat(parts, "\n")
   end
   local rows = { HEAD }
   for i, one in ipairs(answer) do
      local c = one.condition
      rows[i + 1] = { output.cell(printable.safe(one.name), "bad"), ("%d"):format(#one.slow), ("%d"):format(one.runs),
         ("%.1f"):format(one.expected), words.times(one.times), words.p(one.p_corrected),
         c and causes.GROUPS[c.group] or "-", c and ("%d/%d"):format(c.runs, one.looked) or "-",
         c and what(c) or "nothing that was recorded" }
   end
   parts[#parts + 1] = output.table(rows, color)
   parts[#parts + 1] = ("\nP: corrected for %d nodes; IN: of the newest slow runs; a slow run counts for the worst of "
      .. "its nodes only"):format(totals.nodes)
   return table.concat(parts, "\n")
end

--- One object: { v, since, runs, slow, kinds, nodes, suspects }.
function show.json(answer)
   local totals = answer.totals
   return output.json({ v = 1, since = time.show(answer.since), runs = totals.compared, slow = totals.slow,
      kinds = totals.kinds, nodes = totals.nodes, suspects = output.each(answer, function(one)
         local c = one.condition
         return { node = one.name, slow = #one.slow, runs = one.runs, expected = one.expected, times = one.times,
            p = one.p, p_corrected = one.p_corrected,
            slow_runs = output.each(table.move(one.slow, 1, MOST_RUNS, 1, {}), function(run)
               return { job = run.job_id, ratio = run.ratio, begin = time.show(run.begin_s) }
            end),
            condition = c and { cause = c.group, text = what(c), name = c.first.evidence[1].name, runs = c.runs,
               looked = one.looked } or nil }
      end) })
end

local CSV = { "node", "slow", "runs", "expected", "times", "p", "p_corrected", "cause", "in", "looked", "what" }

--- One line for each suspect.
function show.csv(answer)
   local rows = {}
   for i, one in ipairs(answer) do
      local c = one.condition
      rows[i] = { one.name, #one.slow, one.runs, one.expected, one.times, one.p, one.p_corrected, c and c.group,
         c and c.runs, one.looked, c and what(c) }
   end
   return output.csv(CSV, rows)
end

return show
