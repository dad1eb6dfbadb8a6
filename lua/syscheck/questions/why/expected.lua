--- How long a run was expected to take, by runs of its kind. Pure; docs/decisions.md (Why) has the reasons.
-- On logarithms, as noise is relative. A kind's times may drift (inputs grow), and may have two
-- modes (a restart and a first run); both are modelled, or they would pass for spread.
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")

local expected = {}

expected.MIN = 3 -- runs, to say anything
--- Of a run whose time says nothing.
expected.NONE = {}

local DAY = 86400
local TREND_FURTHER, TREND_MOST = 0.25, 1.5 -- of their span that it is followed; of the range of their times, at most
local NEAR_MODE = 2 -- standard deviations below a mode that are still of it
-- The MAD knows a normal distribution's scale as the standard deviation of 37 % as many values does.
local MAD_EFFICIENCY = 0.3675
-- What is thought of a kind's spread before a run of it is known, and how many degrees of freedom that is worth.
local PRIOR_SD, PRIOR_DF = 0.06, 1
local LEAST_SD = 0.01 -- runs that agree better do so by luck
local TREND_RUNS, TREND_Z = 8, 2.6 -- Kendall's S in standard deviations, two-sided p 0.01
local MODE_RUNS, MODE_LEAST, MODE_SHARE = 10, 3, 0.2
local MODE_APART = 5 -- times the spread within the modes
local RESOLUTION_S = 0.3 -- standard deviation of a second
local MODE_GAIN = 6 -- of twice the log-likelihood, by which two modes must be better
-- Of a kind of which many runs were made slower: so many of all were not, at most (a few slow ones move neither median
-- nor MAD), and so many are faster than these; how much closer together these are than the rest, and how much faster in
-- the mean (beyond twice it is another input, or what ended early); how many of the rest are as slow when nothing is
-- wrong; and on how many nodes, as of few one is seldom bad.
local FRONT_MOST, FRONT_BELOW, FRONT_APART, FRONT_FASTER, AS_SLOW, FRONT_NODES = 0.6, 0.1, 5, math.log(2), 0.25, 16

