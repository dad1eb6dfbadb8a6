--- Random numbers of the simulated interconnect: splitmix64, so that a seed gives the same site everywhere.
-- (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.)

local Rng = {}
Rng.__index = Rng

local GOLDEN <const> = 0x9e3779b97f4a7c15
local TO_UNIT <const> = 2.0 ^ -53

local function finish(z)
   z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
   z = (z ~ (z >> 27)) * 0x94d049bb133111eb
   return z ~ (z >> 31)
end

--- Hash of two integers.
-- @param a integer
-- @param b integer
-- @return integer, all 64 bits in use
function Rng.mix(a, b)
   return finish(finish(a + GOLDEN) ~ (b * GOLDEN + 0x632be59bd9b4e019))
end

--- A number in [0, 1) from a hash.
-- @param h integer of 64 random bits
function Rng.unit(h)
   return (h >> 11) * TO_UNIT
end

--- A generator of its own.
-- @param seed integer
function Rng.new(seed)
   return setmetatable({ state = finish(seed * GOLDEN + 1), spare = false }, Rng)
end

--- Uniform in [0, 1), or in [lo, hi).
function Rng:uniform(lo, hi)
   local state = self.state + GOLDEN
   self.state = state
   local z = (state ~ (state >> 30)) * 0xbf58476d1ce4e5b9
   z = (z ~ (z >> 27)) * 0x94d049bb133111eb
   local u = ((z ~ (z >> 31)) >> 11) * TO_UNIT
   if lo then
      return lo + (hi - lo) * u
   end
   return u
end

--- Normal with mean 0 and standard deviation 1 (Box-Muller).
function Rng:normal()
   local spare = self.spare
   if spare then
      self.spare = false
      return spare
   end
   local radius = math.sqrt(-2 * math.log(1 - self:uniform()))
   local angle = 2 * math.pi * self:uniform()
   self.spare = radius * math.sin(angle)
   return radius * math.cos(angle)
end

--- Integer in lo..hi, both included.
function Rng:int(lo, hi)
   return lo + math.floor(self:uniform() * (hi - lo + 1))
end

--- True with a probability.
-- @param p probability, 0 to 1
function Rng:chance(p)
   return self:uniform() < p
end

--- One entry of a list.
function Rng:pick(list)
   return list[self:int(1, #list)]
end

--- A Poisson count (Knuth's product in the logarithm, which holds for large means).
-- @param mean expected count
function Rng:poisson(mean)
   local count, sum = 0, 0
   while true do
      sum = sum - math.log(1 - self:uniform())
      if sum > mean then
         return count
      end
      count = count + 1
   end
end

--- Shuffle a list in place (Fisher-Yates).
-- @return the same list
function Rng:shuffle(list)
   for i = #list, 2, -1 do
      local j = self:int(1, i)
      list[i], list[j] = list[j], list[i]
   end
   return list
end

return Rng
