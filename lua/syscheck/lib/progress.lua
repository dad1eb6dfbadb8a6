--- One line on standard error that says what is going on, rewritten in place; nothing where that is no terminal,
-- or one that cannot.
local uv = require("luv")
local terminal = require("syscheck.lib.terminal")

local progress = {}

local TICK_MS = 1000
local CLEAR = "\r\27[K"

--- @return { show = function(line), line = function() -> text, asked every second while the loop runs;
--   clear = function(), for good }
function progress.open()
   local width = not terminal.is_dumb() and terminal.width(2)
   if not width then
      return { show = function() end, clear = function() end }
   end
   local line
   local function draw()
      -- A line that fills the last column would wrap, and \r goes back to the second row only.
      io.stderr:write(CLEAR, line():sub(1, width - 1))
   end
   local timer = uv.new_timer()
   return {
      show = function(f)
         line = f
         draw()
         timer:start(TICK_MS, TICK_MS, draw)
      end,
      clear = function()
         if line then
            io.stderr:write(CLEAR)
         end
         timer:close()
      end,
   }
end

return progress
