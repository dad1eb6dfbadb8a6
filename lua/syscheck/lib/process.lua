--- Runs a program with a deadline. Arguments are a list and never a shell's
-- text; the environment is only what is given here.
local uv = require("luv")
local files = require("syscheck.lib.files")

local process = {}

local PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
local KILL_AFTER_MS = 300 -- from SIGTERM to SIGKILL
local ABANDON_AFTER_MS = 500 -- from SIGKILL to leaving it behind (stuck in the kernel)
local LOOK_MS = 1000 -- how often give_up is asked

local stop_running -- function(why) of the program that runs now

--- Runs file with args.
-- @param file path, or a name looked up in a fixed PATH
-- @param args list of strings
-- @param options { timeout_ms, max_output = bytes per stream (default 1 MiB; more
--   ends the program), env = list of "NAME=value" (LC_ALL is C without), stdout = descriptor that its
--   standard output goes to, unread; fd3 = descriptor to pass, input =
--   text for its stdin, in_group = true: it stays in this process' group, and whoever
--   ends that ends it, too; give_up = function() -> why it is no longer wanted, or nil:
--   asked every second }
-- @return { pid, code, signal, out, err, timed_out, too_long, given_up = why, seconds, stuck =
--   it survived SIGKILL and was left behind, held = it ended, and what it started held its output until the deadline },
--   or nil and why it could not be started
function process.run(file, args, options)
   local limit = options.max_output or 1048576
   local result = { out = {}, err = {} }
   local sizes = { out = 0, err = 0 }
   local pipes = { out = not options.stdout and uv.new_pipe(false) or nil, err = uv.new_pipe(false) }
   local input = options.input and uv.new_pipe(false)
   -- A program that does not read its input must not end us.
   local broken = input and uv.new_signal()
   if broken then
      broken:start("sigpipe", function() end)
   end
   local env = { PATH, "LC_ALL=C" }
   for _, e in ipairs(options.env or {}) do
      env[e:find("^LC_ALL=") and 2 or #env + 1] = e
   end
   local exited, abandoned = false, false
   local open = pipes.out and 2 or 1
   local timer = uv.new_timer()
   local look = options.give_up and uv.new_timer()
   local handles = { timer, pipes.err }
   for _, handle in ipairs({ pipes.out or false, input or false, broken or false, look or false }) do
      handles[#handles + 1] = handle or nil
   end
   local function close()
      for _, handle in ipairs(handles) do
         handle:close()
      end
   end
   local started = uv.hrtime()

   -- A group of its own (detached: setsid), so that a signal reaches whatever
   -- the program started, too.
   local group = options.in_group and 1 or -1
   local child, pid = uv.spawn(file, {
      args = args,
      env = env,
      cwd = "/",
      stdio = { input or nil, pipes.out or options.stdout, pipes.err, options.fd3 },
      detached = not options.in_group,
   }, function(code, signal)
      exited = true
      result.code, result.signal = code, signal
      result.seconds = (uv.hrtime() - started) / 1e9
   end)
   if not child then
      close()
      return nil, ("%s: %s"):format(file, pid)
   end
   if input then
      input:write(options.input)
      input:shutdown()
   end

   local function stop()
      uv.kill(group * pid, "sigterm")
      timer:start(KILL_AFTER_MS, 0, function()
         uv.kill(group * pid, "sigkill")
         timer:start(ABANDON_AFTER_MS, 0, function()
            abandoned = true
         end)
      end)
   end

   for name, pipe in pairs(pipes) do
      pipe:read_start(function(_, data)
         if not data then
            open = open - 1
            pipe:read_stop()
            return
         end
         sizes[name] = sizes[name] + #data
         if sizes[name] <= limit then
            table.insert(result[name], data)
         elseif not result.too_long then
            result.too_long = true
            stop()
         end
      end)
   end
   timer:start(math.max(1, math.floor(options.timeout_ms)), 0, function()
      -- Exited, but a grandchild holds the pipe: what it has written is enough.
      if exited then
         abandoned, result.held = true, true
         if not options.in_group then
            uv.kill(-pid, "sigkill")
         end
      else
         result.timed_out = true
         stop()
      end
   end)

   function stop_running(why)
      result.given_up = result.given_up or why
      if not exited then
         stop()
      end
   end

   if look then
      look:start(LOOK_MS, LOOK_MS, function()
         result.given_up = options.give_up()
         if result.given_up and not exited then
            look:stop()
            stop()
         end
      end)
   end

   while not ((exited and open == 0) or abandoned) do
      uv.run("once")
   end
   stop_running = nil
   result.stuck = not exited
   result.pid = pid
   close()
   child:close()
   uv.run("nowait") -- lets libuv finish the closing
   result.out, result.err = table.concat(result.out), table.concat(result.err)
   result.seconds = result.seconds or (uv.hrtime() - started) / 1e9
   return result
end

--- Ends the program that runs now, as give_up does, at once: for the handler of a signal.
function process.stop(why)
   if stop_running then
      stop_running(why)
   end
end

--- Reads /proc/PID/stat (proc(5)), in which the name may hold anything.
-- @return { name, state, parent, flags, own, children = ticks of CPU time, start = in ticks since
--   boot: with the PID it names one process for ever }; nil where there is none
function process.parse(text)
   local name, state, rest = (text or ""):match("^%d+ %((.*)%) (%a) (.*)$")
   if not name then
      return nil
   end
   local fields, n = {}, 0
   for field in rest:gmatch("%S+") do
      n = n + 1
      fields[n] = tonumber(field)
      if n == 19 then
         break
      end
   end
   return n == 19 and fields[19] and { name = name, state = state, parent = fields[1], flags = fields[6],
      own = fields[11] + fields[12], children = fields[13] + fields[14], start = fields[19] } or nil
end

--- What /proc says of a process; see parse.
function process.stat(pid)
   return process.parse(files.read(("/proc/%d/stat"):format(pid), 1024))
end

-- Whether this process now holds the file; nil where lua/native/ is not installed (a tool run from the sources).
local function try_lock(fd)
   local ok, native = pcall(require, "syscheck_native")
   return ok and native.try_lock(fd)
end

--- Takes an exclusive lock on a file. flock(2) belongs to the open file, so `flock`
-- on the inherited descriptor locks it for this process, and for those it passes it to:
-- it is free when the last of them has closed it or ended.
-- @param timeout_s seconds to wait at most
-- @return descriptor; or nil, why, true when another holds it
function process.lock_file(path, timeout_s)
   local C = uv.constants
   local fd, err = uv.fs_open(path, C.O_RDWR + C.O_CREAT + files.NOFOLLOW, 384) -- 0600
   if not fd then
      return nil, err
   end
   -- In a directory that all may write to (/run/lock), somebody else's file could be
   -- held by him for ever.
   local stat = uv.fs_fstat(fd)
   if not stat or stat.type ~= "file" or (stat.uid ~= 0 and stat.uid ~= uv.getuid()) or stat.mode & 18 ~= 0 then
      uv.fs_close(fd)
      return nil, path .. ": not a file that root alone can write to"
   end
   if try_lock(fd) then
      return fd
   end
   local r
   r, err = process.run("flock", { "--timeout", ("%.1f"):format(math.max(0, timeout_s)), "3" },
      { timeout_ms = timeout_s * 1000 + 1000, fd3 = fd })
   if not r or r.code ~= 0 or r.signal ~= 0 then -- of what a signal ended the code is 0
      uv.fs_close(fd)
      return nil, err or ("%s: not free within %.0f s"):format(path, timeout_s), r and r.code == 1
   end
   return fd
end

--- The same, held until release() or this process's end.
-- @return release function; or nil and why
function process.lock(path, timeout_s)
   local fd, err = process.lock_file(path, timeout_s)
   return fd and function()
      uv.fs_close(fd)
   end, err
end

return process
