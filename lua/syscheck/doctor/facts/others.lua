--- Other installations of syscheck on this host: packages over an earlier `make install`, or the other
-- way round.
local uv = require("luv")
local paths = require("syscheck.lib.paths")
local probe = require("syscheck.doctor.facts.probe")

--- Looks where one usually is, and where slurm.conf's Prolog is.
-- @return list of { prefix, version, prolog = slurm.conf's entry that names its prolog, or nil }
return function(conf)
   local out, seen = {}, { [uv.fs_realpath(paths.libexec) or paths.libexec] = true }
   local function look(prefix, entry)
      local real = uv.fs_realpath(prefix .. "/libexec/syscheck")
      if real and not seen[real] and uv.fs_stat(real .. "/agent.lua") then
         seen[real] = true
         local text = probe.text(prefix .. "/share/syscheck/lua/syscheck/lib/paths.lua")
         out[#out + 1] = { prefix = prefix, prolog = entry,
            version = text and text:match('version = "([%w.+~-]+)"') or "?" }
      end
   end
   for _, entry in ipairs(conf.all.prolog or {}) do
      local prefix = entry.value:match("^(/.*)/libexec/syscheck/prolog$")
      if prefix then
         look(prefix, entry)
      end
   end
   look("/usr/local")
   look("/usr")
   return out
end
