--- What of Slurm's configuration needs a file of this installation: once that is removed Slurm drains every node at
-- its next job, slurmctld does not start, or no step does. For packages' scripts and `make uninstall`.
local uv = require("luv")
local installed = require("syscheck.doctor.facts.installed")
local others = require("syscheck.doctor.facts.others")
local paths = require("syscheck.lib.paths")
local probe = require("syscheck.doctor.facts.probe")
local slurmconf = require("syscheck.slurm.conf")
local submit = require("syscheck.doctor.facts.submit")

local removal = {}

local NO_START = "slurmctld does not start"

--- Packages of which something may be in use, and the whole of an installation.
-- config: files of ours beside slurm.conf, which rpm and `make uninstall` take away, and dpkg on purge only.
removal.PARTS = { "all", "config", "syscheck", "syscheck-slurm", "syscheck-store", "syscheck-fabric" }

-- Every slurm.conf that may be in force: which one is, a removal cannot know.
local function confs()
   local out, seen = {}, {}
   for _, file in ipairs({ os.getenv("SLURM_CONF") or "", table.unpack(slurmconf.PLACES) }) do
      local real = uv.fs_realpath(file)
      if file:sub(1, 1) == "/" and real and not seen[real] then
         seen[real] = true
         out[#out + 1] = slurmconf.parse(file, probe.text)
      end
   end
   return out
end

-- Whether two paths lead to one file.
local function is_same(a, b)
   local real = uv.fs_realpath(a)
   return real ~= nil and real == uv.fs_realpath(b)
end

-- @param bite what happens without it; the first one's is told
local function add(out, bite, text, ...)
   out.bite = out.bite or bite
   out[#out + 1] = text:format(...)
end

-- Of an entry of slurm.conf: the first script that fails without ours, or nil.
local function script(conf, name, entry)
   for _, s in ipairs(installed.scripts({ file = conf.file, all = { [name] = { entry } } }, name)) do
      if s.ours or s.closed or s.path == paths.libexec .. "/" .. name then
         return s
      end
   end
end

local function scripts(conf, out)
   for _, name in ipairs({ "prolog", "epilog" }) do
      for _, entry in ipairs(conf.all[name] or {}) do
         local s = script(conf, name, entry)
         if s then
            add(out, "Slurm drains each node at its next job", "%s in %s:%d is %s%s", entry.key, entry.file, entry.line,
               s.path, s.closed and (", which fails without %s/%s"):format(paths.libexec, name) or "")
         end
      end
   end
end

local function job_submit(conf, out)
   local file, ours = slurmconf.beside(conf, "job_submit.lua"), paths.data .. "/job_submit.lua"
   if submit.is_listed(conf) and (is_same(file, ours) or submit.needs(probe.text(file) or "", ours)) then
      add(out, NO_START, "%s loads %s", file, ours)
   end
end

-- Without an included file Slurm refuses its configuration.
local function included(conf, out)
   for _, file in ipairs(conf.files) do
      if file ~= conf.file and is_same(file, paths.sysconf .. "/slurm/syscheck.conf") then
         add(out, NO_START, "%s includes %s", conf.file, file)
      end
   end
end

-- An optional plugin that is not there is left out.
local function plugged(conf, out)
   local file = slurmconf.plugstack_file(conf)
   for _, p in ipairs(slurmconf.plugstack(file, probe.text, probe.glob).plugins) do
      if p.kind == "required" and (p.path == paths.plugin or p.path == paths.plugin:match("[^/]*$")
         or is_same(p.path, paths.plugin)) then
         add(out, "no step of any job starts", "%s:%d requires %s", p.file, p.line, p.path)
      end
   end
end

-- What setup has changed here only setup takes back. Another installation has it, too, and may have taken over.
local function set_up(out)
   if uv.fs_stat(paths.state .. "/setup") and #others({ all = {} }) == 0 then
      add(out, "nothing here can take that back", "%s/setup says what `syscheck setup` has changed on this host",
         paths.state)
   end
end

--- What would be missing.
-- @param part one of PARTS
-- @return list of texts, bite = what happens without the first of them
function removal.uses(part)
   local out = {}
   for _, conf in ipairs(confs()) do
      if part == "all" or part == "syscheck" then
         scripts(conf, out)
      end
      if part == "all" or part == "syscheck-slurm" then
         job_submit(conf, out)
         plugged(conf, out)
      end
      if part == "all" or part == "config" then
         included(conf, out)
      end
   end
   if part == "all" or part == "syscheck" then
      set_up(out)
   end
   return out
end

return removal
