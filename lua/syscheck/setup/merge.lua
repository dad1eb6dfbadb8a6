--- Takes a change back out of a text that others have edited since: each line of the change for itself. Pure.
local diff = require("syscheck.setup.diff")

local merge = {}

local function body(line)
   return (line:gsub("\r?\n$", ""))
end

local function ending(line)
   return line:match("\r?\n$") or ""
end

local function bodies(lines)
   local out = {}
   for i, line in ipairs(lines) do
      out[i] = body(line)
   end
   return out
end

-- What makes two lines the same one, edited: its key, or all of it.
local function name(line)
   local key = line:match("^%s*([%w_.]+)%s*=")
   return key and key:lower() or body(line)
end

-- A hunk as the least pieces that belong together: lines written for lines that stood there.
local function pieces(hunk, a, b)
   local out, i = {}, hunk.a1
   for j = hunk.b1, hunk.b2 do
      local from, old = i, name(b[j])
      local was = a[i] and i <= hunk.a2 and a[i]:match("^# syscheck setup: was (.*)$")
      i = was and name(was) == old and i + 1 or i
      if i <= hunk.a2 and name(a[i]) == old then
         i = i + 1
      end
      if i == from then
         out[#out + 1] = { a1 = from, a2 = hunk.a2, b1 = j, b2 = hunk.b2 }
         return out
      end
      out[#out + 1] = { a1 = from, a2 = i - 1, b1 = j, b2 = j }
   end
   for k = i, hunk.a2 do
      out[#out + 1] = { a1 = k, a2 = k, b1 = hunk.b2 + 1, b2 = hunk.b2 }
   end
   return out
end

-- "Key=a,b # why" -> "Key=", "a,b", " # why"; nil for what is no value of one word
local function value_in(line)
   local head, value, tail = line:match('^(%s*[%w_.]+%s*=%s*"?)([^%s"#]+)(.*)$')
   if head and (tail:find('^"?%s*$') or tail:find('^"?%s*#')) then
      return head, value, tail
   end
end

-- A line that was edited, our value or our items of a list taken out of it.
-- @return line, "" where nothing of it is left; nil where it has nothing of ours
local function without_ours(ours, before, line)
   local _, value = value_in(ours)
   local head, now, tail = value_in(line)
   local _, was = value_in(before or "")
   if not value or not now or (before and not was) then
      return nil
   elseif before and now == value then
      return head .. was .. tail -- a comment is his
   end
   local added = {}
   for item in value:gmatch("[^,]+") do
      added[item:lower()] = true
   end
   for item in (was or ""):gmatch("[^,]+") do
      if not added[item:lower()] then
         return nil
      end
      added[item:lower()] = nil
   end
   local kept, found = {}, false
   for item in now:gmatch("[^,]+") do
      found = found or added[item:lower()]
      kept[#kept + 1] = not added[item:lower()] and item or nil
   end
   if not found then
      return nil
   end
   return #kept > 0 and head .. table.concat(kept, ",") .. tail or tail:match("#.*$") or ""
end

local Merge = {}
Merge.__index = Merge

-- The line that was ours, by its text or its key: of those that are the admin's own by now.
function Merge:find(line, same)
   for i, now in ipairs(self.c) do
      if not self.known[i] and (same and body(now) == body(line) or not same and name(now) == name(line)) then
         return i
      end
   end
end

-- What stood there comes in the place of a line, with that one's end where it has got another.
function Merge:put(piece, at, ours)
   local text = {}
   for j = piece.b1, piece.b2 do
      local end_now = at > 0 and ours and ending(self.c[at])
      text[#text + 1] = end_now and end_now ~= ending(ours) and body(self.b[j]) .. end_now or self.b[j]
   end
   self.behind[at] = (self.behind[at] or "") .. table.concat(text)
end

-- Lines that setup took out, where nothing came in their place.
function Merge:put_between(piece)
   local left, right = self.map[piece.a1 - 1], self.map[piece.a1]
   local i = left and left + 1 or right and right - (piece.b2 - piece.b1 + 1) or 0
   for j = piece.b1, piece.b2 do
      local now = self.c[i + j - piece.b1]
      if i < 1 or not now or body(now) ~= body(self.b[j]) then
         if not (left or right) then
            self.lost[#self.lost + 1] = { removed = bodies({ table.unpack(self.b, piece.b1, piece.b2) }) }
         else
            self:put(piece, left or right - 1)
         end
         return
      end
   end
end

function Merge:take(piece)
   if piece.a2 < piece.a1 then
      return self:put_between(piece)
   end
   local place, ours, edited -- where ours stands, a line of it, one that he edited
   for k = piece.a1, piece.a2 do
      local at = self.map[k] or self:find(self.a[k], true)
      if at then
         self.known[at], self.gone[at] = true, true
         place, ours = place or at, ours or self.a[k]
      elseif self:find(self.a[k]) then
         edited = k
      end
   end
   local before = piece.b1 <= piece.b2 and self.b[piece.b1] or nil
   local i = edited and self:find(self.a[edited]) or not place and before and self:find(before)
   if i then
      -- His by now, but for our items of a list.
      self.known[i] = true
      local line = without_ours(self.a[edited or piece.a2], before, self.c[i])
      if line then
         self.gone[i], self.behind[i] = true, (self.behind[i] or "") .. line
      elseif body(self.c[i]) ~= body(before or "") then
         self.lost[#self.lost + 1] = { now = body(self.c[i]), added = body(self.a[edited or piece.a2]),
            removed = bodies({ table.unpack(self.b, piece.b1, piece.b2) }) }
      end
   elseif place then
      self:put(piece, place, ours)
   elseif before then
      self.lost[#self.lost + 1] = { added = body(self.a[piece.a2]),
         removed = bodies({ table.unpack(self.b, piece.b1, piece.b2) }) }
   end
end

--- Takes a change back out of a text that others may have edited since. A line of the change that was edited is whose
-- edit it is, and stays.
-- @param before, after the change, as texts
-- @param current the text as it is
-- @return the text without the change, all other edits kept; list of what was not taken back, in the order of the
--   file: { now = the line as it stands, nil where it is gone; added = as it was written; removed = list of lines that
--   stood there }
function merge.undo(before, after, current)
   if current == after or current == before then
      return before, {}
   end
   local self = setmetatable({ a = diff.lines(after), b = diff.lines(before), c = diff.lines(current), lost = {},
      known = {}, gone = {}, behind = {} }, Merge)
   self.map = diff.map(bodies(self.a), bodies(self.c))
   for _, at in pairs(self.map) do
      self.known[at] = true
   end
   self.map[0] = 0
   self.map[#self.a + 1] = #self.c + 1
   for _, hunk in ipairs(diff.hunks(self.a, self.b)) do
      for _, piece in ipairs(pieces(hunk, self.a, self.b)) do
         self:take(piece)
      end
   end
   local out = { self.behind[0] }
   for i, line in ipairs(self.c) do
      out[#out + 1] = not self.gone[i] and line or nil
      out[#out + 1] = self.behind[i] ~= "" and self.behind[i] or nil
   end
   -- What was the last line need not be it now.
   for i = 1, #out - 1 do
      out[i] = out[i]:sub(-1) == "\n" and out[i] or out[i] .. "\n"
   end
   return table.concat(out), self.lost
end

return merge
