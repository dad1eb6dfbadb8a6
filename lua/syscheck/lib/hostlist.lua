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

local ZEROS = ("0"):rep(MAX_DIGITS)

local function zero_padded(digits)
   return ZEROS:sub(#digits + 1) .. digits
end

--- A key by which names sort as people count: n9 before n10.
function hostlist.order(name)
   return (name:gsub("%d+", zero_padded))
end

--- Sorts names in place, as people count.
-- @return the same list
function hostlist.sort(names)
   local key, sorted, last = {}, true, nil
   for _, name in ipairs(names) do
      key[name] = key[name] or hostlist.order(name)
      sorted, last = sorted and (not last or last <= key[name]), key[name]
   end
   if not sorted then -- mostly they are
      table.sort(names, function(a, b)
         return key[a] < key[b]
      end)
   end
   return names
end

-- Sorted list of { n, digits } -> "01-03,07"; in brackets if it is more than one name.
local function ranges(list)
   local out, i = {}, 1
   while i <= #list do
      local j = i
      while list[j + 1] and list[j + 1].n == list[j].n + 1 do
         j = j + 1
      end
      out[#out + 1] = j > i and list[i].digits .. "-" .. list[j].digits or list[i].digits
      i = j + 1
   end
   return #list > 1 and "[" .. table.concat(out, ",") .. "]" or out[1]
end

--- Names as one hostlist: "m2,n[01-03,07]".
function hostlist.fold(names)
   local padded = {}
   for _, name in ipairs(names) do
      local prefix = name:match("^(.-)0%d+$")
      if prefix then
         padded[prefix] = true
      end
   end
   local groups, keys, known = {}, {}, {}
   for _, name in ipairs(names) do
      local prefix, digits = name:match("^(.-)(%d+)$")
      -- What is too long to count with stands for itself.
      local counts = digits and #digits <= MAX_DIGITS
      local key = counts and ("%s %d"):format(prefix, padded[prefix] and #digits or 0) or name
      if not groups[key] then
         groups[key] = { prefix = counts and prefix or name }
         keys[#keys + 1] = key
      end
      if counts and not known[name] then
         known[name] = true
         table.insert(groups[key], { n = tonumber(digits), digits = digits })
      end
   end
   table.sort(keys)
   local out = {}
   for i, key in ipairs(keys) do
      local of = groups[key]
      table.sort(of, function(a, b)
         return a.n < b.n
      end)
      out[i] = of.prefix .. (of[1] and ranges(of) or "")
   end
   return table.concat(out, ",")
end

return hostlist
