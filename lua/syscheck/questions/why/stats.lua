--- Statistics behind `syscheck why` and `suspects`. Pure; docs/decisions.md says why these.
-- All probabilities are one-sided: of a value at least as bad as the one seen.
local stats = {}

-- Lanczos, g = 7: relative error below 1e-13 for x > 0.
local LANCZOS = { 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
   12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7 }

local function ln_gamma(x)
   if x < 0.5 then
      return math.log(math.pi / math.sin(math.pi * x)) - ln_gamma(1 - x)
   end
   x = x - 1
   local sum, t = 0.99999999999980993, x + 7.5
   for i, c in ipairs(LANCZOS) do
      sum = sum + c / (x + i)
   end
   return 0.5 * math.log(2 * math.pi) + (x + 0.5) * math.log(t) - t + math.log(sum)
end
stats.ln_gamma = ln_gamma

local TINY, CLOSE, STEPS = 1e-300, 1e-14, 10000

-- Continued fraction of the incomplete beta function, Lentz's method (Numerical Recipes, 6.4).
local function beta_fraction(a, b, x)
   local c, d = 1, 1 - (a + b) * x / (a + 1)
   d = 1 / (math.abs(d) < TINY and TINY or d)
   local h = d
   for m = 1, STEPS do
      local change
      for half = 1, 2 do
         local term
         if half == 1 then
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
         else
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
         end
         d = 1 + term * d
         d = 1 / (math.abs(d) < TINY and TINY or d)
         c = 1 + term / c
         c = math.abs(c) < TINY and TINY or c
         change = d * c
         h = h * change
      end
      if math.abs(change - 1) < CLOSE then
         break
      end
   end
   return h
end

local function ln_beta(a, b)
   return ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
end

--- Regularised incomplete beta function I_x(a, b).
-- @param ln_b ln B(a, b), or nil
function stats.beta(x, a, b, ln_b)
   if x <= 0 or x >= 1 then
      return x <= 0 and 0 or 1
   end
   local front = math.exp(a * math.log(x) + b * math.log(1 - x) - (ln_b or ln_beta(a, b)))
   if x < (a + 1) / (a + b + 2) then
      return front * beta_fraction(a, b, x) / a
   end
   return 1 - front * beta_fraction(b, a, 1 - x) / b
end

--- P(X >= k), X ~ Binomial(n, p).
function stats.binomial(k, n, p)
   if k <= 0 then
      return 1
   elseif k > n then
      return 0
   end
   return stats.beta(p, k, n - k + 1)
end

-- By degrees of freedom: there are as many as lengths of lists of like runs, and each is asked thousands of times.
local LN_BETA = {}

--- P(T >= t), Student's t with df degrees of freedom (any df > 0).
function stats.student(t, df)
   LN_BETA[df] = LN_BETA[df] or ln_beta(df / 2, 0.5)
   local tail = 0.5 * stats.beta(df / (df + t * t), df / 2, 0.5, LN_BETA[df])
   return t >= 0 and tail or 1 - tail
end

--- Two counts, two times: P of at least x events in time e, of the x + y that fell into
-- e + rest, if both had the same rate (the exact conditional test; R: poisson.test).
function stats.counts(x, e, y, rest)
   return stats.binomial(x, x + y, e / (e + rest))
end

-- Of how many of the largest values the tail is made.
local TAIL_SHARE, TAIL_MIN, TAIL_MAX = 0.01, 5, 50

function stats.tail_size(n)
   return math.min(TAIL_MAX, math.max(TAIL_MIN, math.ceil(TAIL_SHARE * n)), n // 2)
end

--- P of a value of at least x, from others of its kind: by rank as far as they reach, beyond
-- the k-th largest by an exponential tail through the k largest. Their mean excess is itself
-- an estimate; (1 + t/S)^-k is the exact distribution of the next one (an F with 2 and 2k).
-- @param sorted others, the largest first, at least the largest k + 1 of them
-- @param n how many there are in all
-- @param prior the excess of one more value that is thought to have been seen: others that
--   are all the same leave no scale
function stats.exceeds(x, sorted, n, prior)
   if n == 0 then
      return 1
   end
   local k = stats.tail_size(n)
   local from = sorted[k + 1] or sorted[#sorted]
   if x <= from then
      local count = 1
      for _, v in ipairs(sorted) do
         if v < x then
            break
         end
         count = count + 1
      end
      return #sorted < n and count > #sorted and 1 or count / (n + 1)
   end
   local sum = prior
   for i = 1, k do
      sum = sum + sorted[i] - from
   end
   return (k + 1) / (n + 1) * (1 + (x - from) / sum) ^ -(k + 1)
end

--- One p for `m` tests of the same thing, however they depend on each other: the Cauchy
-- combination (Liu and Xie 2020). Tests that find nothing (p above 1/2, or not in the list)
-- count as 1/2, which takes nothing from those that do.
-- @param list of p, of at most m tests
function stats.together(list, m)
   local sum, least = 0, 1
   for _, p in ipairs(list) do
      least = math.min(least, p)
      -- tan((1/2 - p) pi) = 1 / tan(p pi)
      sum = sum + (p < 0.5 and 1 / math.tan(math.max(p, 1e-300) * math.pi) or 0)
   end
   local t = sum / m
   -- 1/2 - atan(t) / pi, without losing the digits of a small one.
   return t > 0 and math.min(1, math.max(least, math.atan(1, t) / math.pi)) or math.min(1, 2 * math.max(least, 0.25))
end

--- By how many standard deviations the first of two lists is the smaller (Mann and Whitney 1947; normal approximation).
function stats.smaller(a, b)
   local n, m, u = #a, #b, 0
   for _, x in ipairs(a) do
      for _, y in ipairs(b) do
         u = u + (x < y and 1 or x == y and 0.5 or 0)
      end
   end
   return (u - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
end

return stats
