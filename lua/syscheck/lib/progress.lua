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

-- Work that is over sooner needs no word.
local QUIET_S = 2
local EACH_S = 0.25

--- How much of an amount of work is done, and how long the rest takes at this speed; pure.
-- @param what name of the work
-- @param done, total in one unit
-- @param seconds since it began
function progress.sentence(what, done, total, seconds)
   local share = total > 0 and math.max(0, math.min(1, done / total)) or 1
   local text = ("%s  %.0f %%"):format(what, math.floor(100 * share))
   -- Of the first percent nothing follows for the rest.
   if share < 0.01 then
      return text
   end
   local left = seconds * (1 - share) / share
   return ("%s, about %s left"):format(text, left < 100 and ("%.0f s"):format(left)
      or left < 6000 and ("%.0f min"):format(left / 60) or ("%.0f h"):format(left / 3600))
end

--- The same on standard error, of work that lasts, from its third second on.
-- @param what name of the work
-- @return { to = function(done, total), called as often as there is news; clear = function(), for good }
function progress.amount(what)
   local width = not terminal.is_dumb() and terminal.width(2)
   local began, drawn = uv.hrtime(), nil
   return {
      to = function(done, total)
         local now = uv.hrtime()
         if width and (now - began) / 1e9 >= QUIET_S and (now - (drawn or 0)) / 1e9 >= EACH_S then
            drawn = now
            io.stderr:write(CLEAR, progress.sentence(what, done, total, (now - began) / 1e9):sub(1, width - 1))
         end
      end,
      clear = function()
         if drawn then
            io.stderr:write(CLEAR)
            drawn = nil
         end
      end,
   }
end

return progress
