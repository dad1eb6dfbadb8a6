--- FNV-1a (draft-eastlake-fnv): a short number that differs where texts do, but for chance. Nobody is kept from
-- making two texts with one. Pure.
local fnv = {}

--- 32 bits.
function fnv.of32(text)
   local hash = 0x811C9DC5
   for i = 1, #text do
      hash = ((hash ~ text:byte(i)) * 0x01000193) & 0xFFFFFFFF
   end
   return hash
end

--- 64 bits, an integer of Lua's.
function fnv.of64(text)
   local hash = 0xcbf29ce484222325
   for i = 1, #text do
      hash = (hash ~ text:byte(i)) * 0x100000001b3
   end
   return hash
end

return fnv
