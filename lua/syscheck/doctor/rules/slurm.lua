--- Rules on slurm.conf. See doctor/rules.lua for their form.
local hostlist = require("syscheck.lib.hostlist")
local slurmconf = require("syscheck.slurm.conf")
local times = require("syscheck.doctor.rules.times")

local BATCH_START, MESSAGE = 10, 10 -- Slurm's defaults, s

-- A finding at a key's line, or at the file where the key would stand.
local function at(facts, key, finding)
   local entry = facts.conf.values[key:lower()]
   finding.file, finding.line = entry and entry.file or facts.conf.file, entry and entry.line
   return finding
end

-- The line that a list would be with one more item.
local function with(facts, key, item)
   local value = (slurmconf.value(facts.conf, key) or ""):gsub(",+$", "")
   local quote = value:find("%s") and '"' or ""
   return ("%s=%s%s%s%s"):format(key, quote, value ~= "" and value .. "," or "", item, quote)
end

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

local function syntax(facts, say)
   for _, p in ipairs(facts.conf.problems) do
      say("error", { text = p.text, file = p.file, line = p.line,
         why = "Slurm's daemons and commands stop at it when they start", fix = "correct that line" })
   end
end

-- Prolog or Epilog: ours, or a script that calls ours.
local function script(key, bites)
   local name = key:lower()
   -- What holds where the file is not there, or is no longer whole: the job starts.
   local guarded = name == "prolog" and "%s || [ $? -ne 1 ] || exit 1" or "%s || true"
   return function(facts, say)
      local ours = facts.paths.libexec .. "/" .. name
      local entries = facts.conf.all[name]
      if not entries then
         return say("error", at(facts, key, { text = "no " .. key, why = bites, add = ("%s=%s"):format(key, ours) }))
      end
      local called, unread
      for _, found in ipairs(facts.scripts[name]) do
         called = called or (found.ours and "ours") or (found.calls and "wrapped")
         unread = unread or (found.unread and found.path)
         if found.err then
            say("error", at(facts, key, { text = ("%s %s: %s"):format(key, found.path, found.err),
               why = "slurmd cannot run it; a prolog or epilog that fails drains the node",
               fix = "make it a file that root can execute" }))
         end
         if found.closed then
            say("error", { file = found.path, line = found.closed,
               text = ("%s fails where %s is not there"):format(key, ours),
               why = ("where that file system is not mounted, every job's %s drains its node"):format(
                  name == "prolog" and "start" or "end"),
               fix = "let that line be: " .. guarded:format(ours) })
         end
      end
      if called == "wrapped" then
         say("info", at(facts, key, { text = ("%s is a script that names ours"):format(key),
            why = name == "prolog" and "it must exit non-zero if ours does" or "it must exit 0 whatever ours does",
            fix = "make sure that it does" }))
      elseif not called then
         local path = entries[#entries].value
         say("warn", at(facts, key, {
            text = ("%s=%s is not ours, and %s"):format(key, path, unread and "cannot be read" or "does not name it"),
            why = bites .. ", unless it calls ours some other way",
            fix = "let it run: " .. guarded:format(ours) }))
      end
   end
end

local function flags(facts, say)
   if not has_flag(facts, "Alloc") then
      say("error", at(facts, "PrologFlags", { text = "PrologFlags lacks Alloc",
         why = "the check runs only at a node's first step: nodes that the batch script does not use at once "
            .. "are not checked, and a bad one shows when the job runs",
         add = with(facts, "PrologFlags", "Alloc") }))
   elseif not has_flag(facts, "DeferBatch") then
      say("info", at(facts, "PrologFlags", { text = "PrologFlags lacks DeferBatch",
         why = "a job's script starts when its first node is checked, and is requeued if a later one is bad",
         add = with(facts, "PrologFlags", "DeferBatch") }))
   end
   if has_flag(facts, "NoHold") then
      say("warn", at(facts, "PrologFlags", { text = "PrologFlags=NoHold",
         why = has_flag(facts, "Contain") and "Slurm does not take it together with Contain or X11"
            or "salloc returns before its nodes are checked",
         fix = "remove NoHold" }))
   end
   if has_flag(facts, "Serial") then
      say("info", at(facts, "PrologFlags", { text = "PrologFlags=Serial",
         why = "on a shared node a job waits for another's check to end" }))
   end
end

local function requeue(facts, say)
   local conf = facts.conf
   if not slurmconf.has(conf, "SchedulerParameters", "nohold_on_prolog_fail") then
      say("error", at(facts, "SchedulerParameters", { text = "SchedulerParameters lacks nohold_on_prolog_fail",
         why = "a job that met a bad node is requeued held, and waits for you although healthy nodes are free",
         add = with(facts, "SchedulerParameters", "nohold_on_prolog_fail") }))
   end
   if slurmconf.value(conf, "JobRequeue") == "0" and not has_flag(facts, "ForceRequeueOnFail") then
      say("warn", at(facts, "JobRequeue", { text = "JobRequeue=0",
         why = "a job that met a bad node ends instead of going to another one, unless its user gave --requeue",
         add = "JobRequeue=1" .. (facts.major and facts.major >= 24 and ", or PrologFlags=ForceRequeueOnFail (24.11)"
            or "") }))
   end
   if facts.policy.value.no_requeue == "requeue" and not has_flag(facts, "ForceRequeueOnFail") then
      say("error", at(facts, "PrologFlags", { text = 'no_requeue = "requeue", and PrologFlags lacks ForceRequeueOnFail',
         why = "a job of sbatch --no-requeue that met a bad node is cancelled, and nobody warned its user",
         add = (facts.major or 99) >= 24 and with(facts, "PrologFlags", "ForceRequeueOnFail") .. " (24.11)" or nil,
         fix = 'no_requeue = "cancel" or "start" in the policy' }))
   end
   -- 22.05 waits for the credential's end, 26.05 for requeue_delay; in between it may be either.
   local _, expire = slurmconf.has(conf, "AuthInfo", "cred_expire")
   local _, delay = slurmconf.has(conf, "SchedulerParameters", "requeue_delay")
   local old, new = (facts.major or 0) < 26, (facts.major or 99) > 22
   if not (old and expire) and not (new and delay) then
      local add = old and with(facts, "AuthInfo", "cred_expire=30") or nil
      if new then
         add = (add and add .. ", or where this Slurm has it " or "")
            .. with(facts, "SchedulerParameters", "requeue_delay=30")
      end
      say("info", at(facts, old and "AuthInfo" or "SchedulerParameters", {
         text = ("%s is not set"):format(old and "AuthInfo=cred_expire" or "requeue_delay"),
         why = "a job that met a bad node waits 120 s before it is eligible again", add = add }))
   end
end

-- One time-out against the time of the levels.
local function time_out(facts, say, key, default, severity, why)
   local value = slurmconf.seconds(facts.conf, key, default)
   if not value then
      return say("error", at(facts, key, { text = ("%s=%s is no number of seconds"):format(key,
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
   say(severity, at(facts, key, {
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
      say("warn", at(facts, "EpilogTimeout", { text = ("EpilogTimeout is %g s, an epilog on a sick disk takes 17 s")
         :format(epilog), why = "Slurm drains the node when it expires", add = "EpilogTimeout=60" }))
   end
end

local function job_submit(facts, say)
   local listed = slurmconf.has(facts.conf, "JobSubmitPlugins", "lua")
      or slurmconf.has(facts.conf, "JobSubmitPlugins", "job_submit/lua")
   local s = facts.submit
   local copy = ("cp %s/job_submit.lua %s"):format(facts.paths.data, s.file)
   if not listed then
      return say("warn", at(facts, "JobSubmitPlugins", { text = "JobSubmitPlugins lacks lua"
         .. (s.exists and ", though job_submit.lua is there" or ""),
         why = "a level that the policy does not allow is not refused with a message, but silently lowered",
         add = with(facts, "JobSubmitPlugins", "lua") .. (s.exists and "" or ("; %s"):format(copy)) }))
   end
   local function found(severity, text, why, fix)
      say(severity, { file = s.file, text = "job_submit.lua " .. text, why = why, fix = fix })
   end
   if not s.exists then
      found(facts.is_controller and "error" or "info", "is not there",
         facts.is_controller and "slurmctld does not start with JobSubmitPlugins=lua and without it"
            or "this host does not run slurmctld; there it must be, or slurmctld does not start", copy)
   elseif s.err then
      return "job_submit.lua: " .. s.err
   elseif s.ours and not s.same then
      found("warn", "is another version than the installed one", "what it refuses and what the nodes do may differ",
         copy)
   elseif not s.same and not s.calls then
      found("warn", "does not call syscheck",
         "a level that the policy does not allow is not refused with a message, but silently lowered",
         ("copy the lines marked (*) from %s/job_submit.lua"):format(facts.paths.data))
   elseif not s.same then
      found("info", "is the site's own, and names syscheck", "its lines have to follow updates of syscheck")
   end
end

local function health(facts, say)
   local program = slurmconf.value(facts.conf, "HealthCheckProgram")
   local ours = facts.health
   if not program and ours then
      say("info", at(facts, "HealthCheckProgram", { text = "no HealthCheckProgram",
         why = "a node that idles is not checked, nor resumed after a repair, until a job gets it",
         add = ("HealthCheckProgram=%s and, each on its own line, HealthCheckInterval=300 and "
            .. "HealthCheckNodeState=IDLE,CYCLE"):format(ours) }))
   elseif program and program == ours and (slurmconf.seconds(facts.conf, "HealthCheckInterval", 0) or 0) == 0 then
      say("warn", at(facts, "HealthCheckProgram", { text = "HealthCheckInterval is not set",
         why = "Slurm never runs HealthCheckProgram", add = "HealthCheckInterval=300" }))
   end
end

local function return_to_service(facts, say)
   if (slurmconf.value(facts.conf, "ReturnToService") or "0") == "0" then
      say("info", at(facts, "ReturnToService", { text = "ReturnToService=0",
         why = "a node that was rebooted for a repair stays DOWN until you resume it; one that syscheck drained "
            .. "stays drained with any value", add = "ReturnToService=1" }))
   end
end

local function slurmd_user(facts, say)
   local user = (slurmconf.value(facts.conf, "SlurmdUser") or "root"):match("^[^(]*")
   if user ~= "root" and user ~= "0" then
      say("error", at(facts, "SlurmdUser", { text = "SlurmdUser=" .. user,
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
   { id = "prolog", check = script("Prolog", "no job's nodes are checked") },
   { id = "epilog", check = script("Epilog", "what a job went through is not recorded") },
   { id = "prolog-flags", check = flags },
   { id = "requeue", check = requeue },
   { id = "time-outs", check = time_outs },
   { id = "job-submit", check = job_submit },
   { id = "health", check = health },
   { id = "return-to-service", check = return_to_service },
   { id = "slurmd-user", check = slurmd_user },
   { id = "whole-node", check = whole_node },
}
