--- Rules on slurm.conf. See doctor/rules.lua for their form.
local hostlist = require("syscheck.lib.hostlist")
local slurmconf = require("syscheck.slurm.conf")
local times = require("syscheck.doctor.rules.times")

local lines = require("syscheck.doctor.rules.lines")

local BATCH_START, MESSAGE = 10, 10 -- Slurm's defaults, s

-- What a flag of PrologFlags implies.
local IMPLIES = { alloc = { "Alloc", "Contain", "X11", "RunInJob" }, contain = { "Contain", "X11", "RunInJob" } }

local function has_flag(facts, flag)
   for _, name in ipairs(IMPLIES[flag:lower()] or { flag }) do
      if slurmconf.has(facts.conf, "PrologFlags", name) then
         return true
      end
   end
   return false
end

local STOPS = "Slurm's daemons and commands stop at it when they start"

local function syntax(facts, say)
   for _, p in ipairs(facts.conf.problems) do
      say("error", { text = p.text, file = p.file, line = p.line,
         why = STOPS, fix = "correct that line" })
   end
   local refused = facts.controller.refused
   if refused and #facts.conf.problems == 0 then
      say("error", { text = "Slurm refuses it: " .. refused, file = facts.conf.file, why = STOPS,
         fix = "correct that line, there or in a file that it includes" })
   end
end

local function flags(facts, say)
   if not has_flag(facts, "Alloc") then
      say("error", lines.at(facts, "PrologFlags", { text = "PrologFlags lacks Alloc",
         why = "the check runs only at a node's first step: nodes that the batch script does not use at once "
            .. "are not checked, and a bad one shows when the job runs",
         add = lines.with(facts, "PrologFlags", "Alloc") }))
   elseif not has_flag(facts, "DeferBatch") then
      say("info", lines.at(facts, "PrologFlags", { text = "PrologFlags lacks DeferBatch",
         why = "a job's script starts when its first node is checked, and is requeued if a later one is bad",
         add = lines.with(facts, "PrologFlags", "DeferBatch") }))
   end
   local traffic = facts.policy.value.traffic
   local key = traffic.perf and "perf" or traffic.sample_s and "sample_s"
   if key and not has_flag(facts, "Contain") then
      -- Who takes only this line has the one before, too.
      local flag = has_flag(facts, "DeferBatch") and "Contain" or "DeferBatch,Contain"
      say("warn", lines.at(facts, "PrologFlags", {
         text = ("traffic.%s in the policy, and PrologFlags lacks Contain"):format(key),
         why = "jobs have no extern step, beside which they would be counted",
         add = lines.with(facts, "PrologFlags", flag) }))
   end
   -- The extern step has begun when its prolog says what is wanted (slurm: _spawn_job_container).
   if key and has_flag(facts, "RunInJob") then
      say("warn", lines.at(facts, "PrologFlags", {
         text = ("traffic.%s in the policy, and PrologFlags=RunInJob"):format(key),
         why = "the prolog runs in the extern step, after that has looked whether it is to count: no job is counted",
         fix = "remove RunInJob, or traffic." .. key }))
   end
   if has_flag(facts, "NoHold") then
      say("warn", lines.at(facts, "PrologFlags", { text = "PrologFlags=NoHold",
         why = has_flag(facts, "Contain") and "Slurm does not take it together with Contain or X11"
            or "salloc returns before its nodes are checked",
         fix = "remove NoHold" }))
   end
   if has_flag(facts, "Serial") then
      say("info", lines.at(facts, "PrologFlags", { text = "PrologFlags=Serial",
         why = "on a shared node a job waits for another's check to end" }))
   end
end

