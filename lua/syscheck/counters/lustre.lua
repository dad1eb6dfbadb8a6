--- Lustre client: the llite stats of each mounted file system. Lines are
-- `name samples [unit] min max sum sumsq`; times are in microseconds ("usec").
local files = require("syscheck.files")

local lustre = {}

local DIRS = { "/sys/kernel/debug/lustre/llite", "/proc/fs/lustre/llite" }

--- @return { ops:FS, op_us:FS, read_bytes:FS, written_bytes:FS }
function lustre.read(root)
   local out
   for _, dir in ipairs(DIRS) do
      for _, fs in ipairs(files.list(root .. dir)) do
         local text = files.read(root .. dir .. "/" .. fs .. "/stats")
         for name, samples, unit, sum in (text or ""):gmatch("(%S+)%s+(%d+) samples %[(%a+)%]%s+%d+ %d+ (%d+)") do
            out = out or {}
            local function add(key, value)
               key = key .. ":" .. fs
               out[key] = (out[key] or 0) + value
            end
            if unit == "usec" or unit == "usecs" then
               add("ops", tonumber(samples))
               add("op_us", tonumber(sum))
            elseif name == "read_bytes" then
               add("read_bytes", tonumber(sum))
            elseif name == "write_bytes" then
               add("written_bytes", tonumber(sum))
            end
         end
      end
      if out then
         return out
      end
   end
   return nil
end

return lustre
