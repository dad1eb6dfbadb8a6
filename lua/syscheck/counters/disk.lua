--- Block devices: /proc/diskstats, whole devices only (a partition's time is in
-- its disk's, a mapped device's in the disks below it).
-- Documentation/admin-guide/iostats.rst: fields 1 and 5 are reads and writes completed, 4 and 8 the
-- milliseconds that they took, each from its start in the queue to its end; field 10 is the time with
-- I/O in flight. Discards and flushes have fields of their own in newer kernels only.
local disk = {}

disk.fields = {
   { "busy_ms", name = "disk_busy_ms", unit = "ms", label = "disks busy" },
   { "read_bytes", name = "disk_read_bytes", unit = "bytes", label = "read from disks", work = 0.1 },
   { "written_bytes", name = "disk_written_bytes", unit = "bytes", label = "written to disks", work = 0.2 },
   { "ops", name = "disk_ops", unit = "count", label = "disk operations" },
   { "op_ms", name = "disk_op_ms", unit = "ms", label = "disk operation time" },
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

--- @return { busy_ms:DEV, read_bytes:DEV, written_bytes:DEV, ops:DEV, op_ms:DEV/read, op_ms:DEV/write }
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
            out["ops:" .. name] = f[1] + f[5]
            -- Apart, as each wraps by itself.
            out["op_ms:" .. name .. "/read"], out["op_ms:" .. name .. "/write"] = f[4], f[8]
         end
      end
   end
   return out
end

local WRAP = 4294967296 -- 2^32
local SLACK_MS = 2000 -- the clock is read before the disks are

-- Operations of a disk that are under way at once, in the mean over a job: no more are queued for a SCSI
-- disk (block/blk-mq-sched.c: twice its depth, 128 at most), and for hours for no other.
local MOST_AT_ONCE = 256

-- What a time in 32 bits grew by, where that cannot be more than `most`.
local function wrapped(before, now, most)
   local step = now - before
   if step < 0 and before < WRAP and step + WRAP <= most then
      step = step + WRAP
   end
   return step >= 0 and most < WRAP and step or nil
end

-- A disk is busy for no longer than time goes by.
local function busy(before, now, span)
   return wrapped(before, now, span.known and span.seconds * 1000 + SLACK_MS or WRAP / 2)
end

-- Operations took at most as long as the disk was busy, times those at once.
local function operations(before, now, device, span)
   local from, to = span.before["busy_ms:" .. device], span.now["busy_ms:" .. device]
   local ms = type(from) == "number" and type(to) == "number" and busy(from, to, span)
   if not ms and span.seconds * 1000 + SLACK_MS < WRAP then
      return nil -- that went back, too: another disk
   end
   local most = ms and (ms + SLACK_MS) * MOST_AT_ONCE or WRAP
   return most < WRAP and wrapped(before, now, most) or math.huge
end

--- The kernel prints times in 32 bits (block/genhd.c), 49.7 days; those of operations go by as often at
-- once as operations are under way. Where such a time may have wrapped twice the sum is not known.
-- What else went back (a driver reset, another disk of that name) says nothing.
function disk.growth(before, now, key, span)
   local name, device = key:match("^(%l+_ms):(.*)$")
   if name == "busy_ms" then
      return busy(before, now, span)
   elseif name == "op_ms" then
      return operations(before, now, device:match("^(.*)/") or device, span)
   end
   return math.max(now - before, 0)
end

return disk
