--- Distributions of a node's delay, and what the slowest of many nodes is expected to lose. Pure.
--
-- A node's is a quantile function, linear between its knots (catalogue/delays.lua). Of many nodes: F, the probability
-- that a node's delay is x or less, on a grid of x common to all. Where nodes are so few that all their knots fit, the
-- grid is these and F is exact; else it is even in log x, and F is linear within a cell.
local curve = {}

local log = math.log

local EXACT = 512 -- knots
local A_DECADE = 32 -- cells
local BETWEEN = 64 -- more values in an exact grid, twice
local LEAST_US = 0.5 -- below is no detour

--- A grid for these.
-- @param list of { above, us }
-- @return ascending list of us, the first 0; place = { us = its index }, where it is exact
function curve.grid(list)
   local count, most, least = 0, 0, math.huge
   for i = 1, #list do
      local us = list[i].us
      local n, first = #us, 1
      while first < n and us[first] == 0 do
         first = first + 1
      end
      count, most = count + n, us[n] > most and us[n] or most
      least = us[first] > 0 and us[first] < least and us[first] or least
   end
   local grid = { 0 }
   if count <= EXACT then
      local all = {}
      for _, one in ipairs(list) do
         table.move(one.us, 1, #one.us, #all + 1, all)
      end
      -- Between them, too: what comes of waits is not linear there.
      for i = 1, BETWEEN do
         all[#all + 1] = most * i / BETWEEN
         all[#all + 1] = most * 10 ^ (-4 * i / BETWEEN)
      end
      table.sort(all)
      grid.place = { [0] = 1 }
      for _, us in ipairs(all) do
         if us > grid[#grid] then
            grid[#grid + 1] = us
            grid.place[us] = #grid
         end
      end
   elseif most > 0 then
      local from = math.max(LEAST_US, least)
      local to = math.max(most, from * 1.1) * 1.000001
      local cells = math.ceil(math.log(to / from, 10) * A_DECADE)
      for i = 0, cells do
         grid[#grid + 1] = from * (to / from) ^ (i / cells)
      end
      grid.ahead = {}
      for i = 1, #grid do
         grid.ahead[i] = grid[i + 3] or math.huge
      end
      grid.from, grid.a_unit = from, cells / math.log(to / from)
   end
   if #grid == 1 then
      grid[2] = 1 -- nobody loses anything
      grid.place = { [0] = 1, 2 }
   end
   return grid
end

-- The first place of the grid that is x or more; beyond its end where none is.
local function place_of(grid, x)
   if x <= 0 then
      return 1
   elseif grid.place then
      local low, high = grid.place[x], #grid + 1
      if low then
         return low
      end
      low = 1
      while high - low > 1 do
         local middle = (low + high) // 2
         if grid[middle] < x then
            low = middle
         else
            high = middle
         end
      end
      return high
   end
   -- Rounded up, and by a cell more or less, as logarithms are.
   local i = 2 - (-log(x / grid.from) * grid.a_unit // 1 | 0)
   i = i < 2 and 2 or i
   while (grid[i] or x) < x do
      i = i + 1
   end
   while i > 2 and (grid[i - 1] or x) >= x do
      i = i - 1
   end
   return i
end
curve.place_of = place_of

--- Nothing yet: what add() adds to. A node's F is linear between its knots: only where its line changes something is
-- written, a line's value at 0 and its slope.
-- @return { grid, n = 0, value, slope = changes of the sums of all F at each x of the grid; before, before_slope = of
--   P(delay < x), where the grid is exact: else it is the same }
function curve.new(grid)
   local function zeros()
      local out = {}
      for i = 1, #grid + 2 do
         out[i] = 0
      end
      return out
   end
   local sum = { grid = grid, n = 0, value = zeros(), slope = zeros() }
   if grid.place then
      sum.before, sum.before_slope = zeros(), zeros()
   end
   return sum
end

-- @param is_before of P(delay < x): lines hold from beyond their begin to their end
local function add_to(value, slope, grid, one, weight, is_before)
   local function place(x)
      local i = place_of(grid, x)
      return is_before and grid[i] == x and i + 1 or i
   end
   local above, us = one.above, one.us
   local from, at = us[1], place(us[1])
   for k = 1, #us - 1 do
      local to = us[k + 1]
      if to > from then
         local til = place(to)
         if til > at then
            local rise = weight * (above[k] - above[k + 1]) / (to - from)
            local start = weight * (1 - above[k]) - rise * from
            if til == at + 1 then
               -- At one x: a value does, and the slope of a steep line would drown what others have added.
               start, rise = weight * (1 - above[k]) + rise * ((grid[at] or from) - from), 0
            end
            value[at], slope[at] = value[at] + start, slope[at] + rise
            value[til], slope[til] = value[til] - start, slope[til] - rise
            at = til
         end
         from = to
      end
   end
   value[at] = value[at] + weight
end

-- The same where the grid is even, which is of many nodes: from a knot to the next it is a few cells, and what ends
-- where the next begins is written with it.
local function add_even(value, slope, grid, one, weight)
   local above, us = one.above, one.us
   if us[#us] > grid[#grid] then
      return add_to(value, slope, grid, one, weight)
   end
   local from, high = us[1], above[1]
   local at, start, rise = place_of(grid, from), 0, 0
   local ahead = grid.ahead
   for k = 2, #us do
      local to, low = us[k], above[k]
      if to > from then
         local til = at > 1 and at or place_of(grid, to)
         while ahead[til] < to do
            til = til + 4
         end
         while grid[til] < to do
            til = til + 1
         end
         if til > at then
            local ended, fell = start, rise
            start, rise = weight * (1 - high), weight * (high - low) / (to - from)
            if til == at + 1 then
               start, rise = start + rise * (grid[at] - from), 0
            else
               start = start - rise * from
            end
            value[at], slope[at] = value[at] + start - ended, slope[at] + rise - fell
            at = til
         end
         from = to
      end
      high = low
   end
   value[at], slope[at] = value[at] + weight - start, slope[at] - rise
end

--- Adds a node's.
-- @param weight of it (1); less than 0 takes it away
function curve.add(sum, one, weight)
   weight = weight or 1
   if sum.before then
      add_to(sum.value, sum.slope, sum.grid, one, weight, false)
      add_to(sum.before, sum.before_slope, sum.grid, one, weight, true)
   else
      add_even(sum.value, sum.slope, sum.grid, one, weight)
   end
   sum.n = sum.n + weight
end

--- Adds what was added to others.
-- @param weight of that (1)
function curve.join(sum, others, weight)
   weight = weight or 1
   for _, other in ipairs(others) do
      for _, name in ipairs({ "value", "slope", "before", "before_slope" }) do
         local to, from = sum[name], other[name]
         for i = 1, to and #to or 0 do
            to[i] = to[i] + weight * from[i]
         end
      end
      sum.n = sum.n + weight * other.n
   end
   return sum
end

-- Sums of all F at each x.
local function totals(grid, value, slope)
   local out, v, s = {}, 0, 0
   for i = 1, #grid do
      v, s = v + value[i], s + slope[i]
      out[i] = v + s * grid[i]
   end
   return out
end

--- The sums of all F at each x, once for many means.
-- @return { grid, n, at, before }
function curve.totals(sum)
   local out = { grid = sum.grid, n = sum.n, at = totals(sum.grid, sum.value, sum.slope) }
   out.before = sum.before and totals(sum.grid, sum.before, sum.before_slope) or out.at
   return out
end

local function mixed(list, times, n, name)
   local out = {}
   for i = 1, #list[1].grid do
      out[i] = 0
   end
   for k, one in ipairs(list) do
      local by, from = times[k], one[name]
      for i = 1, by > 0 and #out or 0 do
         out[i] = out[i] + by * from[i]
      end
   end
   for i, total in ipairs(out) do
      -- Of what was estimated from some nodes it may be a little beyond.
      local p = total / n
      out[i] = p < 0 and 0 or p > 1 and 1 or p
   end
   return out
end

--- Of a node drawn from several, each so many times.
-- @param list of curve.totals, of one grid; times list of numbers
-- @return F: { grid, at, before }
function curve.mix(list, times)
   local n = 0
   for k, one in ipairs(list) do
      n = n + times[k] * one.n
   end
   local f = { grid = list[1].grid, at = mixed(list, times, n, "at") }
   f.before = list[1].before ~= list[1].at and mixed(list, times, n, "before") or f.at
   return f
end

--- Of a node drawn from those that were added.
-- @return F: { grid, at, before }
function curve.mean(sum)
   return curve.mix({ curve.totals(sum) }, { 1 })
end

--- Expected delay of the slowest of n nodes: the integral of 1 - F^n.
-- @param f from mean()
-- @param factor { at, before } of F^n at each x of the grid, or nil: of what all n nodes have at the same time
-- @return us
function curve.slowest(f, n, factor)
   local sum, grid, at, before = 0, f.grid, f.at, f.before
   local last -- at[i] ^ (n + 1), where the cell before had it
   for i = 1, #grid - 1 do
      local width, a, b = grid[i + 1] - grid[i], at[i], before[i + 1]
      local part
      -- Integral of f^n over a cell where f is linear from a to b.
      if b - a <= 1e-9 * b or b <= 0 then
         part, last = width * ((a + b) / 2) ^ n, nil
      else
         local power = b ^ (n + 1)
         part = width * (power - (last or a ^ (n + 1))) / ((n + 1) * (b - a))
         last = at == before and power or nil
      end
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
-- @param from where to look from on, as an earlier call for a smaller p returned it (1)
-- @return us, and where that is
function curve.quantile(f, p, from)
   local grid, at, before = f.grid, f.at, f.before
   for i = from or 1, #grid - 1 do
      if p <= at[i] then
         return grid[i], i
      elseif p < before[i + 1] then
         return grid[i] + (grid[i + 1] - grid[i]) * (p - at[i]) / (before[i + 1] - at[i]), i
      end
   end
   return grid[#grid], #grid
end

return curve
