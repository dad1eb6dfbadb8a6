--- An answer of logic.lua in words. Pure.
local causes = require("syscheck.questions.why.causes")
local checks = require("syscheck.questions.why.checks")
local hostlist = require("syscheck.lib.hostlist")
local logic = require("syscheck.questions.why.logic")
local metrics = require("syscheck.catalogue.metrics")
local printable = require("syscheck.lib.printable")
local units = require("syscheck.lib.units")

local words = {}

local MORE_WORK, MORE_P, MOST_WORK = 1.1, 0.1, 2
-- How sure, in words: how often each is right is measured, see docs/performance.md.
local RARE, HARMLESS = 5, 0.3
local MOST_FOLDED, MOST_CHARS, MOST_NAMES = 256, 60, 8 -- of a list of nodes: longer, and only some are named
local MEANWHILE_P = 0.05
words.UNSEEN = "nothing shows what it took"
local SURE, MOSTLY = 0.95, 0.5

--- 1204 -> "1,204"
function words.count(value)
   local digits = ("%.0f"):format(value)
   local grouped = digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")
   return grouped
end

--- A value with its unit; "-" where there is none.
function words.value(e, value)
   if type(value) ~= "number" then
      return "-"
   elseif e.item.source == "check" then
      return metrics.show(metrics.BY_NAME[e.name], value) .. " " .. e.unit
   elseif e.item.kind == "count" then
      return words.count(value)
   elseif e.item.kind == "traffic" then
      return ("%.3g GB/s"):format(value / e.elapsed_s / 1e9)
   elseif e.item.kind == "latency" then
      return ("%.3g ms"):format(value * e.item.each_s * 1000)
   elseif e.item.kind == "time" then
      local s = value * e.item.each_s
      return (s >= 100 and "%.0f s" or s >= 1 and "%.1f s" or "%.2f s"):format(s)
   end
   return units.show(e.unit, value)
end

--- "1 in 1,100", "12 %": how often something is so by chance.
function words.chance(p)
   if p < 1e-6 then
      return "less than 1 in a million"
   elseif p >= 0.095 then
      return ("%.0f %%"):format(100 * p)
   end
   local n = 1 / p
   local digits = 10 ^ math.max(0, math.floor(math.log(n, 10)) - 1)
   return "1 in " .. words.count(math.floor(n / digits + 0.5) * digits)
end

--- A probability: two digits, none for what is next to nothing.
function words.p(p)
   if not p then
      return "-"
   elseif p < 1e-6 then
      return "<1e-6"
   end
   return (p < 0.001 and "%.0e" or p < 0.095 and "%.2g" or "%.2f"):format(p):gsub("e%-0", "e-")
end

function words.times(x)
   if not x then
      return "-"
   end
   return (x >= 100 and "%.0fx" or x >= 10 and "%.1fx" or "%.2fx"):format(x)
end

-- "its peers never", "like runs 12.1 s"
local function against(e)
   local what, usual = "its class", e.class
   if e.item.source == "job" and e.where == "node" and e.peers then
      what, usual = "its peers", e.peers
   elseif e.item.source == "job" and e.like then
      what, usual = "like runs", e.like
   end
   if not usual then
      return ""
   elseif usual == 0 then
      if what == "its peers" and (e.peers_most or 0) > 0 then
         return (", its peers %s at most"):format(words.value(e, e.peers_most))
      end
      return (", %s %s"):format(what, e.item.kind == "count" and e.name ~= "throttle_events" and "none" or "never")
   end
   return (", %s %s"):format(what, words.value(e, usual))
end

local function days(d)
   return d < 1 / 24 and ("%.0f min"):format(d * 1440) or d < 2 and ("%.0f h"):format(d * 24) or ("%.0f days"):format(d)
end

-- "61.3 GB/s 2 h before it, 62.0 GB/s 3 days after it"
local function of_checks(e, job)
   local parts = {}
   if e.before then
      parts[1] = ("%s %s before %s"):format(words.value(e, e.before.value), days(e.before.days), job)
   end
   if e.after then
      parts[#parts + 1] = ("%s %s after %s"):format(words.value(e, e.after.value), days(e.after.days),
         e.before and "it" or job)
   end
   return e.label .. " " .. table.concat(parts, ", ")
end

