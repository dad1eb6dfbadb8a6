--- Suspects for people, programs and spreadsheets. An answer is the list of suspects.find, each
-- with what read.describe fills in, its field `totals` of read.read, and `since`.
local causes = require("syscheck.questions.why.causes")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local several = require("syscheck.questions.suspects.several")
local suspects = require("syscheck.questions.suspects.logic")
local terminal = require("syscheck.lib.terminal")
local time = require("syscheck.lib.time")
local words = require("syscheck.questions.why.words")

local show = {}

local MOST_RUNS = 20 -- slow runs of a suspect in JSON

local LEGEND = "SLOW_RUNS: those that were slow OF the runs under the cause, which took MEDIAN of what was expected; "
   .. "FROM, TO: their first\nand last; IN 3/5: of their 5 clearest `why` says so in 3; a slow run counts for the "
   .. "likeliest of its nodes, and for others\nthat had as much of the same"

local HEAD = { "NODE", "FROM", "TO", "SLOW_RUNS", "OF", "MEDIAN", "SURE_%", "CAUSE", "IN", "WHAT" }

-- "package throttled 620 s of 1623 s, its peers never", or "as on n3: ..." where only that of another is known.
local function what(one)
   local kind = several.of(one)
   if kind then
      return kind.text(one, printable.safe)
   elseif not one.condition then
      return "nothing that was recorded"
   end
   local first = one.condition.first
   return (first.on ~= one.name and ("as on %s: "):format(printable.safe(first.on)) or "") .. first.text
end

--- Text for a terminal.
function show.table(answer, color, _, width)
   local totals = answer.totals
   local parts = { ("%d of %d runs were slow since %s: %.0f %% over what their like runs took, and beyond their spread "
      .. "(same cluster, user, name, node count; %d kind%s)"):format(totals.slow, totals.compared,
      time.show(answer.since), 100 * (suspects.SLOW - 1), totals.kinds, totals.kinds == 1 and "" or "s"), "" }
   if not totals.complete then
      table.insert(parts, 2, "not all nodes that may be suspects were looked at: a later --since has fewer")
   end
   if #answer == 0 then
      parts[#parts + 1] = (totals.complete and "no node is the likely cause of %d or more of them."
         or "of those that were, none is the likely cause of %d or more of them."):format(suspects.MIN_SLOW)
      return terminal.wrap(table.concat(parts, "\n"), width)
   end
   for i, text in ipairs(parts) do
      parts[i] = terminal.wrap(text, width)
   end
   local rows = { HEAD }
   for i, one in ipairs(answer) do
      local c, kind = one.condition, several.of(one)
      local cause = kind and kind.CAUSE or c and causes.GROUPS[c.group] or "-"
      rows[i + 1] = { output.cell(printable.safe(one.name), "bad"), time.show(one.from_s), time.show(one.to_s),
         ("%d"):format(#one.slow), ("%d"):format(one.runs), words.times(one.cost),
         words.percent(one.probability), cause, c and ("%d/%d"):format(c.told, one.looked) or "-", what(one) }
   end
   parts[#parts + 1] = output.fitted(rows, color, width, { prose = true })
   parts[#parts + 1] = "\n" .. terminal.flow(LEGEND, width)
   for _, hint in ipairs(several.hints(answer)) do
      parts[#parts + 1] = "\n" .. terminal.flow(hint, width)
   end
   return table.concat(parts, "\n")
end

--- One object: { v, since, runs, slow, kinds, nodes, complete, suspects }.
function show.json(answer)
   local totals = answer.totals
   return output.json({ v = 5, since = time.show(answer.since), runs = totals.compared, slow = totals.slow,
      kinds = totals.kinds, nodes = totals.nodes, complete = totals.complete,
      suspects = output.each(answer, function(one)
         local c, kind = one.condition, several.of(one)
         return { node = not kind and one.name or nil, leaf = one.uplink and one.name or nil,
            cause = kind and one.group or c and c.group,
            nodes = one.members and output.list(one.members), hours = one.hours and output.list(one.hours),
            within = kind and { runs = one.within, slow = one.within_slow } or nil,
            others = kind and { runs = one.others, slow = one.others_slow } or nil,
            from = time.show(one.from_s), to = time.show(one.to_s), slow = #one.slow,
            runs = one.runs, ratio = one.cost, probability = one.probability,
            slow_runs = output.each(table.move(one.slow, 1, MOST_RUNS, 1, {}), function(run)
               return { job = run.job_id, ratio = run.ratio, begin = time.show(run.begin_s) }
            end),
            condition = c and { cause = c.group, text = what(one), name = c.first.name, runs = c.told,
               looked = one.looked } or nil }
      end) })
end

local CSV = { "node", "from", "to", "slow", "runs", "ratio", "probability", "cause", "in", "looked", "what", "leaf",
   "rack" }

--- One line for each suspect.
function show.csv(answer)
   local rows = {}
   for i, one in ipairs(answer) do
      local c, kind = one.condition, several.of(one)
      rows[i] = { not kind and one.name or nil, time.show(one.from_s), time.show(one.to_s), #one.slow, one.runs,
         one.cost, one.probability, kind and one.group or c and c.group, c and c.told,
         not kind and one.looked or nil, (c or kind) and what(one), one.uplink and one.name,
         one.rack and one.name }
   end
   return output.csv(CSV, rows)
end

return show
