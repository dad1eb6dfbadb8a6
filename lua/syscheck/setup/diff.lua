--- Two texts compared by lines: what changed, as a unified diff shows it, and taken back out of a third text that
-- others have edited since. Pure.
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

-- Map of a's lines to the equal lines of b, in order.
local function map_of(a, b)
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
   local map, out, i, j = map_of(a, b), {}, 1, 1
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

-- Where an unchanged neighbour of lines from..to of a stands in c: the lines of c between are what became of these.
local function gap(map, hunk)
   local left, right = hunk.a1 - 1, hunk.a2 + 1
   while not map[left] do
      left = left - 1
   end
   while not map[right] do
      right = right + 1
   end
   return map[left] + 1, map[right] - 1
end

local undo

-- One line of three texts, its parts between commas like lines: what others have added to a list stays.
local function undo_list(before, after, current)
   local function parts(line)
      return line:gsub("\r?\n$", ""):gsub(",", "\n") .. "\n"
   end
   if not after:find(",", 1, true) then
      return nil
   end
   local out, lost = undo(parts(before), parts(after), parts(current))
   return #lost == 0 and out:gsub("\n$", ""):gsub("\n", ",") .. current:match("\r?\n?$") or nil
end

-- Of a hunk whose lines are not all as they were written: what is to stand in place of lines from..to of c.
-- @return list of lines; whether something of it is somebody's own now
local function merged(a, b, c, map, hunk, from, to)
   local own, mine = {}, {}
   for i = hunk.a1, hunk.a2 do
      if map[i] then
         mine[map[i]] = true
      end
   end
   for j = from, to do
      own[#own + 1] = not mine[j] and c[j] or nil
   end
   if hunk.b2 < hunk.b1 then
      local missing = false
      for i = hunk.a1, hunk.a2 do
         missing = missing or not map[i]
      end
      return own, missing and #own > 0
   end
   local is_back = to - from == hunk.b2 - hunk.b1
   for j = from, to do
      is_back = is_back and c[j] == b[hunk.b1 + j - from]
   end
   if not is_back and from == to and hunk.a1 == hunk.a2 and hunk.b1 == hunk.b2 then
      local line = undo_list(b[hunk.b1], a[hunk.a1], c[from])
      if line then
         return { line }, false
      end
   end
   return { table.unpack(c, from, to) }, not is_back
end

-- See diff.undo; texts whose last lines have an end.
function undo(before, after, current)
   local a, b, c = diff.lines(after), diff.lines(before), diff.lines(current)
   local map = map_of(a, c)
   map[0], map[#a + 1] = 0, #c + 1
   local out, lost, at = {}, {}, 1
   for _, hunk in ipairs(diff.hunks(a, b)) do
      local from, to = map[hunk.a1], map[hunk.a2]
      if hunk.a2 < hunk.a1 then
         from, to = map[hunk.a1 - 1] and map[hunk.a1 - 1] + 1, map[hunk.a1] and map[hunk.a1] - 1
      end
      local whole = from and to and to - from == hunk.a2 - hunk.a1
      for i = hunk.a1, hunk.a2 do
         whole = whole and map[i] == from + i - hunk.a1
      end
      local lines, is_own = { table.unpack(b, hunk.b1, hunk.b2) }, false
      if not whole then
         from, to = gap(map, hunk)
         lines, is_own = merged(a, b, c, map, hunk, from, to)
      end
      -- What two hunks lie next to is looked at once.
      if from >= at then
         table.move(c, at, from - 1, #out + 1, out)
         table.move(lines, 1, #lines, #out + 1, out)
         at = to + 1
      end
      if is_own then
         lost[#lost + 1] = { now = lines, removed = { table.unpack(b, hunk.b1, hunk.b2) } }
      end
   end
   table.move(c, at, #c, #out + 1, out)
   return table.concat(out), lost
end

--- Takes a change back out of a text that others may have edited since. Their edits stay: lines of theirs, items that
-- they added to a list, and a changed line that they have changed again.
-- @param before, after the change, as texts
-- @param current the text as it is
-- @return the text without the change; list of what stays as theirs, in the text's order, each { now = list of lines as
--   they are, removed = of lines that stood there before the change }
function diff.undo(before, after, current)
   if current == after or current == before then
      return before, {}
   end
   local ending = current:match("\r?\n") or "\n"
   local function ended(text)
      return (text == "" or text:sub(-1) == "\n") and text or text .. ending
   end
   local out, lost = undo(ended(before), ended(after), ended(current))
   -- What was the last line, without an end, and is it again.
   local last = before:match("[^\n]*$")
   if last ~= "" and ("\n" .. out):sub(-#last - #ending - 1) == "\n" .. last .. ending then
      out = out:sub(1, -#ending - 1)
   end
   return out, lost
end

return diff
