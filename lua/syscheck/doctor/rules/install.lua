--- Rules on what is installed: the plugin, kernels, Lua modules, tools, who may write
-- what root runs. See doctor/rules.lua for their form.

-- "22.05.8" -> "22.05"
local function branch(version)
   return version:match("^%d+%.%d+")
end

local function our_line(facts)
   return ("optional %s status_dir=%s agent=%s/agent.lua"):format(facts.paths.plugin,
      facts.policy.value.run or facts.paths.run, facts.paths.libexec)
end

local function plugstack(facts, say)
   local s = facts.stack
   if not s.exists then
      return say("error", { file = s.file, text = "no plugstack.conf", why = "users have no --syscheck option",
         add = ("include %s/slurm/plugstack.conf.d/*.conf"):format(facts.paths.sysconf) })
   end
   for _, p in ipairs(s.problems) do
      say("warn", { file = p.file, line = p.line, text = p.text, why = "what that line should load is not there",
         fix = "correct it" })
   end
   if #s.ours == 0 then
      return say("error", { file = s.file, text = "no line loads spank_syscheck.so",
         why = "users have no --syscheck option, and jobs do not see what was measured",
         add = #s.seen > 0 and our_line(facts)
            or ("include %s/slurm/plugstack.conf.d/*.conf"):format(facts.paths.sysconf) })
   end
   for i, p in ipairs(s.ours) do
      local function found(severity, text, why, add)
         say(severity, { file = p.file, line = p.line, text = text, why = why, add = add })
      end
      if i > 1 then
         found("warn", "spank_syscheck.so is there twice", "Slurm loads it once and complains to every user")
      end
      if p.kind == "required" then
         found("error", "required, not optional",
            "after an update of Slurm the plugin does not load, and every sbatch, srun and job step fails",
            our_line(facts))
      end
      local dir, agent = "/run/syscheck", nil
      for _, arg in ipairs(p.args) do
         dir, agent = arg:match("^status_dir=(.*)$") or dir, arg:match("^agent=(/.*)$") or agent
      end
      if not agent then
         found("info", "no agent=", "jobs do not say at their end what was out of line on their nodes", our_line(facts))
      end
      local want = facts.policy.value.run or facts.paths.run
      if dir ~= want then
         found("error", ("status_dir=%s, the policy's run is %s"):format(dir, want),
            "jobs do not see what was measured", our_line(facts))
      end
   end
end

local function plugin_version(facts, say)
   if #facts.stack.ours == 0 then
      return "no line of plugstack.conf loads it"
   end
   local unknown
   for _, p in ipairs(facts.stack.ours) do
      if not p.version then
         if p.missing then
            say("error", { file = p.file, line = p.line, text = ("%s: %s"):format(p.path, p.err),
               why = p.kind == "required" and "every sbatch, srun and job step fails"
                  or "users have no --syscheck option",
               fix = "install syscheck on this host (package or make install), or correct the path" })
         else
            unknown = ("%s: %s"):format(p.path, p.err)
         end
      end
      for _, program in ipairs(p.version and facts.slurm or {}) do
         if branch(p.version) ~= branch(program.version) then
            say("error", { file = p.file, line = p.line,
               text = ("%s is built for Slurm %s, %s is %s"):format(p.path, p.version, program.name, program.version),
               why = p.kind == "required" and "it does not load: every sbatch, srun and job step fails"
                  or "it does not load: users have no --syscheck option",
               fix = ("install the syscheck-slurm package for Slurm %s, or build there and make install"):format(
                  branch(program.version)) })
         end
      end
   end
   if #facts.slurm == 0 then
      return "Slurm's version: neither scontrol -V nor slurmd -V prints it"
   end
   return unknown
end

local function kernels(facts, say)
   for _, k in ipairs(facts.kernels) do
      if k.err then
         say("error", { file = k.path, text = ("kernel %s: %s"):format(k.name, k.err),
            why = "checks end as unknown: nothing is measured, no bad node is found", fix = k.fix })
      elseif k.version ~= facts.paths.version then
         say("warn", { file = k.path, text = ("kernel %s is version %s, syscheck is %s"):format(k.name, k.version,
            facts.paths.version), why = "what it prints may not be understood",
            fix = "install syscheck on this host (package or make install)" })
      end
   end
end

-- Packages over an earlier make install, or the other way round.
local function installations(facts, say)
   for _, other in ipairs(facts.others or {}) do
      local named = other.prolog
      say("warn", { file = named and named.file, line = named and named.line,
         text = ("version %s of syscheck is installed in %s, too%s"):format(other.version, other.prefix,
            named and ", and is slurm.conf's Prolog" or ""),
         why = named and ("nodes are checked by that one, this is version %s"):format(facts.paths.version)
            or "what a shell finds first answers, and may be another version than what checks",
         fix = ("remove one of them: make uninstall PREFIX=%s, or the packages%s"):format(other.prefix,
            named and "; Prolog and Epilog are those of the one that stays" or "") })
   end
end

local function modules(facts, say)
   for _, m in ipairs(facts.modules) do
      say("error", { file = m.file, text = ("%s does not load: %s"):format(m.name, m.err),
         why = "prolog and epilog end at once: nothing is checked or recorded",
         fix = "install lua5.4 with luv and cjson, and syscheck anew" })
   end
end

local function tools(facts, say)
   for _, t in ipairs(facts.tools) do
      if t.err then
         say(t.name == "scontrol" and facts.policy.value.mode ~= "enforce" and "warn" or "error", {
            text = ("%s: %s"):format(t.program, t.err), why = t.why, fix = t.fix })
      end
   end
end

local function trust(facts, say)
   for _, t in ipairs(facts.trust) do
      say(t.severity, { file = t.path, text = t.text, why = t.why, fix = t.fix })
   end
end

return {
   { id = "plugstack", check = plugstack },
   { id = "plugin-version", check = plugin_version },
   { id = "kernels", check = kernels },
   { id = "installations", check = installations },
   { id = "modules", check = modules },
   { id = "tools", check = tools },
   { id = "trust", check = trust },
}
