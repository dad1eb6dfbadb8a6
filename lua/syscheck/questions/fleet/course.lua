--- A course of values, one a day: from which day on they lie around another median, or whether they rise or fall
-- slowly. Robust: medians, least absolute deviations, Theil and Sen's slope, binary segmentation. Pure.
local statistics = require("syscheck.lib.statistics")

local course = {}

--- Values that it takes to say anything.
course.LEAST = 8
--- Values at least on either side of a step.
course.SIDE = 3
--- A step has to be so many times its own standard error. By simulation (tests/lua/questions/test_drift.lua): of 10 to
-- 60 days of a normal or heavy-tailed course one in some 1,000 is beyond it.
course.SURE = 6

local MOST = 3 -- steps of a course
local SLOPED = 0.75 -- a straight line explains it so much better than a step
-- Standard error of a median of n normal values: sd * sqrt(pi / 2 / n).
local OF_MEDIAN = math.sqrt(math.pi / 2)

local function sorted_copy(list, from, to)
   local out = table.move(list, from, to, 1, {})
   table.sort(out)
   return out
end

-- Sum of distances from the median, and the median.
local function spread_of(values, from, to)
   local list = sorted_copy(values, from, to)
   local median, sum = statistics.median_sorted(list), 0
   for _, value in ipairs(list) do
      sum = sum + math.abs(value - median)
   end
   return sum, median
end

-- Standard error of a line's rise over n values, as a multiple of their standard deviation: sqrt(12 / n) of a mean.
local function of_rise(n)
   return OF_MEDIAN * math.sqrt(12 / n)
end

-- Standard deviation of a course around one or two medians: as its values scatter, as they differ from day to
-- day (which a slow wave does not show), the larger.
local function noise_of(values, residuals, floor)
   local steps = {}
   for i = 2, #values do
      steps[i - 1] = math.abs(values[i] - values[i - 1])
   end
   local off = {}
   for i, value in ipairs(residuals) do
      off[i] = math.abs(value)
   end
   local daily = statistics.MAD_SCALE * (statistics.median(steps) or 0) / math.sqrt(2)
   return math.max(floor, daily, statistics.MAD_SCALE * (statistics.median(off) or 0))
end

local CHANCE = 0.001 -- of a course in which the values behind a step are the usual ones of before

-- How often a course would show so many values beyond the middle of a step on its shorter side as do by themselves on
-- the longer: a few slow checks, or weekends, of which the last days happen to have most. At any of its places.
local function by_chance(values, from, at, to, before, after)
   local middle, up = (before + after) / 2, after > before
   local function beyond(first, last, is_after)
      local n = 0
      for i = first, last do
         n = n + ((values[i] > middle) == (up == is_after) and 1 or 0)
      end
      return n, last - first + 1
   end
   local is_after = to - at + 1 <= at - from
   local m, short = beyond(is_after and at or from, is_after and to or at - 1, is_after)
   local others, long = beyond(is_after and from or at, is_after and at - 1 or to, is_after)
   local share, sum, term = others / long, 0, 1
   for k = 0, short do
      term = k == 0 and 1 or term * (short - k + 1) / k
      sum = sum + (k >= m and term * share ^ k * (1 - share) ^ (short - k) or 0)
   end
   return sum * (to - from + 1) > CHANCE
end

