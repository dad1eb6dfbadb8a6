--- An answer of logic.lua in words. Pure.
local metrics = require("syscheck.catalogue.metrics")
local units = require("syscheck.lib.units")

local words = {}

local MOST_NAMED = 3 -- causes in the sentence
local MORE_WORK = 1.1

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
   elseif e.item.kind == "time" then
      local s = value * e.item.each_s
      return (s >= 100 and "%.0f s" or s >= 1 and "%.1f s" or "%.2f s"):format(s)
   end
   return units.show(e.unit, value)
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
   if e.item.source == "job" and e.where == "node" then
      what, usual = "its peers", e.peers
   elseif e.item.source == "job" and e.like then
      what, usual = "like runs", e.like
   end
   if not usual then
      return ""
   elseif usual == 0 then
      return (", %s %s"):format(what, e.item.kind == "count" and e.name ~= "throttle_events" and "none" or "never")
   end
   return (", %s %s"):format(what, words.value(e, usual))
end

local WHEN = { before = " before it", after = " after it" }

--- What was measured, and when.
function words.label(e)
   return e.label .. (WHEN[e.when] or "")
end

--- "throttled 1,204 times (312 s) during it, its peers never"
function words.evidence(e)
   local what
   if e.name == "throttle_events" then
      what = ("throttled %s times during it"):format(words.count(e.value))
   elseif e.events and e.events > 0 then
      what = ("throttled %s times (%s) during it"):format(words.count(e.events), words.value(e, e.value))
   elseif e.item.kind == "count" then
      what = ("%s %s"):format(words.value(e, e.value), e.label)
   elseif e.item.kind == "time" then
      what = ("%s %s of %.0f s"):format(e.label, words.value(e, e.value), e.elapsed_s)
   else
      what = ("%s %s%s"):format(e.label, words.value(e, e.value), WHEN[e.when] or "")
   end
   return what .. against(e)
end

--- A condition, as part of a sentence.
-- @param name function(node) -> its name, safe to print
-- @param nodes how many the job has
function words.condition(c, name, nodes)
   local e = c.evidence[1]
   local subject = c.where == "all" and ("all %d nodes"):format(nodes) or name(c.node)
   return ("%s%s: %s"):format(c.perhaps and "perhaps " or "", subject, words.evidence(e))
end

--- Is it slow, in words.
-- @param label of the job
function words.slow(label, slow)
   local like = ("%d like run%s"):format(slow.count, slow.count == 1 and "" or "s")
   if slow.verdict == "unknown" then
      return ("cannot tell whether job %s was slow: %s%s, %d are wanted"):format(label, like,
         slow.ratio and (" (it took %s)"):format(words.times(slow.ratio)) or "", slow.wanted)
   end
   return ("job %s took %s the median of its %s (these %s to %s; by chance p %s)%s"):format(label,
      words.times(slow.ratio), like, words.times(slow.low), words.times(slow.high), words.p(slow.p),
      slow.verdict == "no" and ": not slow" or slow.verdict == "perhaps" and ": perhaps slow" or "")
end

-- "read by the job 1.58x of like runs'"
local function more_work(work)
   local list = {}
   for _, w in ipairs(work) do
      if w.ratio >= MORE_WORK and w.p_rank <= 0.2 then
         list[#list + 1] = ("%s %s of like runs"):format(w.label, words.times(w.ratio))
      end
   end
   return table.concat(list, ", ", 1, math.min(MOST_NAMED, #list))
end

--- The answer in one or two sentences.
-- @param answer of why.analyse
-- @param job { label, nodes }
function words.conclusion(answer, job, name)
   local first = words.slow(job.label, answer.slow)
   local parts, all = {}, false
   for i, c in ipairs(answer.blamed) do
      if i <= MOST_NAMED then
         parts[#parts + 1] = words.condition(c, name, job.nodes)
         all = all or c.where == "all"
      end
   end
   local left = #answer.blamed - #parts
   if left > 0 then
      parts[#parts + 1] = ("%d more below"):format(left)
   end
   if parts[1] then
      local only = answer.blamed[1].where == "only"
         and "; it ran on one node, so whether that node is slow or what it shares, this job cannot tell" or ""
      return ("%s; %s%s"):format(first, table.concat(parts, "; "), all and "; that is not one node"
         or answer.blamed[1].group == "storage" and only or "")
   end
   local odd = answer.conditions[1] and answer.conditions[1].out_of_line and answer.conditions[1]
   if answer.slow.verdict == "no" then
      return first .. (odd and "; out of line all the same: " .. words.condition(odd, name, job.nodes) or "")
   end
   local work = more_work(answer.work)
   local nothing = ("nothing that was recorded explains it (%s values looked at)"):format(words.count(answer.looked))
   return ("%s; %s%s%s"):format(first, nothing, work ~= "" and "; the job did more: " .. work or "",
      odd and ("; out of line, but too small to be the cause: " .. words.condition(odd, name, job.nodes)) or "")
end

return words
