--- Which process used the most CPU time between two moments: to name it, no more. /proc/PID/stat
-- of all, within a bound: what is not reached in it is not named.
local uv = require("luv")
local files = require("syscheck.lib.files")
local process = require("syscheck.lib.process")

local processes = {}

local MOST_S = 0.25
local TICKS = 100 -- a second, see counters/cpu.lua
local KTHREAD = 0x200000 -- PF_KTHREAD of linux/sched.h
-- Users' accounts begin here (login.defs, systemd): what they leave in a service's cgroup (slurmd's
-- without proctrack/cgroup, cron's, sshd's) is no service of the node.
local FIRST_USER = 1000
-- Generations that end together and are looked through for who is left. A list is not read at one moment,
-- so that parents may even be each other's.
local GENERATIONS = 32
-- A process is named that has this share of what all others used.
local LEAST = 0.2

--- @return { [pid] = see process.parse }; when it was begun, in ticks since boot
function processes.list(root)
   local until_ns, all = uv.hrtime() + MOST_S * 1e9, {}
   local uptime = tonumber((files.read(root .. "/proc/uptime", 64) or ""):match("^[%d.]+")) or 0
   local scan, me = uv.fs_scandir(root .. "/proc"), uv.os_getpid()
   while scan and uv.hrtime() < until_ns do
      local name = uv.fs_scandir_next(scan)
      if not name then
         break
      end
      local pid = name:match("^%d+$") and math.tointeger(tonumber(name))
      if pid and pid ~= me then
         all[pid] = process.parse(files.read(("%s/proc/%d/stat"):format(root, pid), 1024))
      end
   end
   return all, math.floor(uptime * TICKS)
end

--- CPU time of each since an earlier list, of children that ended meanwhile, too: theirs is
-- their parent's.
-- @param most ticks that there were on all CPUs
-- @param at when the earlier list was begun: what is older and not in it was not reached then
-- @return list of { pid, ticks, of = see process.parse }, most first
function processes.since(before, after, most, at)
   local function lives(pid)
      return after[pid] and after[pid].start == before[pid].start
   end
   local ended = {} -- of who is left: ticks that what ended below it had at the first list
   for pid, was in pairs(before) do
      local heir = was.parent
      for _ = 1, GENERATIONS do
         heir = before[heir] and not lives(heir) and before[heir].parent or heir
      end
      if not lives(pid) then
         ended[heir] = (ended[heir] or 0) + was.own + was.children
      end
   end
   local list = {}
   for pid, now in pairs(after) do
      local was = before[pid]
      was = was and was.start == now.start and was or now.start >= at and { own = 0, children = 0 } or now
      -- More than there was CPU time: of a child that the first list did not reach.
      -- init's are whoever's parent has ended.
      local children = pid == 1 and 0 or now.children - was.children - (ended[pid] or 0)
      local ticks = now.own - was.own + (children > 0 and children <= most and children or 0)
      if ticks > 0 then
         list[#list + 1] = { pid = pid, ticks = ticks, of = now }
      end
   end
   table.sort(list, function(a, b)
      return a.ticks > b.ticks or (a.ticks == b.ticks and a.pid < b.pid)
   end)
   return list
end

--- Whose a process is, by its cgroups.
-- @param text of /proc/PID/cgroup, or nil
-- @param uid its user, or nil
-- @return "service" or nil, ID of the job
function processes.of_cgroup(text, uid)
   for line in (text or ""):gmatch("[^\n]+") do
      local job = line:match("/job_(%d+)%f[/\0]")
      if job then
         return nil, math.tointeger(tonumber(job))
      end
   end
   if not text or not uid or uid >= FIRST_USER then
      return nil
   end
   return (text:find(":/system.slice/", 1, true) or text:find(":/init.scope", 1, true)) and "service" or nil
end

--- The one with the most, if it stands out.
-- @param list from processes.since
-- @param seconds between both lists
-- @param cpus CPUs' worth of time that all others used
-- @return { comm, pid, uid, kind = kernel|service|nil, job, cpus }; or nil
function processes.most(root, list, seconds, cpus)
   local first = list[1]
   local used = first and first.ticks / TICKS / seconds
   if not first or used < LEAST * cpus then
      return nil
   end
   local dir = ("%s/proc/%d"):format(root, first.pid)
   -- Its folder belongs to root where it may not be traced.
   local uid = (files.read(dir .. "/status", 4096) or ""):match("\nUid:%s+(%d+)")
   local out = { comm = (first.of.name:gsub("[^ -~]", "?")), pid = first.pid, uid = math.tointeger(tonumber(uid)),
      cpus = math.floor(1000 * used + 0.5) / 1000 }
   if (first.of.flags // KTHREAD) % 2 == 1 then
      out.kind = "kernel"
   else
      out.kind, out.job = processes.of_cgroup(files.read(dir .. "/cgroup", 8192), out.uid)
   end
   return out
end

return processes
