--- How fast the CPUs may run: cpufreq's governors, limits, turbo. None of these files
-- asks another CPU (scaling_cur_freq would interrupt each).
local files = require("syscheck.lib.files")

local clocks = {}

local CPUS = "/sys/devices/system/cpu"

local function on_off(number, on)
   if number then
      return number == on and "on" or "off"
   end
end

-- What all agree on, or "mixed".
local function agreed(before, text)
   if text and before and text ~= before then
      return "mixed"
   end
   return before or text
end

-- Limits that are set below what the hardware can do. The hardware's maximum is read
-- where the limit is lower than another CPU's, and for the first of the highest.
-- @param set list of { dir = policy's folder, khz = scaling_max_freq }
local function limits(set)
   local highest, top, lowest = 0, 0, nil
   for _, one in ipairs(set) do
      highest = math.max(highest, one.khz)
   end
   local seen
   for _, one in ipairs(set) do
      local khz = one.khz
      if khz < highest or not seen then
         seen = seen or khz == highest
         local max = files.number(one.dir .. "cpuinfo_max_freq") or 0
         top = math.max(top, max)
         lowest = khz < max and math.min(lowest or khz, khz) or lowest
      end
   end
   return top > 0 and top // 1000 or nil, lowest and lowest // 1000
end

--- Reads the clocks of the online CPUs; an offline one's policy cannot be read.
-- @return { governor, epp = energy/performance preference ("mixed" where CPUs differ),
--   driver, turbo = on|off, max_mhz = the hardware's, limit_mhz = the lowest limit
--   that is set below it }; absent is not known
function clocks.read(root)
   local out, set = {}, {}
   for _, name in ipairs(files.list(root .. CPUS .. "/cpufreq", "^policy%d")) do
      local dir = root .. CPUS .. "/cpufreq/" .. name .. "/"
      local governor = files.line(dir .. "scaling_governor")
      if governor then
         -- Under "performance" the driver refuses any other preference.
         if not out.driver or (out.epp and governor ~= "performance") then
            out.epp = agreed(out.epp, files.line(dir .. "energy_performance_preference"))
         end
         out.driver = out.driver or files.line(dir .. "scaling_driver")
         out.governor = agreed(out.governor, governor)
         local khz = files.number(dir .. "scaling_max_freq")
         set[#set + 1] = khz and { dir = dir, khz = khz }
      end
   end
   out.max_mhz, out.limit_mhz = limits(set)
   out.turbo = on_off(files.number(root .. CPUS .. "/intel_pstate/no_turbo"), 0)
      or on_off(files.number(root .. CPUS .. "/cpufreq/boost"), 1)
   return out
end

return clocks
