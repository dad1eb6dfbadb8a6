--- Rules on how Slurm calls this installation, beside what the site has: Prolog, Epilog, job_submit.lua. See
-- doctor/rules.lua for their form.
local lines = require("syscheck.doctor.rules.lines")
local submit = require("syscheck.doctor.facts.submit")

local ADDS_UP = 24 -- the major version from which Prolog lines add up: 24.05

local SETUP = "syscheck setup shows how"

-- A line that a later one has taken the place of.
local function replaced(facts, say, key, entries, bites)
   local last = entries[#entries]
   for i = 1, (facts.major or 0) < ADDS_UP and #entries - 1 or 0 do
      if entries[i].value ~= last.value then
         say("error", { file = entries[i].file, line = entries[i].line,
            text = ("%s=%s does not run: %s:%d is the last such line"):format(key, entries[i].value, last.file,
               last.line),
            why = ("of several only the last one holds before Slurm 24.05, and that script was meant to run%s"):format(
               entries[i].value:find("syscheck", 1, true) and ": " .. bites or ""), fix = SETUP })
      end
   end
end

-- Prolog or Epilog: ours, or a script that calls ours.
local function script(key, bites)
   local name = key:lower()
   -- What holds where the file is not there, or is no longer whole: the job starts.
   local guarded = name == "prolog" and "%s || [ $? -ne 1 ] || exit 1" or "%s || true"
   -- What slurmd cannot run, or not everywhere.
   local function broken(facts, say, found, ours)
      -- Where no slurmd runs, the scripts need not be.
      if found.err and facts.is_node ~= false then
         say("error", lines.at(facts, key, { text = ("%s %s: %s"):format(key, found.path, found.err),
            why = "slurmd cannot run it; a prolog or epilog that fails drains the node",
            fix = found.guard and "syscheck setup --write on this node" or "make it a file that root can execute" }))
      end
      if found.missing and facts.is_node ~= false then
         say("error", { file = found.path, text = ("%s calls %s, which is not there"):format(key, found.missing),
            why = found.closed and ("every job's %s drains its node"):format(name == "prolog" and "start" or "end")
               or bites,
            fix = found.guard and "syscheck setup --write on this node" or "let it call " .. ours })
      elseif found.closed then
         say("error", { file = found.path, line = found.closed,
            text = ("%s fails where %s is not there"):format(key, ours),
            why = ("where that file system is not mounted, every job's %s drains its node"):format(
               name == "prolog" and "start" or "end"), fix = "let that line be: " .. guarded:format(ours) })
      end
   end
   return function(facts, say)
      local ours = facts.paths.libexec .. "/" .. name
      local entries = facts.conf.all[name]
      if not entries then
         return say("error", lines.at(facts, key, { text = "no " .. key, why = bites,
            add = ("%s=%s (%s)"):format(key, ours, SETUP) }))
      end
      replaced(facts, say, key, entries, bites)
      local called, unread
      for _, found in ipairs(facts.scripts[name]) do
         called = called or (found.ours and "ours") or (found.guard and "setup")
            or (found.missing and "gone") or (found.calls and "wrapped")
         unread = unread or (found.unread and found.path)
         broken(facts, say, found, ours)
      end
      if called == "wrapped" then
         say("info", lines.at(facts, key, { text = ("%s is a script that names ours"):format(key),
            why = name == "prolog" and "it must exit non-zero if ours does" or "it must exit 0 whatever ours does",
            fix = "make sure that it does" }))
      elseif not called and facts.is_node == false and entries[#entries].value:find("[*?%[]") then
         -- The directory is the nodes'.
         say("info", lines.at(facts, key, { text = ("%s=%s runs none of ours here"):format(key,
            entries[#entries].value), why = "no slurmd runs here: what counts is that directory on the nodes",
            fix = "syscheck doctor on a node" }))
      elseif not called then
         local path = entries[#entries].value
         say("warn", lines.at(facts, key, {
            text = ("%s=%s is not ours, and %s"):format(key, path, unread and "cannot be read" or "does not name it"),
            why = bites .. ", unless it calls ours some other way",
            fix = ("let it run: %s; syscheck setup puts that behind it"):format(guarded:format(ours)) }))
      end
   end
end

local function job_submit(facts, say)
   local s = facts.submit
   if not submit.is_listed(facts.conf) then
      return say("warn", lines.at(facts, "JobSubmitPlugins", { text = "JobSubmitPlugins lacks lua"
         .. (s.exists and ", though job_submit.lua is there" or ""),
         why = "a level that the policy does not allow is not refused with a message, but silently lowered",
         add = lines.with(facts, "JobSubmitPlugins", "lua") .. (s.exists and "" or ("; " .. SETUP)) }))
   end
   local function found(severity, text, why, fix)
      say(severity, { file = s.file, text = "job_submit.lua " .. text, why = why, fix = fix or SETUP })
   end
   if not s.exists then
      found(facts.is_controller and "error" or "info", "is not there",
         facts.is_controller and "slurmctld does not start with JobSubmitPlugins=lua and without it"
            or "this host does not run slurmctld; there it must be, or slurmctld does not start")
   elseif not facts.is_controller then
      return nil -- read by nobody here
   elseif s.err then
      return "job_submit.lua: " .. s.err
   elseif s.ours and not s.same then
      found("warn", "is a copy of another version than the installed one",
         "what it refuses and what the nodes do may differ")
   elseif not s.same and not s.calls then
      found("warn", "does not call syscheck",
         "a level that the policy does not allow is not refused with a message, but silently lowered",
         "syscheck setup adds a line that loads ours behind its functions")
   elseif not s.same and not s.chained then
      found("info", "is the site's own, and names syscheck", "its lines have to follow updates of syscheck",
         "let it load ours instead: " .. SETUP)
   end
end

-- slurmctld's copy of the policy is SlurmUser's.
local function submit_copy(facts, say)
   local dir, user = facts.submit_dir, facts.slurm_user
   if facts.is_controller and dir and dir.uid and user and user.uid ~= dir.uid then
      say("warn", { file = dir.path, text = ("is not owned by SlurmUser %s"):format(user.name),
         why = "slurmctld keeps no copy of the policy there: with a broken one no level is refused",
         fix = ("chown %s: %s (%s)"):format(user.name, dir.path, SETUP) })
   end
end

return {
   { id = "prolog", check = script("Prolog", "no job's nodes are checked") },
   { id = "epilog", check = script("Epilog", "what a job went through is not recorded") },
   { id = "job-submit", check = job_submit },
   { id = "submit-copy", check = submit_copy },
}
