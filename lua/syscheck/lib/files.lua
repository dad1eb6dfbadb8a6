--- Files: small reads, atomic writes, durable appends. Every function returns
-- nil and a message for what may fail.
local uv = require("luv")
local printable = require("syscheck.lib.printable")

local files = {}

local C = uv.constants

-- Linux' value, the same on x86-64 and aarch64's generic ABI differ; luv does
-- not export it on every version.
local NOFOLLOW = C.O_NOFOLLOW or (uv.os_uname().machine:match("^a[ar][rm]") and 0x8000 or 0x20000)

--- Open flag: fail on a link.
files.NOFOLLOW = NOFOLLOW

--- A whole small file, or nil and the reason. Files of /proc and /sys have no
-- size, so it reads until the end or `max` bytes (default 1 MiB).
function files.read(path, max)
   local f, err = io.open(path, "rb")
   if not f then
      return nil, err
   end
   local text
   text, err = f:read(max or 1048576)
   f:close()
   if not text then
      return nil, err or (path .. ": empty")
   end
   return text
end

--- The same of a regular file only: opening a pipe waits for its writer.
function files.regular(path, max)
   local stat = uv.fs_stat(path)
   if stat and stat.type ~= "file" then
      return nil, ("%s: is a %s, not a file"):format(path, stat.type)
   end
   return files.read(path, max)
end

-- First line of a file of /proc or /sys: one read(2), where asking for a number of
-- bytes takes a second one for the end. A check reads hundreds of these.
local function first_line(path)
   local f = io.open(path, "rb")
   if not f then
      return nil
   end
   local text = f:read("l")
   f:close()
   return text
end

--- First line of a file, without white space at its end; nil when absent or empty.
function files.line(path)
   local text = first_line(path)
   return text and text:find("%s$") and printable.trimmed(text) or text
end

--- The whole number that a file begins with; nil when absent, none, or beyond 64 bits.
function files.number(path)
   local text = first_line(path)
   local number = text and tonumber(text:match("^%s*(-?%d+)"))
   return number and math.tointeger(number)
end

