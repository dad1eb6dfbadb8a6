--- NFS client: /proc/self/mountstats, per operation. The last but one of the
-- eight numbers after an operation's name is the time from request to end, in ms.
-- nfs-utils, tools/mountstats: ops, trans, timeouts, sent, received, queue, rtt, execute.
local files = require("syscheck.files")

local nfs = {}

--- @return { ops:MOUNT, op_ms:MOUNT, bytes:MOUNT }
function nfs.read(root)
   local text = files.read(root .. "/proc/self/mountstats", 4194304)
   local out, mount
   for line in (text or ""):gmatch("[^\n]+") do
      local at, kind = line:match("^device .- mounted on (.-) with fstype (%S+)")
      if at then
         mount = kind:match("^nfs") and at
      elseif mount then
         local ops, sent, received, execute =
            line:match("^%s+[%u_%d]+: (%d+) %d+ %d+ (%d+) (%d+) %d+ %d+ (%d+)")
         if ops then
            out = out or {}
            local function add(key, value)
               key = key .. ":" .. mount
               out[key] = (out[key] or 0) + value
            end
            add("ops", tonumber(ops))
            add("op_ms", tonumber(execute))
            add("bytes", sent + received)
         end
      end
   end
   return out
end

return nfs
