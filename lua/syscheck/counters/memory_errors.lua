--- Memory errors by EDAC: corrected (ce) and uncorrected (ue) per controller, and which
-- modules had them. Documentation/admin-guide/ras.rst, drivers/edac/edac_mc_sysfs.c.
-- A controller's count holds its modules' and what the driver could blame on none
-- (ce_noinfo_count), so the controllers alone add up.
local growth = require("syscheck.counters.growth")

local memory_errors = {}

-- each_s: firmware that looks at a corrected error first stops all cores, 0.13 s in the mean (Gottscho et al. 2016).
memory_errors.fields = {
   { "corrected", name = "memory_corrected", unit = "count", label = "corrected memory errors", cause = "memory",
      each_s = 0.2, rare = true },
   { "uncorrected", name = "memory_uncorrected", unit = "count", label = "uncorrected memory errors", cause = "memory",
      each_s = 60, rare = true },
}

local DIR = "/sys/devices/system/edac/mc"
local MAX_LABEL = 64

-- Modules of a controller with their counts. `rankN` where the driver knows ranks only; old
-- kernels have rows of channels, and folders of modules without counts beside them.
local function modules(machine, out, dir, mc)
   local function add(name, unit, file)
      local count = machine:number(("%s/%s"):format(dir, file))
      if count and count > 0 then
         out[("%s:%s/%s"):format(name, mc, unit)] = count
      end
   end
   local found = false
   for _, name in ipairs(machine:list(dir, "^[dr]%a+%d+$")) do
      if machine:number(dir .. "/" .. name .. "/dimm_ce_count") then
         found = true
         add("corrected", name, name .. "/dimm_ce_count")
         add("uncorrected", name, name .. "/dimm_ue_count")
      end
   end
   for _, name in ipairs(found and {} or machine:list(dir, "^csrow%d+$")) do
      for _, file in ipairs(machine:list(dir .. "/" .. name, "^ch%d+_ce_count$")) do
         add("corrected", name .. "/" .. file:match("^ch%d+"), name .. "/" .. file)
      end
      add("uncorrected", name, name .. "/ue_count")
   end
end

--- @return { corrected:MC, uncorrected:MC }; and { corrected:MC/MODULE, ... } of the
--   modules that had any: those of a calm controller are not even read
function memory_errors.read(machine)
   local out, blamed = {}, {}
   for _, mc in ipairs(machine:list(DIR, "^mc%d+$")) do
      local dir = ("%s/%s"):format(DIR, mc)
      local ce, ue = machine:number(dir .. "/ce_count"), machine:number(dir .. "/ue_count")
      out["corrected:" .. mc], out["uncorrected:" .. mc] = ce, ue
      if (ce or 0) > 0 or (ue or 0) > 0 then
         modules(machine, blamed, dir, mc)
      end
   end
   return out, next(out) and blamed
end

memory_errors.beside = "blamed"

memory_errors.growth = growth.cleared -- EDAC's reset_counters

--- Modules that had errors; what a controller counted and no module is the controller's own.
-- A snapshot holds only modules that had errors: one that is missing in the earlier had none.
function memory_errors.errors(from, to, add)
   local rest = {}
   for key, value in pairs(to.values) do
      rest[key] = type(from.values[key]) == "number" and growth.cleared(from.values[key], value) or nil
   end
   for key, value in pairs(from.beside and to.beside or {}) do
      local name, unit, mc = key:match("^(%a+):((mc%d+)/.*)$")
      local whole = name and name .. ":" .. mc
      if rest[whole] then
         local had = from.beside[key]
         local grown = growth.cleared(type(had) == "number" and had or 0, value)
         add("dimm", unit, name, grown)
         rest[whole] = rest[whole] - grown
      end
   end
   for key, value in pairs(rest) do
      add("controller", key:match(":(.*)$"), key:match("^%a+"), value)
   end
end

--- What people call a module: "mc0/dimm3" -> "mc0 CPU0_DIMM_A1". Labels come from firmware
-- and site: ASCII is kept, up to a bound.
function memory_errors.label(machine, unit)
   local mc, rest = unit:match("^(mc%d+)/(.*)$")
   if not mc then
      return unit
   end
   local dir = ("%s/%s/"):format(DIR, mc)
   local row, channel = rest:match("^(csrow%d+)/(ch%d+)$")
   local label = machine:line(dir .. (row and ("%s/%s_dimm_label"):format(row, channel) or rest .. "/dimm_label"))
   label = label and label:sub(1, MAX_LABEL):gsub("[^ -~]", "?")
   return ("%s %s"):format(mc, label and label:find("%S") and label or rest)
end

return memory_errors
