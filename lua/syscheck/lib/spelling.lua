--- Which name a misspelled word probably meant. Pure; runs on 5.1 to 5.4, because
-- job_submit loads it.
local spelling = {}

local MAX_LENGTH = 16

-- Optimal string alignment: edits and swaps of neighbours. Rows of small
-- integers, since both words are at most MAX_LENGTH long.
local function distance(a, b)
   local before, row = nil, {}
   for j = 0, #b do
      row[j] = j
   end
   for i = 1, #a do
      local next_row = { [0] = i }
      for j = 1, #b do
         local same = a:byte(i) == b:byte(j)
         local d = math.min(next_row[j - 1] + 1, row[j] + 1, row[j - 1] + (same and 0 or 1))
         if before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
            d = math.min(d, before[j - 2] + 1)
         end
         next_row[j] = d
      end
      before, row = row, next_row
   end
   return row[#b]
end

--- The name that a misspelled word probably meant, or nil: at most two edits, and
-- fewer than the word's own length (otherwise any short word is near).
function spelling.nearest(word, names)
   if #word > MAX_LENGTH then
      return nil
   end
   local best, best_distance
   for _, name in ipairs(names) do
      local d = distance(word:lower(), name)
      if d <= 2 and d < #name and d < #word and (not best or d < best_distance) then
         best, best_distance = name, d
      end
   end
   return best
end

return spelling
