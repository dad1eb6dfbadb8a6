--- How fast the CPUs may run: cpufreq's governors, limits, turbo. None of these files
-- asks another CPU (scaling_cur_freq would interrupt each).
local files = require("syscheck.files")

local clocks = {}

local CPUS = "/sys/devices/system/cpu"

local function on_off(number, on)
   if number then
      return number == on and "on" or "off"
   end
end

-- One text for all policies: theirs, or "mixed".
local function agreed(before, text)
   if text and before and text ~= before then
      return "mixed"
   end
   return before or text
end

--- Reads the clocks of the online CPUs; an offline one's policy cannot be read.
-- @return { governor, epp = energy/performance preference ("mixed" where CPUs differ),
--   driver, turbo = on|off, max_mhz = the hardware's, limit_mhz = the lowest limit
--   that is set below it }; absent is not known
function clocks.read(root)
   local out = {}
   local top, limit = 0, nil
   for _, name in ipairs(files.list(root .. CPUS .. "/cpufreq")) do
      local dir = name:match("^policy%d+$") and ("%s%s/cpufreq/%s/"):format(root, CPUS, name)
      local governor = dir and files.line(dir .. "scaling_governor")
      if governor then
         if not out.driver then
            out.driver = files.line(dir .. "scaling_driver")
            out.epp = files.line(dir .. "energy_performance_preference")
         elseif out.epp then
            out.epp = agreed(out.epp, files.line(dir .. "energy_performance_preference"))
         end
         out.governor = agreed(out.governor, governor)
         local max, now = files.number(dir .. "cpuinfo_max_freq"), files.number(dir .. "scaling_max_freq")
         top = math.max(top, max or 0)
         if max and now and now < max then
            limit = math.min(limit or now, now)
         end
      end
   end
   out.max_mhz = top > 0 and top // 1000 or nil
   out.limit_mhz = limit and limit // 1000
   out.turbo = on_off(files.number(root .. CPUS .. "/intel_pstate/no_turbo"), 0)
      or on_off(files.number(root .. CPUS .. "/cpufreq/boost"), 1)
   return out
end

return clocks
