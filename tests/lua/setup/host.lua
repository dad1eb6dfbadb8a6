--- A host for a test: its files below a root of their own, and setup on it.
package.loaded["syscheck.lib.paths"] = { version = "1", libexec = "/opt/sc/libexec", data = "/opt/sc/share",
   sysconf = "/etc", plugin = "/opt/sc/lib/spank_syscheck.so", policy = "/etc/syscheck/policy.lua",
   state = "/var/lib/syscheck", run = "/run/syscheck" }
local disk = require("syscheck.setup.disk")
local gather = require("syscheck.setup.facts")
local journal = require("syscheck.setup.journal")
local plan = require("syscheck.setup.plan")
local still = require("syscheck.setup.still")
local tree = require("tree")
local uv = require("luv")

local host = {}

host.CONF = "/etc/slurm/slurm.conf"
local STATE = "/var/lib/syscheck/setup"
local BASE = "ClusterName=c\nSlurmctldHost=head\nNodeName=n[1-3] CPUs=2\nPartitionName=p Nodes=n[1-3]\n"

--- A new root, with an installation and a slurm.conf.
-- @param conf its own lines, behind which Slurm's few stand
function host.new(conf)
   -- In memory: each step of setup waits for the disk.
   host.root = uv.fs_stat("/dev/shm") and uv.fs_mkdtemp("/dev/shm/setup.XXXXXX") or uv.fs_realpath(tree.new())
   for _, dir in ipairs({ "/etc/syscheck", "/opt/sc/libexec", "/opt/sc/share", "/var/lib/syscheck" }) do
      os.execute(("mkdir -p '%s%s'"):format(host.root, dir))
   end
   for _, name in ipairs({ "prolog", "epilog", "health" }) do
      host.put("/opt/sc/libexec/" .. name, "#!/bin/bash\nexit 0\n", 493)
   end
   host.put("/opt/sc/share/job_submit.lua", "-- job_submit.lua: refuses --syscheck levels\n")
   if conf then
      host.put(host.CONF, conf .. BASE)
   end
end

function host.remove()
   tree.remove(host.root)
end

--- Writes a file. @param mode default 0644
function host.put(path, text, mode)
   tree.put(host.root, path, text)
   assert(uv.fs_chmod(host.root .. path, mode or 420))
end

--- Text of a file, or nil.
function host.text(path)
   local file = io.open(host.root .. path, "rb")
   local text = file and file:read("a")
   if file then
      file:close()
   end
   return text
end

--- All files, each with its mode and text, but for setup's own state.
function host.all()
   local out = {}
   local function walk(dir)
      for _, name in ipairs(require("syscheck.lib.files").list(host.root .. dir)) do
         local path = dir .. "/" .. name
         local stat = uv.fs_lstat(host.root .. path)
         if stat.type == "directory" then
            walk(path)
         elseif path:sub(1, #STATE) ~= STATE then
            out[path] = ("%o %s"):format(stat.mode & 4095, stat.type == "link" and uv.fs_readlink(host.root .. path)
               or host.text(path))
         end
      end
   end
   walk("")
   return out
end

--- Gathers the facts and makes the plan.
-- @param o { role = list, name = this host's, version, step, conf }
function host.plan(o)
   o = o or {}
   local d = disk.at(host.root, o.step)
   local options = { conf = o.conf or host.CONF, role = o.role, node = o.node }
   local facts, err = gather.gather(options, d, { hostname = o.name or "head",
      node = o.name or "head", version = o.version or 2205, configless = o.configless,
      user = function()
         return { name = "slurm", uid = o.slurm_uid or uv.getuid(), gid = o.slurm_uid or uv.getgid() }
      end,
      has_group = function()
         return true
      end })
   if not facts then
      return nil, err
   end
   return plan.make(facts), d, facts
end

--- syscheck setup --write. @return the plan; or nil, and the first thing that is in the way
function host.write(o)
   local made, d, facts = host.plan(o)
   if not made or made.stops[1] then
      return nil, made and made.stops[1] or d
   end
   for _, change in ipairs(made.changes) do
      assert(d:trusted(change.path))
   end
   local j = assert(journal.open(d, STATE))
   local done, ok, err = pcall(j.write, j, made.changes, facts.conf.file)
   if not done then
      j.release() -- as a kill does
      error(ok, 0)
   end
   j:close()
   return ok and made, err
end

--- syscheck setup --undo. @return list of restored paths, list of lines on what was not
function host.undo(o)
   local d = disk.at(host.root, o and o.step)
   local j = assert(journal.open(d, STATE))
   local done, restored, left = pcall(j.undo, j, function(path)
      return still.needed(path, d, j.conf, o and o.running or {})
   end)
   if not done then
      j.release()
      error(restored, 0)
   end
   j:close()
   return restored, left
end

return host
