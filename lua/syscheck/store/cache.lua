--- Two-generation LRU cache.
local cache = {}
cache.__index = cache

--- @param most entries of a generation: so many are kept at least, twice as many at most
function cache.new(most)
   return setmetatable({ most = most, count = 0, young = {}, old = {} }, cache)
end

function cache:put(key, value)
   if self.young[key] == nil then
      if self.count >= self.most then
         self.old, self.young, self.count = self.young, {}, 0
      end
      self.count = self.count + 1
   end
   self.young[key] = value
end

function cache:get(key)
   local value = self.young[key]
   if value == nil then
      value = self.old[key]
      if value ~= nil then
         self:put(key, value)
      end
   end
   return value
end

function cache:clear()
   self.young, self.old, self.count = {}, {}, 0
end

return cache
