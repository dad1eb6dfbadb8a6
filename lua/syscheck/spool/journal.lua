--- Appends to a node's spool: durable, in segments, within a size, whatever the disk does.
--
-- One writer at a time: prolog, epilog and health program of a node, and `ship`, when it
-- closes the open file, take the same lock. It is held no longer than a write and
-- a sync; a writer that does not get it in time writes a segment of its own.
local uv = require("luv")
local files = require("syscheck.lib.files")
local lines = require("syscheck.lib.lines")
local process = require("syscheck.lib.process")
local segments = require("syscheck.spool.segments")

local journal = {}

local C = uv.constants
local LOCK = ".lock"
local LOCK_WAIT_S = 2
local STALE_S = 3600
local MIB = 1048576
local FULL = { ENOSPC = true, EDQUOT = true }

-- What holds without a policy, MiB.
local SEGMENT_MB, MAX_MB = 8, 256

--- Why records were lost, as the record says it.
local REASONS = { full = "disk full", max = "spool over its maximum" }

-- Records and bytes of a segment. A record of a loss counts as what it reports, or the first
-- loss would be forgotten with the second.
local function count(path)
   local fd = uv.fs_open(path, C.O_RDONLY + files.NOFOLLOW, 0)
   if not fd then
      return 0, 0
   end
   local n, bytes = 0, segments.size(path)
   for line in lines.of(fd) do
      -- Inside a string the quotes would be escaped.
      local is_loss = line and line:find('"kind":"loss"', 1, true)
      if is_loss then
         n = n + (math.tointeger(tonumber(line:match('"lost_records":(%d+)'))) or 0)
         bytes = bytes - #line - 1 + (math.tointeger(tonumber(line:match('"lost_bytes":(%d+)'))) or 0)
      elseif line ~= "" then
         n = n + 1
      end
   end
   uv.fs_close(fd)
   return n, math.max(bytes, 0)
end

local function empty_out(path)
   local fd = uv.fs_open(path, C.O_WRONLY + files.NOFOLLOW, 0)
   if fd then
      uv.fs_ftruncate(fd, 0)
      uv.fs_close(fd)
   end
end

-- Gives up a segment that was not shipped. It is counted first, in a name: that needs
-- no room on a full disk, and no crash between here and the record can lose it.
local function drop_unshipped(dir, name, why)
   local path = dir .. "/" .. name
   local n, bytes = count(path)
   local to = dir .. "/" .. segments.lost_name(segments.id_of(name), n, bytes, why)
   if not uv.fs_rename(path, to) then
      return false
   end
   empty_out(to)
   return true
end

-- Makes room: the oldest shipped segment, else the oldest.
-- @return true, or false when there is nothing to drop
local function drop_oldest(dir, why)
   -- `ship` may have renamed or removed what was just listed.
   for _ = 1, 3 do
      local list = segments.list(dir)
      if list.shipped[1] then
         local _, _, code = uv.fs_unlink(dir .. "/" .. list.shipped[1])
         return code == nil or code == "ENOENT"
      elseif not list.closed[1] then
         return false
      elseif drop_unshipped(dir, list.closed[1], why) then
         return true
      end
   end
   return false
end

-- Counts records that could not be written, if at least a name can be.
local function note_lost(dir, count_lost, bytes)
   for _, l in ipairs(segments.list(dir).lost) do
      if l.reason == "full" then
         uv.fs_rename(dir .. "/" .. l.name,
            dir .. "/" .. segments.lost_name(l.id, l.records + count_lost, l.bytes + bytes, "full"))
         return
      end
   end
   local path = dir .. "/" .. segments.lost_name(files.random_id(8), count_lost, bytes, "full")
   local fd = uv.fs_open(path, C.O_WRONLY + C.O_CREAT + C.O_EXCL + files.NOFOLLOW, 416) -- 0640
   if fd then
      uv.fs_close(fd)
   end
end

