--- The files of a spool: the open one, to which records are appended, and the closed
-- ones (segments), which never change again. Names say everything, so there is no index
-- that could be wrong after a crash:
--   records.jsonl                       the open one
--   records-TIME-ID.jsonl               closed, not shipped yet
--   records-TIME-ID.shipped.jsonl       closed, a whole copy is at the destination
--   lost-ID-RECORDS-BYTES-REASON        what was lost and no record reports yet
local uv = require("luv")
local files = require("syscheck.lib.files")

local segments = {}

--- The open file.
segments.OPEN = "records.jsonl"
--- Names of files that become one.
segments.TEMPORARY = "^%.records%-.*%.jsonl%.%x+$"

local CLOSED = "^records%-%d+T%d+Z%-(" .. ("%x"):rep(16) .. ")%.jsonl$"
local SHIPPED = CLOSED:gsub("%%%.jsonl", "%%.shipped%%.jsonl")
local REASON_MAX = 32 -- bytes
local LOST = "^lost%-(" .. ("%x"):rep(16) .. ")%-(%d+)%-(%d+)%-(%l+)$"

--- A name for a segment that is closed now: names sort by time, so the 16 hex digits
-- begin with the microseconds.
function segments.new_name()
   local s, us = uv.gettimeofday()
   return ("records-%s-%05x%s.jsonl"):format(os.date("!%Y%m%dT%H%M%SZ", s), us, files.random_id(6):sub(1, 11))
end

--- The name of a segment once it is shipped.
function segments.shipped_name(name)
   return (name:gsub("%.jsonl$", ".shipped.jsonl"))
end

--- The name that keeps a loss until a record reports it.
-- @param id 16 hex digits; of a segment that was dropped, its own
function segments.lost_name(id, records, bytes, reason)
   return ("lost-%s-%d-%d-%s"):format(id, records, bytes, reason)
end

--- What a spool holds.
-- @return { closed = names, oldest first; shipped = names, oldest first; lost = list of
--   { name, id, records, bytes, reason } }
function segments.list(dir)
   local out = { closed = {}, shipped = {}, lost = {} }
   for _, name in ipairs(files.list(dir)) do
      if name:find(CLOSED) then
         table.insert(out.closed, name)
      elseif name:find(SHIPPED) then
         table.insert(out.shipped, name)
      else
         local id, records, bytes, reason = name:match(LOST)
         if id then
            -- With more in it a longer one would be no name of a file.
            table.insert(out.lost, { name = name, id = id, records = math.tointeger(tonumber(records)) or 0,
               bytes = math.tointeger(tonumber(bytes)) or 0, reason = reason:sub(1, REASON_MAX) })
         end
      end
   end
   return out
end

--- The 16 hex digits of a segment's name.
function segments.id_of(name)
   return name:match(CLOSED) or name:match(SHIPPED)
end

--- Size of a file in bytes; 0 when it is gone.
function segments.size(path)
   local stat = uv.fs_lstat(path)
   return stat and stat.size or 0
end

--- Bytes of files of a spool.
function segments.total(dir, names)
   local sum = 0
   for _, name in ipairs(names) do
      sum = sum + segments.size(dir .. "/" .. name)
   end
   return sum
end

--- Names of all that holds records, whoever put it there: oldest first, the open file last.
function segments.names(dir)
   local names, open = {}, nil
   for _, name in ipairs(files.list(dir, "^records.*%.jsonl$")) do
      if name == segments.OPEN then
         open = name
      else
         names[#names + 1] = name
      end
   end
   names[#names + 1] = open
   return names
end

--- Whether a directory is a spool: it holds any file with records.
function segments.any(dir)
   return #segments.names(dir) > 0
end

-- A segment that was shipped since the directory was listed has another name.
local function open_segment(dir, name)
   for _, one in ipairs({ name, segments.shipped_name(name) }) do
      local path = dir .. "/" .. one
      local stat, err, code = uv.fs_stat(path)
      if stat and stat.type ~= "file" then
         return nil, path .. ": not a file", "EINVAL"
      end
      local fd
      if stat then
         fd, err, code = uv.fs_open(path, uv.constants.O_RDONLY, 0)
      end
      if fd or code ~= "ENOENT" then
         return fd, err, code
      end
   end
   return nil, "gone", "ENOENT"
end

local function identity(fd)
   local stat = uv.fs_fstat(fd)
   return stat and ("%d:%d"):format(stat.dev, stat.ino)
end

--- Opens a spool's files one after the other, oldest first. One that vanishes meanwhile
-- was dropped, or shipped and removed: that is no error. The open file is opened first and
-- read last: if it is closed meanwhile, it is neither missed nor read twice.
-- @param on_bad function(path, why)
-- @return iterator of path, descriptor (the iterator closes it)
function segments.each(dir, on_bad)
   return coroutine.wrap(function()
      local path = dir .. "/" .. segments.OPEN
      local open, err, code = uv.fs_open(path, uv.constants.O_RDONLY, 0)
      if not open and code ~= "ENOENT" then
         on_bad(path, (err:gsub(": [^:]*$", "")))
      end
      local last = open and identity(open)
      local function give(name, fd)
         coroutine.yield(dir .. "/" .. name, fd)
         uv.fs_close(fd)
      end
      for _, name in ipairs(segments.names(dir)) do
         local fd
         if name ~= segments.OPEN then
            fd, err, code = open_segment(dir, name)
         end
         if fd then
            if open and identity(fd) == last then
               uv.fs_close(open)
               open = nil
            end
            give(name, fd)
         elseif name ~= segments.OPEN and code ~= "ENOENT" then
            on_bad(dir .. "/" .. name, err)
         end
      end
      if open then
         give(segments.OPEN, open)
      end
   end)
end

return segments
