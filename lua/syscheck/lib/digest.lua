--- Eight hex digits that differ where two files do, but for chance: whether two nodes have the same policy. Nobody is
-- kept from making two texts with one. Pure.
--
-- Eight bytes a step, which costs a tenth of FNV's byte by byte (lib/fnv.lua): a prolog reads its policy and its
-- baseline before each job. A step can be undone, so texts that differ in one place always differ in all 64 bits; the
-- shift brings what a word's last byte changed down to where the next product spreads it (as MurmurHash3 does).
local digest = {}

local PRIME = 0x9E3779B97F4A7C15 -- 2^64 / golden ratio, odd

--- @param text bytes
-- @return text of eight hex digits
function digest.of(text)
   local unpack, h = string.unpack, #text
   local whole = #text - #text % 32
   for i = 1, whole, 32 do
      local a, b, c, d = unpack("<i8i8i8i8", text, i)
      h = (h ~ a) * PRIME
      h = (h ~ h >> 32 ~ b) * PRIME
      h = (h ~ h >> 32 ~ c) * PRIME
      h = (h ~ h >> 32 ~ d) * PRIME
      h = h ~ h >> 32
   end
   for i = whole + 1, #text do
      h = (h ~ text:byte(i)) * PRIME
      h = h ~ h >> 32
   end
   return ("%08x"):format(h * PRIME >> 32)
end

return digest
