--- Energy of the CPU packages: RAPL by /sys/class/powercap (Intel, and AMD from 5.8 on;
-- for root only). Documentation/power/powercap/powercap.rst
local files = require("syscheck.lib.files")

local energy = {}

local DIR = "/sys/class/powercap"

--- Packages. "psys" holds the packages and more, "intel-rapl:0:0" is a part of one, and
-- intel-rapl-mmio shows the same packages by another way.
-- @return list of { name = "package-0", dir }
function energy.packages(root)
   local packages = {}
   for _, zone in ipairs(files.list(root .. DIR)) do
      if zone:find("^intel%-rapl:%d+$") then
         local dir = ("%s%s/%s/"):format(root, DIR, zone)
         local name = files.line(dir .. "name")
         if name and name:find("^package%-[%w-]+$") then
            packages[#packages + 1] = { name = name, dir = dir }
         end
      end
   end
   return packages
end

--- @return { package_j:PACKAGE/RANGE }, RANGE in joules: there the counter starts anew
function energy.read(root)
   local out
   for _, package in ipairs(energy.packages(root)) do
      local uj = files.number(package.dir .. "energy_uj")
      local range = files.number(package.dir .. "max_energy_range_uj")
      if uj and range and range > 0 then
         out = out or {}
         out[("package_j:%s/%.6f"):format(package.name, range / 1e6)] = uj / 1e6
      end
   end
   return out
end

return energy
