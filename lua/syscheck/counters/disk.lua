--- Block devices: /proc/diskstats, whole devices only (a partition's time is in
-- its disk's, a mapped device's in the disks below it).
-- Documentation/admin-guide/iostats.rst: field 10 is the time with I/O in flight.
local disk = {}

disk.fields = {
   { "busy_ms", name = "disk_busy_ms", unit = "ms", label = "disks busy" },
   { "read_bytes", name = "disk_read_bytes", unit = "bytes", label = "read from disks", work = true },
   { "written_bytes", name = "disk_written_bytes", unit = "bytes", label = "written to disks", work = true },
}

local SECTOR = 512 -- bytes, whatever the device's own sector is

-- With NVMe's own multipath a disk shows as itself (nvme0n1) and as each of its paths
-- (nvme0c0n1). The paths always count, the disk itself in newer kernels the same I/O again.
local function has_paths(machine, text, name)
   local controller, namespace = name:match("^(nvme%d+)(n%d+)$")
   local path = controller and text:match((" (%sc%%d+%s) "):format(controller, namespace))
   return path and machine:line("/sys/block/" .. path .. "/stat") ~= nil
end

local function counts(machine, name)
   return not name:match("^loop") and not name:match("^ram") and not name:match("^zram")
      and not name:match("^dm%-") and not name:match("^md")
      -- Whole devices alone have a folder of their own in /sys/block.
      and (machine:line("/sys/block/" .. name .. "/stat") ~= nil)
end

--- @return { busy_ms:DEV, read_bytes:DEV, written_bytes:DEV }
function disk.read(machine)
   local out = {}
   local text = machine:read("/proc/diskstats") or ""
   for line in text:gmatch("[^\n]+") do
      local name, rest = line:match("^%s*%d+%s+%d+%s+(%S+)%s+(.*)$")
      if name and counts(machine, name:gsub("/", "!")) and not has_paths(machine, text, name) then
         local f = {}
         for n in rest:gmatch("%d+") do
            f[#f + 1] = tonumber(n)
         end
         if #f >= 10 then
            out["busy_ms:" .. name] = f[10]
            out["read_bytes:" .. name] = f[3] * SECTOR
            out["written_bytes:" .. name] = f[7] * SECTOR
         end
      end
   end
   return out
end

local WRAP = 4294967296 -- 2^32
local SLACK_MS = 2000 -- the clock is read before the disks are

--- The kernel prints busy_ms in 32 bits (block/genhd.c, jiffies_to_msecs), 49.7 days: a disk is busy
-- for no longer than time goes by. What else went back (a driver reset) says nothing.
function disk.growth(before, now, key, span)
   local step = now - before
   if not key:find("^busy_ms:") then
      return math.max(step, 0)
   end
   local most = span.known and span.seconds * 1000 + SLACK_MS or WRAP / 2
   if step < 0 and before < WRAP and step + WRAP <= most then
      step = step + WRAP
   end
   return step >= 0 and most < WRAP and step or nil
end

return disk
