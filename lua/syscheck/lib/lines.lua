--- Lines of a file of any size and content, in bounded memory.
local uv = require("luv")

local lines = {}

--- A longer line is damage, not a record.
lines.MAX = 1048576

local CHUNK = 262144

--- Reads a descriptor to its end. Plain finds only, each byte looked at once: a pattern
-- over a megabyte without a newline would take the square of that.
-- @return iterator of: line, or false for one that is too long; and how many bytes were
--   read up to its end
function lines.of(fd)
   local rest, from, skipping, taken = "", 1, false, 0
   return function()
      while true do
         local to = rest:find("\n", from, true)
         if to then
            local line = rest:sub(from, to - 1)
            from = to + 1
            if not skipping then
               return line, taken - #rest + to
            end
            skipping = false
         else
            rest, from = rest:sub(from), 1
            local too_long = #rest > lines.MAX and not skipping
            if skipping or too_long then
               rest, skipping = "", true
            end
            local chunk = uv.fs_read(fd, CHUNK, -1) or ""
            taken = taken + #chunk
            if too_long then
               rest = chunk
               return false, taken - #chunk
            elseif chunk == "" then
               -- A torn line has no end; it may be a record all the same.
               local last = rest
               rest = ""
               return last ~= "" and last or nil, taken
            end
            rest = rest .. chunk
         end
      end
   end
end

return lines
