--- Energy of the CPU packages: RAPL by /sys/class/powercap (Intel, and AMD from 5.8 on;
-- for root only). Documentation/power/powercap/powercap.rst
local energy = {}

energy.fields = {
   { "package_j", name = "energy_j", unit = "joules", label = "energy of the packages" },
}

local DIR = "/sys/class/powercap"

--- Packages. "psys" holds the packages and more, "intel-rapl:0:0" is a part of one, and
-- intel-rapl-mmio shows the same packages by another way.
-- @return list of { name = "package-0", dir }
function energy.packages(machine)
   local packages = {}
   for _, zone in ipairs(machine:list(DIR, "^intel%-rapl:%d+$")) do
      local dir = ("%s/%s/"):format(DIR, zone)
      local name = machine:line(dir .. "name")
      if name and name:find("^package%-[%w-]+$") then
         packages[#packages + 1] = { name = name, dir = dir }
      end
   end
   return packages
end

--- @return { package_j:PACKAGE/RANGE }, RANGE in joules: there the counter starts anew
function energy.read(machine)
   local out = {}
   for _, package in ipairs(energy.packages(machine)) do
      local uj = machine:number(package.dir .. "energy_uj")
      local range = machine:number(package.dir .. "max_energy_range_uj")
      if uj and range and range > 0 then
         out[("package_j:%s/%.6f"):format(package.name, range / 1e6)] = uj / 1e6
      end
   end
   return out
end

-- More than any package draws, in watts.
local MAX_PACKAGE_W = 1000

--- RAPL's 32 bits of 61 uJ are full after 262 kJ, a quarter of an hour at 300 W: a step
-- is known only where the counter cannot have come round a second time.
function energy.growth(before, now, key, span)
   local range = tonumber(key:match("/([%d.]+)$"))
   if not range or span.seconds * MAX_PACKAGE_W >= range then
      return nil
   end
   local step = now < before and now - before + range or now - before
   return step >= 0 and math.floor(step * 1000 + 0.5) / 1000 or nil
end

return energy
