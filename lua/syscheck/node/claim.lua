--- One owner of the machine: whoever measures holds the node, and the health program's
-- kernels give way to a prolog.
--
-- Of these two, the order makes it impossible that both measure. The health program enters its
-- claim, then looks for jobs, then measures. A prolog enters its job, then looks for
-- a claim. So one of them sees the other; and a prolog that sees a claim ends its
-- owner. Nothing depends on the owner's help: it may hang.
local json = require("cjson.safe").new()
local uv = require("luv")
local files = require("syscheck.lib.files")
local process = require("syscheck.lib.process")

local claim = {}

local CLAIM = "health.json"
local HOLDER, LOCK = "measure.json", "measure.lock"
local HOLD_WAIT_S, LOOK_MS = 1, 50 -- for one that ends just now
-- Longer than any check measures (the policy's deadlines end at 60 s): a holder older than that
-- is stopped, or stuck in the kernel, and its own deadline lets it start no more kernels.
local HELD_S = 90
local STOPPED_MS = 30 -- for the owner to stop, once signalled
local GONE_MS = 95 -- until its kernels are gone, from the begin: what a job waits at most

local function path_of(node)
   return node.run_dir .. "/" .. CLAIM
end

local function myself()
   local pid = uv.os_getpid()
   return { pid = pid, start = process.stat(pid).start }
end

--- Enters this process as the one that measures. Then look for jobs, then measure.
-- @return true, or nil and why
function claim.enter(node)
   return files.put(path_of(node), json.encode(myself()), 384) -- 0600
end

function claim.release(node)
   uv.fs_unlink(path_of(node))
end

-- An entry is believed when only root (or the user that runs this) could have written it, and its
-- process is the one that did.
-- @return { pid, start, ... } of a process that lives, not this one; or nil; the path, where
--   something is there
local function read_entry(path)
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
   local now = process.stat(pid)
   local owner = uv.fs_stat("/proc/" .. pid)
   if not now or now.state == "Z" or now.start ~= entered.start or not owner or owner.uid ~= stat.uid
      or pid == uv.os_getpid() then
      return nil, path
   end
   entered.pid = pid
   return entered, path
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
      list[#list + 1] = (process.stat(child) or {}).parent == pid and child or nil
   end
   return list
end

local function is_gone(pid)
   local p = process.stat(pid)
   return p == nil or p.state == "Z" or p.state == "X"
end

--- Ends a health program that measures, and its kernels. Call it when the job's begin
-- is written.
-- @return PID of what was ended; nil when there was nothing
function claim.take(node)
   local began = uv.hrtime()
   local holder, path = read_entry(path_of(node))
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
   if (process.stat(holder.pid) or {}).start ~= holder.start then
      uv.kill(holder.pid, "sigcont")
      return nil
   end
   wait(began, STOPPED_MS, function()
      local p = process.stat(holder.pid)
      return p == nil or p.state == "T" or p.state == "t" or p.state == "Z"
   end)
   local children = children_of(holder.pid)
   for _, child in ipairs(children) do
      uv.kill(-child, "sigkill") -- process.run gives each a group of its own
      uv.kill(child, "sigkill")
   end
   -- As final as SIGKILL for a process without handlers; by it the shell entry knows who it was.
   uv.kill(holder.pid, "sigusr2")
   uv.kill(holder.pid, "sigcont")
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

--- Enters this process as the one that measures, whoever it is: prolog, health program or
-- a command of root's. An entry and no lock that is held meanwhile: of a process that hangs in
-- the kernel a lock would be held for ever.
-- @return release function; or nil and why not
function claim.hold(node)
   local fd, err, busy = node:lock_file(LOCK, HOLD_WAIT_S)
   if not fd then
      -- Where root measures is not a normal user's to enter.
      if uv.getuid() ~= 0 and not busy then
         return function() end
      end
      return nil, busy and "another check of this node begins" or "lock: " .. err
   end
   local path = node.run_dir .. "/" .. HOLDER
   local until_ns = uv.hrtime() + HOLD_WAIT_S * 1e9
   local holder, ok
   repeat
      holder = read_entry(path)
      local age = holder and uv.hrtime() / 1e9 - (tonumber(holder.since_s) or 0)
      holder = age and age >= 0 and age <= HELD_S and holder or nil
      uv.sleep(holder and LOOK_MS or 0)
   until not holder or uv.hrtime() >= until_ns
   if holder then
      ok, err = nil, ("another check of this node is measuring (process %d)"):format(holder.pid)
   else
      local me = myself()
      me.since_s = uv.hrtime() / 1e9
      ok, err = files.write(path, json.encode(me), 384) -- 0600
   end
   uv.fs_close(fd)
   return ok and function()
      -- Not one that took it from us meanwhile.
      if not read_entry(path) then
         uv.fs_unlink(path)
      end
   end, err
end

return claim
