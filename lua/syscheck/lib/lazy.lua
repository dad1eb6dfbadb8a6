--- Modules that are loaded when they are first used. A check where all is well uses two thirds of those that its
-- stages name, and runs before every job. Pure.
local lazy = {}

local names = {}

--- As require, for a module that is a table of functions and constants: not for pairs(), nor at load time.
-- @param name of the module
-- @return what stands for it
function lazy.require(name)
   names[#names + 1] = name
   return setmetatable({}, {
      __index = function(self, key)
         local loaded = require(name)
         setmetatable(self, { __index = loaded })
         return loaded[key]
      end,
   })
end

--- Loads all of them now, for what takes so long that an upgrade may replace them meanwhile.
function lazy.load()
   local i = 1
   while names[i] do -- which may name others
      require(names[i])
      i = i + 1
   end
end

return lazy
