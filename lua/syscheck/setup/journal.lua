--- What setup has changed on this host: each file as it was and as it was made, on disk before the file is changed, so
-- that whatever stops setup, the next one goes on or takes back.
local uv = require("luv")
local files = require("syscheck.lib.files")
local json = require("cjson").new()
local merge = require("syscheck.setup.merge")
local process = require("syscheck.lib.process")

local journal = {}
journal.__index = journal

local MAX_BYTES = 268435456
local LOCK_S = 10

local function file_of(self)
   return self.dir .. "/journal.json"
end

--- Opens it, and keeps others from doing so until close().
-- @param disk from setup/disk.lua
-- @param dir its directory, which is made
-- @return journal; or nil and why
function journal.open(disk, dir)
   local self = setmetatable({ disk = disk, dir = disk.root .. dir, entries = {} }, journal)
   local ok, err = files.mkdir(self.dir:match("^(.*)/"))
   if ok then
      self.release, err = process.lock(self.dir .. ".lock", LOCK_S)
   end
   if not self.release then
      return nil, err
   end
   local _, why, code = uv.fs_mkdir(self.dir, 448) -- 0700
   local stat = (not code or code == "EEXIST") and uv.fs_lstat(self.dir)
   if not stat or stat.type ~= "directory" or stat.uid ~= uv.getuid() or stat.mode & 63 ~= 0 then -- 0077
      self.release()
      return nil, not stat and why or dir .. ": not a directory of root's that nobody else can read"
   end
   -- What was stopped while it was written.
   for _, name in ipairs(files.list(self.dir, "^journal%.json%.%x+$")) do
      uv.fs_unlink(self.dir .. "/" .. name)
   end
   if uv.fs_lstat(file_of(self)) then
      local text
      text, err = files.regular(file_of(self), MAX_BYTES)
      local good, value = pcall(json.decode, text or "")
      if not text or not good or type(value) ~= "table" or type(value.entries) ~= "table" then
         self.release()
         return nil, err or file_of(self) .. ": cannot be read"
      end
      self.entries, self.conf = value.entries, value.conf
   end
   return self
end

--- Ends the use of it; one that holds nothing goes.
function journal:close()
   if #self.entries == 0 then
      uv.fs_unlink(file_of(self))
      uv.fs_rmdir(self.dir)
   end
   self.release()
end

local function save(self)
   self.disk.step("journal", self.dir)
   local text = json.encode({ v = 1, conf = self.conf, entries = self.entries })
   local ok, err = files.write(file_of(self), text, 384, true) -- 0600
   if ok then
      ok, err = files.sync_dir(self.dir)
   end
   return ok, err
end

-- Whether an entry's change is not there: it was never made, or taken back.
local function is_undone(self, entry)
   if entry.owner then
      local is = self.disk:owner(entry.path)
      return not is or is.uid == entry.was.uid
   end
   local text, err = self.disk:text(entry.path)
   return not err and text == entry.before
end

-- Forgets what a setup that was stopped had not done yet.
local function prune(self)
   local above, kept = {}, {}
   for i = #self.entries, 1, -1 do
      local entry = self.entries[i]
      self.disk:sweep(entry.path)
      if above[entry.path] or not is_undone(self, entry) then
         table.insert(kept, 1, entry)
         above[entry.path] = true
      end
   end
   self.entries = kept
end

-- A script of setup's own that somebody has edited since.
local function edited(self, changes)
   local last = {}
   for _, entry in ipairs(self.entries) do
      last[entry.path] = entry.after
   end
   for _, change in ipairs(changes) do
      local text = change.whole and change.before and last[change.path]
      if text and text ~= change.before then
         return change.path .. ": was edited since setup wrote it: take that out again, into the site's own script"
      end
   end
end

