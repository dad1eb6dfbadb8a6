--- This node's slurmd, if one runs here: on which CPUs it may run, as the prolog does.
local cpus = require("syscheck.hardware.cpus")
local files = require("syscheck.lib.files")
local process = require("syscheck.lib.process")
local topology = require("syscheck.hardware.topology")
local uv = require("luv")

local slurmd = {}

local TICKS = 100 -- a second, in what /proc shows on every Linux

local function network(pid)
   return uv.fs_readlink(("/proc/%s/ns/net"):format(pid))
end

-- Process ids of slurmd; of several (a cluster on one machine) those that -N names as this node, and of these (two
-- such clusters) those in this network namespace. Only root's: any user may call a process so, and make a read of its
-- command line hang (see node/steps.jobs).
local function pids(node)
   local all, named, here = {}, {}, {}
   for _, pid in ipairs(files.list("/proc", "^%d+$")) do
      local stat = uv.fs_stat("/proc/" .. pid)
      if stat and stat.uid == 0 and files.line("/proc/" .. pid .. "/comm") == "slurmd" then
         all[#all + 1] = pid
         local line = (files.read("/proc/" .. pid .. "/cmdline") or ""):gsub("%z", " ")
         if line:match(" %-N *(%S+)") == node then
            named[#named + 1] = pid
            here[#here + 1] = network(pid) == network("self") and pid or nil
         end
      end
   end
   return #here > 0 and here or #named > 0 and named or all
end

--- @param node its name
-- @param node_cpus of the policy
-- @return { allowed, online, wanted = lists of CPUs as text, lacks = NUMA nodes whose memory it may not use,
--   known = wanted are the CPUs that jobs get, left_out = the cores that these lack }; nil where none runs, or
--   several that nothing tells apart
function slurmd.cpus(node, node_cpus)
   local found = pids(node)
   if #found ~= 1 then
      return nil
   end
   local set = cpus.read("", node_cpus, true, nil, found[1])
   return { allowed = topology.format_list(set.allowed), online = topology.format_list(set.topo.online),
      wanted = topology.format_list(set.wanted), lacks = set.lacks or "", known = set.jobs ~= nil,
      left_out = #set.wanted > 0 and set:describe({ cpus = topology.format_list(set.wanted) }).left_out or nil }
end

--- Seconds since the one here was started; of several that nothing tells apart, the first. nil where none runs.
function slurmd.age(node)
   local uptime = tonumber((files.read("/proc/uptime") or ""):match("^%S+"))
   local oldest
   for _, pid in ipairs(pids(node)) do
      local stat = process.stat(pid)
      oldest = stat and math.max(oldest or 0, uptime - stat.start / TICKS) or oldest
   end
   return oldest
end

--- Whether one here runs a script, as a prolog or epilog is: a child that is no step's.
function slurmd.at_work(node)
   local is = {}
   for _, pid in ipairs(pids(node)) do
      is[tonumber(pid)] = true
   end
   for _, pid in ipairs(next(is) and files.list("/proc", "^%d+$") or {}) do
      local stat = process.stat(tonumber(pid))
      if stat and is[stat.parent] and stat.name ~= "slurmstepd" then
         return true
      end
   end
   return false
end

--- Whether it has its slurm.conf from slurmctld: it was told where that is.
function slurmd.is_configless()
   for _, pid in ipairs(pids()) do
      if (files.read("/proc/" .. pid .. "/cmdline") or ""):find("%z%-%-conf%-server") then
         return true
      end
   end
   return false
end

return slurmd
