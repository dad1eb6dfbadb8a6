--- Prolog and Epilog: how ours comes beside the site's own, and never in its place. Pure.
--
-- Slurm (src/plugins/prep/script/prep_script_slurmd.c): a value is a pattern of glob(3) whose matches run from the last
-- to the first until one fails; nothing that matches, a directory, or what root cannot execute drains the node. Of
-- several lines the last one holds up to 23.11, all of them since 24.05. A relative name is slurm.conf's directory's,
-- and served to configless nodes, since 23.11; before, it fails.
local document = require("syscheck.setup.document")
local scripts = require("syscheck.setup.scripts")
local slurmconf = require("syscheck.slurm.conf")

local stages = {}

local LINES_ADD_UP, RELATIVE = 2405, 2311

-- Pairs of the stage's names.
stages.LIST = { { key = "Prolog", stage = "prolog" }, { key = "Epilog", stage = "epilog" } }

--- Where the script between slurmd and ours is.
stages.guard = require("syscheck.doctor.facts.wrapper").guard

-- What a line says that was switched off: the site's own path.
-- @param files the names of docs, in the order in which Slurm reads them
local function switched_off(docs, files, paths, s)
   local found
   for _, file in ipairs(files) do
      for _, text in ipairs(docs[file]:switched_off()) do
         -- As Slurm read it, quotes and all.
         local was = slurmconf.parse("", function(path)
            return path == "" and text or nil, "no file"
         end)
         local value = was and slurmconf.value(was, s.key)
         if value and value ~= stages.guard(paths, s.stage) and value ~= paths.libexec .. "/" .. s.stage then
            found = value
         end
      end
   end
   return found
end

