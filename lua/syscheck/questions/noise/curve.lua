--- Distributions of a node's delay, and what the slowest of many nodes is expected to lose. Pure.
--
-- A node's is a quantile function, linear between its knots (catalogue/delays.lua). Of many nodes: F, the probability
-- that a node's delay is x or less, on a grid of x common to all. Where nodes are so few that all their knots fit, the
-- grid is these and F is exact; else it is even in log x, and F is linear within a cell.
local curve = {}

local EXACT = 2048 -- knots
local A_DECADE = 32 -- cells
local LEAST_US = 0.5 -- below is no detour
local CLOSE = 1e-12

--- A grid for these.
-- @param list of { above, us }
-- @return ascending list of us, the first 0
function curve.grid(list)
   local count, most, least = 0, 0, math.huge
   for _, one in ipairs(list) do
      count = count + #one.us
      most = math.max(most, one.us[#one.us])
      for _, us in ipairs(one.us) do
         if us > 0 then
            least = math.min(least, us)
            break
         end
      end
   end
   local grid = { 0, is_exact = count <= EXACT }
   if grid.is_exact then
      local all = {}
      for _, one in ipairs(list) do
         table.move(one.us, 1, #one.us, #all + 1, all)
      end
      table.sort(all)
      for _, us in ipairs(all) do
         if us > grid[#grid] + CLOSE then
            grid[#grid + 1] = us
         end
      end
   elseif most > 0 then
      local from = math.max(LEAST_US, least)
      local cells = math.max(1, math.ceil(math.log(math.max(most, from * 1.1) / from, 10) * A_DECADE))
      for i = 0, cells do
         grid[#grid + 1] = from * (math.max(most, from * 1.1) / from) ^ (i / cells)
      end
   end
   if #grid == 1 then
      grid[2] = 1 -- nobody loses anything
   end
   return grid
end

--- Nothing yet: what add() adds to.
-- @return { grid, n = 0, at = sums of P(delay <= x) at each x, before = of P(delay < x) }; ones: from which x on nodes
--   were all below
function curve.new(grid)
   local sum = { grid = grid, n = 0, at = {}, at_ones = {} }
   for i = 1, #grid + 1 do
      sum.at[i], sum.at_ones[i] = 0, 0
   end
   sum.before, sum.before_ones = sum.at, sum.at_ones
   if grid.is_exact then
      sum.before, sum.before_ones = table.move(sum.at, 1, #sum.at, 1, {}), table.move(sum.at, 1, #sum.at, 1, {})
   end
   return sum
end

-- Adds P(delay <= x) of each x of the grid, or P(delay < x).
local function add_to(values, ones, grid, one, weight, is_before)
   local above, us = one.above, one.us
   local i = 1
   while grid[i] and (grid[i] < us[1] or is_before and grid[i] == us[1]) do
      i = i + 1
   end
   for k = 1, #us - 1 do
      local from, to = us[k], us[k + 1]
      if to > from then
         local x, p = grid[i], 1 - above[k]
         local slope = (above[k] - above[k + 1]) / (to - from)
         while x and (x < to or is_before and x == to) do
            values[i] = values[i] + weight * (p + slope * (x - from))
            i = i + 1
            x = grid[i]
         end
      end
   end
   ones[i] = ones[i] + weight
end

--- Adds a node's.
-- @param weight of it (1)
function curve.add(sum, one, weight)
   weight = weight or 1
   add_to(sum.at, sum.at_ones, sum.grid, one, weight, false)
   if sum.before ~= sum.at then
      add_to(sum.before, sum.before_ones, sum.grid, one, weight, true)
   end
   sum.n = sum.n + weight
end

-- Means of sums' values.
local function means(sums, name, n)
   local out, ones = {}, 0
   for i = 1, #sums[1].grid do
      local total = 0
      for j = 1, #sums do
         local sum = sums[j]
         ones = ones + sum[name .. "_ones"][i]
         total = total + sum[name][i]
      end
      out[i] = (total + ones) / n
   end
   return out
end

--- Of a node drawn from those that were added.
-- @param sums list of curves of one grid; parts of a whole, each may be there more than once
-- @return F: { grid, at, before }
function curve.mean(sums)
   local n = 0
   for _, sum in ipairs(sums) do
      n = n + sum.n
   end
   local f = { grid = sums[1].grid, at = means(sums, "at", n) }
   f.before = sums[1].before == sums[1].at and f.at or means(sums, "before", n)
   return f
end

-- Integral of f^n over a cell where f is linear from a to b.
local function integral(a, b, n, width)
   if b - a < 1e-9 * b or b <= 0 then
      return width * ((a + b) / 2) ^ n
   end
   return width * (b ^ (n + 1) - a ^ (n + 1)) / ((n + 1) * (b - a))
end

--- Expected delay of the slowest of n nodes: the integral of 1 - F^n.
-- @param f from mean()
-- @param factor { at, before } of F^n at each x of the grid, or nil: of what all n nodes have at the same time
-- @return us
function curve.slowest(f, n, factor)
   local sum, grid = 0, f.grid
   for i = 1, #grid - 1 do
      local width = grid[i + 1] - grid[i]
      local part = integral(f.at[i], f.before[i + 1], n, width)
      sum = sum + width - (factor and part * (factor.at[i] + factor.before[i + 1]) / 2 or part)
   end
   return sum
end

--- Of certain nodes: the product of their F.
-- @param list of F of one grid
-- @return F of which as many powers are that product, for slowest(f, #list): within a cell it is nearly linear, the
--   product is not
function curve.product(list)
   local out = { grid = list[1].grid, at = {}, before = {} }
   for i = 1, #out.grid do
      local at, before = 1, 1
      for _, f in ipairs(list) do
         at, before = at * f.at[i], before * f.before[i]
      end
      out.at[i], out.before[i] = at ^ (1 / #list), before ^ (1 / #list)
   end
   return out
end

--- P(delay > x), by a line within the cell.
function curve.above(f, x)
   local grid = f.grid
   for i = 1, #grid - 1 do
      if x < grid[i + 1] then
         return 1 - (f.at[i] + (f.before[i + 1] - f.at[i]) * (x - grid[i]) / (grid[i + 1] - grid[i]))
      end
   end
   return 0
end

--- The delay that a part p of begins do not exceed.
function curve.quantile(f, p)
   local grid = f.grid
   for i = 1, #grid - 1 do
      if p <= f.at[i] then
         return grid[i]
      elseif p < f.before[i + 1] then
         return grid[i] + (grid[i + 1] - grid[i]) * (p - f.at[i]) / (f.before[i + 1] - f.at[i])
      end
   end
   return grid[#grid]
end

return curve
