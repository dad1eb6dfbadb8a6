--- Who but root may change what root runs or obeys. Reads no file, so none can block.
local uv = require("luv")
local files = require("syscheck.lib.files")
local paths = require("syscheck.lib.paths")
local probe = require("syscheck.doctor.facts.probe")

local trust = {}

-- An installation has some 150 files; a link into somebody's home may lead to millions.
local MAX_FILES = 10000

-- Loaded by the agent and the command line from Lua's own directories.
local LIBRARIES = { "luv", "cjson", "DBI", "dbd.sqlite3", "dbd.postgresql", "dbd.mysql", "argparse" }

-- Adds to `found` what of a path, its real place and the directories above is open to others.
-- @param found list of findings; found.seen: paths that were judged
local function judge(found, path, why, owner)
   for _, start in ipairs({ path, uv.fs_realpath(path) or path }) do
      local at = start
      while not found.seen[at] do
         found.seen[at] = true
         local stat = uv.fs_stat(at)
         local text, fix = nil, nil
         if stat then
            text, fix = probe.open_to(stat, owner)
         end
         if text then
            found[#found + 1] = { severity = "error", path = at, text = text, why = why, fix = fix .. " " .. at }
         end
         if at == "/" then
            break
         end
         at = probe.parent(at)
      end
   end
end

-- The same of all below a directory. A directory counts by its real place, so a link that
-- leads back up ends.
-- @param walked { count, and by real path what was walked }
local function walk(found, walked, dir, why)
   local real = uv.fs_realpath(dir)
   if not real or walked[real] then
      return
   end
   walked[real] = true
   for _, name in ipairs(files.list(dir)) do
      walked.count = walked.count + 1
      if walked.count > MAX_FILES then
         if walked.count == MAX_FILES + 1 then
            found[#found + 1] = { severity = "error", path = dir, why = why,
               text = ("more than %d files are installed, the rest was not looked at"):format(MAX_FILES),
               fix = "remove what does not belong there" }
         end
         return
      end
      local path = dir .. "/" .. name
      judge(found, path, why)
      local stat = uv.fs_stat(path)
      if stat and stat.type == "directory" then
         walk(found, walked, path, why)
      end
   end
end

--- Slurm's own files that others may change: their PluginDir is loaded by whoever asks
-- scontrol.
function trust.conf_is_open(conf, owner)
   local found = { seen = {} }
   for _, path in ipairs(conf.files) do
      judge(found, path, "", owner)
   end
   return #found > 0
end

-- Files outside of the installed tree: Lua, and the libraries that it finds.
local function lua_files(facts)
   local list = {}
   for _, t in ipairs(facts.tools) do
      list[#list + 1] = t.name == "lua" and t.program:sub(1, 1) == "/" and t.program or nil
   end
   for _, name in ipairs(LIBRARIES) do
      list[#list + 1] = package.searchpath(name, package.cpath) or package.searchpath(name, package.path)
   end
   return list
end

--- What root runs or obeys, and others may change.
-- @param facts conf, stack, submit, scripts, policy, baseline, tools
-- @param owner uid of SlurmUser
-- @return list of { severity, path, text, why, fix }
function trust.findings(facts, owner)
   local found = { seen = {} }
   local root = "root runs or obeys it: whoever may change it is root on every node"
   local function all(list, why, other)
      for _, path in ipairs(list) do
         judge(found, path, why, other)
      end
   end
   local ours = { facts.policy.file, facts.baseline.file, paths.bin, paths.plugin }
   for _, stage in ipairs({ "prolog", "epilog" }) do
      for _, s in ipairs(facts.scripts[stage]) do
         ours[#ours + 1] = s.path
         ours[#ours + 1] = s.keeps
      end
   end
   for _, p in ipairs(facts.stack.ours) do
      ours[#ours + 1] = p.path:sub(1, 1) == "/" and p.path or nil
   end
   -- First, because SlurmUser may own what is Slurm's, and the directories above it.
   all(facts.conf.files, root, owner)
   all(facts.stack.files, root, owner)
   all({ facts.submit.file }, "slurmctld runs it", owner)
   all(ours, root)
   local walked = { count = 0 }
   for _, dir in ipairs({ paths.libexec, paths.data .. "/lua", probe.parent(paths.plugin), paths.checks }) do
      judge(found, dir, root)
      walk(found, walked, dir, root)
   end
   all(lua_files(facts), root)
   return found
end

return trust
