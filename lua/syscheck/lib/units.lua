--- Values with their units, as people read them. Pure.
local units = {}

local function scaled(value, steps)
   for _, step in ipairs(steps) do
      if math.abs(value) >= step[1] then
         return ("%.3g %s"):format(value / step[1], step[2])
      end
   end
   return ("%.3g %s"):format(value, steps.else_)
end

local BYTES = { { 1e15, "PB" }, { 1e12, "TB" }, { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "kB" }, else_ = "B" }
local JOULES = { { 1e9, "GJ" }, { 1e6, "MJ" }, { 1e3, "kJ" }, else_ = "J" }

local function seconds(value)
   return (math.abs(value) < 100 and "%.2f s" or "%.0f s"):format(value)
end

local SHOW = {
   count = function(v) return ("%.0f"):format(v) end,
   us = function(v) return seconds(v / 1e6) end,
   ms = function(v) return seconds(v / 1e3) end,
   bytes = function(v) return scaled(v, BYTES) end,
   joules = function(v) return scaled(v, JOULES) end,
   mhz = function(v) return ("%.0f MHz"):format(v) end,
   MHz = function(v) return ("%.0f MHz"):format(v) end,
   gbps = function(v) return ("%.3g Gbit/s"):format(v) end,
   watts = function(v) return ("%.0f W"):format(v) end,
   celsius = function(v) return ("%.0f C"):format(v) end,
   GiB = function(v) return ("%.0f GiB"):format(v) end,
}

--- "3.61 s" of 3612 ms, "12.3 GB"; three digits and the unit itself where it is no base unit.
-- @param unit of fields.JOB or fields.CHECK
function units.show(unit, value)
   local show = SHOW[unit]
   return show and show(value) or ("%.3g %s"):format(value, unit)
end

--- Seconds in a unit of time; nil for any other unit.
function units.per_second(unit)
   return unit == "us" and 1e6 or unit == "ms" and 1e3 or nil
end

return units
