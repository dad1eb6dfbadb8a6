--- What standard output is, and text as wide as it.
local uv = require("luv")

local terminal = {}

-- Narrower than this nothing can be read, and wider than this no line can: kept within.
local LEAST, MOST = 20, 400

--- Columns of the terminal that standard output is; nil where it is none.
function terminal.width()
   if uv.guess_handle(1) ~= "tty" then
      return nil
   end
   local tty = uv.new_tty(1, false)
   local columns = tty and tty:get_winsize()
   if tty then
      tty:close()
   end
   -- 0: a serial line, or a terminal that nobody told its size.
   columns = columns and columns > 0 and columns or 80
   return math.max(LEAST, math.min(MOST, columns))
end

--- Breaks each line of a text at blanks so that it fits; what has no blank is longer.
-- @param width columns, or nil: as it is
-- @param indent blanks before the second and later lines of each line (0)
function terminal.wrap(text, width, indent)
   if not width then
      return text
   end
   local pad = (" "):rep(indent or 0)
   local out = {}
   for line in (text .. "\n"):gmatch("(.-)\n") do
      local row = line:match("^ *")
      local used, filled = #row, false
      for word in line:gmatch("[^ ]+") do
         local size = utf8.len(word) or #word
         if filled and used + 1 + size > width then
            out[#out + 1] = row
            row, used, filled = pad, #pad, false
         end
         row = row .. (filled and " " or "") .. word
         used = used + (filled and 1 or 0) + size
         filled = true
      end
      out[#out + 1] = row
   end
   return table.concat(out, "\n")
end

return terminal
