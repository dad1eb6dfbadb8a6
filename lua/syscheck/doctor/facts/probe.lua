--- Reads files and asks programs as the rules need it: bounded, never blocked by a FIFO,
-- changing nothing.
local uv = require("luv")
local files = require("syscheck.lib.files")
local process = require("syscheck.lib.process")

local probe = {}

local MAX_TEXT = 8388608
local MAX_OBJECT = 16777216
-- Of statfs(2): nodes of a cluster share these.
local SHARED = { [0x6969] = "NFS", [0x0bd00bd0] = "Lustre", [0x47504653] = "GPFS", [0x00c36400] = "Ceph",
   [0x19830326] = "BeeGFS", [0xff534d42] = "CIFS", [0xfe534d42] = "SMB", [0x5346414f] = "AFS" }

--- Text of a regular file of at most 8 MiB; or nil and why.
function probe.text(path, max)
   local stat, err = uv.fs_stat(path)
   if not stat then
      return nil, err
   elseif stat.size > (max or MAX_TEXT) then
      return nil, ("%s: %d MiB, too large to be what it should be"):format(path, stat.size // 1048576)
   elseif stat.size == 0 and stat.type == "file" then
      return ""
   end
   return files.regular(path, max or MAX_TEXT)
end

function probe.object(path)
   return probe.text(path, MAX_OBJECT)
end

--- Paths that match a pattern whose last part may hold * and ?; sorted.
function probe.glob(pattern)
   local dir, name = pattern:match("^(.*)/([^/]*)$")
   if not name or not name:find("[*?]") then
      return { pattern }
   end
   local wanted = "^" .. name:gsub("[%p]", "%%%0"):gsub("%%%*", ".*"):gsub("%%%?", ".") .. "$"
   local out = {}
   for _, entry in ipairs(files.list(dir)) do
      -- As the shell does: a hidden file only where the pattern says so.
      if entry:match(wanted) and (entry:sub(1, 1) ~= "." or name:sub(1, 1) == ".") then
         out[#out + 1] = dir .. "/" .. entry
      end
   end
   return out
end

--- First line of what a program said, printable.
local function one_line(text)
   return ((text:match("[^\n]+") or ""):gsub("[^ -~]", "?"):sub(1, 200))
end

--- Runs a program that only prints something.
-- @return its output; or nil, why, and true when it did not even start
function probe.ask(program, args, timeout_ms, env)
   local answer, err = process.run(program, args, { timeout_ms = timeout_ms or 5000, max_output = 262144, env = env })
   if not answer then
      return nil, (err:gsub("^.*: ", "")), true
   elseif answer.timed_out or answer.stuck then
      return nil, ("no answer within %g s"):format((timeout_ms or 5000) / 1000)
   elseif answer.code ~= 0 or answer.signal ~= 0 then
      local said = one_line(answer.err ~= "" and answer.err or answer.out)
      return nil, answer.signal ~= 0 and "ended by signal " .. answer.signal
         or ("exit code %d%s"):format(answer.code, said ~= "" and ": " .. said or "")
   end
   return answer.out
end

--- The directory that an absolute path is in.
function probe.parent(path)
   return path:match("^(.+)/[^/]*$") or "/"
end

--- What is wrong with who may change a file or directory: nil, or text and what mends it.
-- @param stat of it
-- @param owner a further uid that may own it, besides root
function probe.open_to(stat, owner)
   if stat.uid ~= 0 and stat.uid ~= owner then
      return ("owned by uid %d"):format(stat.uid), "chown root"
   elseif stat.type == "directory" and stat.mode & 512 ~= 0 then -- sticky: entries are their owners'
      return nil
   elseif stat.mode & 2 ~= 0 then
      return "writable by everybody", "chmod o-w"
   elseif stat.mode & 16 ~= 0 and stat.gid ~= 0 then
      return ("writable by group %d"):format(stat.gid), "chmod g-w"
   end
end

--- What a directory that root writes to is like.
-- @return { name, path, err, fix, open, shared, free, unseen }
function probe.directory(name, path, is_root)
   local d = { name = name, path = path }
   local stat, err, code = uv.fs_stat(path)
   if not stat and code == "ENOENT" then
      -- The prolog makes it, where it can.
      local above = probe.parent(path)
      while not uv.fs_stat(above) and above ~= "/" do
         above = probe.parent(above)
      end
      if is_root and not uv.fs_access(above, "W") then
         d.err = ("cannot be made, %s is not writable"):format(above)
      end
      path = above
   elseif not stat then
      d.unseen = err
      return d
   elseif stat.type ~= "directory" then
      d.err, d.fix = ("is a %s"):format(stat.type), "remove it"
      return d
   else
      local fix
      d.open, fix = probe.open_to(stat)
      d.fix = fix and ("%s %s"):format(fix, path)
      if is_root and not uv.fs_access(path, "W") then
         d.err, d.fix = "not writable, even by root", "mount its file system read-write"
      end
   end
   local fs = uv.fs_statfs and uv.fs_statfs(path)
   if fs then
      d.shared = SHARED[fs.type & 0xffffffff]
      d.free = is_root and fs.bsize and fs.bavail * fs.bsize or nil
   end
   return d
end

--- The log, and whether a file of logrotate's names it.
function probe.log(path, sysconf)
   local l = { path = path }
   local stat = uv.fs_stat(path)
   if stat and stat.type ~= "file" then
      l.err, l.fix = ("is a %s, nothing is written to it"):format(stat.type), "remove it"
      return l
   end
   l.size = stat and stat.size
   l.rotated = false
   -- logrotate reads /etc alone; a site with another SYSCONFDIR links or includes it.
   for _, dir in ipairs({ "/etc/logrotate.d", sysconf .. "/logrotate.d" }) do
      for _, name in ipairs(files.list(dir)) do
         local text = probe.text(dir .. "/" .. name)
         l.rotated = l.rotated or (text ~= nil and text:find(path, 1, true) ~= nil)
      end
   end
   return l
end

return probe
