--- Lines of a file of any size and content, in bounded memory.
local uv = require("luv")

local lines = {}

--- A longer line is damage, not a record.
lines.MAX = 1048576

local CHUNK = 262144

--- Reads a descriptor to its end. Plain finds only, each byte looked at once: a pattern
-- over a megabyte without a newline would take the square of that.
-- @param at offset of a line to begin with; default: where the descriptor stands, which is
--   taken for the beginning
-- @return iterator of: line, or false for one that is too long; offset of its end; true where
--   no newline ends it (a torn line, which may be a record all the same). After the last: nil,
--   and why where reading failed
function lines.of(fd, at)
   local rest, from, position, offset = "", 1, at or -1, at or 0
   return function()
      local skipped = 0 -- bytes of a line that is too long
      while true do
         local to = rest:find("\n", from, true)
         if to then
            local line = skipped == 0 and to - from <= lines.MAX and rest:sub(from, to - 1)
            offset, from = offset + skipped + to - from + 1, to + 1
            return line, offset
         end
         rest, from = rest:sub(from), 1
         if skipped > 0 or #rest > lines.MAX then
            skipped, rest = skipped + #rest, ""
         end
         local chunk, err = uv.fs_read(fd, CHUNK, position)
         if not chunk then
            return nil, err
         elseif chunk == "" then
            local line = skipped == 0 and rest
            offset, rest = offset + skipped + #rest, ""
            if line == "" then
               return nil
            end
            return line, offset, true
         end
         position = position < 0 and position or position + #chunk
         rest = rest .. chunk
      end
   end
end

return lines