local function requeue(facts, say)
   local conf = facts.conf
   if not slurmconf.has(conf, "SchedulerParameters", "nohold_on_prolog_fail") then
      say("error", lines.at(facts, "SchedulerParameters", { text = "SchedulerParameters lacks nohold_on_prolog_fail",
         why = "a job that met a bad node is requeued held, and waits for you although healthy nodes are free",
         add = lines.with(facts, "SchedulerParameters", "nohold_on_prolog_fail") }))
   end
   if slurmconf.value(conf, "JobRequeue") == "0" and not has_flag(facts, "ForceRequeueOnFail") then
      say("warn", lines.at(facts, "JobRequeue", { text = "JobRequeue=0",
         why = "a job that met a bad node ends instead of going to another one, unless its user gave --requeue",
         add = "JobRequeue=1" .. (facts.major and facts.major >= 24 and ", or PrologFlags=ForceRequeueOnFail (24.11)"
            or "") }))
   end
   if facts.policy.value.no_requeue == "requeue" and not has_flag(facts, "ForceRequeueOnFail") then
      say("error", lines.at(facts, "PrologFlags", {
         text = 'no_requeue = "requeue", and PrologFlags lacks ForceRequeueOnFail',
         why = "a job of sbatch --no-requeue that met a bad node is cancelled, and nobody warned its user",
         add = (facts.major or 99) >= 24
            and lines.with(facts, "PrologFlags", "ForceRequeueOnFail") .. " (24.11)" or nil,
         fix = 'no_requeue = "cancel" or "start" in the policy' }))
   end
   -- 22.05 waits for the credential's end, 26.05 for requeue_delay; in between it may be either.
   local _, expire = slurmconf.has(conf, "AuthInfo", "cred_expire")
   local _, delay = slurmconf.has(conf, "SchedulerParameters", "requeue_delay")
   local old, new = (facts.major or 0) < 26, (facts.major or 99) > 22
   if not (old and expire) and not (new and delay) then
      local add = old and lines.with(facts, "AuthInfo", "cred_expire=30") or nil
      if new then
         add = (add and add .. ", or where this Slurm has it " or "")
            .. lines.with(facts, "SchedulerParameters", "requeue_delay=30")
      end
      say("info", lines.at(facts, old and "AuthInfo" or "SchedulerParameters", {
         text = ("%s is not set"):format(old and "AuthInfo=cred_expire" or "requeue_delay"),
         why = "a job that met a bad node waits 120 s before it is eligible again", add = add }))
   end
end

-- One time-out against the time of the levels.
local function time_out(facts, say, key, default, severity, why)
   local value = slurmconf.seconds(facts.conf, key, default)
   if not value then
      return say("error", lines.at(facts, key, { text = ("%s=%s is no number of seconds"):format(key,
         slurmconf.value(facts.conf, key)), why = "what Slurm makes of it is not known", add = key .. "=100" }))
   end
   local needed, round = times.needed(facts.policy.value)
   if not needed or value >= needed then
      return
   end
   local levels = {}
   for _, t in ipairs(times.reachable(facts.policy.value)) do
      if t.longest_s > value then
         levels[#levels + 1] = ("%s takes %g s, %g s with its second run, %g s at most"):format(t.level, t.once_s,
            math.min(t.confirmed_s, t.deadline_s), t.longest_s)
      end
   end
   say(severity, lines.at(facts, key, {
      text = ("%s %s %g s, %s"):format(key, facts.conf.values[key:lower()] and "is" or "is not set:", value,
         table.concat(levels, "; ")),
      why = why, add = ("%s=%d"):format(key, round) }))
end

local function time_outs(facts, say)
   time_out(facts, say, "BatchStartTimeout", BATCH_START, "warn",
      "slurmctld takes the batch job for missing while its nodes are still checked, and srun gives up")
   time_out(facts, say, "MessageTimeout", MESSAGE, "warn",
      "slurmd complains of a hung prolog, and callers stop waiting, before the check is done")
   time_out(facts, say, "PrologEpilogTimeout", math.huge, "error", "Slurm drains the node when it expires")
   time_out(facts, say, "PrologTimeout", math.huge, "error", "Slurm drains the node when it expires")
   local epilog = slurmconf.seconds(facts.conf, "EpilogTimeout", math.huge)
   if epilog and epilog < 20 then
      say("warn", lines.at(facts, "EpilogTimeout", {
         text = ("EpilogTimeout is %g s, an epilog on a sick disk takes 17 s"):format(epilog),
         why = "Slurm drains the node when it expires", add = "EpilogTimeout=60" }))
   end
end

local IDLES = "a node that idles is not checked, nor resumed after a repair"

