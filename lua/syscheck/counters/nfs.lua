--- NFS client: /proc/self/mountstats, per operation (net/sunrpc/stats.c): operations,
-- transmissions, timeouts, bytes sent and received, then milliseconds queued, at the
-- server, and from start to end; newer kernels add errors.
local growth = require("syscheck.counters.growth")

local nfs = {}

nfs.fields = {
   { "ops", name = "nfs_ops", unit = "count", label = "NFS operations" },
   { "op_ms", name = "nfs_op_ms", unit = "ms", label = "NFS operation time", cause = "storage" },
   { "bytes", name = "nfs_bytes", unit = "bytes", label = "NFS traffic", work = 0.2 },
}

local MAX = 4194304

-- Superblocks by file system type and mount point. The counts are a superblock's: a bind
-- mount, and a second mount of the same export, show them again.
local function superblocks(machine)
   local by_mount = {}
   for line in (machine:read("/proc/self/mountinfo", MAX) or ""):gmatch("[^\n]+") do
      local device, at, kind = line:match("^%d+ %d+ (%d+:%d+) %S+ (%S+) .- %- (nfs4?) ")
      if device then
         by_mount[kind .. " " .. at] = device
      end
   end
   return by_mount
end

-- @return list of { at, kind, age = seconds since it was mounted, ops, op_ms, bytes }
local function mounts(machine)
   local list, mount = {}, nil
   for line in (machine:read("/proc/self/mountstats", MAX) or ""):gmatch("[^\n]+") do
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
function nfs.read(machine)
   local list = mounts(machine)
   local out, ages, seen = {}, {}, nil
   for _, mount in ipairs(list) do
      seen = seen or (#list > 1 and superblocks(machine) or {})
      local device = seen[mount.kind .. " " .. mount.at]
      if not device or not seen[device] then
         seen[device or ""] = device
         for _, name in ipairs({ "ops", "op_ms", "bytes" }) do
            out[name .. ":" .. mount.at] = mount[name]
         end
         ages[mount.at] = mount.age
      end
   end
   return out, next(out) and ages
end

nfs.beside = "ages"

local function age_of(key, span)
   local age = span.known and span.beside[key:match(":(.*)$")]
   return type(age) == "number" and age or nil
end

--- A superblock counts from its mount on: one that was mounted in between (automounted
-- home directories) did all it counts since the earlier snapshot.
function nfs.growth(before, now, key, span)
   local age = age_of(key, span)
   if age and age < span.seconds + (now < before and 1 or -1) then
      return now
   end
   return growth.plain(before, now)
end

--- What a mount did that the earlier snapshot does not have: all, if it is younger than that.
function nfs.since_new(now, key, span)
   local age = age_of(key, span)
   return age and age <= span.seconds + 1 and now or nil
end

return nfs
