--- How much two means of a few runs differ by chance. Pure.
--
-- Three runs a side show their standard deviation badly, and some 20 values are compared at a time: by Student's t
-- alone every third comparison of equal nodes named one. So the variance is weighed with what is usual, here and
-- elsewhere, as in a moderated t-test (Smyth 2004), two-sided at 99.5 %. Of equal nodes, three runs each, one
-- comparison in 30 names a value, and 10 % are found as long as runs differ by 2 % (tests/lua/verdict/test_compare).
local noise = {}

local USUAL_FREE = 4 -- degrees of freedom of what is usual
-- For the runs' degrees of freedom, from 1 on, and USUAL_FREE more.
local T995 = { 4.773, 4.317, 4.029, 3.833, 3.690, 3.581, 3.497, 3.428, 3.372, 3.326, 3.286, 3.252, 3.222, 3.197, 3.174,
   3.153 }
local NORMAL995 = 2.807
local FLOOR_PCT = 2

--- Of one run each, where nothing says more, in % of the larger.
local ASSUMED_PCT = { noise = 50, io = 50 }
local ASSUMED_OTHERS_PCT = 10
-- What that is of the usual standard deviation.
local ASSUMED_DEVIATIONS = 6

local function mean(list)
   local sum = 0
   for _, value in ipairs(list) do
      sum = sum + value
   end
   return sum / #list
end

local function squares(list, center)
   local sum = 0
   for _, value in ipairs(list) do
      sum = sum + (value - center) ^ 2
   end
   return sum
end

--- Standard deviation of the runs, of both sides together, in %; nil of one run each.
function noise.deviation_pct(a, b)
   local at, bt = mean(a), mean(b)
   local size, free = math.max(math.abs(at), math.abs(bt)) / 100, #a + #b - 2
   return free > 0 and size > 0 and math.sqrt((squares(a, at) + squares(b, bt)) / free) / size or nil
end

--- What the difference of two means has to exceed.
-- @param a, b lists of values, of one each at least
-- @param more { kernel; run_pct = standard deviation of runs in % (of a baseline), or nil; usual_pct = that of the
--   other values here, or nil; spread_pct = ± within a run, or nil; loss_pct = what others may have
--   taken; least = smallest difference that matters, or nil }
-- @return it, in the values' unit; where it is from: "runs", "baseline" or "assumed"; mean of a, of b
function noise.of(a, b, more)
   local at, bt = mean(a), mean(b)
   local size = math.max(math.abs(at), math.abs(bt)) / 100 -- 1 %
   local free, share = #a + #b - 2, math.sqrt(1 / #a + 1 / #b)
   local assumed = size * (ASSUMED_PCT[more.kernel] or ASSUMED_OTHERS_PCT)
   local limit, from
   if free > 0 then
      local usual = more.run_pct and more.run_pct * size or assumed / ASSUMED_DEVIATIONS
      usual = math.max(usual, (more.usual_pct or 0) * size)
      local variance = (USUAL_FREE * usual ^ 2 + squares(a, at) + squares(b, bt)) / (USUAL_FREE + free)
      limit, from = (T995[free] or T995[#T995]) * math.sqrt(variance) * share, "runs"
   elseif more.run_pct then
      limit, from = NORMAL995 * more.run_pct * size * share, "baseline"
   else
      limit, from = math.max(assumed, (more.spread_pct or 0) * size), "assumed"
   end
   return math.max(limit, FLOOR_PCT * size, more.least or 0) + (more.loss_pct or 0) * size, from, at, bt
end

return noise
