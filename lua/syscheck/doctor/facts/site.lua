--- What this host is in the site's Slurm.
local uv = require("luv")
local hostlist = require("syscheck.lib.hostlist")
local probe = require("syscheck.doctor.facts.probe")
local process = require("syscheck.lib.process")
local slurmconf = require("syscheck.slurm.conf")

local site = {}

--- Where slurm.conf is, unless SLURM_CONF says so: the usual place, what a configless slurmd has fetched, what
-- Slurm's own build makes.
-- @param named the path that the caller was given, or nil
-- @param root of the files, for tests; default ""
function site.conf_file(named, root)
   local file = named or os.getenv("SLURM_CONF")
   if not file or file == "" then
      file = slurmconf.PLACES[1]
      for i = #slurmconf.PLACES, 1, -1 do
         file = uv.fs_stat((root or "") .. slurmconf.PLACES[i]) and slurmconf.PLACES[i] or file
      end
   end
   return file:sub(1, 1) == "/" and file or uv.cwd() .. "/" .. file
end

--- Slurm's own words in what a command of it printed, where these say that it refuses its slurm.conf; nil where
-- nothing does: a slurmctld that does not answer is no such thing.
function site.refusal(said)
   local words, fatal = {}, said:find("fatal: Unable to process configuration file", 1, true)
   for line in said:gmatch("error: ([^\n]*)") do
      words[#words + 1] = line:gsub("^_[%w_]+: ", "")
   end
   words[1] = words[1] or "Unable to process configuration file"
   return fatal and table.concat(words, "; "):sub(1, 400) or nil
end

--- What Slurm's own words say of a slurm.conf that it refuses; nil where it takes it, or is not here. Nobody is asked
-- over the network, and no daemon is started.
-- @param scontrol its program
function site.refused(file, scontrol)
   local answer = process.run(scontrol, { "show", "hostnames", "localhost" }, { timeout_ms = 5000, max_output = 65536,
      env = { "SLURM_CONF=" .. file } })
   return answer and site.refusal(answer.err)
end

local function short(name)
   return name:match("^[^.]*")
end

--- Whether slurmctld runs here, or may.
function site.is_controller(conf, host)
   for _, key in ipairs({ "slurmctldhost", "controlmachine", "backupcontroller" }) do
      for _, entry in ipairs(conf.all[key] or {}) do
         if short(entry.value:match("^[^(]*")) == short(host) then
            return true
         end
      end
   end
   return false
end

--- Whether a NodeName line is this host's.
-- @param node its name in slurm.conf, as far as it is known
function site.is_node(conf, node, host)
   for _, entry in ipairs(conf.all.nodename or {}) do
      for _, text in ipairs({ entry.value, entry.more and entry.more.nodehostname }) do
         for _, name in ipairs(hostlist.expand(text) or {}) do
            if name == node or short(name) == short(host) then
               return true
            end
         end
      end
   end
   return false
end

--- SlurmUser, who may own what is Slurm's.
-- @return { name, uid, gid }; nil where this host does not know him
function site.slurm_user(conf)
   local name = (slurmconf.value(conf, "SlurmUser") or "root"):match("^[^(]*")
   local line = hostlist.name(name) and probe.ask("getent", { "passwd", name })
   local uid, gid = (line or ""):match("^[^:]*:[^:]*:(%d+):(%d+):")
   uid = uid or name:match("^%d+$")
   return uid and { name = name, uid = math.tointeger(uid), gid = math.tointeger(gid or uid) } or nil
end

return site