-- The lines that report losses, and the names to remove once they are on disk. The id
-- is made of the name, so that a crash in between makes no second one of the same loss.
local function loss_lines(dir, loss)
   local texts, names = {}, {}
   for _, l in ipairs(segments.list(dir).lost) do
      local path = dir .. "/" .. l.name
      if segments.size(path) > 0 then
         empty_out(path) -- a crash in the middle of drop_oldest
      end
      local line = loss(l.id .. l.id, l.records, l.bytes, REASONS[l.reason] or l.reason)
      if line then
         texts[#texts + 1], names[#names + 1] = line .. "\n", path
      end
   end
   return table.concat(texts), names
end

local function ends_torn(fd, size)
   return size > 0 and uv.fs_read(fd, 1, size - 1) ~= "\n"
end

-- Closes the open file, under the lock. A torn last line (a crash in the middle of a
-- write) is ended.
local function close_open(dir, fd, size)
   if ends_torn(fd, size) then
      uv.fs_write(fd, "\n", -1)
   end
   local ok, err = uv.fs_fdatasync(fd)
   if ok then
      ok, err = uv.fs_rename(dir .. "/" .. segments.OPEN, dir .. "/" .. segments.new_name())
   end
   return ok, err
end

-- @return descriptor, size; or nil, why, code
local function open_file(dir)
   local path = dir .. "/" .. segments.OPEN
   local fd, err, code = uv.fs_open(path, C.O_RDWR + C.O_CREAT + C.O_APPEND + files.NOFOLLOW, 416) -- 0640
   if not fd then
      return nil, err, code
   end
   local stat
   stat, err = uv.fs_fstat(fd)
   if not stat or stat.type ~= "file" then
      uv.fs_close(fd)
      return nil, err or path .. ": not a file", "EINVAL"
   end
   return fd, stat.size
end

-- Bytes of a segment and of the whole spool. On a small file system (the spool's own, or
-- memory) both are smaller than the policy says: what can be dropped are whole segments.
local function limits(dir, sizes)
   local max, segment = (sizes.spool_max_mb or MAX_MB) * MIB, (sizes.spool_segment_mb or SEGMENT_MB) * MIB
   local fs = uv.fs_statfs(dir)
   if fs and fs.blocks and fs.blocks > 0 then
      max = math.min(max, fs.blocks * fs.bsize)
   end
   return math.min(segment, max // 8), max
end

local function total(dir)
   local list = segments.list(dir)
   return segments.total(dir, list.closed) + segments.total(dir, list.shipped)
end

-- What write_alone left when it was killed: half of what nobody acknowledged.
local function sweep(dir)
   for _, name in ipairs(files.list(dir, segments.TEMPORARY)) do
      local stat = uv.fs_lstat(dir .. "/" .. name)
      if stat and os.time() - stat.mtime.sec > STALE_S then
         uv.fs_unlink(dir .. "/" .. name)
      end
   end
end

-- A new open file: its name, and the one of the segment before it, have to survive a
-- power failure before anything in it is acknowledged. Only an empty file is new, and what
-- is written comes after the sync: a crash in between leaves an empty one.
local function begin_segment(dir, segment, max)
   local ok, err = files.sync_dir(dir)
   if ok then
      ok, err = files.sync_dir(dir:match("^(.*)/[^/]+/*$") or "/")
   end
   sweep(dir)
   -- Room for one more segment.
   repeat until total(dir) + segment <= max or not drop_oldest(dir, "max")
   return ok, err
end

-- @return true; or nil, why, code
local function write_open(dir, text, sizes)
   local fd, size, code = open_file(dir)
   if not fd then
      return nil, size, code
   end
   local segment, max = limits(dir, sizes)
   local ok, err
   if size > 0 and size + #text > segment then
      ok, err = close_open(dir, fd, size)
      uv.fs_close(fd)
      if not ok then
         return nil, err
      end
      fd, size, code = open_file(dir)
      if not fd then
         return nil, size, code
      end
   end
   if size == 0 then
      ok, err = begin_segment(dir, segment, max)
      if not ok then
         uv.fs_close(fd)
         return nil, err
      end
   end
   text = (ends_torn(fd, size) and "\n" or "") .. text
   local n
   n, err, code = uv.fs_write(fd, text, -1)
   ok = n == #text
   if ok then
      ok, err, code = uv.fs_fdatasync(fd)
   elseif n then
      err, code = "ENOSPC: only part of the record was written", "ENOSPC"
   end
   if not ok then
      -- No half line, and nothing that its writer believes lost.
      uv.fs_ftruncate(fd, size)
   end
   uv.fs_close(fd)
   return ok, err, code
end

local function append_locked(dir, line, sizes, loss)
   while true do
      local before, names = loss_lines(dir, loss)
      local ok, err, code = write_open(dir, before .. line .. "\n", sizes)
      if ok then
         for _, name in ipairs(names) do
            uv.fs_unlink(name)
         end
         return true
      elseif not FULL[code] then
         return nil, err
      elseif not drop_oldest(dir, "full") then
         note_lost(dir, 1 + select(2, line:gsub("\n", "")), #line + 1)
         return nil, err
      end
   end
end

-- Without the lock: a segment of its own, that nobody else knows until it is whole.
local function write_alone(dir, line)
   local name = segments.new_name()
   local temporary = ("%s/.%s.%s"):format(dir, name, files.random_id(8))
   local ok, err = files.write_new(temporary, line .. "\n", 416) -- 0640
   if ok then
      ok, err = uv.fs_rename(temporary, dir .. "/" .. name)
   end
   if ok then
      return files.sync_dir(dir)
   end
   uv.fs_unlink(temporary)
   return nil, err
end

--- Appends a line, or several: when it returns true, all of it is on disk.
-- @param dir spool; made if it is not there
-- @param line without newline at its end
-- @param sizes { spool_segment_mb, spool_max_mb } of the policy
-- @param loss function(id, records, bytes, reason) -> the line that reports what had to be dropped
-- @param also function, or nil: called under the lock, whatever became of the line; not where the lock cannot be had
-- @return true; or nil and why
function journal.append(dir, line, sizes, loss, also)
   local ok, err = files.mkdir(dir)
   local unlock = ok and process.lock(dir .. "/" .. LOCK, LOCK_WAIT_S)
   if unlock then
      ok, err = append_locked(dir, line, sizes, loss)
      if also then
         also()
      end
      unlock()
   elseif ok then
      ok, err = write_alone(dir, line)
   end
   if not ok then
      return nil, ("%s: %s"):format(dir, err)
   end
   return true
end

--- Calls a function under the lock of a spool that is there.
-- @return true; or nil and why not
function journal.locked(dir, f)
   local unlock, err = process.lock(dir .. "/" .. LOCK, LOCK_WAIT_S)
   if not unlock then
      return nil, err
   end
   f()
   unlock()
   return true
end

--- Closes the open file, if there is anything in it.
-- @return true; or nil and why
function journal.close(dir)
   if segments.size(dir .. "/" .. segments.OPEN) == 0 then
      return true
   end
   local unlock, err = process.lock(dir .. "/" .. LOCK, LOCK_WAIT_S)
   if not unlock then
      return nil, err
   end
   local ok = true
   local fd, size = open_file(dir)
   if fd then
      if size > 0 then
         ok, err = close_open(dir, fd, size)
      end
      uv.fs_close(fd)
      if ok then
         ok, err = files.sync_dir(dir)
      end
   else
      ok, err = nil, size
   end
   unlock()
   return ok, err
end

return journal
