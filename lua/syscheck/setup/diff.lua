--- Two texts compared by lines: what changed, and as a unified diff shows it. Pure.
local diff = {}

local MAX_DIFFERENCES = 1000 -- beyond it all between the common ends counts as one change
local CONTEXT = 3

--- Lines of a text, each with its end ("\n", "\r\n"; the last one may have none).
function diff.lines(text)
   local out, at = {}, 1
   while at <= #text do
      local stop = text:find("\n", at, true) or #text
      out[#out + 1] = text:sub(at, stop)
      at = stop + 1
   end
   return out
end

-- The way to diagonal k in round d, from what the round before reached on each: the diagonal it came from.
local function came_from(v, k, d)
   return (k == -d or (k ~= d and v[k - 1] < v[k + 1])) and k + 1 or k - 1
end

-- Myers, "An O(ND) difference algorithm" (1986): a map from lines of a[from_a..to_a] to equal lines of b[from_b..to_b];
-- nil beyond MAX_DIFFERENCES.
local function matches(a, from_a, to_a, b, from_b, to_b)
   local n, m = to_a - from_a + 1, to_b - from_b + 1
   local rounds, v = {}, { [1] = 0 }
   local function back(d)
      local map, x, y = {}, n, m
      while d >= 0 do
         local k = came_from(rounds[d], x - y, d)
         local before_x = d > 0 and rounds[d][k] or 0
         local before_y = d > 0 and before_x - k or 0
         while x > before_x and y > before_y do
            map[from_a + x - 1] = from_b + y - 1
            x, y = x - 1, y - 1
         end
         x, y, d = before_x, before_y, d - 1
      end
      return map
   end
   for d = 0, math.min(n + m, MAX_DIFFERENCES) do
      rounds[d] = {}
      for k, x in pairs(v) do
         rounds[d][k] = x
      end
      for k = -d, d, 2 do
         local from = came_from(v, k, d)
         local x = from == k + 1 and v[from] or v[from] + 1
         while x < n and x - k < m and a[from_a + x] == b[from_b + x - k] do
            x = x + 1
         end
         v[k] = x
         if x >= n and x - k >= m then
            return back(d)
         end
      end
   end
end

--- Map of a's lines to the equal lines of b, in order.
function diff.map(a, b)
   local map, first = {}, 1
   while a[first] and a[first] == b[first] do
      map[first] = first
      first = first + 1
   end
   local end_a, end_b = #a, #b
   while end_a >= first and end_b >= first and a[end_a] == b[end_b] do
      map[end_a] = end_b
      end_a, end_b = end_a - 1, end_b - 1
   end
   if end_a >= first and end_b >= first then
      for i, j in pairs(matches(a, first, end_a, b, first, end_b) or {}) do
         map[i] = j
      end
   end
   return map
end

--- What differs: list of { a1, a2, b1, b2 }, lines a1 to a2 of a are b1 to b2 of b (a2 = a1 - 1: none).
function diff.hunks(a, b)
   local map, out, i, j = diff.map(a, b), {}, 1, 1
   while i <= #a or j <= #b do
      if map[i] == j then
         i, j = i + 1, j + 1
      else
         local from_a, from_b = i, j
         while i <= #a and not map[i] do
            i = i + 1
         end
         j = map[i] or #b + 1
         out[#out + 1] = { a1 = from_a, a2 = i - 1, b1 = from_b, b2 = j - 1 }
      end
   end
   return out
end

local function range(from, to)
   local n = to - from + 1
   return n == 1 and tostring(from) or ("%d,%d"):format(n == 0 and from - 1 or from, n)
end

--- A unified diff, as diff -u prints it.
-- @param before text, nil where the file is new
-- @param after text, nil where it goes
-- @return list of lines
function diff.unified(path, before, after)
   local a, b = diff.lines(before or ""), diff.lines(after or "")
   local out = { "--- " .. (before and path or "/dev/null"), "+++ " .. (after and path or "/dev/null") }
   local function put(mark, line)
      out[#out + 1] = mark .. line:gsub("\r?\n$", "")
      if line:sub(-1) ~= "\n" then
         out[#out + 1] = "\\ No newline at end of file"
      end
   end
   local hunks, at = diff.hunks(a, b), 1
   while hunks[at] do
      local stop = at
      while hunks[stop + 1] and hunks[stop + 1].a1 - hunks[stop].a2 - 1 <= 2 * CONTEXT do
         stop = stop + 1
      end
      local from = math.max(1, hunks[at].a1 - CONTEXT)
      local to = math.min(#a, hunks[stop].a2 + CONTEXT)
      local shift_from, shift_to = hunks[at].b1 - hunks[at].a1, hunks[stop].b2 - hunks[stop].a2
      out[#out + 1] = ("@@ -%s +%s @@"):format(range(from, to), range(from + shift_from, to + shift_to))
      for h = at, stop do
         for i = from, hunks[h].a1 - 1 do
            put(" ", a[i])
         end
         for i = hunks[h].a1, hunks[h].a2 do
            put("-", a[i])
         end
         for i = hunks[h].b1, hunks[h].b2 do
            put("+", b[i])
         end
         from = hunks[h].a2 + 1
      end
      for i = from, to do
         put(" ", a[i])
      end
      at = stop + 1
   end
   return out
end

return diff
