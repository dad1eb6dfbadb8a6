--- An answer of logic.lua for people, programs and spreadsheets. Besides what why.analyse returns it
-- has `run` (of jobid.runs), `runs` (how many the job has), `name` (function(node) -> its name),
-- `nodes` (of the job), `recorded` (how many of them), `comparable` (whether user, name and node count
-- are known), `checks` (of the job itself that found something, see read.found), `more` (nodes that were left out) and
-- `explain` (true: the whole reasoning is wanted), `waits` and `waits_like` (of waits.of; nil: not counted).
local causes = require("syscheck.questions.why.causes")
local jobid = require("syscheck.questions.jobid")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local terminal = require("syscheck.lib.terminal")
local time = require("syscheck.lib.time")
local waits = require("syscheck.questions.job.waits")
local words = require("syscheck.questions.why.words")

local show = {}

local SHOWN = 0.02 -- less likely explanations are in no table
local MOST_DROPPED = 3
local CHECK_CHARS = 160

-- Names that are safe to print.
local function namer(answer)
   return function(node)
      return printable.safe(answer.name(node))
   end
end

--- The answer in a sentence.
function show.conclusion(answer)
   return words.conclusion(answer, { label = jobid.label(answer.run), nodes = answer.nodes }, namer(answer))
end

local function lost_share(answer)
   local slow = answer.slow
   return slow.lost_s and answer.elapsed_s and slow.lost_s / answer.elapsed_s or 0
end

