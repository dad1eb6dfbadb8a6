--- Spread, and the tolerance that it supports. Pure.
--
-- A check measures once; a drain takes two measurements that are both beyond the limit.
-- The node's own offset (standard deviation `between`) is the same in both, a measurement's
-- noise (`within`) is drawn anew. docs/decisions.md has the argument and the numbers.
local statistics = require("syscheck.lib.statistics")

local spread = {}

--- Healthy checks that may be drained by one metric: two metrics drain by default
-- (triad, dgemm), and both together stay at 1e-4.
spread.FALSE_DRAINS = 5e-5
-- A v 1 baseline knows one spread only, of both kinds together.
spread.OLD_FACTOR = 4

local MAX_PCT = 100

--- Median and scaled MAD (in % of the median) of values.
-- @param values non-empty list of numbers
function spread.statistics(values)
   local m, scaled = statistics.robust(values)
   return m, m ~= 0 and 100 * scaled / math.abs(m) or 0
end

--- Standard deviation of one measurement's noise, from the differences of neighbours in each
-- list: unbiased for two values as for sixty, and a slow drift is not noise.
-- @param lists list of lists of numbers, one a node
-- @return % of each list's median, or nil where no list has two values
function spread.of_measurements(lists)
   local off = {}
   for _, values in ipairs(lists) do
      local m = statistics.median(values)
      for i = 2, #values do
         off[#off + 1] = math.abs(values[i] - values[i - 1]) / m
      end
   end
   return #off > 0 and 100 * statistics.MAD_SCALE * statistics.median(off) / math.sqrt(2) or nil
end

-- Of nodes that were measured so often, and so many of them: less is these nodes' own trouble.
local DIP_VALUES, DIP_SHARE = 16, 0.25

--- How far a quarter of the nodes were off the class at worst. Normal noise of 64 values is not so far off as the
-- tolerance that it supports. What now and then takes a part of any node for longer than both measurements and
-- leaves no evidence (other guests of its host) is in no robust spread, and would drain as often as it comes.
-- @param lists list of non-empty lists of numbers, one a node
-- @param median of the class
-- @param better "higher" or "lower"
-- @return % of the median, 0 or more
function spread.dips(lists, median, better)
   local worst = {}
   for _, values in ipairs(lists) do
      local most = 0
      for _, value in ipairs(values) do
         most = math.max(most, 100 * (better == "higher" and 1 - value / median or value / median - 1))
      end
      worst[#worst + 1] = #values >= DIP_VALUES and most or nil
   end
   table.sort(worst)
   return worst[math.ceil((1 - DIP_SHARE) * #worst)] or 0
end

--- Variance of the median of n values of a normal distribution of variance 1: pi/2n for many, 1 for one,
-- 1/2 for two, whose median is their mean. Within 4 % of it for each n from 1 to 64 (simulated).
function spread.of_median(n)
   return math.pi / 2 / (n + math.pi / 2 - (n % 2 == 1 and 1 or 0.3))
end

-- Two populations: each at least so large a share, so far apart.
local MIN_SHARE, MIN_APART_PCT, MIN_NODES = 0.25, 5, 8

--- Tells two populations from one. The best cut of the sorted values in two, by the
-- distance of the halves' means in standard deviations within them: one normal
-- population of n shows 3.5 + 50 / n less than once in 500 times (simulated, n from 8 to 400).
-- @param values non-empty list of numbers
-- @return how many are in the lower one, and how far it is from the other, in % of the
--   median; nil for one population, and for fewer than 8 values, which show nothing
function spread.split(values)
   local n, sorted = #values, table.move(values, 1, #values, 1, {})
   table.sort(sorted)
   local m, sums, squares = statistics.median_sorted(sorted), { [0] = 0 }, { [0] = 0 }
   for i, value in ipairs(sorted) do
      local off = value / m - 1
      sums[i], squares[i] = sums[i - 1] + off, squares[i - 1] + off ^ 2
   end
   local least = math.ceil(MIN_SHARE * n)
   local best, at, apart = 0, nil, nil
   for low = n >= MIN_NODES and least or n, n - least do
      local high = n - low
      local a, b = sums[low] / low, (sums[n] - sums[low]) / high
      local within = math.sqrt(math.max(0, squares[n] - low * a ^ 2 - high * b ^ 2) / (n - 2))
      local distance = (b - a) / math.max(within, 1e-6)
      if distance > best then
         best, at, apart = distance, low, 100 * (b - a)
      end
   end
   if at and best > 3.5 + 50 / n and apart >= MIN_APART_PCT then
      return at, apart
   end
end

-- So many nodes that are alike and unlike the rest are a kind of their own, or share one fault: in a class of
-- fewer than 20 two, else three, of hundreds 2 %, as of many bad nodes some are alike by chance.
local function least_group(n)
   return n < 20 and 2 or math.max(3, math.ceil(0.02 * n))
end

--- The largest group among outliers. What lies beyond 4 scaled MADs (Hampel's identifier, see Davies and
-- Gather, JASA 88, 1993) is dropped, as single bad nodes are scattered; but several within the same room that the
-- whole class takes are no accident.
-- @param sorted ascending list of { median }
-- @param median of the class
-- @param room % of it
-- @param n how many nodes the class has
-- @return index of the first and of the last; nil for no group
function spread.group(sorted, median, room, n)
   local from, to, low = nil, nil, 1
   for high = 1, #sorted do
      while 100 * (sorted[high].median - sorted[low].median) / median > room do
         low = low + 1
      end
      if high - low >= (from and to - from + 1 or least_group(n) - 1) then
         from, to = low, high
      end
   end
   return from, to
end

-- P(X < x) for a standard normal X, relative error below 1.2e-7 (the rational
-- Chebyshev fit of erfc in Numerical Recipes, 6.2).
local function normal(x)
   local z = math.abs(x) / math.sqrt(2)
   local t = 1 / (1 + z / 2)
   local tail = 0.5 * t * math.exp(-z * z - 1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418
      + t * (-0.18628806 + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223
      + t * 0.17087277)))))))))
   return x < 0 and tail or 1 - tail
