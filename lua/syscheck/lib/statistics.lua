--- Robust location and scale. Pure. Results are in the values' own unit; no function changes
-- its argument; of an empty list all of them return nil.
local statistics = {}

--- MAD (median absolute deviation) to standard deviation of a normal distribution: 1 / Phi^-1(3/4).
statistics.MAD_SCALE = 1.4826

--- Median of an ascending list, of two middle values their mean.
function statistics.median_sorted(sorted)
   local n = #sorted
   local mid = (n + 1) // 2
   return n % 2 == 1 and sorted[mid] or n > 0 and (sorted[mid] + sorted[mid + 1]) / 2 or nil
end

--- The value of an ascending list that three quarters of it do not exceed.
function statistics.upper_quartile_sorted(sorted)
   return sorted[math.max(1, (3 * #sorted + 3) // 4)]
end

--- Median of an ascending list without the value at index `at`.
function statistics.median_without(sorted, at)
   local n = #sorted - 1
   local function value(i)
      return sorted[i < at and i or i + 1]
   end
   local mid = (n + 1) // 2
   return n % 2 == 1 and value(mid) or n > 0 and (value(mid) + value(mid + 1)) / 2 or nil
end

--- Median of a list in any order.
function statistics.median(values)
   local sorted = table.move(values, 1, #values, 1, {})
   table.sort(sorted)
   return statistics.median_sorted(sorted)
end

--- Median, and scaled MAD: the median distance from it, as the standard deviation of a normal
-- distribution that has this MAD. Half of the values may be anything.
function statistics.robust(values)
   local median = statistics.median(values)
   local off = {}
   for i, value in ipairs(values) do
      off[i] = math.abs(value - median)
   end
   return median, median and statistics.MAD_SCALE * statistics.median(off)
end

return statistics
