--- Rules on this host: that the policy can be used, baseline, directories, log, clock, and whether slurmctld
-- runs with what the file says. See doctor/rules.lua for their form.
local baselines = require("syscheck.verdict.baseline")
local cpus = require("syscheck.verdict.cpus")
local metrics = require("syscheck.catalogue.metrics")
local printable = require("syscheck.lib.printable")
local slurmconf = require("syscheck.slurm.conf")
local spelling = require("syscheck.lib.spelling")

local DAY = 86400
local OLD_BASELINE = 180 * DAY -- two kernels and a BIOS later
local SKEW_WARN, SKEW_ERROR = 5, 120 -- s; munge refuses credentials at 300
local FREE = 67108864 -- bytes: some thousand records
local LARGE_LOG = 104857600

-- Partitions that the policy names and slurm.conf does not: their rules bind nobody.
local function partitions(facts, say)
   local known, names = {}, {}
   for _, entry in ipairs(facts.conf.all.partitionname or {}) do
      known[entry.value] = true
      names[#names + 1] = entry.value ~= "DEFAULT" and entry.value or nil
   end
   for name in pairs(#names > 0 and facts.policy.value.partitions or {}) do
      if name ~= "*" and not known[name] then
         local near = spelling.nearest(name, names)
         say("warn", { file = facts.policy.file, text = ('the policy names partition "%s", slurm.conf has none'):format(
            printable.safe(name, 32)), why = "its levels hold for no job",
            fix = near and ('did you mean "%s"?'):format(near) or "correct the name or remove it" })
      end
   end
end

local function policy(facts, say)
   local p = facts.policy
   if p.absent then
      say("warn", { file = p.file, text = "no policy",
         why = "defaults hold: nothing is measured unasked, nothing drains",
         fix = ("cp %s/examples/syscheck/policy.lua %s"):format(facts.paths.data, p.file) })
   elseif p.unread then
      return p.err
   elseif p.err then
      say("error", { file = p.file, text = "the policy cannot be used: " .. p.err,
         why = "a node goes on with its last good copy; where it has none every check is unknown and nothing drains",
         fix = "syscheck config check" })
   elseif p.value.mode == "observe" then
      say("info", { file = p.file, text = 'mode = "observe"', why = "verdicts are recorded, no bad node is drained",
         add = 'mode = "enforce", once a baseline is there and a week of "would drain" was right' })
   end
end

-- Of what a check measures: what lies between nodes is compared with its peers'.
local function has_floor(p)
   for name, limit in pairs(p.limits) do
      if limit.min and not metrics.BY_NAME[name].fabric then
         return true
      end
   end
   return false
end

local function baseline(facts, say)
   local b = facts.baseline
   local learn = "syscheck baseline learn --spool DIR..., then distribute " .. b.file
   if b.absent then
      local p = facts.policy.value
      local floor = has_floor(p)
      -- Who only observes is still on the way to one.
      return say((floor or p.mode == "observe") and "info" or "warn", { file = b.file, text = "no baseline",
         why = floor and "nodes are rated by the policy's limits only"
            or "what kernels measure is rated by nothing: no slow node is found", fix = learn })
   elseif b.unread then
      return b.err
   elseif b.err then
      return say("error", { file = b.file, text = "the baseline cannot be used: " .. b.err,
         why = "every check is unknown: no slow node is found", fix = learn })
   end
   local before = facts.topology.class_before
   local near, close = baselines.class_for(b.value, facts.class, before)
   if near and near == before then
      say("warn", { file = b.file,
         text = ("the baseline calls this host's class %s, which this version calls %s"):format(near, facts.class),
         why = "until it is learned anew, what kernels measure only warns", fix = learn })
   elseif near ~= facts.class then
      say("warn", { file = b.file, text = "the baseline has no class " .. facts.class,
         why = not near and "what kernels measure on this host is rated by nothing"
            or ("this host is rated as %s%s"):format(near, close and "" or ", and what it measures only warns"),
         fix = near and "see what it has lost (syscheck run --level passive), or, if it is meant to be so: " .. learn
            or learn })
   end
   local c, s = near and b.value.classes[near], facts.slurmd
   if c and s and s.left_out and s.left_out ~= cpus.of_class(c).left_out then
      say("warn", { file = b.file, text = ("the baseline is of %s, here jobs get CPUs %s"):format(
         cpus.words(cpus.of_class(c)), s.wanted),
         why = "what is measured on other CPUs is not rated: every check is unknown", fix = learn })
   end
   local age = b.time and facts.now - b.time
   if age and age > OLD_BASELINE then
      say("info", { file = b.file, text = ("the baseline is %d days old"):format(age // DAY),
         why = "updates of kernel, firmware and libraries move what healthy nodes measure", fix = learn })
   elseif age and age < -DAY then
      say("warn", { file = b.file, text = ("the baseline is from %d days ahead"):format(-age // DAY),
         why = "the clock of this host, or of the one that learned it, is wrong", fix = "start chronyd or ntpd" })
   end
end

-- The prolog runs where slurmd may.
local function slurmd_cpus(facts, say)
   local s = facts.slurmd
   if not s or (s.allowed == s.online and s.lacks == "") then
      return
   end
   local text = ("slurmd may use CPUs %s of %s%s"):format(s.allowed, s.online,
      s.lacks ~= "" and (", not the memory of node %s"):format(s.lacks) or "")
   if s.known then
      return say("info", { text = text, why = ("kernels leave them and measure CPUs %s, which jobs get; where that "
         .. "is refused (a container), every check is unknown"):format(s.wanted) })
   end
   say("warn", { text = text, why = "kernels leave them and measure all CPUs, reserved ones, too; where that is "
      .. "refused (a container), every check is unknown",
      fix = "where cores are reserved (CoreSpecCount) say node_cpus = the CPUs that a job can hold in the policy; else "
         .. "remove AllowedCPUs=, taskset or what else confines slurmd" })
end

local USE = {
   spool = "records are lost",
   state = "jobs have no begin snapshot, and no pass is remembered",
   run = "jobs do not see what was measured",
}

local function directories(facts, say)
   local unseen
   for _, d in ipairs(facts.dirs) do
      local function found(severity, text, why, fix)
         say(severity, { file = d.path, text = ("%s directory: %s"):format(d.name, text),
            why = why or USE[d.name], fix = fix })
      end
      if d.unseen then
         unseen = d.unseen
      elseif d.err then
         found("error", d.err, nil, d.fix)
      else
         if d.open then
            found("error", d.open, "root writes there: others could lay links, or forge what it reads", d.fix)
         end
         if d.shared then
            found("warn", "on a shared file system: " .. d.shared,
               "when that hangs, so do prologs; nodes that share a path need %n in it",
               "name a local one in the policy")
         end
         if d.free and d.free < FREE then
            found("warn", ("%d MiB free"):format(d.free // 1048576), USE[d.name] .. " when it is full",
               "make room")
         end
      end
   end
   return unseen
end

local function log(facts, say)
   local l = facts.log
   if l.err then
      say("warn", { file = l.path, text = "the log: " .. l.err, why = "what goes wrong is logged nowhere",
         fix = l.fix })
   elseif l.rotated == false then
      local large = (l.size or 0) > LARGE_LOG
      say(large and "warn" or "info", { file = l.path,
         text = ("no file of logrotate names it%s"):format(large and (" (%d MiB)"):format(l.size // 1048576) or ""),
         why = "it grows until the disk is full",
         fix = ("ln -s %s/logrotate.d/syscheck /etc/logrotate.d/"):format(facts.paths.sysconf) })
   end
end

local function clock(facts, say)
   local c = facts.controller
   if not c.skew_s then
      return c.err
   end
   -- What the round trip and whole seconds leave open is no skew.
   local skew = math.abs(c.skew_s) - c.uncertain_s
   if skew >= SKEW_WARN then
      say(skew >= SKEW_ERROR and "error" or "warn", {
         text = ("this host's clock is %d s %s slurmctld's"):format(math.floor(math.abs(c.skew_s) + 0.5),
            c.skew_s > 0 and "ahead of" or "behind"),
         why = "records of one job do not line up between nodes; at 300 s munge refuses every credential",
         fix = "start chronyd or ntpd" })
   end
end

-- Keys that decide over checks, and what both sides are made comparable by.
local function words(value)
   local list = {}
   for word in value:lower():gsub("^%(null%)$", ""):gmatch("[^,%s]+") do
      list[#list + 1] = word
   end
   table.sort(list)
   return table.concat(list, ",")
end

local function seconds(value)
   return value:match("^%d+") or value:lower()
end

local COMPARED = { { "Prolog" }, { "Epilog" }, { "HealthCheckProgram" }, { "JobSubmitPlugins", words },
   { "PrologFlags", words, subset = true }, { "SchedulerParameters", words }, { "MessageTimeout", seconds },
   { "BatchStartTimeout", seconds }, { "PrologEpilogTimeout", seconds } }

-- Slurm shows flags that others imply.
local function within(part, whole)
   for word in part:gmatch("[^,]+") do
      if not ("," .. whole .. ","):find("," .. word .. ",", 1, true) then
         return false
      end
   end
   return true
end

local function running(facts, say)
   local config = facts.controller.config
   if not config then
      return facts.controller.err
   end
   for _, c in ipairs(COMPARED) do
      local key, make = c[1], c[2] or function(value)
         return value
      end
      local entry = facts.conf.values[key:lower()]
      -- Several prologs: newer ones show them as Prolog[0], Prolog[1].
      local shown = config[key:lower()] or config[key:lower() .. "[0]"]
      local several = #(facts.conf.all[key:lower()] or {}) > 1 or config[key:lower() .. "[1]"]
      local in_file, there = entry and make(entry.value), shown and make(shown)
      if entry and shown and not several and in_file ~= there and not (c.subset and within(in_file, there)) then
         say("warn", { file = entry.file, line = entry.line,
            text = ("%s=%s, but slurmctld runs with %s"):format(entry.key, entry.value, shown),
            why = "what the file says does not hold yet, or this host's file is not slurmctld's",
            fix = "scontrol reconfigure; JobSubmitPlugins: restart slurmctld" })
      end
   end
   local version = config.slurm_version
   for _, program in ipairs(version and facts.slurm or {}) do
      if program.name == "slurmd" and version:match("^%d+%.%d+") ~= program.version:match("^%d+%.%d+") then
         say("info", { text = ("slurmd here is %s, slurmctld %s"):format(program.version, version),
            why = "the plugin has to be built for each" })
      end
   end
end

-- A value of the file that is worth showing although nothing is wrong with it.
local function twice(facts, say)
   for _, key in ipairs({ "PrologFlags", "SchedulerParameters", "JobSubmitPlugins", "MessageTimeout",
      "BatchStartTimeout", "AuthInfo" }) do
      local all = facts.conf.all[key:lower()] or {}
      local last = all[#all]
      if #all > 1 and slurmconf.value(facts.conf, key) == last.value and all[#all - 1].value ~= last.value then
         say("warn", { file = last.file, line = last.line,
            text = ("%s was set before, at %s:%d"):format(key, all[#all - 1].file, all[#all - 1].line),
            why = "only the last one holds, and it does not repeat the other", fix = "merge the two lines" })
      end
   end
end

return {
   { id = "twice", check = twice },
   { id = "policy", check = policy },
   { id = "partitions", check = partitions },
   { id = "baseline", check = baseline },
   { id = "slurmd-cpus", check = slurmd_cpus },
   { id = "directories", check = directories },
   { id = "log", check = log },
   { id = "clock", check = clock },
   { id = "running", check = running },
}
