--- Files of a spool: which there are, and their lines from a position, in bounded memory.
local uv = require("luv")
local files = require("syscheck.lib.files")
local fnv = require("syscheck.lib.fnv")
local lines = require("syscheck.lib.lines")
local segments = require("syscheck.spool.segments")

local spoolfile = {}

local HEAD = 65536 -- of a file's first line, to know it again
local SEGMENT = "^records%-.*%.jsonl$"

local function records_in(dir, out)
   for _, name in ipairs(segments.names(dir)) do
      out[#out + 1] = dir .. "/" .. name
   end
end

--- Files behind what a user names: a file, a spool directory, or a directory of those.
-- @return list of paths; or nil and one line
function spoolfile.list(path)
   path = path:gsub("(.)/+$", "%1")
   local stat, err = uv.fs_stat(path)
   if not stat then
      return nil, (err:gsub("^(E%u+): (.-): (.*)$", "%3: %2"))
   elseif stat.type ~= "directory" then
      return { path }
   end
   local ok
   ok, err = uv.fs_access(path, "R")
   if not ok then
      return nil, path .. ": " .. (err or "permission denied")
   end
   local out = {}
   records_in(path, out)
   for _, name in ipairs(files.list(path)) do
      local below = path .. "/" .. name
      local inner = not name:find("^%.") and uv.fs_lstat(below)
      if inner and inner.type == "directory" then
         records_in(below, out)
      end
   end
   return out
end

-- What a file is known by: its first line, whole. Not the id in it: a job's record names
-- its check's, too, and what is written a second time has the same.
local function head_of(start)
   local first = start:match("^([^\n]*)\n") or (#start == HEAD and start)
   if not first or first == "" then
      return nil -- still being written; or what any file may begin with
   end
   return ("%016x %d"):format(fnv.of64(first), #first)
end

local function is_open(path)
   return path:match("[^/]*$") == segments.OPEN
end

--- Whether a file of the same head, which had this path and inode, was this file. A segment's
-- name is its own. The open file's goes from one to the next, and an inode comes again
-- when its file is gone. Under any other name somebody may make a file anew that begins
-- alike and is not only longer: spools, one after the other.
function spoolfile.was(file, path, inode)
   if is_open(path) then
      return inode == file.inode
   end
   local segment = file.path:match("[^/]*$"):find(SEGMENT)
   return segment and (path == file.path or segments.shipped_name(path) == file.path)
end

--- Opens a file.
-- @return { path, inode, size, closed = nothing more will be written, head = what it is
--   known by, or nil }; or nil and why
function spoolfile.open(path)
   local C = uv.constants
   -- O_NONBLOCK: a pipe that somebody put there must not hold us.
   local fd, err = uv.fs_open(path, C.O_RDONLY + C.O_NONBLOCK + files.NOFOLLOW, 0)
   if not fd then
      return nil, err
   end
   local stat = uv.fs_fstat(fd)
   if not stat or stat.type ~= "file" then
      uv.fs_close(fd)
      return nil, path .. ": not a file"
   end
   return {
      fd = fd,
      path = path,
      inode = stat.ino,
      size = stat.size,
      closed = not is_open(path),
      head = head_of(uv.fs_read(fd, HEAD, 0) or ""),
      at = 0, -- where the next line begins
      line = 0, -- how many were read
   }
end

function spoolfile.close(file)
   if file.fd then
      uv.fs_close(file.fd)
      file.fd = nil
   end
end

--- Whether a line begins at a position, or the file ends there.
function spoolfile.begins_line(file, offset)
   return offset == 0 or offset == file.size or uv.fs_read(file.fd, 1, offset - 1) == "\n"
end

--- Goes to where a line begins, before the first is read.
-- @param line how many are before it
function spoolfile.seek(file, offset, line)
   file.at, file.line = offset, line
end

--- The next line. One without an end is torn, or, in an open file, still being written: that
-- is left.
-- @return line, or false for one that is too long; and true where it is torn; nil at the end
function spoolfile.next(file)
   file.lines = file.lines or lines.of(file.fd, file.at)
   local line, offset, torn = file.lines()
   if line == nil and offset then
      error({ file_error = offset }, 0)
   elseif line == nil or (torn and not file.closed) then
      return nil
   end
   file.at, file.line = offset, file.line + 1
   return line, torn
end

return spoolfile
