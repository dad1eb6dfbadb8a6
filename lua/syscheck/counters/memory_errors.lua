--- Memory errors by EDAC: corrected (ce) and uncorrected (ue) per controller, and which
-- modules had them. Documentation/admin-guide/ras.rst, drivers/edac/edac_mc_sysfs.c.
-- A controller's count holds its modules' and what the driver could blame on none
-- (ce_noinfo_count), so the controllers alone add up.
local files = require("syscheck.lib.files")

local memory_errors = {}

local DIR = "/sys/devices/system/edac/mc"
local MAX_LABEL = 64

-- Modules of a controller with their counts. `rankN` where the driver knows ranks only; old
-- kernels have rows of channels, and folders of modules without counts beside them.
local function modules(out, dir, mc)
   local function add(name, unit, file)
      local count = files.number(("%s/%s"):format(dir, file))
      if count and count > 0 then
         out[("%s:%s/%s"):format(name, mc, unit)] = count
      end
   end
   local names = files.list(dir)
   local found = false
   for _, name in ipairs(names) do
      if (name:find("^dimm%d+$") or name:find("^rank%d+$"))
         and files.number(dir .. "/" .. name .. "/dimm_ce_count") then
         found = true
         add("corrected", name, name .. "/dimm_ce_count")
         add("uncorrected", name, name .. "/dimm_ue_count")
      end
   end
   for _, name in ipairs(found and {} or names) do
      if name:find("^csrow%d+$") then
         for _, file in ipairs(files.list(dir .. "/" .. name)) do
            local channel = file:match("^(ch%d+)_ce_count$")
            if channel then
               add("corrected", name .. "/" .. channel, name .. "/" .. file)
            end
         end
         add("uncorrected", name, name .. "/ue_count")
      end
   end
end

--- @return { corrected:MC, uncorrected:MC }; and { corrected:MC/MODULE, ... } of the
--   modules that had any: those of a calm controller are not even read
function memory_errors.read(root)
   local out, blamed
   for _, mc in ipairs(files.list(root .. DIR)) do
      if mc:find("^mc%d+$") then
         local dir = ("%s%s/%s"):format(root, DIR, mc)
         local ce, ue = files.number(dir .. "/ce_count"), files.number(dir .. "/ue_count")
         if ce or ue then
            out, blamed = out or {}, blamed or {}
            out["corrected:" .. mc] = ce
            out["uncorrected:" .. mc] = ue
            if (ce or 0) > 0 or (ue or 0) > 0 then
               modules(blamed, dir, mc)
            end
         end
      end
   end
   return out, blamed
end

--- What people call a module: "mc0/dimm3" -> "mc0 CPU0_DIMM_A1". Labels come from firmware
-- and site: ASCII is kept, up to a bound.
function memory_errors.label(root, unit)
   local mc, rest = unit:match("^(mc%d+)/(.*)$")
   if not mc then
      return unit
   end
   local dir = ("%s%s/%s/"):format(root, DIR, mc)
   local row, channel = rest:match("^(csrow%d+)/(ch%d+)$")
   local label = files.line(dir .. (row and ("%s/%s_dimm_label"):format(row, channel) or rest .. "/dimm_label"))
   label = label and label:sub(1, MAX_LABEL):gsub("[^ -~]", "?")
   return ("%s %s"):format(mc, label and label:find("%S") and label or rest)
end

return memory_errors
