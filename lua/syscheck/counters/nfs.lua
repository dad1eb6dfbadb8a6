--- NFS client: /proc/self/mountstats, per operation (net/sunrpc/stats.c): operations,
-- transmissions, timeouts, bytes sent and received, then milliseconds queued, at the
-- server, and from start to end; newer kernels add errors.
local files = require("syscheck.lib.files")

local nfs = {}

local MAX = 4194304

-- Superblocks by file system type and mount point. The counts are a superblock's: a bind
-- mount, and a second mount of the same export, show them again.
local function superblocks(root)
   local by_mount = {}
   for line in (files.read(root .. "/proc/self/mountinfo", MAX) or ""):gmatch("[^\n]+") do
      local device, at, kind = line:match("^%d+ %d+ (%d+:%d+) %S+ (%S+) .- %- (nfs4?) ")
      if device then
         by_mount[kind .. " " .. at] = device
      end
   end
   return by_mount
end

-- @return list of { at, kind, age = seconds since it was mounted, ops, op_ms, bytes }
local function mounts(root)
   local list, mount = {}, nil
   for line in (files.read(root .. "/proc/self/mountstats", MAX) or ""):gmatch("[^\n]+") do
      if line:find("^%S") then
         local at, kind = line:match("^device %S+ mounted on (%S+) with fstype (nfs4?)%f[%s\0]")
         mount = at and { at = at, kind = kind, ops = 0, op_ms = 0, bytes = 0 }
      elseif mount then
         local ops, sent, received, execute =
            line:match("^%s+[%u_%d]+: (%d+) %d+ %d+ (%d+) (%d+) %d+ %d+ (%d+)")
         if ops then
            mount.ops, mount.op_ms = mount.ops + tonumber(ops), mount.op_ms + tonumber(execute)
            mount.bytes = mount.bytes + tonumber(sent) + tonumber(received)
            if not mount.listed then
               mount.listed = true
               list[#list + 1] = mount
            end
         else
            mount.age = mount.age or tonumber(line:match("^%s+age:%s+(%d+)"))
         end
      end
   end
   return list
end

--- @return { ops:MOUNT, op_ms:MOUNT, bytes:MOUNT }; and { MOUNT = age in seconds }
function nfs.read(root)
   local list = mounts(root)
   local out, ages, seen
   for _, mount in ipairs(list) do
      seen = seen or (#list > 1 and superblocks(root) or {})
      local device = seen[mount.kind .. " " .. mount.at]
      if not device or not seen[device] then
         seen[device or ""] = device
         out, ages = out or {}, ages or {}
         for _, name in ipairs({ "ops", "op_ms", "bytes" }) do
            out[name .. ":" .. mount.at] = mount[name]
         end
         ages[mount.at] = mount.age
      end
   end
   return out, ages
end

return nfs
