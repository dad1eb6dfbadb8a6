--- syscheck.prom, which node_exporter's textfile collector reads: docs/metrics.md. Loaded only where the
-- policy names its directory.
--
-- Whatever is wrong with that directory is logged once, and no job waits for it; but it must be on a local disk: one
-- that hangs holds up as the spool's does.
local json = require("cjson.safe").new()
local uv = require("luv")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")
local paths = require("syscheck.lib.paths")
local prometheus = require("syscheck.lib.prometheus")
local series = require("syscheck.node.series")

json.decode_invalid_numbers(false)

local textfile = {}

local C = uv.constants
local NAME = "/syscheck" .. ".prom"
-- What is counted over reboots, and so waits for the disk.
local RARE = { drain = true, storm = true, undecided = true, observed = true }
local KEPT = "# kept by syscheck, no metric: "
local MAX_FILE = 65536
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

--- What was kept of earlier checks: in a comment of the file itself, so that what is shown and what is kept are one
-- write, and cannot differ.
-- @param text of the file, or nil
-- @return table; nil for none
function textfile.kept(text)
   local line = text and text:match("^" .. KEPT .. "({[^\n]*})\n")
   local value = line and json.decode(line)
   return type(value) == "table" and value or nil
end

local function read(path)
   -- Opening a FIFO would wait for its writer.
   local stat = uv.fs_lstat(path)
   return stat and stat.type == "file" and files.read(path, MAX_FILE) or nil
end

--- Why no file is written into a directory, or nil.
function textfile.wrong(dir)
   local fd, err = open_dir(dir)
   if fd then
      uv.fs_close(fd)
   end
   return err
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

local function update(node, fd, record, snapshot, class_before)
   local path = ("/proc/self/fd/%d%s"):format(fd, NAME)
   local state = series.open(textfile.kept(read(path)), snapshot.boot_id)
   if record.kind == "check" then
      series.add(state, record, os.time(), node.baseline, class_before)
   end
   -- A new file of a name that nobody can guess and that the collector does not read, renamed into place: whoever
   -- reads it reads one as a whole.
   local families = series.families(state, snapshot,
      { version = paths.version, class = record.class, mode = node.policy.mode })
   local ok, err = files.write(path, ("%s%s\n%s"):format(KEPT, json.encode(state), prometheus.text(families)), nil,
      RARE[record.action])
   files.sweep(path)
   return ok, err
end

--- Brings it up to date after a check or an epilog. One writer at a time: under the spool's lock, see stage.record.
-- @param record of the check; of a job: nothing is counted
-- @param snapshot counters of now
-- @param class_before of the inventory
function textfile.update(node, record, snapshot, class_before)
   local dir = node:expand(node.policy.textfile)
   local fd, err = open_dir(dir)
   if fd then
      local _
      _, err = update(node, fd, record, snapshot, class_before)
      uv.fs_close(fd)
      -- The temporary file's name is another one each time.
      err = err and ("%s: %s"):format(dir, err:match("^%u+: [^:]*") or err)
   end
   say(node, err)
end

return textfile