--- "package throttled 312 s of 1610 s, its peers never"
-- @param job what it is called where the reader does not have it before him; nil: "it"
function words.evidence(e, job)
   local what
   if e.check then
      what = of_checks(e, job or "it")
   elseif e.name == "throttle_events" then
      what = ("throttled %s times during %s"):format(words.count(e.value), job or "it")
   elseif e.item.kind == "count" then
      what = ("%s %s"):format(words.value(e, e.value), e.label)
   elseif e.item.kind == "time" then
      what = ("%s %s of %.0f s"):format(e.label, words.value(e, e.value), e.elapsed_s)
   else
      what = ("%s %s"):format(e.label, words.value(e, e.value))
   end
   return what .. against(e)
end

--- The evidence of an explanation that says most to people.
function words.main(h)
   return h.shown or h.best or h.evidence[1]
end

local function folded(nodes, most, name)
   local names = {}
   for i = 1, most do
      names[i] = name(nodes[i])
   end
   return hostlist.fold(names)
end

--- Who is meant.
-- @param name function(node) -> its name, safe to print
-- @param nodes how many the job has
function words.subject(h, name, nodes)
   if h.where == "all" then
      return nodes == 2 and "both nodes" or ("all %d nodes"):format(nodes)
   elseif h.where == "several" then
      local text = #h.nodes <= MOST_FOLDED and folded(h.nodes, #h.nodes, name)
      if not text or #text > MOST_CHARS and #h.nodes > MOST_NAMES then
         text = folded(h.nodes, MOST_NAMES, name) .. ", ..."
      end
      local all = #h.nodes == h.of and "all " or ("%d of "):format(#h.nodes)
      return ("%s (%s%d%s)"):format(text, all, h.of,
         h.leaf and h.of < nodes and " of the job on leaf switch " .. printable.safe(h.leaf) or "")
   end
   return name(h.node)
end

--- "85", ">99": nothing is sure.
function words.percent(p)
   return p > 0.99 and ">99" or ("%.0f"):format(100 * p)
end

--- "very likely", by a probability.
function words.sure(p)
   return p >= SURE and "very likely" or "probably"
end

-- "another job on n053 (39093 of duarte)"
local function neighbour(h, name, nodes)
   local jobs = {}
   for i, job in ipairs(h.jobs or {}) do
      jobs[i] = ("%d%s"):format(job.id, job.user and " of " .. printable.safe(job.user) or "")
   end
   local more = h.jobs and #h.others - #h.jobs or 0
   local of = words.subject(h, name, nodes)
   return ("another job on %s%s"):format(of, jobs[1] and (" (%s%s)"):format(table.concat(jobs, ", "),
      more > 0 and (", %d more"):format(more) or "") or "")
end

--- An explanation, as part of a sentence.
function words.explanation(h, name, nodes)
   local e, who = words.main(h), words.subject(h, name, nodes) .. (h.gone and ", of which no record came" or "")
   if h.group == "neighbour" then
      return neighbour(h, name, nodes) .. (e and ": " .. words.evidence(e) or "; " .. words.UNSEEN)
   elseif not e then
      return ("%s: its %d runs nearest to this one were slow, too"):format(who, h.runs or 0)
   end
   return ("%s: %s"):format(who, words.evidence(e))
end

--- Is it slow, in words.
-- @param label of the job
function words.slow(label, slow, name)
   local like = ("%d like run%s"):format(slow.count, slow.count == 1 and "" or "s")
   if slow.without then
      like = ("%s that were not on %s (%d were)"):format(like, name(slow.without), slow.others)
   elseif slow.set then
      like = ("%s whose nodes all had a higher %s (%d more had not)"):format(like, slow.set, slow.others)
   elseif slow.troubled then
      like = ("%s with no trouble seen on a node (%d more had some)"):format(like, slow.troubled)
   end
   if slow.verdict == "unknown" then
      return ("cannot tell whether job %s was slow: %s, %d are wanted"):format(label, like, slow.wanted)
   end
   local trend, these, as_long = slow.slope ~= 0, "these", ""
   if slow.front then
      like, these = ("the fastest %d of %s"):format(slow.front, like), "all of them"
   end
   if slow.verdict ~= "no" and slow.as_long > 0 then
      as_long = (", %d of the %d took as long"):format(slow.as_long, slow.count)
   end
   return ("job %s took %s what %s %s (%s %s to %s%s; as slow by chance: %s%s)%s"):format(
      label, words.times(slow.ratio), like, trend and "predict" or "took", these, words.times(slow.low),
      words.times(slow.high),
      slow.modes == 2 and ", of two kinds" or trend and (", %s by %.1f %% a day"):format(slow.slope > 0 and "growing"
         or "falling", 100 * math.abs(slow.slope)) or "", words.chance(slow.p), as_long,
      slow.verdict == "no" and (": not slow%s (from %s it would be)"):format(
         slow.usual and ", one of its two usual times" or "", words.times(slow.seen_from))
      or slow.verdict == "perhaps" and ": perhaps slow" or ": slow")
