--- Files that setup changes: each as a whole or not at all, with the mode and owner that it had.
local uv = require("luv")
local files = require("syscheck.lib.files")
local probe = require("syscheck.doctor.facts.probe")

local disk = {}
disk.__index = disk

local C = uv.constants

--- @param root all paths are below it: "" but in tests
-- @param step function(what, path), called before each change; tests stop there
function disk.at(root, step)
   return setmetatable({ root = root or "", step = step or function() end }, disk)
end

--- Text of a regular file; nil where there is none; nil and why where it cannot be read.
function disk:text(path)
   local _, _, code = uv.fs_stat(self.root .. path)
   if code == "ENOENT" or code == "ENOTDIR" then
      return nil, uv.fs_lstat(self.root .. path) and path .. ": a link that leads nowhere" or nil
   end
   return probe.text(self.root .. path)
end

--- mode (of its permissions), uid, gid; nil where it is not there.
function disk:owner(path)
   local stat = uv.fs_stat(self.root .. path)
   return stat and { mode = stat.mode & 4095, uid = stat.uid, gid = stat.gid } -- 07777
end

--- Names in a directory; nil where there is none.
function disk:names(dir)
   local stat = uv.fs_stat(self.root .. dir)
   return stat and stat.type == "directory" and files.list(self.root .. dir) or nil
end

--- Where a path really is: of a link what it leads to; of a file that is not there yet its directory's real place.
function disk:real(path)
   local real = uv.fs_realpath(self.root .. path)
   if not real and uv.fs_lstat(self.root .. path) then
      return nil, path .. ": a link that leads nowhere"
   end
   local dir, name = path:match("^(.*)/([^/]+)$")
   local above = not real and uv.fs_realpath(self.root .. (dir == "" and "/" or dir))
   real = real or (above and (above == "/" and "" or above) .. "/" .. name)
   if not real then
      return nil, ("%s: there is no directory %s"):format(path, dir)
   elseif self.root ~= "" and real:sub(1, #self.root + 1) ~= self.root .. "/" then
      return nil, path .. ": leads out of " .. self.root
   end
   return real:sub(#self.root + 1)
end

--- Whether root alone (and SlurmUser, what is Slurm's) may change a file and the way to it.
-- @param owner uid of SlurmUser, or nil
-- @return true; or nil and why not
function disk:trusted(path, owner)
   for _, start in ipairs({ path, (self:real(path)) }) do
      local at = start
      while at and at ~= "" do
         local stat = uv.fs_stat(self.root .. at)
         local text, fix = nil, nil
         -- In a directory of a test its user is root.
         if stat and not (self.root ~= "" and stat.uid == uv.getuid() and stat.mode & 18 == 0) then -- 0022
            text, fix = probe.open_to(stat, owner)
         end
         if text then
            return nil, ("%s: %s, so that others could have root write elsewhere: %s %s"):format(at, text, fix, at)
         end
         at = at:match("^(.*)/[^/]*$")
      end
   end
   return true
end

local function temporary(path)
   local dir, name = path:match("^(.*/)([^/]+)$")
   return ("%s.%s."):format(dir, name)
end

--- Removes what a replace() that was killed has left.
function disk:sweep(path)
   local real = self:real(path)
   local prefix = real and temporary(real)
   local dir = prefix and prefix:match("^(.*)/")
   for _, name in ipairs(dir and files.list(self.root .. dir) or {}) do
      local rest = (dir .. "/" .. name):sub(#prefix + 1)
      if (dir .. "/" .. name):sub(1, #prefix) == prefix and #rest == 16 and rest:find("^%x+$") then
         uv.fs_unlink(self.root .. dir .. "/" .. name)
      end
   end
end

--- Gives a file a new content. The temporary file's name begins with a dot: Slurm's patterns do not match it.
-- @param like { mode, uid, gid }
function disk:replace(path, text, like)
   local real, err = self:real(path)
   if not real then
      return nil, err
   end
   local target = self.root .. real
   local name = self.root .. temporary(real) .. files.random_id(8)
   self.step("create", path)
   local fd
   fd, err = uv.fs_open(name, C.O_WRONLY + C.O_CREAT + C.O_EXCL + files.NOFOLLOW, 384) -- 0600
   if not fd then
      return nil, err
   end
   self.step("write", path)
   local ok
   ok, err = files.write_all(fd, text)
   -- In a directory with the set-group-ID bit a new file has its group.
   local stat = ok and uv.fs_fstat(fd)
   if stat and (like.uid ~= stat.uid or like.gid ~= stat.gid) then
      ok, err = uv.fs_fchown(fd, like.uid, like.gid)
   end
   if ok then
      ok, err = uv.fs_fchmod(fd, like.mode)
   end
   if ok then
      ok, err = uv.fs_fsync(fd)
   end
   uv.fs_close(fd)
   if ok then
      self.step("rename", path)
      ok, err = uv.fs_rename(name, target)
   end
   if not ok then
      uv.fs_unlink(name)
      return nil, err
   end
   return files.sync_dir(target:match("^(.*)/") .. "/")
end

function disk:remove(path)
   self.step("remove", path)
   local ok, err = uv.fs_unlink(self.root .. path)
   if not ok then
      return nil, err
   end
   return files.sync_dir((self.root .. path):match("^(.*)/") .. "/")
end

--- Gives a directory another owner; a link is not followed.
function disk:chown(path, uid, gid)
   self.step("chown", path)
   local fd, err = uv.fs_open(self.root .. path, C.O_RDONLY + (C.O_DIRECTORY or 0) + files.NOFOLLOW, 0)
   if not fd then
      return nil, err
   end
   local ok
   ok, err = uv.fs_fchown(fd, uid, gid)
   uv.fs_close(fd)
   return ok, err
end

return disk
