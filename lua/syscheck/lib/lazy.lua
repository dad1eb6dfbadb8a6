--- Modules that are loaded when they are first used. A check where all is well uses two thirds of those that its
-- stages name, and runs before every job. Pure.
local lazy = {}

--- As require, for a module that is a table of functions and constants: not for pairs(), nor at load time.
-- @param name of the module
-- @return what stands for it
function lazy.require(name)
   return setmetatable({}, {
      __index = function(self, key)
         local loaded = require(name)
         setmetatable(self, { __index = loaded })
         return loaded[key]
      end,
   })
end

return lazy
