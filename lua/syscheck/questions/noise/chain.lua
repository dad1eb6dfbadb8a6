--- A job that does one quantum of work after the other, and waits for the slowest node each time. Pure.
--
-- What was sampled is F0: the delay of a quantum by detours that begin within it. While a node waits for the slowest
-- others begin there, too, and those that are not over when the next quantum begins delay that. With L(x) = -ln F0(x),
-- the expected number of detours longer than x in work g, detours longer than x begin at a rate of L(x) / g; those that
-- began in a wait w and last for more than x longer are the integral from x to x + w of L / g. So a node's delay after
-- a wait w has F(x; w) = F0(x) exp(-(H(x) - H(x + w)) / g), H(x) the integral of L from x on, and the slowest of n
-- F(x; w)^n. The core that all waited for did not wait: of n nodes with c cores each n - 1 / c may have more. The next
-- wait is that delay: a Markov chain, of which the mean is sought. At w = 0 nobody was disturbed before; at w =
-- infinity begins are at any time, as of nodes that do not wait for each other.
local curve = require("syscheck.questions.noise.curve")

local chain = {}

local exp = math.exp

local MOST_RATE = 60 -- exp(-60) is nothing
local BINS = { 0, 0.25, 0.5, 0.7, 0.85, 0.93, 0.97, 0.99, 0.997, 0.999, 1 } -- of the distribution of waits
local ROUNDS, CLOSE = 30, 1e-3

local function rate_of(p)
   return p > 0 and math.min(MOST_RATE, -math.log(p)) or MOST_RATE
end

-- H at each x of the grid, and how it falls within each cell; found once.
local function integrals(f)
   if not f.h then
      local grid, at, before, out, falls = f.grid, f.at, f.before, {}, {}
      out[#grid] = 0
      for i = #grid - 1, 1, -1 do
         falls[i] = (rate_of(at[i]) + rate_of(before[i + 1])) / 2
         out[i] = out[i + 1] + (grid[i + 1] - grid[i]) * falls[i]
      end
      f.h, f.falls = out, falls
   end
   return f.h, f.falls
end

-- H at x: linear within a cell, beyond the grid nothing.
local function integral_at(grid, h, x)
   if x >= grid[#grid] then
      return 0
   end
   local i = math.max(1, curve.place_of(grid, x) - 1)
   return h[i] + (h[i + 1] - h[i]) * (x - grid[i]) / (grid[i + 1] - grid[i])
end

--- F of a node after a wait.
-- @param f F0, of curve.mean
-- @param work us
-- @param wait us; math.huge: begins at any time
-- @param part of its cores that waited (1)
-- @param n nodes: where F^n is nothing, F may be left out (1)
function chain.after(f, work, wait, part, n)
   if wait == 0 then
      return f
   end
   local grid, at, before = f.grid, f.at, f.before
   local h, falls = integrals(f)
   local new_at = {}
   local new_before = at == before and new_at or {}
   local scale, k, last = (part or 1) / work, 1, #grid
   local least = exp(-MOST_RATE / (n or 1))
   for i = 1, last do
      -- Not the last of those: the cell from there on is something.
      if i < last and before[i + 1] < least then
         new_at[i], new_before[i] = 0, 0
      else
         -- Both go up: no search for each.
         local x = grid[i] + wait
         while k < last and grid[k + 1] < x do
            k = k + 1
         end
         local then_on = k < last and h[k] - falls[k] * (x - grid[k]) or 0
         local more = exp((then_on - h[i]) * scale)
         new_at[i], new_before[i] = at[i] * more, before[i] * more
      end
   end
   return { grid = grid, at = new_at, before = new_before }
end

-- The distribution of the slowest of n: of several waits, each with its weight.
local function slowest_of(list, n, factor)
   local function sums(name)
      local out, by = {}, factor and factor[name]
      for i = 1, #list[1].f.grid do
         local sum = 0
         for _, one in ipairs(list) do
            sum = sum + one.weight * one.f[name][i] ^ n
         end
         out[i] = by and sum * by[i] or sum
      end
      return out
   end
   local first = list[1].f
   local out = { grid = first.grid, at = sums("at") }
   out.before = (factor or first.before ~= first.at) and sums("before") or out.at
   return out
end

-- Waits as a job meets them: the mean of each part of a distribution.
local function bins_of(g)
   local out, place = {}, 1
   for b = 1, #BINS - 1 do
      local sum, parts = 0, 4
      for k = 1, parts do
         local us
         us, place = curve.quantile(g, BINS[b] + (BINS[b + 1] - BINS[b]) * (k - 0.5) / parts, place)
         sum = sum + us / parts
      end
      out[b] = { wait = sum, weight = BINS[b + 1] - BINS[b] }
   end
   return out
end

-- Part of a job's cores that waited for one of them.
local function part_of(n, cores)
   return 1 - 1 / (n * (cores or 1))
end

local function expected(f, n, job, bins, factor)
   local us = 0
   for _, bin in ipairs(bins) do
      bin.f = chain.after(f, job.work, bin.wait, part_of(n, job.cores), n)
      us = us + bin.weight * curve.slowest(bin.f, n, factor)
   end
   return us
end

--- Expected delay of the slowest of n, quantum after quantum.
-- @param f F0 of a node, of curve.mean or curve.product
-- @param job { work = us, cores = of a node (1) }
-- @param factor of curve.slowest, or nil
-- @return us
function chain.slowest(f, n, job, factor)
   local us, bins = curve.slowest(f, n, factor), { { wait = 0, weight = 1, f = f } }
   for _ = 1, ROUNDS do
      bins = bins_of(slowest_of(bins, n, factor))
      local now = expected(f, n, job, bins, factor)
      local is_close = math.abs(now - us) <= CLOSE * now
      us = now
      if is_close then
         break
      end
   end
   return us
end

--- The same after a wait that is known, of another F: what differs is F.
function chain.again(f, n, job, wait)
   return curve.slowest(chain.after(f, job.work, wait, part_of(n, job.cores), n), n)
end

--- Draws what is left, after a wait, of the longest detour that began in it.
-- @param f F0 of a node of the class
-- @return function(wait, u uniform from 0 to 1) -> us
function chain.rest(f, work)
   local grid, h = f.grid, integrals(f)
   local function rate(x, wait)
      return (integral_at(grid, h, x) - integral_at(grid, h, x + wait)) / work
   end
   return function(wait, u)
      local wanted = -math.log(u)
      if rate(0, wait) <= wanted then
         return 0
      end
      local low, high = 1, #grid
      while high - low > 1 do
         local middle = (low + high) // 2
         if rate(grid[middle], wait) > wanted then
            low = middle
         else
            high = middle
         end
      end
      return grid[low]
   end
end

return chain
