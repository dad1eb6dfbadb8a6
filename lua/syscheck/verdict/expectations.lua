--- What a node of a class should have, by the site's policy. Pure.
--
-- A key names the beginning of a class, up to a dash: "epyc-9654" is for
-- "epyc-9654-2s192c-768g". The class itself names memory and cores, so a node that
-- loses some changes its class; the model is what it keeps.
local expect = {}

local function matches(key, class)
   return key == "*" or class == key or class:sub(1, #key + 1) == key .. "-"
end

--- Expected values of a class: the longest key wins, field by field; "*" is last.
-- @param table_of policy.expect
-- @param before what the class was called in older versions, or nil: the site's keys may still say so
-- @return { field = number or list of numbers, action = "fail" or "warn" }
function expect.of(table_of, class, before)
   local keys = {}
   for key in pairs(table_of) do
      if matches(key, class) or (before and matches(key, before)) then
         keys[#keys + 1] = key
      end
   end
   table.sort(keys, function(a, b)
      return (a == "*" and 0 or #a) < (b == "*" and 0 or #b)
   end)
   local out = { action = "warn" }
   for _, key in ipairs(keys) do
      for field, value in pairs(table_of[key]) do
         out[field] = value
      end
   end
   return out
end

return expect
