--- Segments to a shared directory: DIR/NODE/SEGMENT, each whole or not there.
local uv = require("luv")
local files = require("syscheck.lib.files")
local segments = require("syscheck.spool.segments")

local ship_dir = {}
ship_dir.__index = ship_dir

local C = uv.constants
local CHUNK = 1048576

-- Others must not be able to put something in our place. root may be another user over
-- there (root_squash): what we make in DIR belongs to its owner then.
local function check(dir, sub)
   local top, err, code = uv.fs_stat(dir)
   if not top then
      return nil, code == "ENOENT" and dir .. ": no such directory; it is not made, as it may be a mount that is away"
         or err
   elseif top.type ~= "directory" then
      return nil, dir .. ": not a directory"
   elseif top.mode & 512 == 0 and top.mode & 2 ~= 0 then -- no sticky bit, o+w
      return nil, dir .. ": everybody may rename and remove what is in it (chmod o-w)"
   end
   local ok
   ok, err, code = uv.fs_mkdir(sub, 488) -- 0750
   if not ok and code ~= "EEXIST" then
      return nil, err
   end
   local stat
   stat, err = uv.fs_lstat(sub)
   if not stat then
      return nil, err
   elseif stat.type == "link" then
      return nil, sub .. ": a link, not followed"
   elseif stat.type ~= "directory" then
      return nil, sub .. ": not a directory"
   elseif stat.uid ~= uv.getuid() and stat.uid ~= top.uid then
      return nil, ("%s: belongs to user %d, neither to this process' user nor to the owner of %s"):format(sub, stat.uid,
         dir)
   elseif stat.mode & 2 ~= 0 then
      return nil, sub .. ": everybody may write to it (chmod o-w)"
   end
   return files.sync_dir(dir)
end

--- @param o see ship.run
-- @return target, or nil and why
function ship_dir.open(o)
   local sub = o.to:gsub("/+$", "") .. "/" .. o.node
   local ok, err = check(o.to, sub)
   if not ok then
      return nil, err
   end
   -- Of a ship that was killed: this node's alone, and its lock is held.
   for _, name in ipairs(files.list(sub, segments.TEMPORARY)) do
      uv.fs_unlink(sub .. "/" .. name)
   end
   return setmetatable({ spool = o.spool, dir = sub }, ship_dir)
end

local function copy(from, to, size)
   local done = 0
   while true do
      local chunk, err = uv.fs_read(from, CHUNK, done)
      if not chunk then
         return nil, err
      elseif chunk == "" then
         break
      end
      local ok
      ok, err = files.write_all(to, chunk)
      if not ok then
         return nil, err
      end
      done = done + #chunk
   end
   if done ~= size then
      return nil, "the segment was dropped meanwhile, for room"
   end
   return uv.fs_fsync(to)
end

--- Copies a segment: when it returns bytes, name and content are on the other disk.
-- @return bytes; or nil and why
function ship_dir:send(name)
   local from, err = uv.fs_open(self.spool .. "/" .. name, C.O_RDONLY + files.NOFOLLOW, 0)
   if not from then
      return nil, err
   end
   local size = uv.fs_fstat(from).size
   local temporary = ("%s/.%s.%s"):format(self.dir, name, files.random_id(8))
   local to
   to, err = uv.fs_open(temporary, C.O_WRONLY + C.O_CREAT + C.O_EXCL + files.NOFOLLOW, 416) -- 0640
   local ok
   if to then
      ok, err = copy(from, to, size)
      uv.fs_close(to)
      if ok then
         ok, err = uv.fs_rename(temporary, self.dir .. "/" .. name)
      end
      if ok then
         ok, err = files.sync_dir(self.dir)
      else
         uv.fs_unlink(temporary)
      end
   end
   uv.fs_close(from)
   if not ok then
      -- Without the temporary name.
      return nil, ("%s: %s"):format(self.dir, err:match("^(E%u+: [^:]+): /") or err)
   end
   return size
end

return ship_dir
