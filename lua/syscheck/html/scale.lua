--- Scales: from a value to a place in a picture, with ticks where people expect them. Pure.
--
-- A scale is { at = function(value) -> coordinate, ticks = list of { at, text } }; values beyond its ends are
-- drawn at them.
local scale = {}

local STEPS = { 1, 2, 2.5, 5, 10 }
local SECONDS = { 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 604800, 1209600,
   2592000, 7776000, 31536000, 63072000, 157680000, 315360000 }
local MONTHS = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" }
local DAY = 86400

--- "1,204", "0.25": as many digits as a step needs.
function scale.show(value, step)
   local digits = step and math.max(0, math.ceil(-math.log(step, 10) - 1e-9)) or 0
   if step and digits == 0 and step < 10 and step ~= math.floor(step) then
      digits = 1
   end
   local text = ("%." .. math.min(digits, 9) .. "f"):format(value)
   local sign, whole, rest = text:match("^(-?)(%d+)(.*)$")
   if not whole then
      return text
   end
   whole = whole:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")
   return (sign .. whole .. rest):gsub("^%-([0.,]+)$", "%1")
end

--- The round step of about `count` ticks between two values.
function scale.step(low, high, count)
   local raw = (high - low) / math.max(1, count)
   local size = 10 ^ math.floor(math.log(raw, 10))
   for _, step in ipairs(STEPS) do
      if step * size >= raw * 0.999 then
         return step * size
      end
   end
   return 10 * size
end

-- Ends that differ, so that one value has a scale, too.
local function ends(low, high)
   if high <= low then
      local room = low ~= 0 and math.abs(low) * 0.1 or 1
      return low - (low > 0 and room or 0), high + room
   end
   return low, high
end

local function placed(low, high, from, to, map)
   local a, b = map(low), map(high)
   return function(value)
      local share = (map(math.max(low, math.min(high, value))) - a) / (b - a)
      return from + share * (to - from)
   end
end

local function same(value)
   return value
end

--- @param low, high values at the ends
-- @param from, to their coordinates
-- @param count about how many ticks, default 5
-- @param exact true: the ends stay where they are; else they are moved out to ticks
function scale.linear(low, high, from, to, count, exact)
   low, high = ends(low, high)
   local step = scale.step(low, high, count or 5)
   if not exact then
      low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
   end
   local at, ticks = placed(low, high, from, to, same), {}
   for i = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
      ticks[#ticks + 1] = { at = at(i * step), text = scale.show(i * step, step) }
   end
   return { at = at, ticks = ticks, low = low, high = high }
end

--- Logarithmic, from a power of ten to another.
-- @param low, high more than 0; less is drawn at the low end
function scale.log(low, high, from, to)
   low = math.max(1e-12, low)
   high = math.max(low, high)
   local first, last = math.floor(math.log(low, 10) + 1e-9), math.ceil(math.log(high, 10) - 1e-9)
   last = math.max(last, first + 1)
   local bottom = 10.0 ^ first
   local at, ticks = placed(bottom, 10.0 ^ last, from, to, math.log), {}
   for i = first, last do
      ticks[#ticks + 1] = { at = at(10.0 ^ i), text = i < 0 and ("%g"):format(10.0 ^ i) or scale.show(10 ^ i) }
   end
   return { at = at, ticks = ticks, low = bottom, high = 10.0 ^ last }
end

--- Logarithmic to base 2, as thread counts and cache sizes grow: its ends are the values, its ticks powers of two.
-- @param show function(value) -> text of a tick
-- @param most ticks
function scale.log2(low, high, from, to, show, most)
   if high <= low then
      low, high = low / 2, high * 2
   end
   local at, ticks = placed(low, high, from, to, math.log), {}
   local first, last = math.ceil(math.log(low, 2) - 1e-9), math.floor(math.log(high, 2) + 1e-9)
   local every = math.max(1, math.ceil((last - first + 1) / (most or 8)))
   for i = first, last, every do
      ticks[#ticks + 1] = { at = at(2.0 ^ i), text = show(2.0 ^ i) }
   end
   return { at = at, ticks = ticks, low = low, high = high }
end

local function time_text(epoch, step)
   local day, month = os.date("!%d", epoch):gsub("^0", ""), MONTHS[tonumber(os.date("!%m", epoch))]
   if step >= 90 * DAY then
      return month .. os.date("! %Y", epoch)
   elseif step >= DAY or epoch % DAY == 0 then
      return day .. " " .. month
   end
   return os.date("!%H:%M", epoch)
end

--- Points in time, in UTC.
-- @param low, high epoch seconds
function scale.time(low, high, from, to, count)
   if high <= low then
      low, high = low - 1800, high + 1800
   end
   local step = SECONDS[#SECONDS]
   for i = #SECONDS, 1, -1 do
      step = (high - low) / SECONDS[i] <= (count or 6) and SECONDS[i] or step
   end
   local at, ticks = placed(low, high, from, to, same), {}
   for i = math.ceil(low / step), math.floor(high / step) do
      ticks[#ticks + 1] = { at = at(i * step), text = time_text(i * step, step) }
   end
   return { at = at, ticks = ticks, low = low, high = high }
end

return scale
