--- The event loop, with a deadline.
local uv = require("luv")
local lines = require("syscheck.lib.lines")

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

--- Calls `take` with each whole line of a pipe, and `done` at its end; of a line without end nothing.
function loop.lines(pipe, take, done)
   local rest, skipping = "", false
   pipe:read_start(function(_, data)
      if not data then
         pipe:read_stop()
         done()
         return
      end
      rest = rest .. data
      local at = 1
      while true do
         local stop = rest:find("\n", at, true)
         if not stop then
            break
         end
         if not skipping then
            take(rest:sub(at, stop - 1))
         end
         skipping, at = false, stop + 1
      end
      rest = rest:sub(at)
      if #rest > lines.MAX then
         rest, skipping = "", true
      end
   end)
end

return loop