--- The best place for a step in values[from .. to].
-- @param floor no course is known better than to so much: the least standard deviation
-- @return { at = index of the first value behind it, step, sure (its size in standard errors), sd, cost }; nil: too few
function course.step(values, from, to, floor)
   local best
   for at = from + course.SIDE, to - course.SIDE + 1 do
      local left, before = spread_of(values, from, at - 1)
      local right, after = spread_of(values, at, to)
      if not best or left + right < best.cost then
         best = { at = at, step = after - before, cost = left + right, before = before, after = after }
      end
   end
   if not best then
      return nil
   end
   local rest, part = {}, {}
   for i = from, to do
      part[#part + 1] = values[i]
      rest[#rest + 1] = values[i] - (i < best.at and best.before or best.after)
   end
   best.sd = noise_of(part, rest, floor)
   best.error = OF_MEDIAN * best.sd * math.sqrt(1 / (best.at - from) + 1 / (to - best.at + 1))
   best.sure = math.abs(best.step) / best.error
   if by_chance(values, from, best.at, to, best.before, best.after) then
      best.sure = 0
   end
   return best
end

-- Theil-Sen: the median slope of all pairs.
-- @return { step = its rise from the first to the last, cost, sure }
local function line_of(values, from, to, floor)
   local slopes, rest, part = {}, {}, table.move(values, from, to, 1, {})
   for i = from, to do
      for j = i + 1, to do
         slopes[#slopes + 1] = (values[j] - values[i]) / (j - i)
      end
   end
   local slope = statistics.median(slopes)
   for i = from, to do
      rest[#rest + 1] = values[i] - slope * i
   end
   local cost, middle = spread_of(rest, 1, #rest)
   for i, value in ipairs(rest) do
      rest[i] = value - middle
   end
   local rise = slope * (to - from)
   return { step = rise, cost = cost, sure = math.abs(rise) / (noise_of(part, rest, floor) * of_rise(#part)) }
end

local EPISODE = 5 -- values at least of one: more than twice a weekend

-- A step that was taken back: values[a .. b - 1] lie around another median than those before and after, which binary
-- segmentation does not see, as the medians on either side of each end are the same.
-- @return its first end as course.step returns it, with `back` = index of the first value behind it; nil: none
local function episode(values, from, to, floor)
   local best
   for a = from + course.SIDE, to - course.SIDE - EPISODE + 1 do
      for b = a + EPISODE, to - course.SIDE + 1 do
         local inside, median = spread_of(values, a, b - 1)
         local rest = table.move(values, b, to, a - from + 1, table.move(values, from, a - 1, 1, {}))
         local outside, around = spread_of(rest, 1, #rest)
         if not best or inside + outside < best.cost then
            best = { at = a, back = b, step = median - around, cost = inside + outside, median = median,
               around = around }
         end
      end
   end
   if not best then
      return nil
   end
   local rest, part = {}, {}
   for i = from, to do
      part[#part + 1] = values[i]
      rest[#rest + 1] = values[i] - (i >= best.at and i < best.back and best.median or best.around)
   end
   best.sd = noise_of(part, rest, floor)
   local inside = best.back - best.at
   best.sure = math.abs(best.step) / (OF_MEDIAN * best.sd * math.sqrt(1 / inside + 1 / (#part - inside)))
   return best
end

-- By binary segmentation: each part is looked at again.
local function steps_of(values, limits, out, from, to)
   if #out >= MOST or to - from + 1 < course.LEAST then
      return
   end
   local best, line = course.step(values, from, to, limits.floor), line_of(values, from, to, limits.floor)
   local gradual = line.cost < SLOPED * best.cost
   if gradual then
      -- A second step may explain it better than a line.
      local left = course.step(values, from, best.at - 1, limits.floor)
      local right = course.step(values, best.at, to, limits.floor)
      gradual = line.cost < math.min(left and left.cost + (spread_of(values, best.at, to)) or math.huge,
         right and right.cost + (spread_of(values, from, best.at - 1)) or math.huge)
   end
   if gradual then
      best.step, best.sure = line.step, line.sure
   end
   if best.sure < course.SURE or math.abs(best.step) < limits.least then
      best, gradual = episode(values, from, to, limits.floor), false
   end
   if not best or best.sure < course.SURE or math.abs(best.step) < limits.least then
      return
   end
   best.gradual = gradual or nil
   out[#out + 1] = best
   if not gradual then
      steps_of(values, limits, out, from, best.at - 1)
      steps_of(values, limits, out, best.at, to)
   end
end

--- The changes of a course.
-- @param limits { floor, least = smaller ones are none }
-- @return list of what course.step returns, with `gradual` (true: from the first to the last value, and `step` is
--   all of it)
function course.changes(values, limits)
   local out = {}
   steps_of(values, limits, out, 1, #values)
   return out
end

--- The least step that would be seen at the worst place, course.SIDE values from an end.
function course.least(values, limits)
   local best = course.step(values, 1, #values, limits.floor)
   return math.max(limits.least,
      course.SURE * OF_MEDIAN * best.sd * math.sqrt(1 / course.SIDE + 1 / (#values - course.SIDE)))
end

return course
