--- The other lines of slurm.conf: lists are added to, time-outs raised and never lowered, what is the site's own stays,
-- and what is a matter of taste is only said. Pure.
local slurmconf = require("syscheck.slurm.conf")
local submit = require("syscheck.doctor.facts.submit")
local times = require("syscheck.doctor.rules.times")

local lines = {}

local REQUEUE_DELAY = 2511 -- the Slurm since which it is there
local NO_LIMIT = { prologepilogtimeout = true, prologtimeout = true, epilogtimeout = true }
local EPILOG_S = 60 -- an epilog on a sick disk takes 17 s

local function has(facts, key, ...)
   for _, item in ipairs({ ... }) do
      if slurmconf.has(facts.conf, key, item) then
         return true
      end
   end
   return false
end

-- Adds an item to a list.
local function include(facts, plan, key, item)
   local entry = facts.conf.values[key:lower()]
   if not entry then
      return plan.add(key, item)
   end
   plan.set(entry, (entry.value:gsub(",+$", "")) .. "," .. item)
end

-- Raises a time-out.
local function raise(facts, plan, key, seconds)
   local entry = facts.conf.values[key:lower()]
   if not entry then
      return not NO_LIMIT[key:lower()] and plan.add(key, tostring(seconds))
   end
   local value = slurmconf.seconds(facts.conf, key)
   if not value then
      plan.stop("%s:%d: %s=%s is no number of seconds", entry.file, entry.line, entry.key, entry.value)
   elseif value < seconds then
      plan.set(entry, tostring(seconds))
   end
end

local function time_outs(facts, plan)
   local _, needed = times.needed(facts.policy)
   if needed then
      for _, key in ipairs({ "MessageTimeout", "BatchStartTimeout", "PrologEpilogTimeout", "PrologTimeout" }) do
         raise(facts, plan, key, needed)
      end
   end
   raise(facts, plan, "EpilogTimeout", EPILOG_S)
end

local function health(facts, plan)
   local ours = facts.paths.libexec .. "/health"
   local program = slurmconf.value(facts.conf, "HealthCheckProgram")
   if program and program ~= ours then
      if program:find("/libexec/syscheck/health$") then
         return plan.advise("HealthCheckProgram=%s is of another installation: left as it is; let it be %s once all "
            .. "nodes have that", program, ours)
      end
      for _, found in ipairs(facts.health or {}) do
         if found.ours or (found.calls and not found.missing) then
            return
         end
      end
      return plan.advise("idle nodes: HealthCheckProgram stays %s; for ours, too, let it name a script that runs "
         .. "%s, then %s, unless it does already", program, program, ours)
   end
   if not program then
      plan.add("HealthCheckProgram", ours)
   end
   if (slurmconf.seconds(facts.conf, "HealthCheckInterval", 0) or 0) == 0 then
      local entry = facts.conf.values.healthcheckinterval
      if entry then
         plan.set(entry, "300")
      else
         plan.add("HealthCheckInterval", "300")
      end
   end
   if not facts.conf.values.healthchecknodestate then
      plan.add("HealthCheckNodeState", "IDLE,CYCLE")
   end
end

local function flags(facts, plan)
   if not has(facts, "PrologFlags", "Alloc", "Contain", "X11", "RunInJob") then
      include(facts, plan, "PrologFlags", "Alloc")
      if plan.own then
         plan.advise("PrologFlags=Alloc: your own Prolog, too, runs on all nodes of a job when it gets them, not at "
            .. "its first step there")
      end
   end
   if not has(facts, "PrologFlags", "DeferBatch") then
      plan.advise("yours to choose: PrologFlags=...,DeferBatch, and a batch script starts when all of its nodes are "
         .. "checked, not only its first")
   end
end

local function requeue(facts, plan)
   if not has(facts, "SchedulerParameters", "nohold_on_prolog_fail") then
      include(facts, plan, "SchedulerParameters", "nohold_on_prolog_fail")
   end
   local new = facts.version and facts.version >= REQUEUE_DELAY
   local set = has(facts, "AuthInfo", "cred_expire") or new and has(facts, "SchedulerParameters", "requeue_delay")
   if not set then
      plan.advise("yours to choose: %s, and a job that met a bad node waits 30 s for another, not 120; slurmctld reads "
         .. "it when it starts, not at scontrol reconfigure", new and "SchedulerParameters=...,requeue_delay=30"
         or "AuthInfo=...,cred_expire=30 (the lifetime of every step's credential)")
   end
   if slurmconf.value(facts.conf, "JobRequeue") == "0" then
      plan.advise("yours to choose: JobRequeue=0 ends a job that met a bad node, unless its user gave --requeue")
   end
end

--- Adds them to the plan.
-- @param facts conf, version, policy, paths
-- @param plan set(entry, value), add(key, value), advise(text, ...), stop(text, ...), own = the site has a Prolog
function lines.plan(facts, plan)
   flags(facts, plan)
   requeue(facts, plan)
   time_outs(facts, plan)
   if not submit.is_listed(facts.conf) then
      include(facts, plan, "JobSubmitPlugins", "lua")
   end
   health(facts, plan)
end

return lines
