--- Jobs whose nodes wait for some others only, step by step. Pure.
--
-- Max-plus recursion: a node goes on when all that it waits for have come. `barrier`: dissemination (Hensgen, Finkel
-- and Manber 1988), in round r node i waits for i - 2^r, ceil(log2 N) rounds. `halo`: for its six neighbours in a torus
-- of three dimensions, as near to a cube as N allows. While a node waits detours begin there, too: what is left of the
-- longest when it goes on is drawn as chain.lua has it.
local chain = require("syscheck.questions.noise.chain")
local random = require("syscheck.lib.random")

local simulate = {}

simulate.MOST = 65536 -- nodes
simulate.KINDS = { "barrier", "halo" }

local STEPS = 24 -- the first half is for delays to spread
local DRAWS, MOST_RUNS = 1 << 18, 2048 -- few nodes meet what is rare in many runs only
local FINE = 1 << 30

-- N as a product of three, near each other.
local function torus(n)
   local best
   for a = 1, math.floor(n ^ (1 / 3) + 1e-9) do
      if n % a == 0 then
         for b = a, math.floor((n / a) ^ 0.5 + 1e-9) do
            if n // a % b == 0 then
               local c = n // a // b
               if not best or c - a < best[3] - best[1] then
                  best = { a, b, c }
               end
            end
         end
      end
   end
   return best
end

-- The six whom each node waits for: list of lists of indices.
local function neighbours(n)
   local d, lists = torus(n), {}
   for axis = 1, 6 do
      lists[axis] = {}
   end
   for i = 0, n - 1 do
      local at = { i % d[1], i // d[1] % d[2], i // (d[1] * d[2]) }
      local stride = 1
      for axis = 1, 3 do
         local up, down = (at[axis] + 1) % d[axis], (at[axis] - 1) % d[axis]
         lists[2 * axis - 1][i + 1] = i + (up - at[axis]) * stride + 1
         lists[2 * axis][i + 1] = i + (down - at[axis]) * stride + 1
         stride = stride * d[axis]
      end
   end
   return lists
end

local function barrier(t, n, latency)
   local distance = 1
   if latency == 0 then
      -- All wait for the last, whatever the order.
      local most = t[1]
      for i = 2, n do
         most = t[i] > most and t[i] or most
      end
      local new = {}
      for i = 1, n do
         new[i] = most
      end
      return new
   end
   while distance < n do
      local new = {}
      for i = 1, n do
         local other = t[(i - 1 - distance) % n + 1] + latency
         new[i] = t[i] > other and t[i] or other
      end
      t, distance = new, distance * 2
   end
   return t
end

local function halo(t, n, latency, lists)
   local new = {}
   for i = 1, n do
      local most = t[i] + latency
      for axis = 1, 6 do
         local other = t[lists[axis][i]] + latency
         most = most > other and most or other
      end
      new[i] = most
   end
   return new
end

local function uniform(draw)
   return (draw(FINE) - 0.5) / FINE
end

-- A delay of one node, at a random begin.
local function draw_delay(node, draw)
   local pick, part = draw(FINE) / FINE * node.window_s, nil
   for _, one in ipairs(node) do
      part = one
      pick = pick - one.window_s
      if pick <= 0 then
         break
      end
   end
   local s, above, us = uniform(draw), part.above, part.us
   local low, high = 1, #above -- above[low] >= s > above[high]
   while high - low > 1 do
      local middle = (low + high) // 2
      if above[middle] >= s then
         low = middle
      else
         high = middle
      end
   end
   if above[low] == above[high] then
      return us[low]
   end
   return us[low] + (us[high] - us[low]) * (above[low] - s) / (above[low] - above[high])
end
simulate.draw_delay = draw_delay

local function mean(t)
   local sum = 0
   for i = 1, #t do
      sum = sum + t[i]
   end
   return sum / #t
end

-- One run: us of a step, with all that is in it.
local function step_us(sample, n, latency_us, lists, own, draw, rest)
   local who, t, done, left, middle = {}, {}, {}, {}, nil
   for i = 1, n do
      who[i], t[i], left[i] = sample.nodes[own and i or draw(#sample.nodes)], 0, 0
   end
   for step = 1, STEPS do
      for i = 1, n do
         local delay = math.max(draw_delay(who[i], draw), left[i] > 0 and rest(left[i], draw) or 0)
         done[i] = t[i] + sample.work + delay
      end
      t = lists and halo(done, n, latency_us, lists) or barrier(done, n, latency_us)
      for i = 1, n do
         left[i] = t[i] - done[i]
      end
      middle = step == STEPS // 2 and mean(t) or middle
   end
   return (mean(t) - middle) / (STEPS - STEPS // 2)
end

--- @param sample of predict.sample
-- @param n nodes: drawn from the sample's, or, with `own`, these
-- @param kind barrier or halo
-- @param latency_us of one message
-- @return us that a step takes longer than without noise
function simulate.delay(sample, n, kind, latency_us, own)
   local draw, sum = random.new(n), 0
   local lists = kind == "halo" and neighbours(n) or nil
   local runs = math.max(1, math.min(MOST_RUNS, DRAWS // (n * STEPS)))
   local rest_of = chain.rest(sample.f, sample.work)
   local function rest(wait)
      return rest_of(wait, uniform(draw))
   end
   for _ = 1, runs do
      sum = sum + step_us(sample, n, latency_us, lists, own, draw, rest)
   end
   return sum / runs - sample.work - (lists and 1 or math.ceil(math.log(n, 2) - 1e-9)) * latency_us
end

return simulate
