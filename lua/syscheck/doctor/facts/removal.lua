--- What of Slurm's configuration needs a file of this installation: once that is removed Slurm drains every
-- node at its next job, or slurmctld does not start. For packages' scripts and `make uninstall`.
local uv = require("luv")
local installed = require("syscheck.doctor.facts.installed")
local paths = require("syscheck.lib.paths")
local probe = require("syscheck.doctor.facts.probe")
local slurmconf = require("syscheck.slurm.conf")
local submit = require("syscheck.doctor.facts.submit")

local removal = {}

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
            out[#out + 1] = ("%s in %s:%d is %s%s"):format(entry.key, entry.file, entry.line, s.path,
               s.closed and (", which fails without %s/%s"):format(paths.libexec, name) or "")
         end
      end
   end
end

local function job_submit(conf, out)
   local file, ours = probe.parent(conf.file) .. "/job_submit.lua", paths.data .. "/job_submit.lua"
   local real = submit.is_listed(conf) and uv.fs_realpath(file)
   if real and (real == uv.fs_realpath(ours) or submit.needs(probe.text(file) or "", ours)) then
      out[#out + 1] = ("%s loads %s"):format(file, ours)
   end
end

-- Without an included file Slurm refuses its configuration.
local function included(conf, out)
   for _, file in ipairs(conf.files) do
      if file ~= conf.file and uv.fs_realpath(file) == uv.fs_realpath(paths.sysconf .. "/slurm/syscheck.conf") then
         out[#out + 1] = ("%s includes %s"):format(conf.file, file)
      end
   end
end

--- What would be missing.
-- @param part one of PARTS
-- @return list of texts
function removal.uses(part)
   local out = {}
   for _, conf in ipairs(confs()) do
      if part == "all" or part == "syscheck" then
         scripts(conf, out)
      end
      if part == "all" or part == "syscheck-slurm" then
         job_submit(conf, out)
      end
      if part == "all" or part == "config" then
         included(conf, out)
      end
   end
   return out
end

return removal
