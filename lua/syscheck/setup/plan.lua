--- What this host needs, from facts to the texts of its files. Pure.
local diff = require("syscheck.setup.diff")
local doctor = require("syscheck.doctor.rules")
local document = require("syscheck.setup.document")
local lines = require("syscheck.setup.lines")
local scripts = require("syscheck.setup.scripts")
local slurmconf = require("syscheck.slurm.conf")
local stages = require("syscheck.setup.stages")
local submit = require("syscheck.setup.submit")
local theirs = require("syscheck.doctor.facts.submit")

local plan = {}

local TITLE = "# syscheck (these lines: syscheck setup)"
local OURS = "spank_syscheck.so"
local RULES = { ["syntax"] = true, ["prolog-flags"] = true, ["requeue"] = true, ["time-outs"] = true, ["twice"] = true }

-- The rules on slurm.conf alone: how many errors and warnings, and the first of each kind as text.
local function bad(facts, conf)
   local rules = {}
   for _, rule in ipairs(doctor.RULES) do
      rules[#rules + 1] = RULES[rule.id] and rule or nil
   end
   local found = doctor.examine({ conf = conf, paths = facts.paths, policy = { value = facts.policy },
      major = facts.version and facts.version // 100 }, rules)
   return found.errors + found.warnings, found.findings[1] and doctor.line(found.findings[1])
end

-- Never a slurm.conf that is worse than it was.
local function examine(facts, out)
   local after, err = slurmconf.parse(facts.conf.file, function(path)
      local doc = out.docs[path]
      return doc and doc:text(), doc and "" or path .. ": was not there"
   end)
   local problem = after and after.problems[1]
   if not after or problem then
      return out.stop("internal error: Slurm would not read what setup makes of %s: %s", facts.conf.file,
         err or problem.text)
   end
   local was, is, first = bad(facts, facts.conf), bad(facts, after)
   if is > was then
      out.stop("internal error: what setup makes of %s is worse than before: %s", facts.conf.file, first)
   end
   return after
end

local function conf(facts, out)
   for _, file in ipairs(facts.conf.files) do
      out.docs[file] = document.new(file, facts.texts[file])
   end
   local added = {}
   function out.add(key, value)
      added[#added + 1] = ("%s=%s"):format(key, value)
   end
   function out.set(entry, value)
      local ok, err = out.docs[entry.file]:set(entry, value)
      if not ok then
         out.stop("%s:%d: %s; let it be %s=%s", entry.file, entry.line, err, entry.key, value)
      end
   end
   stages.plan(facts, out)
   lines.plan(facts, out)
   if #added > 0 then
      table.insert(added, 1, TITLE)
      out.docs[facts.conf.file]:append(added)
   end
   return examine(facts, out)
end

-- What every prolog, epilog and policy copy needs on the controller.
local function controller(facts, out)
   local s, file = facts.submit, facts.paths.data .. "/job_submit.lua"
   if s.err then
      out.stop("%s", s.err)
   elseif s.text and theirs.is_copy(s.text) and s.text ~= s.installed then
      -- Of an older version, or with the site's own lines in it: nobody can tell.
      out.note("%s is a copy of ours that differs: left as it is; where nothing of yours is in it, move it away, and "
         .. "syscheck setup --write again", s.file)
   elseif not s.text then
      out.change({ path = s.file, before = s.text, after = submit.new(file), mode = 420 }) -- 0644
   elseif submit.moved(s.text, file) then
      out.change({ path = s.file, before = s.text, after = submit.moved(s.text, file) })
   elseif s.text ~= s.installed and not theirs.is_chained(s.text, file) then
      if not theirs.is_listed(facts.conf) then
         return out.stop("%s: is there, and JobSubmitPlugins lacks lua: with it that file would come to life; move it "
            .. "away, or add lua to JobSubmitPlugins yourself", s.file)
      end
      local text, err = submit.chain(s.text, file, function(one)
         return load(one:gsub("^#[^\n]*", ""), "=" .. s.file, "t", {})
      end)
      if not text then
         return out.stop("%s: slurmctld could not load it (looked at with Lua 5.4)", err:find(s.file, 1, true) and err
            or s.file .. ": " .. err)
      end
      out.change({ path = s.file, before = s.text, after = text })
   end
   local dir, user = facts.submit_dir, facts.slurm_user
   if not user then
      out.note("SlurmUser=%s is no user of this host: chown him %s", tostring(slurmconf.value(facts.conf, "SlurmUser")),
         dir.path)
   elseif dir.uid and dir.uid ~= user.uid then
      out.change({ path = dir.path, owner = { uid = user.uid, gid = user.gid }, was = { uid = dir.uid, gid = dir.gid },
         name = user.name })
   end
   if facts.store_group then
      out.note("the policy's store_group is no group of this host: groupadd %s", facts.store_group)
   end
end

-- A line of ours for a plugin that is not there: where this installation's is, it names that, and this agent.
local function moved(facts, out, p)
   local plugin, agent, text = facts.paths.plugin, facts.paths.libexec .. "/agent.lua", p.text
   local at, number = 1, 1
   while number < p.line and at do
      at, number = text:find("\n", at, true), number + 1
      at = at and at + 1
   end
   local stop = at and (text:find("\n", at, true) or #text + 1)
   local line = at and text:sub(at, stop - 1) or ""
   local from, to = line:find(p.path, 1, true)
   local after = from and (line:sub(1, from - 1) .. plugin .. line:sub(to + 1)):gsub("agent=/[^%s\"]*", function()
      return "agent=" .. agent
   end)
   if not facts.stack.installed then
      out.note("%s:%d: %s is not there, nor %s: users have no --syscheck option (package syscheck-slurm)", p.file,
         p.line, p.path, plugin)
   elseif facts.stack.fixed or not after then
      out.note("%s:%d: %s is not there: users have no --syscheck option; let it be %s", p.file, p.line, p.path, plugin)
   else
      out.change({ path = p.file, before = text, after = text:sub(1, at - 1) .. after .. text:sub(stop) })
   end
end

local function plugstack(facts, out)
   local s = facts.stack
   for _, p in ipairs(s.plugins) do
      if p.path:match("[^/]*$") == OURS then
         return p.text and moved(facts, out, p)
      end
   end
   if s.fixed then
      return
   end
   if s.err then
      return out.stop("%s", s.err)
   end
   local file = facts.paths.sysconf .. "/slurm/plugstack.conf.d/syscheck.conf"
   for line in (s.text or ""):gmatch("[^\n]+") do
      if line:match("^%s*[Ii]nclude%s+(%S+)") == file then
         return out.note("%s is not there, or loads nothing: users have no --syscheck option (make install)", file)
      end
   end
   local doc = document.new(s.file, s.text)
   doc:append({ TITLE, "include " .. file })
   out.change({ path = s.file, before = s.text, after = doc:text(), mode = 420 }) -- 0644
end

-- What has to be done, and in which order, for it to hold.
local function next_steps(facts, out, changed, after)
   local needs = {}
   for _, s in ipairs(stages.LIST) do
      for _, entry in ipairs(after and after.all[s.stage] or {}) do
         if entry.value == stages.guard(facts.paths, s.stage) or entry.value:find("[*?%[]") then
            needs[s.key] = true
         end
      end
   end
   if facts.roles.controller and changed then
      if next(needs) and not facts.roles.node then
         out.note("first, on each node: syscheck setup --write (what Slurm will run is there then; where it is not, a "
            .. "job drains its node)")
      end
      local old = slurmconf.value(facts.conf, "JobSubmitPlugins")
      local restart = old ~= slurmconf.value(after, "JobSubmitPlugins")
      out.note("now: %s", restart and "restart slurmctld (JobSubmitPlugins is read when it starts), then "
         .. "scontrol reconfigure"
         or "scontrol reconfigure")
   elseif changed then
      out.note("now: scontrol reconfigure, when slurmctld's host and all nodes have these lines")
   end
end

--- Makes the plan.
-- @param facts from setup/facts.lua: { conf, texts = by path, fixed = why slurm.conf is not this host's to edit, or
--   nil; roles = { controller, node, login }; version = 2205 or nil; paths, policy; shared = libexec is on such a file
--   system; scripts = { prolog, epilog } as doctor/facts/installed.lua has them; names = of directories that Prolog=
--   names; guards = texts by path; submit = { file, text, installed, err }; submit_dir = { path, uid, gid };
--   slurm_user; stack = { file, text, plugins, each with its file's text where it is not there, installed = ours is,
--   fixed }; health = HealthCheckProgram, as scripts; astray = why this host may be another; store_group = its name
--   where it is missing }
-- @return { changes = list, in the order to make them: { path, before = text or nil, after, mode = of a new file,
--   whole = nothing of the site's is in it } or { path, owner, was = { uid, gid }, name }; notes, stops = lists of
--   texts: with a stop nothing is to be changed }
function plan.make(facts)
   local out = { docs = {}, changes = {}, notes = {}, stops = {} }
   function out.note(text, ...)
      out.notes[#out.notes + 1] = text:format(...)
   end
   -- What is said once, on slurmctld's host.
   function out.advise(text, ...)
      if facts.roles.controller then
         out.note(text, ...)
      end
   end
   function out.stop(text, ...)
      out.stops[#out.stops + 1] = text:format(...)
   end
   function out.change(change)
      if change.owner or change.before ~= change.after then
         out.changes[#out.changes + 1] = change
      end
   end
   local texts = {}
   function out.script(path, text)
      local old = facts.guards[path]
      if texts[path] and texts[path] ~= text then
         return out.stop("%s: Prolog and Epilog name the same scripts, and ours are two: let each name its own", path)
      end
      texts[path] = text
      if old and old ~= text and not scripts.is_ours(old) then
         return out.stop("%s: is there, and not written by setup: move it away", path)
      end
      out.change({ path = path, before = old, after = text, mode = 493, whole = true }) -- 0755
   end
   local problem = facts.conf.problems[1]
   if problem then
      out.stop("%s%s: %s: Slurm would refuse it, so nothing is changed", problem.file or facts.conf.file,
         problem.line and ":" .. problem.line or "", problem.text)
      return out
   end
   local after = conf(facts, out)
   if facts.roles.controller then
      controller(facts, out)
   end
   plugstack(facts, out)
   if facts.astray then
      out.note("%s", facts.astray)
   end
   local changed, seen = false, {}
   for _, file in ipairs(facts.conf.files) do
      local doc = out.docs[file]
      -- One that is included twice is changed once.
      local again = seen[file]
      seen[file] = true
      if not again and doc:text() ~= doc.before then
         changed = true
         if not facts.fixed then
            out.change({ path = file, before = doc.before, after = doc:text() })
         end
      end
   end
   if changed and facts.fixed then
      out.note("%s: its lines are changed there", facts.fixed)
   end
   next_steps(facts, out, changed and not facts.fixed, after)
   return out
end

--- A change as lines of a diff.
function plan.shown(change)
   if change.owner then
      return { ("chown %s: %s (of uid %d now)"):format(change.name, change.path, change.was.uid) }
   end
   return diff.unified(change.path, change.before, change.after)
end

return plan
