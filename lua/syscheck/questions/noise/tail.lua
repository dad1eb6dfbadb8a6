--- Beyond what was seen: a generalised Pareto distribution of the largest delays (Pickands 1975), its parameters by
-- probability-weighted moments (Hosking and Wallis 1987, "Parameter and quantile estimation for the generalized Pareto
-- distribution"). Pure.
local tail = {}

--- With fewer exceedances nothing is said.
tail.LEAST = 100
local PART = 0.02 -- of the events: the largest
local MOST_SHAPE = 0.9 -- at 1 the mean is infinite
local BUCKETS = 20 -- for e
local DECADES, STEPS = 12, 240 -- of the integral: how far beyond what was seen

-- At least the n largest, descending: whole buckets of a logarithmic histogram.
local function largest(events, n)
   local counts, bucket_of, most = {}, {}, -math.huge
   for i, us in ipairs(events) do
      local b = us > 0 and math.floor(math.log(us) * BUCKETS) or -1000
      bucket_of[i], counts[b], most = b, (counts[b] or 0) + 1, math.max(most, b)
   end
   local from, found = most, counts[most] or 0
   while found < n and from > -1000 do
      from = from - 1
      found = found + (counts[from] or 0)
   end
   local out = {}
   for i, us in ipairs(events) do
      out[#out + 1] = bucket_of[i] >= from and us or nil
   end
   table.sort(out, function(a, b)
      return a > b
   end)
   return out
end

--- @param events delays in us, any order: independent ones
-- @return { from = threshold in us, shape, scale = us, n = exceedances }; nil where there are too few
function tail.fit(events)
   local n = math.max(tail.LEAST, math.floor(PART * #events))
   local sorted = largest(events, n + 1)
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
