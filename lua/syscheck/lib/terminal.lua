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

-- Columns of a text.
local function columns_of(text)
   return utf8.len(text) or #text
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
      local row, used, filled = "", 0, false
      for gap, word in line:gmatch("( *)([^ ]+)") do
         local size = columns_of(word)
         if filled and used + #gap + size > width then
            out[#out + 1] = row
            row, used, gap = pad, #pad, ""
         end
         row, used, filled = row .. gap .. word, used + #gap + size, true
      end
      out[#out + 1] = row
   end
   return table.concat(out, "\n")
end

--- The same of one paragraph, whose line breaks are for where there is no terminal.
function terminal.flow(text, width)
   return width and terminal.wrap((text:gsub("\n", " ")), width) or text
end

return terminal