--- What was considered and is not what is named, and why not.
-- @return list of texts
function show.dropped(answer)
   local out = {}
   for _, h in ipairs(answer.explanations) do
      local text = h ~= answer.named and h ~= answer.beside and h.evidence[1]
         and words.dropped(h, namer(answer), answer.nodes, lost_share(answer))
      out[#out + 1] = text or nil
   end
   return out
end

local function names_of(answer, nodes)
   local out = {}
   for i, node in ipairs(nodes) do
      out[i] = answer.name(node)
   end
   table.sort(out)
   return out
end

--- One object: { v, job, elapsed_s, like, looked, explanations, dropped, checks, work, conclusion }.
function show.json(answer)
   local run, slow = answer.run, answer.slow
   local explanations = output.each(answer.explanations, function(h)
      return { where = h.where, node = h.node and answer.name(h.node),
         nodes = h.nodes and output.list(names_of(answer, h.nodes)), leaf = h.leaf,
         cause = h.group, text = causes.GROUPS[h.group], probability = h.probability, rarity = h.rarity, p = h.p,
         fit = h.fit, harm = h.harm, other_runs = h.runs, accounts_pct = h.most and 100 * words.most(h),
         named = h.named, beside = h == answer.beside or nil,
         evidence = output.each(h.evidence, function(e)
            return { name = e.name, label = e.label, unit = e.unit, value = e.value, peers = e.peers, like = e.like,
               class = e.class, times = e.times, cost_s = e.cost_s, p = e.p, compared = e.compared, shows = e.shows,
               before = e.before and { value = e.before.value, days = e.before.days },
               after = e.after and { value = e.after.value, days = e.after.days }, factor = e.bf }
         end) }
   end)
   return output.json({ v = 2, job = { id = run.job_id, label = jobid.label(run), user = run.user, name = run.name,
      nodes = answer.nodes, seen = run.seen, cluster = run.cluster, partition = run.partition,
      begin = time.show(run.begin_s), ["end"] = time.show(run.end_s) }, elapsed_s = answer.elapsed_s,
      like = { count = slow.count, wanted = slow.wanted, without = slow.without and answer.name(slow.without),
         without_setting = slow.set,
         others = slow.others, troubled = slow.troubled,
         rule = "same cluster, user, job name and node count; 20 before and 20 after it at most",
         median_s = slow.median_s,
         low = slow.low, high = slow.high, ratio = slow.ratio, p = slow.p, seen_from = slow.seen_from,
         trend_pct_a_day = slow.slope and 100 * slow.slope, modes = slow.modes, front = slow.front,
         lost_s = slow.lost_s, verdict = slow.verdict },
      looked = answer.looked, explanations = explanations, dropped = output.list(show.dropped(answer)),
      sure = answer.named and words.sure(answer.named.together),
      checks = output.each(answer.checks, function(c)
         return { node = answer.name(c.node), status = c.status, time = time.show(c.time_s), text = c.text }
      end), work = output.list(answer.work), memory = waits.object(answer.waits, answer.waits_like),
      conclusion = show.conclusion(answer) })
end

local CSV = { "job", "where", "node", "cause", "probability", "name", "unit", "value", "peers", "like", "class",
   "times", "cost_s", "p", "named", "ratio", "verdict", "shows", "before", "before_days", "after", "after_days" }

--- One line for each evidence.
function show.csv(answer)
   local rows = {}
   for _, h in ipairs(answer.explanations) do
      for _, e in ipairs(h.evidence[1] and h.evidence or { {} }) do
         local before, after = e.before or {}, e.after or {}
         rows[#rows + 1] = { answer.run.job_id, h.where, h.node and answer.name(h.node) or h.nodes
            and table.concat(names_of(answer, h.nodes), " "), h.group, h.probability, e.name, e.unit, e.value, e.peers,
            e.like, e.class, e.times, e.cost_s, e.p, h.named, answer.slow.ratio, answer.slow.verdict, e.shows,
            before.value, before.days, after.value, after.days }
      end
   end
   return output.csv(CSV, rows)
end

local HEAD = { "LIKELY_%", "NODE", "CAUSE", "WHAT" }
local REASONING = { "LIKELY_%", "NODE", "CAUSE", "RARITY", "FIT", "HARM", "RUNS", "WEIGHT", "ACCOUNTS_%", "P",
   "SHOWS_IN" }

-- Chance is no explanation of a job that nobody knows to be slow.
local NOT_KNOWN = "none: whether it was slow is not known"

local function number(x)
   return x and (x >= 1e6 and "%.0e" or x >= 100 and "%.0f" or "%.2g"):format(x) or "-"
end

-- Without a number that shows it.
local BY_ITSELF = { nothing = true, unknown = true, input = true, unrecorded = true, neighbour = true }

local LEGEND = "RARITY, FIT, HARM: how many times likelier it is, by how rare the values are (P, by chance), how well "
   .. "the lost time fits,\nand what as many other RUNS with as much of it took (HARM is 1000 at most); WEIGHT: these "
   .. "and how often such trouble is;\nLIKELY: share of all WEIGHT, and of what is named how often that is right; "
   .. "ACCOUNTS: share of the job's time that it can have cost"

-- Table of the explanations; with `all` the whole reasoning.
local function explanations_table(answer, color, width, all)
   local rows, name, sum = { all and REASONING or HEAD }, namer(answer), 0
   for _, h in ipairs(answer.explanations) do
      if h.probability and (all or h.probability >= SHOWN) and (h.best or BY_ITSELF[h.group]) then
         local who = h.where == "nobody" and "-" or words.subject(h, name, answer.nodes)
         local row = { words.percent(h.probability), h.named and output.cell(who, "bad") or who,
            h.group == "nothing" and answer.slow.verdict == "unknown" and NOT_KNOWN or causes.GROUPS[h.group] }
         if all then
            table.move({ number(h.rarity), number(h.fit), number(h.harm), h.runs and ("%d"):format(h.runs) or "-",
               number(h.weight), h.most and ("%.0f"):format(100 * words.most(h)) or "-", words.p(h.p),
               h.best and h.best.label or h.group == "neighbour" and words.UNSEEN or "-" }, 1, 8, 4, row)
         else
            row[4] = h.evidence[1] and words.evidence(words.main(h)) or h.group == "neighbour" and words.UNSEEN or ""
         end
         rows[#rows + 1], sum = row, sum + h.probability
      end
   end
   if not all and rows[2] and sum < 0.995 then
      rows[#rows + 1] = { ("%.0f"):format(100 * (1 - sum)), "-", "all else", "" }
   end
   return #rows > 1 and (output.fitted(rows, color, width, { prose = not all, lead = 2 })) or nil
end

--- Text for a terminal; with answer.explain the whole reasoning.
function show.table(answer, color, _, width)
   local run, explain = answer.run, answer.explain
   local parts = { show.conclusion(answer) .. ".", "",
      ("job %s  user %s  name %s  nodes %d (%d recorded)  %s to %s  %s s"):format(jobid.label(run),
         output.name(run.user), output.name(run.name), answer.nodes, answer.recorded, time.show(run.begin_s),
         time.show(run.end_s), answer.elapsed_s and ("%.0f"):format(answer.elapsed_s) or "-") }
   if answer.runs > 1 then
      parts[#parts + 1] = ("the last of its %d runs"):format(answer.runs)
   end
   if not answer.comparable then
      parts[#parts + 1] = "like runs: none, as the job's user, name or node count is not known"
   end
   if answer.more > 0 then
      parts[#parts + 1] = ("%d more nodes were not looked at"):format(answer.more)
   end
   for _, c in ipairs(answer.checks) do
      parts[#parts + 1] = ("its check on %s, %s: %s: %s"):format(namer(answer)(c.node), time.show(c.time_s), c.status,
         printable.safe(c.text or "-", CHECK_CHARS))
   end
   local memory = waits.sentence(answer.waits, answer.waits_like)
   parts[#parts + 1] = memory and "memory: " .. printable.safe(memory, 400) or nil
   for i, text in ipairs(parts) do
      parts[i] = terminal.wrap(text, width, i > 1 and 2 or 0)
   end
   local told = explain or answer.named or answer.beside or answer.slow.verdict == "slow"
      or answer.slow.verdict == "perhaps"
   if told then
      local explanations = explanations_table(answer, color, width, false)
      parts[#parts + 1] = explanations and "\n" .. explanations
   end
   local list = show.dropped(answer)
   for i = 1, explain and #list or told and math.min(MOST_DROPPED, #list) or 0 do
      parts[#parts + 1] = (i == 1 and "\nalso looked at:\n" or "") .. terminal.wrap("  " .. list[i], width, 4)
   end
   if explain then
      parts[#parts + 1] = "\n" .. (explanations_table(answer, color, width, true) or "nothing to weigh")
      parts[#parts + 1] = "\n" .. terminal.flow(LEGEND, width)
   end
   return table.concat(parts, "\n")
end

return show
