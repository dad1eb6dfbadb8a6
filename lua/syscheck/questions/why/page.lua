--- Why a job was slow, as a page. An answer is as show.lua has it. Pure.
local bars = require("syscheck.html.bars")
local causes = require("syscheck.questions.why.causes")
local element = require("syscheck.html.element")
local jobid = require("syscheck.questions.jobid")
local page = require("syscheck.html.page")
local peers = require("syscheck.questions.job.peers")
local pictures = require("syscheck.questions.job.pictures")
local time = require("syscheck.lib.time")
local waits = require("syscheck.questions.job.waits")
local words = require("syscheck.questions.why.words")

local SHOWN = 0.005 -- less likely explanations have no bar
local MOST = 8 -- pieces of evidence that are drawn

local function subject(h, answer)
   return h.where == "nobody" and "no node" or words.subject(h, function(node)
      return element.name(answer.name(node))
   end, answer.nodes)
end

local function explanations_section(answer)
   local rows, lines, verdict = {}, {}, answer.slow.verdict
   -- What may have slowed a job that was not, or of which nobody knows, is no answer.
   if not answer.named and not answer.beside and verdict ~= "slow" and verdict ~= "perhaps" then
      return false
   end
   for _, h in ipairs(answer.explanations) do
      local who, cause = subject(h, answer), causes.GROUPS[h.group]
      local shows = h.evidence[1] and words.evidence(words.main(h)) or h.group == "neighbour" and words.UNSEEN or ""
      if h.probability and h.probability >= SHOWN then
         rows[#rows + 1] = { label = ("%s: %s"):format(who, cause), share = h.probability,
            text = words.percent(h.probability) .. " %", class = h.named and "bad" or "f", title = shows }
      end
      lines[#lines + 1] = { words.percent(h.probability or 0) .. " %", h.named and page.bad(who) or who, cause, shows,
         h.most and ("%.0f %%"):format(100 * words.most(h)) }
   end
   return #rows > 0 and page.section({ title = "What may have slowed it, each as likely as all that is known makes it",
      say = answer.named and "Orange, the first: what is named." or "None is likely enough to be named.",
      pictures = { bars({ label = "Explanations by probability", rows = rows }) },
      table = page.table({ "likely", "node", "cause", "what shows it", "can have cost" }, lines) })
end

-- What is named, each number beside those of its peers, of like runs and of its class.
local function evidence_section(answer)
   local h, rows, lines = answer.named, {}, {}
   for _, e in ipairs(h and h.evidence or {}) do
      local usual = { e.peers, e.like, e.class }
      local most = math.abs(e.value or 0)
      for k = 1, 3 do
         most = math.max(most, math.abs(usual[k] or 0))
      end
      if type(e.value) == "number" and most > 0 and #rows < MOST then
         local marks = {}
         for k, title in ipairs({ "its peers", "like runs", "its class" }) do
            if usual[k] then
               marks[#marks + 1] = { share = math.abs(usual[k]) / most, shape = k,
                  title = ("%s: %s"):format(title, words.value(e, usual[k])) }
            end
         end
         rows[#rows + 1] = { label = e.label, share = math.abs(e.value) / most, text = words.value(e, e.value),
            class = "w2", marks = marks, title = words.evidence(e) }
      end
      lines[#lines + 1] = { e.label, words.value(e, e.value), words.value(e, e.peers), words.value(e, e.like),
         words.value(e, e.class), words.p(e.p) }
   end
   return #lines > 0 and page.section({
      title = ("What shows it: %s, %s"):format(subject(h, answer), causes.GROUPS[h.group]),
      say = "A bar is its value; the marks are what is usual. Each row has a scale of its own.",
      pictures = #rows > 0 and { bars({ label = "Evidence beside what is usual", rows = rows,
         marks = { "its peers", "like runs", "its class" } }) } or nil,
      table = page.table({ "what", "value", "its peers", "like runs", "its class", "by chance" }, lines, 1) })
end

local function remarks_of(answer)
   local out = {}
   for _, c in ipairs(answer.checks) do
      out[#out + 1] = ("its check on %s, %s: %s: %s"):format(element.name(answer.name(c.node)), time.show(c.time_s),
         c.status, element.name(c.text or "-", 160))
   end
   if answer.runs > 1 then
      out[#out + 1] = ("this is the last of its %d runs"):format(answer.runs)
   end
   if not answer.comparable then
      out[#out + 1] = "like runs: none, as the job's user, name or node count is not known"
   end
   if answer.more > 0 then
      out[#out + 1] = ("%d more nodes were not looked at"):format(answer.more)
   end
   return out
end

--- @param answer of why.answer, with `conclusion` and `dropped` (of show), `rows` (of the run, as job/records has
--   them),
--   `times` (of why.answer) and `made`
-- @return text of the file
return function(answer)
   local run, says = answer.run, remarks_of(answer)
   local _, marks = peers.of_run(answer.rows)
   local known = pictures.compared(answer.rows)
   return page.build({ title = "Why job " .. jobid.label(run), made = answer.made, answer = answer.conclusion,
      facts = { { "user", element.name(run.user) }, { "name", element.name(run.name, 120) },
         { "nodes", ("%d (%d recorded)"):format(answer.nodes, answer.recorded) }, { "began", time.show(run.begin_s) },
         { "ended", time.show(run.end_s) },
         { "memory", waits.sentence(answer.waits, answer.waits_like) },
         { "took", answer.elapsed_s and ("%.0f s"):format(answer.elapsed_s) or "-" } },
      sections = { pictures.like(answer.times), explanations_section(answer), evidence_section(answer),
         #says > 0 and page.section({ title = "What else is known of this job", more = page.list(says) }),
         #answer.dropped > 0 and page.section({ title = "Also looked at", more = page.list(answer.dropped) }),
         pictures.map(answer.rows, pictures.order(answer.rows), known, marks) } })
end