--- Makes changes, in their order.
-- @param changes from setup/plan.lua
-- @param conf slurm.conf's path, for the undoing
-- @return true; or nil and why: what is done until then is in the journal
function journal:write(changes, conf)
   prune(self)
   local why_not = edited(self, changes)
   if why_not then
      return nil, why_not
   end
   self.conf = conf
   for _, change in ipairs(changes) do
      self.disk:sweep(change.path)
      local entry = change.owner and { path = change.path, owner = change.owner, was = change.was }
         or { path = change.path, before = change.before, after = change.after }
      self.entries[#self.entries + 1] = entry
   end
   local ok, err = save(self)
   for _, change in ipairs(ok and changes or {}) do
      if change.owner then
         ok, err = self.disk:chown(change.path, change.owner.uid, change.owner.gid)
      else
         local text, why = self.disk:text(change.path)
         if text ~= change.before or why then
            return nil, why or change.path .. ": was changed meanwhile; again, please"
         end
         ok, err = self.disk:replace(change.path, change.after, self.disk:owner(change.path) or
            { mode = change.mode, uid = uv.getuid(), gid = uv.getgid() })
      end
      if not ok then
         return nil, err
      end
   end
   return ok, err
end

-- What is the admin's now, as lines for him.
local function named(path, lost)
   local lines = {}
   for i, l in ipairs(lost) do
      local text = l.now and "yours now, as it was edited since: " .. l.now
         or ("left, as setup's line was edited or removed since: %s"):format(l.added or "none")
      lines[i] = ("%s: %s; before setup: %s"):format(path, text,
         #l.removed > 0 and table.concat(l.removed, " | ") or "nothing")
   end
   return lines
end

-- Takes a file's change back.
-- @return true, and lines on what is the admin's now; or nil and lines on what is still to be taken back
local function restore(self, entry, needed)
   local text, err = self.disk:text(entry.path)
   if err then
      return nil, { err }
   elseif not text then
      return true -- the site removed it
   end
   local why = not entry.before and needed(entry.path)
   if why then
      return nil, { ("%s: kept, %s"):format(entry.path, why) }
   elseif not entry.before and text ~= entry.after then
      return true, { entry.path .. ": was edited since; it is yours now: remove it, or keep it" }
   elseif not entry.before then
      local ok
      ok, err = self.disk:remove(entry.path)
      return ok, { err }
   end
   local back, lost = merge.undo(entry.before, entry.after, text)
   if back ~= text then
      local ok
      ok, err = self.disk:replace(entry.path, back, self.disk:owner(entry.path))
      if not ok then
         return nil, { err }
      end
   end
   return true, named(entry.path, lost)
end

-- Takes one back. @return as restore()
local function take_back(self, entry, needed)
   self.disk:sweep(entry.path)
   if is_undone(self, entry) then
      return true
   elseif entry.owner then
      if self.disk:owner(entry.path).uid ~= entry.owner.uid then
         return true, { entry.path .. ": has another owner since, and is left as it is" }
      end
      local ok, err = self.disk:chown(entry.path, entry.was.uid, entry.was.gid)
      return ok, { err }
   end
   return restore(self, entry, needed)
end

--- Takes all changes back, the last first; what setup made itself when nothing names it any more. What the admin has
-- edited since is his: it is said once, and forgotten.
-- @param needed function(path of a file that setup made) -> why it must stay; or nil
-- @return list of paths that were restored; list of lines on what was not
function journal:undo(needed)
   local done, left, stays = {}, {}, {}
   for _, made in ipairs({ false, true }) do
      for i = #self.entries, 1, -1 do
         local entry = self.entries[i]
         if (not entry.owner and not entry.before) == made and not stays[entry.path] then
            local ok, lines = take_back(self, entry, needed)
            table.move(lines or {}, 1, #(lines or {}), #left + 1, left)
            if ok then
               done[#done + 1] = entry.path
               table.remove(self.entries, i)
               ok, left[#left + 1] = save(self)
            end
            stays[entry.path] = not ok
         end
      end
   end
   return done, left
end

return journal
