--- One owner of the machine: the health program's kernels give way to a prolog.
--
-- The order makes it impossible that both measure. The health program enters its
-- claim, then looks for jobs, then measures. A prolog enters its job, then looks for
-- a claim. So one of them sees the other; and a prolog that sees a claim ends its
-- owner. Nothing depends on the owner's help: it may hang.
local json = require("cjson.safe").new()
local uv = require("luv")
local files = require("syscheck.lib.files")

local claim = {}

local CLAIM = "health.json"
local STOPPED_MS = 30 -- for the owner to stop, once signalled
local GONE_MS = 95 -- until its kernels are gone, from the begin: what a job waits at most

-- Fields of /proc/PID/stat after the name, which may hold anything.
-- @return state, parent, start time in ticks (with the PID it names one process for ever)
local function stat_of(pid)
   local text = files.read(("/proc/%d/stat"):format(pid), 4096)
   local rest = text and text:match("^.*%) (.*)$")
   if not rest then
      return nil
   end
   local fields = {}
   for field in rest:gmatch("%S+") do
      fields[#fields + 1] = field
   end
   return fields[1], tonumber(fields[2]), tonumber(fields[20])
end

local function path_of(node)
   return node.run_dir .. "/" .. CLAIM
end

--- Enters this process as the one that measures. Then look for jobs, then measure.
-- @return true, or nil and why
function claim.enter(node)
   local pid = uv.os_getpid()
   local _, _, start = stat_of(pid)
   return files.put(path_of(node), json.encode({ pid = pid, start = start }), 384) -- 0600
end

function claim.release(node)
   uv.fs_unlink(path_of(node))
end

-- A claim is believed when only root (or the user that runs this) could have written it, and its
-- process is the one that did.
local function read_claim(node)
   local path = path_of(node)
   local stat = uv.fs_lstat(path)
   if not stat then
      return nil
   end
   local mine = stat.type == "file" and (stat.uid == 0 or stat.uid == uv.getuid()) and stat.mode & 18 == 0 -- 0022
   local text = mine and files.read(path, 4096)
   local entered = text and json.decode(text)
   local pid = type(entered) == "table" and type(entered.pid) == "number" and math.tointeger(entered.pid)
   if not pid or pid <= 1 then
      return nil, path
   end
   local state, _, start = stat_of(pid)
   local owner = uv.fs_stat("/proc/" .. pid)
   if not state or state == "Z" or start ~= entered.start or not owner or owner.uid ~= stat.uid
      or pid == uv.os_getpid() then
      return nil, path
   end
   return { pid = pid, start = start }, path
end

-- Waits until done(), or until so many milliseconds after `began`.
local function wait(began, ms, done)
   while not done() and uv.hrtime() < began + ms * 1e6 do
      uv.sleep(1)
   end
end

local function children_of(pid)
   local list = {}
   for _, name in ipairs(files.list("/proc", "^%d+$")) do
      local child = tonumber(name)
      list[#list + 1] = select(2, stat_of(child)) == pid and child or nil
   end
   return list
end

local function is_gone(pid)
   local state = stat_of(pid)
   return state == nil or state == "Z" or state == "X"
end

--- Ends a health program that measures, and its kernels. Call it when the job's begin
-- is written.
-- @return PID of what was ended; nil when there was nothing
function claim.take(node)
   local began = uv.hrtime()
   local holder, path = read_claim(node)
   if not holder then
      if path then
         uv.fs_unlink(path) -- of a process that is no more
      end
      return nil
   end
   -- Stopped, it starts no further kernel and reaps none: its children's PIDs stay
   -- theirs. Looked at again before the kill, as the PID may have changed hands between
   -- that and the signal.
   uv.kill(holder.pid, "sigstop")
   local _, _, start = stat_of(holder.pid)
   if start ~= holder.start then
      uv.kill(holder.pid, "sigcont")
      return nil
   end
   wait(began, STOPPED_MS, function()
      local state = stat_of(holder.pid)
      return state == "T" or state == "t" or state == nil or state == "Z"
   end)
   local children = children_of(holder.pid)
   for _, child in ipairs(children) do
      uv.kill(-child, "sigkill") -- process.run gives each a group of its own
      uv.kill(child, "sigkill")
   end
   uv.kill(holder.pid, "sigkill")
   wait(began, GONE_MS, function()
      for _, child in ipairs(children) do
         if not is_gone(child) then
            return false
         end
      end
      return true
   end)
   uv.fs_unlink(path)
   return holder.pid
end

return claim
