--- A line of small bars: values over time. Pure.
local statistics = require("syscheck.lib.statistics")

local spark = {}

local BARS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }
local ASCII = { "_", ".", "-", "~", "=", "+", "*", "#" }
-- A healthy node's own scatter is no mountain range: the scale spans this share of the median.
local LEAST = 0.10

--- Values in equal parts of a time span; of a part the worst, so that a dip is not averaged away.
-- @param points list of { time, value }
-- @param higher true: low values are the bad ones
-- @return list of n values, false where nothing was measured
function spark.buckets(points, from, to, n, higher)
   local out = {}
   for i = 1, n do
      out[i] = false
   end
   local width = math.max(1, to - from) / n
   for _, point in ipairs(points) do
      local i = math.max(1, math.min(n, math.floor((point[1] - from) / width) + 1))
      local worse = out[i] and (higher and math.min or math.max)(out[i], point[2])
      out[i] = worse or point[2]
   end
   return out
end

--- @param buckets from buckets()
-- @param as_utf8 false: seven bits are enough
function spark.line(buckets, as_utf8)
   local known = {}
   for _, v in ipairs(buckets) do
      known[#known + 1] = v or nil
   end
   if #known == 0 then
      return ""
   end
   local low, high = math.min(table.unpack(known)), math.max(table.unpack(known))
   local least = LEAST * math.abs(statistics.median(known))
   if high - low < least then
      local middle = (low + high) / 2
      low, high = middle - least / 2, middle + least / 2
   end
   local bars, out = as_utf8 and BARS or ASCII, {}
   for i, v in ipairs(buckets) do
      local step = v and high > low and math.floor((v - low) / (high - low) * #bars) + 1 or 1
      out[i] = v and bars[math.min(#bars, step)] or " "
   end
   return table.concat(out)
end

return spark
