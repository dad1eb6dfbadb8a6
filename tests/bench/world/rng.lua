--- Random numbers of named streams (splitmix64): a stream more or a draw more in one part of the
-- world leaves the other parts as they were. Pure.
local rng = {}
rng.__index = rng

local STEP = 0x9E3779B97F4A7C15

local function mix(z)
   z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
   z = (z ~ (z >> 27)) * 0x94D049BB133111EB
   return z ~ (z >> 31)
end

--- @param seed integer
-- @param name of the stream
function rng.new(seed, name)
   local state = mix(seed * STEP + 1)
   for i = 1, #name do
      state = mix(state + name:byte(i) * STEP)
   end
   return setmetatable({ state = state }, rng)
end

--- 64 random bits.
function rng:bits()
   self.state = self.state + STEP
   return mix(self.state)
end

--- [0, 1)
function rng:float()
   self.state = self.state + STEP
   return (mix(self.state) >> 11) * 0x1p-53
end

function rng:uniform(low, high)
   return low + (high - low) * self:float()
end

--- Uniform in the logarithm.
function rng:log(low, high)
   return low * (high / low) ^ self:float()
end

--- Whole number, both ends included.
function rng:int(low, high)
   return low + math.floor((high - low + 1) * self:float())
end

function rng:chance(p)
   return self:float() < p
end

function rng:pick(list)
   return list[self:int(1, #list)]
end

function rng:normal(mean, sd)
   local u, v = 1 - self:float(), self:float()
   return (mean or 0) + (sd or 1) * math.sqrt(-2 * math.log(u)) * math.cos(6.283185307179586 * v)
end

--- Median 1.
function rng:spread(sigma)
   return math.exp(sigma * self:normal())
end

function rng:exp(mean)
   return -mean * math.log(1 - self:float())
end

function rng:poisson(mean)
   if mean > 50 then
      return math.max(0, math.floor(self:normal(mean, math.sqrt(mean)) + 0.5))
   end
   local limit, n, product = math.exp(-mean), 0, self:float()
   while product > limit do
      n, product = n + 1, product * self:float()
   end
   return n
end

--- Index into a list of weights.
function rng:weighted(weights)
   local sum = 0
   for i = 1, #weights do
      sum = sum + weights[i]
   end
   local x = self:float() * sum
   for i = 1, #weights do
      x = x - weights[i]
      if x < 0 then
         return i
      end
   end
   return #weights
end

--- n different ones of a list, in random order; all where it has fewer.
function rng:sample(list, n)
   local copy = { table.unpack(list) }
   n = math.min(n, #copy)
   for i = 1, n do
      local j = self:int(i, #copy)
      copy[i], copy[j] = copy[j], copy[i]
   end
   return { table.unpack(copy, 1, n) }
end

local HEX = "%016x%016x"

--- n hex digits, at most 32.
function rng:hex(n)
   return HEX:format(self:bits(), self:bits()):sub(1, n)
end

return rng