-- How the stage is configured: kind, and the entry that it is about.
local function look(facts, s, plan)
   local entries = facts.conf.all[s.stage] or {}
   local ours, guard = facts.paths.libexec .. "/" .. s.stage, stages.guard(facts.paths, s.stage)
   local function is_ours(entry)
      return entry.value == ours or entry.value == guard
   end
   local adds_up = facts.version and facts.version >= LINES_ADD_UP
   local last = entries[#entries]
   if not last then
      return "none"
   elseif is_ours(last) and not adds_up then
      local at = #entries
      while at > 0 and is_ours(entries[at]) do
         at = at - 1
      end
      -- Where setup has put it in a line's place, those above did not run before either.
      local wrote = last.value == guard and switched_off(plan.docs, facts.conf.files, facts.paths, s)
      return (at == 0 or wrote) and "ours" or "replaced", last, entries[at]
   end
   for _, entry in ipairs(adds_up and entries or { last }) do
      if is_ours(entry) then
         return "ours", entry
      end
   end
   if last.value:find("[*?%[]") then
      return "directory", last
   elseif entries[2] and adds_up then
      return "lines", last
   elseif last.value:sub(1, 1) ~= "/" then
      return adds_up and "lines" or "relative", last
   end
   return "script", last
end

-- What is wrong with the site's own, as this node sees it.
local function broken(facts, s, entry)
   for _, found in ipairs(facts.scripts[s.stage] or {}) do
      if found.err then
         return ("%s:%d: %s=%s: %s %s: slurmd cannot run it, and every job's %s drains its node"):format(entry.file,
            entry.line, entry.key, entry.value, found.path ~= entry.value and found.path or "it", found.err,
            s.stage == "prolog" and "start" or "end")
      end
   end
end

-- The site's own that calls ours where it no longer is: nothing is checked, and a second call beside it would check
-- twice once it is there again.
local function astray(facts, s)
   for _, found in ipairs(facts.roles.node and facts.scripts[s.stage] or {}) do
      if found.missing and not found.guard then
         return ("%s calls %s, which is not there: let it call %s/%s"):format(found.path, found.missing,
            facts.paths.libexec, s.stage)
      end
   end
end

-- Whether the site's own runs ours already, by hand.
local function calls_ours(facts, s)
   for _, found in ipairs(facts.scripts[s.stage] or {}) do
      local text = facts.guards[found.path]
      if (found.calls or found.ours) and not (text and scripts.is_ours(text)) then
         return found.path
      end
   end
end

-- The name of what setup has put there before: a second one beside it would check each node twice.
local function written(facts, dir, glob)
   local pattern = scripts.pattern(glob)
   for _, name in ipairs(facts.names[dir] or {}) do
      local text = pattern and name:sub(1, 1) ~= "." and name:match(pattern) and facts.guards[dir .. "/" .. name]
      if text and scripts.is_ours(text) then
         return name
      end
   end
end

-- The directory that a pattern names gets a script of ours.
local function into_directory(facts, s, entry, plan)
   local dir, glob = entry.value:match("^(.*)/([^/]*)$")
   local name = dir and not dir:find("[*?%[]") and (written(facts, dir, glob)
      or scripts.name_in(glob, facts.names[dir] or {}))
   if not name then
      return plan.stop("%s:%d: %s=%s: no name for a script of ours that this pattern matches and that runs last; "
         .. "add one that runs %s/%s", entry.file, entry.line, entry.key, entry.value, facts.paths.libexec, s.stage)
   elseif not facts.roles.node then
      return
   elseif not facts.names[dir] then
      return plan.stop("%s:%d: %s=%s: there is no %s here, and every job's %s drains its node", entry.file, entry.line,
         entry.key, entry.value, dir, s.stage == "prolog" and "start" or "end")
   end
   plan.script(dir .. "/" .. name, scripts.text(s.stage, facts.paths.libexec .. "/" .. s.stage))
end

-- The script between, on the node.
-- @param entry the line that names the site's own, or took its place
local function guard(facts, s, site, plan, entry)
   local err = site and facts.roles.node and (broken(facts, s, entry) or astray(facts, s))
   if err then
      plan.stop("%s", err)
   elseif facts.roles.node then
      plan.script(stages.guard(facts.paths, s.stage), scripts.text(s.stage, facts.paths.libexec .. "/" .. s.stage, site,
         site and calls_ours(facts, s) ~= nil))
   end
end

-- @param plan { docs = by path, stop(text, ...), note(text, ...), script(path, text), add(key, value) }
local function one(facts, s, plan)
   local kind, entry, before = look(facts, s, plan)
   local file, ours = stages.guard(facts.paths, s.stage), facts.paths.libexec .. "/" .. s.stage
   local line = ("%s=%s"):format(s.key, file)
   if kind == "none" then
      -- Where ours is on a file system that may be away, something of the node's own asks first.
      plan.add(s.key, facts.shared and file or ours)
      if facts.shared then
         guard(facts, s, nil, plan)
      end
   elseif kind == "ours" then
      if entry.value == file then
         guard(facts, s, switched_off(plan.docs, facts.conf.files, facts.paths, s), plan, entry)
      end
   elseif kind == "replaced" then
      -- As `include syscheck.conf` behind a site's own line did it.
      local entries, seen = facts.conf.all[s.stage], {}
      local at = #entries
      while entries[at] ~= before do
         local place = entries[at].file .. ":" .. entries[at].line
         if not seen[place] then
            plan.docs[entries[at].file]:switch_off(entries[at], {})
         end
         seen[place], at = true, at - 1
      end
      plan.docs[before.file]:switch_off(before, { line })
      plan.note("%s=%s (%s:%d) did not run: of two lines the last one held; it runs again now, first", before.key,
         before.value, before.file, before.line)
      guard(facts, s, before.value, plan, before)
   elseif kind == "relative" then
      plan.stop("%s:%d: %s=%s: %s", entry.file, entry.line, entry.key, entry.value,
         facts.version and facts.version < RELATIVE and "this Slurm wants a whole path, and every job drains its node"
            or "no second line can stand beside a relative name before Slurm 24.05: let that script run " .. ours)
   else
      local err = facts.roles.node and broken(facts, s, entry) or astray(facts, s)
      local calls = calls_ours(facts, s)
      if err then
         return plan.stop("%s", err)
      elseif entry.value:find("/libexec/syscheck/" .. s.stage .. "$") then
         return plan.note("%s=%s is of another installation: left as it is; let it be %s once all nodes have that",
            entry.key, entry.value, ours)
      elseif calls then
         return plan.note("%s runs ours already: left as it is", calls)
      elseif kind == "directory" then
         return into_directory(facts, s, entry, plan)
      elseif kind == "lines" then
         plan.docs[entry.file]:insert_behind(entry, line)
         guard(facts, s, nil, plan)
      else
         plan.docs[entry.file]:switch_off(entry, { line })
         guard(facts, s, entry.value, plan, entry)
      end
      plan.own = true
   end
end

--- Adds what both stages need to the plan.
function stages.plan(facts, plan)
   for _, s in ipairs(stages.LIST) do
      one(facts, s, plan)
   end
end

--- The site's own paths of a stage, patterns included: those of its lines, and one that a line of ours has taken the
-- place of.
-- @param texts of slurm.conf and what it includes, by path
function stages.site(conf, texts, paths, s)
   local docs, out = {}, {}
   for path, text in pairs(texts) do
      docs[path] = document.new(path, text)
   end
   for _, entry in ipairs(conf.all[s.stage] or {}) do
      if entry.value ~= stages.guard(paths, s.stage) and entry.value ~= paths.libexec .. "/" .. s.stage then
         out[#out + 1] = entry.value
      end
   end
   out[#out + 1] = switched_off(docs, conf.files, paths, s)
   return out
end

return stages
