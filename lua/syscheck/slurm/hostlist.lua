--- Names of nodes, and Slurm's lists of them. Pure.
local hostlist = {}

local MAX_DIGITS = 18 -- of a number that Lua can count with
local MAX_HOSTS = 100000 -- of a list: a bound against nonsense, five times the largest cluster
local MAX_BRACKETS = 16 -- of a name; Slurm's own hostlists have five dimensions (HIGHEST_DIMENSIONS)

--- A node's name that is safe to build a path from, or nil.
function hostlist.name(text)
   return text and #text <= 255 and text:match("^[%w_][%w._-]*$") or nil
end

-- "1-3,07" -> "1", "2", "3", "07"; nil for more than `most`
local function numbers(list, most)
   local out = {}
   for item in list:gmatch("[^,]+") do
      local from, to = item:match("^(%d+)-(%d+)$")
      if from then
         if #from > MAX_DIGITS or #to > MAX_DIGITS or #out + tonumber(to) - tonumber(from) >= most then
            return nil
         end
         local format = "%0" .. #from .. "d"
         for n = tonumber(from), tonumber(to) do
            out[#out + 1] = format:format(n)
         end
      elseif item:match("^%d+$") then
         out[#out + 1] = item
      else
         return nil
      end
   end
   return out
end

-- "r[1-2]n[1-2]" -> four names, added to `out`. The first bracket first: no more than the names there
-- are is ever made, however many brackets follow, and none of those for which `out` has no room.
local function expand_one(text, out, most)
   local names, count, at, room = { "" }, 0, 1, most - #out
   while true do
      local head, list, after = text:match("^([^%[%]]*)%[([%d,-]+)%]()", at)
      if not head then
         break
      end
      local items, more = numbers(list, room), {}
      count = count + 1
      if not items or #items == 0 or #names * #items > room or count > MAX_BRACKETS then
         return nil
      end
      for _, name in ipairs(names) do
         for _, n in ipairs(items) do
            more[#more + 1] = name .. head .. n
         end
      end
      names, at = more, after
   end
   local tail = text:sub(at)
   if tail:find("[%[%]]") or #names > room then
      return nil
   end
   for _, name in ipairs(names) do
      out[#out + 1] = name .. tail
   end
   return true
end

--- A hostlist's names: "n[1-3,07],m2". nil when it is none.
-- @param most names, default 100,000
function hostlist.expand(list, most)
   local out = {}
   local at, depth = 1, 0
   for i = 1, #list + 1 do
      local c = list:sub(i, i)
      if c == "[" then
         depth = depth + 1
      elseif c == "]" then
         depth = depth - 1
      elseif (c == "," and depth == 0) or c == "" then
         if i > at and not expand_one(list:sub(at, i - 1), out, most or MAX_HOSTS) then
            return nil
         end
         at = i + 1
      end
   end
   return out
end

return hostlist
