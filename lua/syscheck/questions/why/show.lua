--- An answer of logic.lua for people, programs and spreadsheets. Besides what why.analyse returns it
-- has `run` (of jobid.runs), `runs` (how many the job has), `name` (function(node) -> its name),
-- `nodes` (of the job), `recorded` (how many of them), `comparable` (whether user, name and node count
-- are known) and `more` (nodes that were left out).
local causes = require("syscheck.questions.why.causes")
local jobid = require("syscheck.questions.jobid")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local time = require("syscheck.lib.time")
local why = require("syscheck.questions.why.logic")
local words = require("syscheck.questions.why.words")

local show = {}

local SHOWN_P = 0.5 -- what chance explains as well as not is in no table

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

--- One object: { v, job, elapsed_s, like, looked, conditions, work, conclusion }.
function show.json(answer)
   local run, slow = answer.run, answer.slow
   local conditions = output.each(answer.conditions, function(c)
      return { where = c.where, node = c.node and answer.name(c.node), cause = c.group, text = causes.GROUPS[c.group],
         p = c.p, p_corrected = c.p_corrected, cost_s = c.cost_s, accounts = c.accounts, out_of_line = c.out_of_line,
         blamed = c.blamed, evidence = output.each(c.evidence, function(e)
            return { name = e.name, label = e.label, unit = e.unit, when = e.when, checks = e.checks,
               value = e.value, peers = e.peers, like = e.like, class = e.class, times = e.times,
               cost_s = e.cost_s, p = e.p, compared = e.compared }
         end) }
   end)
   return output.json({ v = 1, job = { id = run.job_id, label = jobid.label(run), user = run.user, name = run.name,
      nodes = answer.nodes, seen = run.seen, cluster = run.cluster, partition = run.partition,
      begin = time.show(run.begin_s), ["end"] = time.show(run.end_s) }, elapsed_s = answer.elapsed_s,
      like = { count = slow.count, normal = slow.normal, wanted = slow.wanted,
         rule = "same cluster, user, job name and node count; the nearest 30", median_s = slow.median_s,
         low = slow.low, high = slow.high, ratio = slow.ratio, p = slow.p, p_rank = slow.p_rank,
         lost_s = slow.lost_s, verdict = slow.verdict },
      looked = answer.looked, conditions = conditions, work = output.list(answer.work),
      conclusion = show.conclusion(answer) })
end

local CSV = { "job", "node", "cause", "name", "unit", "value", "peers", "like", "class", "times", "cost_s", "accounts",
   "p", "p_corrected", "blamed", "where" }

--- One line for each evidence.
function show.csv(answer)
   local rows = {}
   for _, c in ipairs(answer.conditions) do
      for _, e in ipairs(c.evidence) do
         rows[#rows + 1] = { answer.run.job_id, c.node and answer.name(c.node), c.group, e.name, e.unit, e.value,
            e.peers, e.like, e.class, e.times, e.cost_s, c.accounts, e.p, c.p_corrected, c.blamed, c.where }
      end
   end
   return output.csv(CSV, rows)
end

local function rule(answer)
   local slow = answer.slow
   local lines = { answer.comparable and ("like runs: %d (same cluster, user, job name and node count; at most the "
      .. "nearest 30); conditions are compared with the %d that took at most %.2fx the median"):format(slow.count,
         slow.normal, why.NORMAL)
      or "like runs: none, as the job's user, name or node count is not known" }
   lines[2] = ("%s values looked at; P: how likely chance alone shows one like it among them; COST_s: time it "
      .. "may have cost, at most; OF_LOSS_%%: of %s"):format(words.count(answer.looked),
      slow.lost_s and ("%.0f s lost"):format(slow.lost_s) or "the time that 1.15x would have lost")
   lines[3] = answer.more > 0 and ("%d more nodes were not looked at"):format(answer.more) or nil
   return table.concat(lines, "\n")
end

local HEAD = { "NODE", "CAUSE", "WHAT", "VALUE", "PEERS", "LIKE_RUNS", "CLASS", "TIMES", "COST_s", "OF_LOSS_%", "P" }

-- Table of conditions; a condition's first row carries its cause and p. nil where there is none to show.
local function conditions_table(answer, color)
   local rows, name = { HEAD }, namer(answer)
   for _, c in ipairs(answer.conditions) do
      for i, e in ipairs(c.p_corrected <= SHOWN_P and c.evidence or {}) do
         if i == 1 or (e.p <= 0.05 and i <= 4) then
            local style = c.blamed and "bad" or c.out_of_line and "warn" or nil
            local where = c.where == "all" and ("all %d"):format(answer.nodes) or name(c.node)
            rows[#rows + 1] = {
               i == 1 and output.cell(where, style) or "",
               i == 1 and causes.GROUPS[c.group] or "", words.label(e), words.value(e, e.value),
               words.value(e, e.peers), words.value(e, e.like), words.value(e, e.class), words.times(e.times),
               ("%.0f"):format(e.cost_s),
               i == 1 and c.accounts and ("%.0f"):format(100 * math.min(1, c.accounts)) or "",
               i == 1 and words.p(c.p_corrected) or "" }
         end
      end
   end
   return #rows > 1 and output.table(rows, color) or nil
end

--- Text for a terminal.
function show.table(answer, color)
   local run = answer.run
   local parts = { show.conclusion(answer) .. ".", "",
      ("job %s  user %s  name %s  nodes %d (%d recorded)  %s to %s  %s s"):format(jobid.label(run),
         output.name(run.user), output.name(run.name), answer.nodes, answer.recorded, time.show(run.begin_s),
         time.show(run.end_s), answer.elapsed_s and ("%.0f"):format(answer.elapsed_s) or "-") }
   if answer.runs > 1 then
      parts[#parts + 1] = ("the last of its %d runs"):format(answer.runs)
   end
   parts[#parts + 1] = rule(answer)
   local conditions = conditions_table(answer, color)
   parts[#parts + 1] = conditions and "\n" .. conditions
   return table.concat(parts, "\n")
end

return show
