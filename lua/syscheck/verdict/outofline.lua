--- What was out of line on a node while a job ran, in words for the job's user. Pure.
--
-- Not every event: who reads this has a job that ended, and wants to know whether the node
-- cost it anything. All events are in the job's record.
local saturation = require("syscheck.verdict.saturation")
local waits = require("syscheck.verdict.waits")

local outofline = {}

-- Of the job's time: less is within what like runs differ by anyway.
local THROTTLED = 0.01
-- Events of which no time is known (older kernels, other vendors): a burst lasts a second, and one is no trouble.
local THROTTLE_EVENTS = 10
-- Corrected memory errors cost time from here on; one happens to a healthy module.
local CORRECTED = 100
-- Of the job's time that a process waited for files, and how long at least: a job that reads its input does that.
local WAITED, WAITED_S = 0.25, 5
-- A network file system answers within some ms; of fewer operations the mean says little.
local SLOW_OP_S, SLOW_OPS = 0.1, 20
-- A link that is well has none; a cable that is touched has some.
local LINK_ERRORS = 10

-- 1204 -> "1,204"
local function count(n)
   local text = ("%.0f"):format(n)
   repeat
      local again
      text, again = text:gsub("^(%d+)(%d%d%d)", "%1,%2")
   until again == 0
   return text
end

local function times(n)
   return n == 1 and "once" or count(n) .. " times"
end

local function seconds(s)
   return s < 10 and ("%.1f s"):format(s) or ("%.0f s"):format(s)
end

-- Each of these adds { key, amount, text } to a list.
local FINDERS = {}

function FINDERS.throttle(add, delta, run)
   local source = delta.throttle or {}
   local ms = math.max(source.package_worst_ms or source.package_ms or 0, source.core_worst_ms or source.core_ms or 0)
   local events = run.throttle_events or 0
   local has_time = source.package_ms or source.core_ms
   -- The kernel counts an episode's time at its end: it may have begun before the job.
   ms = math.min(ms, run.elapsed_s * 1000)
   if has_time and ms / 1000 >= THROTTLED * run.elapsed_s and ms > 0 then
      local of = ("%s of %s"):format(seconds(ms / 1000), seconds(run.elapsed_s))
      add("throttled", ms, events > 0 and ("throttled %s (%s)"):format(times(events), of) or "was throttled for " .. of)
   elseif not has_time and events >= THROTTLE_EVENTS then
      add("throttled", events, "throttled " .. times(events))
   end
end

function FINDERS.memory(add, delta)
   local errors = delta.memory_errors or {}
   local wrong, corrected = errors.uncorrected or 0, errors.corrected or 0
   if wrong > 0 then
      add("uncorrected", wrong, ("had %s memory error%s that could not be corrected"):format(count(wrong),
         wrong == 1 and "" or "s"))
   end
   if corrected >= CORRECTED then
      add("corrected", corrected, ("corrected %s memory errors"):format(count(corrected)))
   end
end

function FINDERS.link(add, delta)
   local link = delta.link or {}
   if (link.downed or 0) > 0 then
      add("downed", link.downed, "lost its network link " .. times(link.downed))
   elseif (link.errors or 0) >= LINK_ERRORS then
      add("link", link.errors, ("had %s errors of its network link"):format(count(link.errors)))
   end
end

function FINDERS.killed(add, delta, run)
   local kills = (delta.oom or {}).kills or 0
   if run.whole and kills > 0 then
      add("killed", kills, ("ran out of memory, %s process%s killed"):format(count(kills),
         kills == 1 and " was" or "es were"))
   end
end

function FINDERS.files(add, delta, run)
   local waited, elapsed = ((delta.pressure or {}).io_some_us or 0) / 1e6, run.elapsed_s
   if run.whole and waited >= WAITED_S and waited >= WAITED * elapsed then
      add("waited", waited, ("waited for storage for %s of %s"):format(seconds(math.min(waited, elapsed)),
         seconds(elapsed)))
   end
end

function FINDERS.network_files(add, delta, run)
   for _, kind in ipairs({ { "nfs", "NFS", "op_ms", 1e3 }, { "lustre", "Lustre", "op_us", 1e6 } }) do
      local source = delta[kind[1]] or {}
      local ops, time = source.ops or 0, (source[kind[3]] or 0) / kind[4]
      if run.whole and ops >= SLOW_OPS and time >= SLOW_OP_S * ops then
         add(kind[1], time, ("waited for %s, %s operations took %s each"):format(kind[2], count(ops),
            seconds(time / ops)))
      end
   end
end

-- Told once a run has lasted twice as long: nothing that grows is behind it.
function FINDERS.bandwidth(add, _, run)
   local state = run.memory and saturation.state(run.memory)
   if state == "saturated" or state == "first touch" or state == "one domain" then
      add("bandwidth", run.elapsed_s, waits.phrase(run.memory, state))
   end
end

local ORDER = { "throttle", "memory", "link", "killed", "files", "network_files", "bandwidth" }

--- What was out of line.
-- @param run { delta = from deltas.delta, since the job's begin, elapsed_s = since then, throttle_events = in the
--   delta or nil, memory = of saturation.of or nil, whole = the job has the node for
--   itself: what its processes did is told then only }
-- @param told { key = amount }: what was said before is said again only when it has doubled
-- @return list of phrases; { key = amount } of all that was told by now
function outofline.find(run, told)
   local phrases, all = {}, {}
   for key, amount in pairs(told) do
      all[key] = amount
   end
   for _, name in ipairs(ORDER) do
      FINDERS[name](function(key, amount, text)
         if amount >= 2 * (told[key] or 0) then
            phrases[#phrases + 1], all[key] = text, amount
         end
      end, run.delta, run)
   end
   return phrases, all
end

--- "syscheck: n3 throttled 1,204 times (3.6 s of 41 s) during this job; ask: syscheck why 4711"
function outofline.line(node, job_id, phrases)
   return ("syscheck: %s %s during this job; ask: syscheck why %d"):format(node, table.concat(phrases, "; "), job_id)
end

return outofline