end

--- "read by the job 1.58x, written by the job 1.49x of like runs", where the job did more than usual.
function words.work(list)
   local out = {}
   for _, w in ipairs(list) do
      if w.ratio >= MORE_WORK and w.p <= MORE_P and #out < MOST_WORK then
         out[#out + 1] = ("%s %s"):format(w.label, words.times(w.ratio))
      end
   end
   return out[1] and table.concat(out, ", ") .. " of like runs" or nil
end

--- Share of the time that it may have cost, of events as many as there may have been.
function words.most(h)
   return h.best and math.min(1, h.most * math.max(1, h.best.item.range.beyond) * (h.more or 1)) or h.most
end

--- Why an explanation is not named; nil where nothing speaks for it.
-- @param lost share of the job's time
function words.dropped(h, name, nodes, lost)
   local odd = logic.odd_check(h)
   if odd then
      return ("%s: %s: that does not say it was so when the job ran"):format(words.subject(h, name, nodes),
         words.evidence(odd))
   elseif not h.best or h.where == "nobody" or h.best.strength < logic.ODD then
      return nil
   end
   local reason
   if h.runs and h.runs >= 3 and h.harm < 0.5 and (h.usually or 1) < logic.SLOW then
      reason = ("%d other runs %s with as much took %s their usual time in the median"):format(h.runs,
         h.meanwhile and "of that time" or "there", words.times(h.usually or 1))
   elseif h.best.weak then
      reason = "other checks were good, and its other runs not slow"
   elseif h.best.unfelt then
      reason = "in the job hardly a task waited for a CPU: firmware or interrupts rather than other work"
         .. (h.best.unfelt > checks.UNFELT_BUSY and ", or CPUs were idle" or "")
   elseif lost > 0 and words.most(h) < lost then
      reason = ("it can have cost %s of the time at most, %.0f %% were lost"):format(
         words.most(h) < 0.01 and "less than 1 %" or ("%.0f %%"):format(100 * words.most(h)), 100 * lost)
   elseif h.through and h.of_all then
      reason = "nothing shows that it was that job's"
   elseif h.rarity < RARE then
      reason = "as much is common among such jobs"
   elseif (h.harm or 1) >= HARMLESS and h.where ~= "all" then
      reason = "it may have cost some of it, too"
   else
      reason = "less likely"
   end
   return ("%s: %s"):format(words.explanation(h, name, nodes), reason)
end

--- The answer in one or two sentences.
-- @param answer of why.analyse
-- @param job { label, nodes }
function words.conclusion(answer, job, name)
   local first, verdict = words.slow(job.label, answer.slow, name), answer.slow.verdict
   local h = answer.named or answer.beside
   if h and (verdict == "unknown" or verdict == "no") then
      return ("%s; others were slowed by %s (%s)"):format(first, words.explanation(h, name, job.nodes),
         causes.GROUPS[h.group])
   elseif verdict == "no" or verdict == "unknown" then
      return first
   elseif h then
      local only = h.where == "only" and h.group == "storage" and not (h.best and h.best.item.own)
         and ", its own or what it shares: a job of one node cannot tell" or ""
      local what = h.group ~= "neighbour" and (" (%s%s)"):format(causes.GROUPS[h.group], only) or ""
      return ("%s; %s%s %s%s%s"):format(first, verdict == "perhaps" and "if it was, " or "", words.sure(h.together),
         words.explanation(h, name, job.nodes), what,
         h.where == "all" and "; that is not one node" .. (h.p_meanwhile and h.p_meanwhile <= MEANWHILE_P
         and ", and others' jobs had it, too" or "") or "")
   end
   local did, top = words.work(answer.work), answer.explanations[1]
   if did and top and top.group == "input" and top.probability >= MOSTLY then
      return ("%s; the likeliest reason: the job did more: %s; no node stands out (%s values looked at)"):format(first,
         did, words.count(answer.looked))
   end
   return ("%s; nothing that was recorded explains it (%s values looked at)%s"):format(first,
      words.count(answer.looked), did and "; perhaps the job did more: " .. did or "")
end

return words