--- Names in a directory, sorted; an empty list when absent.
-- @param pattern of the names that are wanted; nil: all
function files.list(dir, pattern)
   local names = {}
   local scan = uv.fs_scandir(dir)
   while scan do
      local name = uv.fs_scandir_next(scan)
      if not name then
         break
      end
      names[#names + 1] = (not pattern or name:find(pattern)) and name or nil
   end
   table.sort(names)
   return names
end

--- Makes a directory and its parents, 0755. An existing one is success.
function files.mkdir(dir)
   local there, _, why = uv.fs_mkdir(dir, 493) -- 0755: nearly always it is there
   if there or why == "EEXIST" then
      return true
   end
   local made = ""
   for part in dir:gmatch("[^/]+") do
      made = made .. "/" .. part
      local ok, err, code = uv.fs_mkdir(made, 493) -- 0755
      if not ok and code ~= "EEXIST" then
         return nil, err
      end
   end
   return true
end

--- Writes all of a text, however many calls it takes.
function files.write_all(fd, text)
   local done = 0
   while done < #text do
      local n, err = uv.fs_write(fd, done == 0 and text or text:sub(done + 1), -1)
      if not n then
         return nil, err
      end
      done = done + n
   end
   return true
end

-- Writes a new file that must not exist, no link followed; what cannot be written whole goes.
local function create(path, text, mode, sync)
   local fd, err = uv.fs_open(path, C.O_WRONLY + C.O_CREAT + C.O_EXCL + NOFOLLOW, mode)
   if not fd then
      return nil, err
   end
   local ok
   ok, err = files.write_all(fd, text)
   if ok and sync then
      ok, err = uv.fs_fsync(fd)
   end
   uv.fs_close(fd)
   if not ok then
      uv.fs_unlink(path)
      return nil, err
   end
   return true
end

--- Writes a new file that must not exist, and waits until it is on disk.
function files.write_new(path, text, mode)
   return create(path, text, mode, true)
end

--- Writes a file as a whole or not at all: a new file of a random name in the
-- same directory, then rename.
-- @param mode default 0644
-- @param sync true: its content is on disk before it has the name
function files.write(path, text, mode, sync)
   local name = ("%s.%s"):format(path, files.random_id(8))
   local ok, err = create(name, text, mode or 420, sync) -- 0644
   if ok then
      ok, err = uv.fs_rename(name, path)
      if not ok then
         uv.fs_unlink(name)
      end
   end
   return ok, err
end

--- The same in a directory that is made, 0755, where it is absent.
function files.put(path, text, mode)
   local ok, err = files.mkdir(path:match("^(.*)/"))
   if not ok then
      return nil, err
   end
   return files.write(path, text, mode)
end

local STALE_S = 60 -- from the temporary file to its name write() takes milliseconds

--- Removes what write() of a file has left where it was killed: temporary files that are older than a minute.
function files.sweep(path)
   local dir, name = path:match("^(.*/)([^/]+)$")
   dir, name = dir or "./", name or path
   for _, one in ipairs(files.list(dir)) do
      local stat = one:sub(1, #name + 1) == name .. "." and one:find("^%x+$", #name + 2) and #one == #name + 17
         and uv.fs_lstat(dir .. one)
      if stat and stat.type == "file" and os.time() - stat.mtime.sec > STALE_S then
         uv.fs_unlink(dir .. one)
      end
   end
end

--- Appends one line with one write and fdatasync (records: journal.lua): when it returns true, the
-- line is on disk. A torn last line (a crash in the middle of a write) is ended
-- first, so that it spoils no other.
-- @param text without newline
function files.append(path, text)
   local fd, err = uv.fs_open(path, C.O_RDWR + C.O_CREAT + C.O_APPEND + NOFOLLOW, 416) -- 0640
   if not fd then
      return nil, err
   end
   local stat = uv.fs_fstat(fd)
   local torn = stat and stat.size > 0 and uv.fs_read(fd, 1, stat.size - 1) ~= "\n"
   local line = (torn and "\n" or "") .. text .. "\n"
   local n
   n, err = uv.fs_write(fd, line, -1)
   local ok = n == #line
   if ok then
      ok, err = uv.fs_fdatasync(fd)
   elseif n then
      err = "ENOSPC: only part of the record was written"
   end
   uv.fs_close(fd)
   if not ok then
      return nil, ("%s: %s"):format(path, err)
   end
   return true
end

--- Waits until the names in a directory are on disk. A file system that cannot sync
-- a directory does not need it.
function files.sync_dir(dir)
   local fd, err = uv.fs_open(dir, C.O_RDONLY + (C.O_DIRECTORY or 0), 0)
   if not fd then
      return nil, err
   end
   local ok, code
   ok, err, code = uv.fs_fsync(fd)
   uv.fs_close(fd)
   if ok or code == "EINVAL" or code == "ENOTSUP" then
      return true
   end
   return nil, err
end

--- n random bytes (default 16) in hex, from the kernel.
function files.random_id(n)
   return (uv.random(n or 16):gsub(".", function(c)
      return ("%02x"):format(c:byte())
   end))
end

--- true when root alone can change the file (what root must be able to trust);
-- else false and why.
function files.trusted(path)
   local stat, err = uv.fs_stat(path)
   if not stat then
      return false, err
   end
   if stat.uid ~= 0 and stat.uid ~= uv.getuid() then
      return false, path .. ": not owned by root"
   end
   if stat.mode & 18 ~= 0 then -- 0022
      return false, path .. ": writable by group or others (chmod go-w)"
   end
   return true
end

--- Text of a regular file that root alone can change; or nil and why.
function files.read_trusted(path)
   local text, err = files.regular(path)
   if not text then
      return nil, err
   end
   local trusted
   trusted, err = files.trusted(path)
   return trusted and text or nil, err
end

return files