local function health(facts, say)
   local program = slurmconf.value(facts.conf, "HealthCheckProgram")
   local ours, calls, seen = facts.health, nil, nil
   for _, s in ipairs(facts.scripts.health or {}) do
      calls = s.ours or s.missing or s.calls or s.unread
      seen = not s.err -- on slurmctld's host it need not be
      local gone = s.missing and ("calls %s, which is not there"):format(s.missing) or s.err
      if gone and facts.is_node ~= false then
         say("warn", { file = s.path, text = "HealthCheckProgram " .. gone,
            why = IDLES, fix = ("let it %s %s/health"):format(s.missing and "call" or "be", facts.paths.libexec) })
      end
   end
   calls = calls or program and program == ours
   if not program and ours then
      say("info", lines.at(facts, "HealthCheckProgram", { text = "no HealthCheckProgram",
         why = IDLES .. ", until a job gets it",
         add = ("HealthCheckProgram=%s and, each on its own line, HealthCheckInterval=300 and "
            .. "HealthCheckNodeState=IDLE,CYCLE"):format(ours) }))
   elseif program and ours and seen and not calls then
      say("info", lines.at(facts, "HealthCheckProgram", {
         text = ("HealthCheckProgram=%s does not name ours"):format(program),
         why = IDLES .. ", unless it calls ours some other way",
         fix = ("let it name a script that runs both: %s, then %s"):format(program, ours) }))
   end
   local function has(state)
      return slurmconf.has(facts.conf, "HealthCheckNodeState", state)
   end
   if calls and not has("IDLE") and not has("ANY") and (has("ALLOC") or has("MIXED") or has("NONDRAINED_IDLE")) then
      local drained = has("NONDRAINED_IDLE")
      say("warn", lines.at(facts, "HealthCheckNodeState", {
         text = ("HealthCheckNodeState leaves out %s nodes"):format(drained and "drained" or "idle"),
         why = (drained and "none is" or "they are not checked, nor") .. " resumed after a repair",
         add = "HealthCheckNodeState=IDLE,CYCLE" }))
   end
   if calls and (slurmconf.seconds(facts.conf, "HealthCheckInterval", 0) or 0) == 0 then
      say("warn", lines.at(facts, "HealthCheckProgram", { text = "HealthCheckInterval is not set",
         why = "Slurm never runs HealthCheckProgram", add = "HealthCheckInterval=300" }))
   end
end

local function return_to_service(facts, say)
   if (slurmconf.value(facts.conf, "ReturnToService") or "0") == "0" then
      say("info", lines.at(facts, "ReturnToService", { text = "ReturnToService=0",
         why = "a node that was rebooted for a repair stays DOWN until you resume it; one that syscheck drained "
            .. "stays drained with any value", add = "ReturnToService=1" }))
   end
end

local function slurmd_user(facts, say)
   local user = (slurmconf.value(facts.conf, "SlurmdUser") or "root"):match("^[^(]*")
   if user ~= "root" and user ~= "0" then
      say("error", lines.at(facts, "SlurmdUser", { text = "SlurmdUser=" .. user,
         why = "the prolog runs as that user: it can neither drain a node nor write its records",
         add = "SlurmdUser=root" }))
   end
end

-- The pairs of this node's NodeName line, NodeName=DEFAULT's below them.
local function node_line(facts)
   local default, found = {}, nil
   for _, entry in ipairs(facts.conf.all.nodename or {}) do
      if entry.value:upper() == "DEFAULT" then
         for key, value in pairs(entry.more or {}) do
            default[key] = value
         end
      elseif not found then
         for _, name in ipairs(hostlist.expand(entry.value) or {}) do
            if name == facts.node then
               found = { entry = entry, values = setmetatable(entry.more or {}, { __index = default }) }
               break
            end
         end
      end
   end
   return found
end

-- CPUs that a job can hold at most, by the node's line; nil when it does not say.
local function cpus_for_jobs(v)
   local cpus = tonumber(v.cpus or v.procs)
   local threads = tonumber(v.threadspercore) or 1
   if not cpus then
      local cores = tonumber(v.corespersocket)
      cpus = cores and cores * (tonumber(v.sockets) or tonumber(v.boards) or 1) * threads
   end
   return cpus and cpus - (tonumber(v.corespeccount) or 0) * threads
end

-- "The whole node" is a number of CPUs; a line that gives jobs fewer means that none
-- is ever measured.
local function whole_node(facts, say)
   local found = node_line(facts)
   if not found then
      return ("no NodeName line for %s (--node NAME says which node this is)"):format(facts.node)
   end
   local want = facts.policy.value.node_cpus
   want = type(want) == "number" and want or facts.topology[want]
   local cpus = cpus_for_jobs(found.values)
   if cpus and want and want > 0 and cpus < want then
      say("warn", { file = found.entry.file, line = found.entry.line,
         text = ("jobs can hold %d CPU of %s, the policy's node_cpus wants %d"):format(cpus, facts.node, want),
         why = "no job ever holds the whole node, so no kernel ever runs",
         fix = ("say node_cpus = %d in the policy, or correct the node's line"):format(cpus) })
   end
end

return {
   { id = "syntax", check = syntax },
   { id = "prolog-flags", check = flags },
   { id = "requeue", check = requeue },
   { id = "time-outs", check = time_outs },
   { id = "health", check = health },
   { id = "return-to-service", check = return_to_service },
   { id = "slurmd-user", check = slurmd_user },
   { id = "whole-node", check = whole_node },
}
