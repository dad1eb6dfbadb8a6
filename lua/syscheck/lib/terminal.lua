--- What standard output is, text as wide as it, and a pager for what is longer.
local uv = require("luv")

local terminal = {}

-- Narrower than this nothing can be read, and wider than this no line can: kept within.
local LEAST, MOST = 20, 400

-- By descriptor. Kept: one that is closed needs a turn of the loop, which may be in one just now.
local ttys = {}

--- Columns and rows of the terminal that standard output is; nil where it is none.
-- @param fd another descriptor (1)
function terminal.width(fd)
   fd = fd or 1
   if uv.guess_handle(fd) ~= "tty" then
      return nil
   end
   if not ttys[fd] then
      ttys[fd] = uv.new_tty(fd, false)
      -- libuv has opened the terminal anew in its place, not blocking: stdio would lose what it does not take at once.
      if ttys[fd] then
         uv.stream_set_blocking(ttys[fd], true)
      end
   end
   local columns, rows
   if ttys[fd] then
      columns, rows = ttys[fd]:get_winsize()
   end
   -- 0: a serial line, or a terminal that nobody told its size.
   columns = columns and columns > 0 and columns or 80
   return math.max(LEAST, math.min(MOST, columns)), rows and rows > 0 and rows or 24
end

--- Whether a terminal understands more than lines of text.
function terminal.is_dumb()
   local term = os.getenv("TERM")
   return not term or term == "" or term == "dumb"
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

-- The user's pager as a list of arguments; nil for none. Through sudo the pager would be his program, run as
-- somebody else: then it is less, which LESSSECURE keeps from running any.
local function pager()
   local value = not os.getenv("SUDO_UID") and os.getenv("PAGER") or "less -FRX"
   local words = {}
   for word in value:gmatch("%S+") do
      words[#words + 1] = word
   end
   return words[1] and words[1] ~= "cat" and words or nil
end

-- @return whether the pager showed it
local function through(words, text)
   -- Nor is it looked for where he says, or told by him what to run.
   local of_other = os.getenv("SUDO_UID") ~= nil
   local env = { "LESSSECURE=1", of_other and "PATH=/usr/bin:/bin" or nil }
   for name, value in pairs(uv.os_environ()) do
      local theirs = of_other and (name == "PATH" or name:find("^LESS") ~= nil) or name == "LESSSECURE"
      env[#env + 1] = not theirs and name .. "=" .. value or nil
   end
   local input = uv.new_pipe(false)
   -- ^C is the pager's: it stops a search, and must not end us before it has put the terminal right.
   local interrupt = uv.new_signal()
   interrupt:start("sigint", function() end)
   local code
   local child = uv.spawn(words[1], { args = table.move(words, 2, #words, 1, {}), env = env, stdio = { input, 1, 2 } },
      function(status, signal)
         code = signal == 0 and status or 128 + signal
      end)
   if child then
      input:write(text)
      input:shutdown()
      while not code do
         uv.run("once")
      end
      child:close()
   end
   input:close()
   interrupt:close()
   uv.run("nowait") -- lets libuv finish the closing
   return code == 0
end

--- Prints a text that ends with a line feed; what is longer than the terminal through $PAGER, else less.
function terminal.print(text)
   local columns, rows = terminal.width()
   local _, lines = text:gsub("\n", "")
   if columns and lines >= rows and not terminal.is_dumb() then
      local words = pager()
      if words and through(words, text) then
         return
      end
   end
   io.stdout:write(text)
end

return terminal
