--- Block devices: /proc/diskstats, whole devices only (a partition's time is in
-- its disk's, a mapped device's in the disks below it).
-- Documentation/admin-guide/iostats.rst: field 10 is the time with I/O in flight.
local files = require("syscheck.lib.files")

local disk = {}

local SECTOR = 512 -- bytes, whatever the device's own sector is

-- With NVMe's own multipath a disk shows as itself (nvme0n1) and as each of its paths
-- (nvme0c0n1). The paths always count, the disk itself in newer kernels the same I/O again.
local function has_paths(root, text, name)
   local controller, namespace = name:match("^(nvme%d+)(n%d+)$")
   local path = controller and text:match((" (%sc%%d+%s) "):format(controller, namespace))
   return path and files.line(root .. "/sys/block/" .. path .. "/stat") ~= nil
end

local function counts(root, name)
   return not name:match("^loop") and not name:match("^ram") and not name:match("^zram")
      and not name:match("^dm%-") and not name:match("^md")
      -- Whole devices alone have a folder of their own in /sys/block.
      and (files.line(root .. "/sys/block/" .. name .. "/stat") ~= nil)
end

--- @return { busy_ms:DEV, read_bytes:DEV, written_bytes:DEV }
function disk.read(root)
   local out
   local text = files.read(root .. "/proc/diskstats") or ""
   for line in text:gmatch("[^\n]+") do
      local name, rest = line:match("^%s*%d+%s+%d+%s+(%S+)%s+(.*)$")
      if name and counts(root, name:gsub("/", "!")) and not has_paths(root, text, name) then
         local f = {}
         for n in rest:gmatch("%d+") do
            f[#f + 1] = tonumber(n)
         end
         if #f >= 10 then
            out = out or {}
            out["busy_ms:" .. name] = f[10]
            out["read_bytes:" .. name] = f[3] * SECTOR
            out["written_bytes:" .. name] = f[7] * SECTOR
         end
      end
   end
   return out
end

return disk
