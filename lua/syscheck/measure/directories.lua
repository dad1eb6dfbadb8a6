--- Measures the directories that the policy names, one `io` process for each. The
-- agent itself never touches them: where a directory hangs, only that process does.
local uv = require("luv")
local kernels = require("syscheck.measure.kernels")

local directories = {}

local STOP_S = 1 -- what process.run takes at most to end a program or to leave it behind
local LOCK_WAIT_S = 0.5 -- the janitor of an io that was just killed needs milliseconds
local VALUES = { "write_gbs", "read_gbs", "fsync_us", "fsync_p99_us", "creates_per_s", "stats_per_s",
   "unlinks_per_s" }

-- A lock that io and its janitor inherit and keep until they are really gone. So a
-- directory that hangs holds one process, not one for every job. A PID in a file would
-- have to be distinguished from a reused one, and know nothing of the janitor.
-- @return descriptor; or nil and why. A normal user's run directory is not his to
--   write to, and his stuck processes are his own: false.
local function hold(node, path)
   if uv.getuid() ~= 0 then
      return false
   end
   local name = path:gsub("[^%w.-]", function(c)
      return ("%%%02x"):format(c:byte())
   end)
   local fd, err, busy = node:lock_file("io-" .. name:sub(-200), LOCK_WAIT_S)
   if not fd then
      return nil, busy and "an earlier check still hangs there, not started" or "lock: " .. err
   end
   return fd
end

local function is_number(value)
   return type(value) == "number" and value == value and value >= 0 and value < math.huge
end

local function in_directory(node, path, seconds, left_s)
   local fd, err = hold(node, path)
   if fd == nil then
      return { kernel = "io", state = "unknown", reason = err, seconds = 0, box_s = seconds }
   end
   local measurement = kernels.measure("io", seconds, left_s, { args = { "--dir", path }, fd3 = fd or nil,
      give_up = node.give_up })
   if fd then
      uv.fs_close(fd)
   end
   for _, name in ipairs(measurement.state == "ok" and VALUES or {}) do
      if not is_number(measurement.result[name]) then
         measurement.state, measurement.reason = "unknown", ("io: %s is no usable number"):format(name)
      end
   end
   return measurement
end

--- Measures each directory, one after the other.
-- @param node from node.open
-- @param seconds time box of each, or nil: not at this level
-- @param left_s function() -> seconds until the check's deadline
-- @param begins function(), called before each
-- @return list as of kernels.measure, each with `path`
function directories.measure(node, seconds, left_s, begins)
   local list = {}
   for _, path in ipairs(seconds and node.policy.io_paths or {}) do
      begins()
      path = node:expand(path)
      local measurement = in_directory(node, path, seconds, left_s() - STOP_S)
      measurement.path, measurement.attempt = path, 1
      if measurement.reason and not measurement.reason:find(path, 1, true) then
         measurement.reason = ("io: %s: %s"):format(path, (measurement.reason:gsub("^io: ", "")))
      end
      list[#list + 1] = measurement
   end
   return list
end

return directories
