--- Memory errors by EDAC: corrected (ce) and uncorrected (ue) per controller.
-- Documentation/admin-guide/ras.rst. A controller's count holds its DIMMs'.
local files = require("syscheck.files")

local memory_errors = {}

local DIR = "/sys/devices/system/edac/mc"

--- @return { corrected:MC, uncorrected:MC }
function memory_errors.read(root)
   local out
   for _, mc in ipairs(files.list(root .. DIR)) do
      if mc:match("^mc%d+$") then
         local ce = files.number(("%s%s/%s/ce_count"):format(root, DIR, mc))
         local ue = files.number(("%s%s/%s/ue_count"):format(root, DIR, mc))
         if ce or ue then
            out = out or {}
            out["corrected:" .. mc] = ce
            out["uncorrected:" .. mc] = ue
         end
      end
   end
   return out
end

return memory_errors
