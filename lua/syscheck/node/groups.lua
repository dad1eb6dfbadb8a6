--- Monitoring groups of resctrl, one for each job that has not the node for itself: the kernel then counts the job's
-- own memory traffic. The prolog makes the group, the plugin puts the job's tasks into it (spank/group.h), the epilog
-- reads it and removes it. Only where the policy wants it: hardware has few counters, and others may use them.
local uv = require("luv")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")
local machine = require("syscheck.hardware.machine")
local memory_traffic = require("syscheck.counters.memory_traffic")

local groups = {}

local DIR = memory_traffic.DIR .. "/mon_groups"
local MARKS = { ".group", ".counted", ".uncounted" }

local function name_of(job_id)
   return ("syscheck_%d"):format(job_id)
end

-- Of jobs that are over, or whose prolog is at its begin: their epilog never came. On a machine of several nodes they
-- may be another node's, whose jobs this one does not know.
-- @param runs function(job id) -> whether it may still run here
local function sweep(node, runs)
   for _, name in ipairs(not node.lock and files.list(node.root .. DIR, "^syscheck_%d+$") or {}) do
      local id = math.tointeger(tonumber(name:match("%d+")))
      if not (id and runs(id)) then
         uv.fs_rmdir(node.root .. DIR .. "/" .. name)
      end
   end
end

--- Makes a job's group, in its prolog.
-- @param runs function(job id) -> whether that job may run here
-- @return true; nil where there is none: nobody wants it, the machine counts nothing, or has no counter left, which
--   is logged
function groups.begin(node, job_id, runs)
   node:forget_status(job_id, MARKS)
   local dir = node.root .. DIR
   if not node.policy.traffic.groups or not uv.fs_stat(dir) then
      return nil
   end
   sweep(node, runs)
   local path = ("%s/%s"):format(dir, name_of(job_id))
   uv.fs_rmdir(path) -- of an earlier run of the same job: it begins anew
   local ok, err, code = uv.fs_mkdir(path, 493) -- 0755
   if not ok then
      log.error("memory traffic of the job: %s", code == "ENOSPC" and "no counter of resctrl is free" or err)
      return nil
   end
   ok, err = files.put(node:status_path(job_id) .. ".group", path .. "\n", 420) -- 0644
   if not ok then
      log.error("memory traffic of the job: %s", err)
      uv.fs_rmdir(path)
   end
   return ok
end

-- Why what a group counted is not all of the job.
local function why_not(node, job_id, values)
   local path = node:status_path(job_id)
   if uv.fs_lstat(path .. ".uncounted") then
      return "a task of the job could not join its group of resctrl"
   elseif not uv.fs_lstat(path .. ".counted") then
      return "no task of the job joined its group of resctrl"
   elseif not values or not next(values) then
      return "the job's group of resctrl could not be read"
   end
   return nil
end

--- A job's group, as memory_traffic.read_group takes it; nil where it has none.
function groups.of(node, job_id)
   return uv.fs_lstat(node:status_path(job_id) .. ".group") and ("mon_groups/%s/"):format(name_of(job_id)) or nil
end

--- What a job's group counted, from its begin.
-- @return of memory_traffic.by_cache; nil, nil where it has no group; nil and why it is not known
function groups.read(node, job_id)
   local group = groups.of(node, job_id)
   if not group then
      return nil
   end
   local now = memory_traffic.read_group(machine.at(node.root), group)
   local why = why_not(node, job_id, now)
   if why then
      return nil, why
   end
   -- A new group has counted nothing; the first reading of some hardware is "Unavailable".
   local before = {}
   for key in pairs(now) do
      before[key] = 0
   end
   return memory_traffic.by_cache(before, now)
end

--- Removes it, in the epilog.
function groups.forget(node, job_id)
   if groups.of(node, job_id) then
      local ok, err, code = uv.fs_rmdir(("%s%s/%s"):format(node.root, DIR, name_of(job_id)))
      if not ok and code ~= "ENOENT" then
         log.error("group of resctrl: %s", err)
      end
   end
   node:forget_status(job_id, MARKS)
end

return groups
