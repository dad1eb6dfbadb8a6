--- Beyond what was seen: a generalised Pareto distribution of the largest delays (Pickands 1975), its parameters by
-- probability-weighted moments (Hosking and Wallis 1987, "Parameter and quantile estimation for the generalized Pareto
-- distribution"). Pure.
local tail = {}

--- With fewer exceedances nothing is said.
tail.LEAST = 100
local PART = 0.02 -- of the events: the largest
local MOST_SHAPE = 0.9 -- at 1 the mean is infinite
local DECADES, STEPS = 12, 240 -- of the integral: how far beyond what was seen

local function descending(a, b)
   return a > b
end

-- At least the n largest, descending.
-- @param lists each descending
local function largest(lists, n)
   -- Where n lists begin with as much, what is less is not among the n largest.
   local firsts, out = {}, {}
   for _, list in ipairs(lists) do
      firsts[#firsts + 1] = list[1]
   end
   table.sort(firsts)
   local least = #firsts >= n and firsts[#firsts - n + 1] or 0
   for _, list in ipairs(lists) do
      for i = 1, #list do
         if list[i] < least then
            break
         end
         out[#out + 1] = list[i]
      end
   end
   table.sort(out, descending)
   return out
end

--- @param lists of delays in us, each descending: independent ones
-- @return { from = threshold in us, shape, scale = us, n = exceedances }; nil where there are too few
function tail.fit(lists)
   local count = 0
   for _, list in ipairs(lists) do
      count = count + #list
   end
   local n = math.max(tail.LEAST, math.floor(PART * count))
   local sorted = largest(lists, n + 1)
   local from = sorted[n + 1]
   if not from or sorted[1] <= from then
      return nil
   end
   local a0, a1 = 0, 0
   for i = 1, n do
      local excess = sorted[i] - from
      -- Descending: 1 - p of the i-th largest.
      a0, a1 = a0 + excess / n, a1 + excess * (i - 0.35) / n / n
   end
   local d = a0 - 2 * a1
   if d <= 0 then
      return nil
   end
   return { from = from, shape = math.min(2 - a0 / d, MOST_SHAPE), scale = 2 * a0 * a1 / d, n = n }
end

--- Integral of 1 - F^n from the threshold on, with this tail.
-- @param above P(delay > threshold) of a node
-- @return us
function tail.beyond(fit, above, n)
   local shape, sum, width = fit.shape, 0, DECADES * math.log(10) / STEPS
   for i = 1, STEPS do
      local s = math.exp(-(i - 0.5) * width) -- P(delay > x) / above
      sum = sum + (1 - (1 - above * s) ^ n) * fit.scale * s ^ -shape * width
   end
   return sum
end

return tail
