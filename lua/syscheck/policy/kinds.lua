--- What values of a policy may be. A rule is a function that returns nil when the value is good, else what it
-- must be, and which of that was probably meant. Pure; runs on 5.1 to 5.4, because job_submit loads it.
local spelling = require("syscheck.lib.spelling")

local kinds = {}

function kinds.number(low, high)
   return function(v)
      -- v ~= v: NaN compares false with both bounds.
      if type(v) ~= "number" or v ~= v or v < low or v > high then
         return ("a number from %g to %g"):format(low, high)
      end
   end
end

function kinds.one_of(...)
   local names = { ... }
   return function(v)
      for _, name in ipairs(names) do
         if v == name then
            return nil
         end
      end
      local near = type(v) == "string" and spelling.nearest(v, names)
      return ('one of "%s"'):format(table.concat(names, '", "')), near
   end
end

function kinds.boolean(v)
   return type(v) ~= "boolean" and "true or false" or nil
end

function kinds.path(v)
   if type(v) ~= "string" or not v:match("^/[^%c]*$") or #v > 1000 then
      return "an absolute path"
   end
end

--- A list without holes, of at most `most` values that are good by `rule`.
function kinds.list_of(rule, most, what)
   return function(v)
      local good, n = type(v) == "table", 0
      for _ in pairs(good and v or {}) do
         n = n + 1
      end
      for i = 1, n do
         good = good and rule(v[i]) == nil
      end
      if not good or n > most then
         return ("a list of at most %d %s"):format(most, what)
      end
   end
end

return kinds
