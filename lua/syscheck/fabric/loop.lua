--- The event loop, with a deadline.
local uv = require("luv")

local loop = {}

--- Runs the loop until `over()`, or for `seconds`.
-- @return what over() says then
function loop.wait(seconds, over)
   local late, timer = false, uv.new_timer()
   timer:start(math.floor(seconds * 1000), 0, function()
      late = true
   end)
   while not over() and not late do
      uv.run("once")
   end
   timer:close()
   return over()
end

return loop
