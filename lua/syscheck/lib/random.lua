--- A random order that is the same for the same seed, on every machine. Pure.
-- xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016).
local random = {}

--- @param seed integer; any
-- @return function(n) -> integer from 1 to n
function random.new(seed)
   -- Seeds that differ by one give other orders from the first number on; zero is the state that never leaves itself.
   local state = (seed + 1) * 0x9E3779B97F4A7C15 | 1
   return function(n)
      state = state ~ (state >> 12)
      state = state ~ (state << 25)
      state = state ~ (state >> 27)
      return ((state * 0x2545F4914F6CDD1D) >> 33) % n + 1
   end
end

--- Shuffles a list in place (Fisher-Yates).
-- @param draw from new
function random.shuffle(list, draw)
   for i = #list, 2, -1 do
      local j = draw(i)
      list[i], list[j] = list[j], list[i]
   end
   return list
end

return random
