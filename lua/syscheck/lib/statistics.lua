--- Robust location and scale. Pure. Results are in the values' own unit; no function changes
-- its argument; of an empty list those that return a value return nil.
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

--- Place of the first of an ascending list that is at least so large; one over its length where none is.
-- @param field of the items, by which they ascend; nil: the items themselves are numbers
function statistics.first_from(sorted, least, field)
   local low, high = 1, #sorted + 1
   while low < high do
      local mid = (low + high) // 2
      local value = field and sorted[mid][field] or sorted[mid]
      if value < least then
         low = mid + 1
      else
         high = mid
      end
   end
   return low
end

--- Median of an ascending list without x, one of its values.
function statistics.median_without(sorted, x)
   local n, mid = #sorted, #sorted // 2
   if n < 2 then
      return nil
   elseif n % 2 == 0 then
      return x > sorted[mid] and sorted[mid] or sorted[mid + 1]
   end
   local low, middle, high = sorted[mid], sorted[mid + 1], sorted[mid + 2]
   return ((x < middle and middle or low) + (x > middle and middle or high)) / 2
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

-- P(|X| < t) of Student's distribution with a whole number of degrees of freedom: finite series (Abramowitz and
-- Stegun, 26.7.3 and 26.7.4).
local function student_within(t, freedom)
   local theta = math.atan(t / math.sqrt(freedom))
   local square, even = math.cos(theta) ^ 2, freedom % 2 == 0
   local term, sum = even and 1 or math.cos(theta), freedom == 1 and 0 or even and 1 or math.cos(theta)
   for k = even and 2 or 3, freedom - 2, 2 do
      term = term * square * (k - 1) / k
      sum = sum + term
   end
   return even and math.sin(theta) * sum or 2 / math.pi * (theta + math.sin(theta) * sum)
end

--- The t beyond which, on one side, a share of Student's distribution lies.
-- @param share from 1e-12 to 0.5
-- @param freedom degrees of it, whole, from 1
function statistics.student(share, freedom)
   local low, high = 0, 1
   while (1 - student_within(high, freedom)) / 2 > share and high < 1e12 do
      low, high = high, 2 * high
   end
   for _ = 1, 60 do
      local mid = (low + high) / 2
      if (1 - student_within(mid, freedom)) / 2 > share then
         low = mid
      else
         high = mid
      end
   end
   return high
end

return statistics
