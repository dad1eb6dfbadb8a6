--- Bars of characters. Pure.
local plot = {}

local EIGHTHS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" }

--- A bar; at least its thinnest for what is above 0.
-- @param fraction of the longest one, 0 to 1
-- @param width of that, in columns
-- @param as_utf8 in eighths of a column; else #
function plot.bar(fraction, width, as_utf8)
   fraction = math.max(0, math.min(1, fraction))
   local steps = as_utf8 and 8 or 1
   local n = math.floor(fraction * width * steps + 0.5)
   n = fraction > 0 and math.max(1, n) or n
   return (as_utf8 and "█" or "#"):rep(n // steps) .. (EIGHTHS[n % steps] or "")
end

return plot