end

--- Share of checks in which both measurements are more than `room` below the median.
-- @param room % of the median
-- @param between, within standard deviations, %
-- @param shift % that the node is off for a reason of its own (negative: slow)
function spread.both_below(room, between, within, shift)
   room = room + (shift or 0)
   if within <= 0 then
      return between > 0 and normal(-room / between) or (room < 0 and 1 or 0)
   elseif between <= 0 then
      return normal(-room / within) ^ 2
   end
   -- Over the node's offset, in steps that resolve the narrower of both.
   local step = math.min(0.05, 0.5 * within / between)
   local sum, weights = 0, 0
   for i = math.floor(-7 / step), math.ceil(7 / step) do
      local u = i * step
      local weight = math.exp(-u * u / 2)
      weights = weights + weight
      sum = sum + weight * normal((-room - u * between) / within) ^ 2
   end
   return sum / weights
end

--- The tightest tolerance at which healthy nodes are left alone.
-- @param between, within standard deviations, %
-- @param nodes how many nodes `between` was estimated from: few know it badly, so it
--   counts one standard error larger
-- @return % of the median, at most 100
function spread.tolerance(between, within, nodes)
   -- A spread far below a measurement's noise changes nothing, and would need tiny steps.
   within = math.max(within, between / 100)
   if nodes then
      between = between * (1 + 1 / math.sqrt(nodes))
   end
   local low, high = 0, MAX_PCT
   for _ = 1, 24 do
      local mid = (low + high) / 2
      if spread.both_below(mid, between, within) > spread.FALSE_DRAINS then
         low = mid
      else
         high = mid
      end
   end
   return high
end

-- What is known of healthy nodes before the first is measured: they differ by 3 to 5 %, highest to lowest of eight;
-- 5 % are 1.76 % as a standard deviation (2.847 of them lie between). It weighs as much as PRIOR_NODES nodes.
local PRIOR_PCT, PRIOR_NODES = 1.76, 12
-- The MAD of normal noise is as good an estimate as the standard deviation of 37 % as many values.
local MAD_EFFICIENCY = 0.37

--- The same of a class of few nodes, from which `between` can hardly be estimated: the variance that fleets have and
-- the one of these nodes, weighted by their degrees of freedom (normal data with a conjugate prior: Gelman et al.,
-- Bayesian Data Analysis, 3rd ed., 3.3). A further node is off the median of these by Student's t with as many degrees
-- of freedom, times that standard deviation, times sqrt(1 + variance of the median of n).
-- @param between, within standard deviations, %; between 0 of one node
-- @param nodes from 1
-- @param checks of all of them: few know `within` badly, so it counts two standard errors larger
-- @return % of the median, at most 100
function spread.tolerance_of_few(between, within, nodes, checks)
   local freedom = PRIOR_NODES + nodes - 1
   local deviation = math.sqrt((PRIOR_NODES * PRIOR_PCT ^ 2 + (nodes - 1) * between ^ 2) / freedom)
   local heavier = statistics.student(spread.FALSE_DRAINS, freedom) / statistics.student(spread.FALSE_DRAINS, 1000)
   local pairs_of = math.max(1, MAD_EFFICIENCY * (checks - nodes))
   return spread.tolerance(deviation * math.sqrt(1 + spread.of_median(nodes)) * heavier,
      within * (1 + 2 / math.sqrt(2 * pairs_of)))
end

return spread
