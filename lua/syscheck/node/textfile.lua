--- syscheck.prom, which node_exporter's textfile collector reads: docs/admin.md (Prometheus). Loaded only where the
-- policy names its directory.
--
-- Whatever is wrong with that directory is logged once and holds up nothing: no job waits for a metric.
local uv = require("luv")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")
local paths = require("syscheck.lib.paths")
local prometheus = require("syscheck.lib.prometheus")
local series = require("syscheck.node.series")

local textfile = {}

local C = uv.constants
local STATE = "metrics.json"
local NAME = "/syscheck" .. ".prom"
local TROUBLE = "/textfile.error"
local GROUP_OR_OTHERS_WRITE = 18 -- 0022

-- Opens the directory, and what is opened is what was looked at: Debian's lies in one that is user prometheus', who
-- might put a link in its place.
-- @return descriptor; or nil and why
local function open_dir(dir)
   -- The kernel follows a link that a slash stands behind.
   dir = #dir > 1 and dir:gsub("/+$", "") or dir
   local stat, err = uv.fs_lstat(dir)
   if not stat then
      return nil, err
   elseif stat.type ~= "directory" then
      return nil, ("%s: is a %s, not a directory"):format(dir, stat.type)
   end
   local fd
   -- Should it have become a FIFO since: not waiting for its writer.
   fd, err = uv.fs_open(dir, C.O_RDONLY + C.O_NONBLOCK + files.NOFOLLOW, 0)
   if not fd then
      return nil, err
   end
   stat, err = uv.fs_fstat(fd)
   if stat and stat.type ~= "directory" then
      err = dir .. ": not a directory"
   elseif stat and stat.uid ~= 0 and stat.uid ~= uv.getuid() then
      err = dir .. ": not owned by root"
   elseif stat and stat.mode & GROUP_OR_OTHERS_WRITE ~= 0 then
      err = dir .. ": writable by group or others (chmod go-w)"
   end
   if err then
      uv.fs_close(fd)
      return nil, err
   end
   return fd
end

-- A temporary file's name is another one each time.
local function without_name(dir, err)
   return ("%s: %s"):format(dir, err:match("^%u+: [^:]*") or err)
end

-- A new file of a name that nobody can guess and that the collector does not read, renamed into place: whoever
-- reads it reads one as a whole.
local function write(dir, text)
   local fd, err = open_dir(dir)
   if not fd then
      return nil, err
   end
   local at = ("/proc/self/fd/%d%s"):format(fd, NAME)
   local ok
   ok, err = files.write(at, text)
   files.sweep(at)
   uv.fs_close(fd)
   return ok, err and without_name(dir, err)
end

-- Once for each trouble, and not before each job. In the run directory, which is no disk that may be full.
local function say(node, err)
   local path = node.run_dir .. TROUBLE
   if not err then
      uv.fs_unlink(path)
   elseif files.read(path, 4096) ~= err then
      log.error("metrics for Prometheus are not written: %s", err)
      files.put(path, err, 384) -- 0600
   end
end

--- Brings it up to date after a check or an epilog. One writer at a time: under the spool's lock, see stage.record.
-- @param record of the check; of a job: nothing is counted
-- @param snapshot counters of now
-- @param class_before of the inventory
function textfile.update(node, record, snapshot, class_before)
   local state = series.open(node:read_state(STATE), snapshot.boot_id)
   if record.kind == "check" then
      series.add(state, record, os.time(), node.baseline, class_before)
      -- Before it is shown: a count that was shown may not be lower the next time.
      local ok, err = node:write_state(STATE, state)
      if not ok then
         return say(node, without_name(node.state, err))
      end
   end
   local _, err = write(node:expand(node.policy.textfile), prometheus.text(series.families(state, snapshot,
      { version = paths.version, class = record.class, mode = node.policy.mode })))
   say(node, err)
end

return textfile