-- Kendall's test and the Theil-Sen slope.
-- @param list of { x, y }
-- @return slope, or 0 where there is no sure one
local function trend(list)
   local n = #list
   if n < TREND_RUNS then
      return 0
   end
   local s, slopes = 0, {}
   for i = 1, n - 1 do
      local a = list[i]
      for j = i + 1, n do
         local b = list[j]
         local dx, dy = b.x - a.x, b.y - a.y
         if dx ~= 0 then
            slopes[#slopes + 1] = dy / dx
            local sign = dx * dy
            s = s + (sign > 0 and 1 or sign < 0 and -1 or 0)
         end
      end
   end
   if math.abs(s) < TREND_Z * math.sqrt(n * (n - 1) * (2 * n + 5) / 18) then
      return 0
   end
   return statistics.median(slopes) or 0
end

-- A trend tells nothing far from the runs that it is of, and no more change than they had.
-- @return slope; the time up to which it is followed, as the points' x: 0 is that of the run that is asked about
local function bounded(points, slope)
   local first, last, low, high = math.huge, -math.huge, math.huge, -math.huge
   for _, point in ipairs(points) do
      first, last = math.min(first, point.x), math.max(last, point.x)
      low, high = math.min(low, point.y), math.max(high, point.y)
   end
   if math.abs(slope) * (last - first) > TREND_MOST * (high - low) then
      return 0, 0
   end
   local further = TREND_FURTHER * (last - first)
   return slope, math.max(first - further, math.min(last + further, 0))
end

-- Standard deviation of a part of a sorted list. @return it, mean
local function spread(sums, squares, from, to)
   local n = to - from + 1
   local mean = (sums[to] - sums[from - 1]) / n
   return math.sqrt(math.max(0, (squares[to] - squares[from - 1]) / n - mean * mean)), mean
end

-- By how much twice the log-likelihood of n numbers is larger in two parts, k of one spread and the rest of another,
-- than in one.
local function gain_of(n, k, a, b, whole)
   local q = k / n
   return 2 * (n * math.log(whole) - k * math.log(a) - (n - k) * math.log(b)
      + n * (q * math.log(q) + (1 - q) * math.log(1 - q)))
end

-- Where a sorted list falls apart into two modes; nil: it does not.
-- @param sums, squares of the list's numbers up to each
-- @param least so many of them are a mode
-- @param whole spread of all
local function split(sums, squares, least, whole)
   local n, best, best_at = #sums, nil, nil
   for k = least, n - least do
      local a, ma = spread(sums, squares, 1, k)
      local b, mb = spread(sums, squares, k + 1, n)
      local within = math.max(LEAST_SD, math.sqrt((k * a * a + (n - k) * b * b) / n))
      local gain = gain_of(n, k, within, within, whole)
      if mb - ma > MODE_APART * within and gain > MODE_GAIN + 2 * math.log(n) and (not best or gain > best) then
         best, best_at = gain, k
      end
   end
   return best_at
end

-- Runs are made slower and hardly ever faster: where many of a kind were, each by something else, as jobs of many nodes
-- are that mostly have a bad one, those that were not are close together at the lower end.
-- @return from, to: which of a sorted list these are; nil: there are none such
local function front(sums, squares, least, whole)
   local n, best, first, last = #sums, nil, nil, nil
   for from = 1, 1 + math.floor(FRONT_BELOW * n) do
      for to = from + least - 1, n - least do
         local k = to - from + 1
         local a, ma = spread(sums, squares, from, to)
         local mean = (sums[n] - sums[to] + sums[from - 1]) / (n - k)
         local square = (squares[n] - squares[to] + squares[from - 1]) / (n - k)
         local b = math.sqrt(math.max(0, square - mean * mean))
         a = math.max(LEAST_SD, RESOLUTION_S / math.exp(ma), a)
         local gain = b > FRONT_APART * a and mean > ma and mean - ma < FRONT_FASTER and gain_of(n, k, a, b, whole) or 0
         if gain > MODE_GAIN + 3 * math.log(n) and (not best or gain > best) then
            best, first, last = gain, from, to
         end
      end
   end
   if best and last - first + 1 <= FRONT_MOST * n then
      return first, last
   end
end

local function mode_of(values, n, resolution)
   local median, mad = statistics.robust(values)
   local df = MAD_EFFICIENCY * (#values - 1)
   local variance = (PRIOR_DF * PRIOR_SD ^ 2 + df * mad ^ 2) / (PRIOR_DF + df)
   local sd = math.max(math.sqrt(variance), LEAST_SD, resolution) * math.sqrt(1 + 1 / #values)
   df = PRIOR_DF + df
   return { median = median, sd = sd, df = df, share = #values / n,
      front = math.exp(stats.ln_gamma((df + 1) / 2) - stats.ln_gamma(df / 2)) / math.sqrt(df * math.pi) / sd }
end

-- Where a sorted list falls apart.
-- @param many whether the runs were on many nodes
-- @return of split; of front, where that is nil
local function apart(ys, many)
   local n = #ys
   if n < MODE_RUNS then
      return nil
   end
   local sums, squares = { [0] = 0 }, { [0] = 0 }
   for i, y in ipairs(ys) do
      sums[i], squares[i] = sums[i - 1] + y, squares[i - 1] + y * y
   end
   local least = math.max(MODE_LEAST, math.ceil(MODE_SHARE * n))
   local whole = math.max(LEAST_SD, (spread(sums, squares, 1, n)))
   local at = split(sums, squares, least, whole)
   if at or not many then
      return at
   end
   return nil, front(sums, squares, least, whole)
end

-- A sorted list's modes, as expected.of has them; how many of it are at its front, or nil.
local function modes_of(ys, resolution, many)
   local n = #ys
   local function mode(from, to, others)
      local list = others or {}
      return mode_of(table.move(ys, from, to, #list + 1, list), n, resolution)
   end
   local at, first, last = apart(ys, many)
   if at then
      return { mode(1, at), mode(at + 1, n) }
   elseif not first then
      return { mode(1, n) }
   end
   local modes = { mode(first, last), mode(last + 1, n, table.move(ys, 1, first - 1, 1, {})) }
   local all = modes[1].share + AS_SLOW * modes[2].share
   modes[1].share, modes[2].share = modes[1].share / all, AS_SLOW * modes[2].share / all
   return modes, last - first + 1
end

--- @param list of { begin_s, elapsed_s } of other runs of the kind
-- @param begin_s of the run that is asked about
-- @param nodes how many the runs were on, or nil: of one, or no times
-- @return { count, sorted (logarithms of their times, without the trend), median_s (of the front, where there is one),
--   low, high (shortest and longest as shares of it), slope (of the logarithm, a day; 0 for none), modes = list of {
--   median (of the logarithm), sd, df, share }, front (where many were made slower, how many were not; modes[2] is the
--   others; or nil) }; nil for no runs
function expected.of(list, begin_s, nodes)
   local points, low, high = {}, math.huge, 0
   for i, run in ipairs(list) do
      points[i] = { x = (run.begin_s - begin_s) / DAY, y = math.log(run.elapsed_s) }
   end
   if #points == 0 then
      return nil
   end
   local slope, until_x, ys = trend(points), 0, {}
   if slope ~= 0 then
      slope, until_x = bounded(points, slope)
   end
   for i, point in ipairs(points) do
      ys[i] = point.y - slope * (point.x - until_x)
      low, high = math.min(low, ys[i]), math.max(high, ys[i])
   end
   table.sort(ys)
   local median = statistics.median_sorted(ys)
   -- Times were whole seconds.
   local modes, at_front = modes_of(ys, RESOLUTION_S / math.exp(median), (nodes or 1) >= FRONT_NODES)
   median = at_front and modes[1].median or median
   return { count = #ys, sorted = ys, median_s = math.exp(median), low = math.exp(low - median),
      high = math.exp(high - median), slope = slope, modes = modes, front = at_front }
end

--- Density of a run's time, were it slower by a factor of exp(shift).
-- @param e from expected.of
-- @param y log of its time
function expected.density(e, y, shift)
   if e == expected.NONE then
      return 1
   end
   local sum = 0
   for _, m in ipairs(e.modes) do
      local t = (y - shift - m.median) / m.sd
      sum = sum + m.share * m.front * (1 + t * t / m.df) ^ (-(m.df + 1) / 2)
   end
   return sum
end

--- How many of the runs took at least as long.
function expected.as_long(e, y)
   local n = 0
   for _, one in ipairs(e.sorted) do
      n = n + (one >= y and 1 or 0)
   end
   return n
end

--- How far above the slower of two modes a time is, on logarithms; math.huge where there is one, or it is no time of
-- that mode.
function expected.above_mode(e, y)
   local m = not e.front and e.modes[2] or nil
   local above = m and y - m.median or math.huge
   return above > -NEAR_MODE * (m and m.sd or 0) and above or math.huge
end

--- P of a time between two. In whichever tail both are, as a difference of two values near 1 has no digits left.
-- @param lower, upper of expected.sides, of the shorter time first
function expected.between(e, lower, upper)
   local sum = 0
   for i, m in ipairs(e.modes) do
      local a, b = lower[i], upper[i]
      sum = sum + m.share * (a >= 0 and a - b or b < 0 and a - b or 1 + a - b)
   end
   return sum
end

--- For expected.between: by mode P beyond a time, of a time below the median minus P before it.
function expected.sides(e, y)
   local out = {}
   for i, m in ipairs(e.modes) do
      local t = (y - m.median) / m.sd
      out[i] = t >= 0 and stats.student(t, m.df) or -stats.student(-t, m.df)
   end
   return out
end

--- P of a time of at least exp(y), were nothing wrong.
function expected.tail(e, y)
   local sum = 0
   for _, m in ipairs(e.modes) do
      sum = sum + m.share * stats.student((y - m.median) / m.sd, m.df)
   end
   return sum
end

--- The log of the time that a run of the kind reaches by chance with probability p.
function expected.quantile(e, p)
   local low, high = e.modes[1].median, (e.modes[2] or e.modes[1]).median + 5
   for _ = 1, 40 do
      local mid = (low + high) / 2
      if expected.tail(e, mid) > p then
         low = mid
      else
         high = mid
      end
   end
   return (low + high) / 2
end

return expected
