--- Drains for people, programs and spreadsheets. An answer is the list of read.lua, with `since` and `to`.
local drains = require("syscheck.questions.drains.logic")
local jobid = require("syscheck.questions.jobid")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local terminal = require("syscheck.lib.terminal")
local time = require("syscheck.lib.time")

local show = {}

local STYLES = { drain = "bad", storm = "bad", undecided = "bad", observed = "warn", resume = "good" }

local LEGEND = "drain: left service; kept: somebody else had drained it; observed, storm (the cap was used up), "
   .. "undecided (Slurm did not answer): would have left, and jobs start there. UNTIL, BY: resume, of the health "
   .. "program; used, a job started there, so somebody put it back; well, measured and good; another word: what "
   .. "it became."

local function plural(n, one, many)
   return ("%d %s"):format(n, n == 1 and one or many)
end

local function event_of(one)
   return one.what .. (one.fabric and ", fabric" or "")
end

-- Without our prefix, which all of them have.
local function reason_of(one)
   local text = one.text:gsub("^syscheck: ", "")
   return one.more and ("%s (%s)"):format(text, one.more) or text
end

-- "since ...: 3 drains, 1 of them out still; 2 nodes found bad and left in service"
local function summary(answer)
   local count = drains.count(answer)
   local out = count.drained > 0 and (", %d of them out still"):format(count.out) or ""
   return ("since %s: %s%s; %s found bad and left in service"):format(time.show(answer.since),
      plural(count.drained, "drain", "drains"), out, plural(count.withheld, "node", "nodes"))
end

--- Text for a terminal.
function show.table(answer, color, _, width)
   if not answer.checked then
      return ("since %s the store has no check: nothing is known of that time"):format(time.show(answer.since))
   elseif #answer == 0 then
      return ("since %s no node left service, and none would have"):format(time.show(answer.since))
   end
   local rows = { { "SINCE", "NODE", "WHAT", "JOB", "UNTIL", "BY", "TIMES", "REASON" } }
   for _, one in ipairs(answer) do
      rows[#rows + 1] = { time.show(one.time), printable.safe(one.node.name),
         output.cell(event_of(one), STYLES[one.what]), one.job and jobid.label(one.job) or "-",
         one.back and time.show(one.back) or "-", one.how or "-", ("%d"):format(one.times),
         printable.safe(reason_of(one), 300) }
   end
   return table.concat({ terminal.wrap(summary(answer), width), "",
      (output.fitted(rows, color, width, { prose = true })), "", terminal.flow(LEGEND, width) }, "\n")
end

--- One object: { v, kind = "drains", since, until, checked, drained, out, withheld, drains }.
function show.json(answer)
   local count = drains.count(answer)
   return output.json({ v = 1, kind = "drains", since = time.show(answer.since), ["until"] = time.show(answer.to),
      checked = answer.checked, drained = count.drained, out = count.out, withheld = count.withheld,
      drains = output.each(answer, function(one)
         return { node = one.node.name, cluster = one.node.cluster, what = one.what, fabric = one.fabric,
            time = time.show(one.time), last = time.show(one.last), times = one.times, reason = one.text,
            more = one.more, back = one.back and time.show(one.back), how = one.how, trigger = one.trigger,
            job = one.job and { id = jobid.label(one.job):match("^%S+"), job_id = one.job.job_id,
               restart = one.job.restart } }
      end) })
end

local CSV = { "node", "cluster", "what", "fabric", "time", "last", "times", "back", "how", "job", "reason", "more" }

--- One line for each.
function show.csv(answer)
   local rows = {}
   for i, one in ipairs(answer) do
      rows[i] = { one.node.name, one.node.cluster, one.what, one.fabric == true, time.show(one.time),
         time.show(one.last), one.times, one.back and time.show(one.back), one.how,
         one.job and jobid.label(one.job):match("^%S+"), one.text, one.more }
   end
   return output.csv(CSV, rows)
end

return show
