--- Takes out of a record's line what the store does not keep, before it is decoded: the
-- totals at begin and end are more than half of it. Pure.
--
-- An object ends where its braces balance, which %b finds without knowing of strings. That
-- is right where no string in the object holds a brace: `begin`, `end` and `parts` hold
-- numbers under names of ours, and one time; `config` holds what firmware says, and is
-- looked at. Whatever else a line holds (a job's name) stands outside. Who writes such a
-- line on purpose spoils his own record, which he could have written as he liked; a line that
-- does not decode when it is shortened is decoded as it is.
local shorten = {}

-- Where an object of a line stands.
-- @param before, needle its key in two parts: the search is for the second, which should
--   begin with a rare letter
-- @return first and last place of the object with its key; place of its "{"; or nil
local function find(line, before, needle)
   local from, open = line:find(needle, 1, true)
   if not from or line:sub(from - #before, from - 1) ~= before then
      return nil
   end
   local _, to = line:find("^%b{}", open)
   return to and from - #before, to, open
end

--- Parts of `end` that the store keeps.
shorten.KEPT = { 'limits":{', 'temperature":{' }

-- What remains of `end`.
local function kept(totals)
   local out
   for i = 1, #shorten.KEPT do
      local name = shorten.KEPT[i]
      local first, last = find(totals, '"', name)
      if first then
         out = (out and out .. "," or "") .. totals:sub(first, last)
      elseif totals:find(name, 1, true) then
         return nil
      end
   end
   return out or ""
end

-- Notes that a piece goes: list holds first and last place and what stands there instead,
-- in the order of their places.
local function cut(list, n, first, last, text)
   local at = n
   while at > 0 and list[at - 2] > first do
      list[at + 1], list[at + 2], list[at + 3] = list[at - 2], list[at - 1], list[at]
      at = at - 3
   end
   list[at + 1], list[at + 2], list[at + 3] = first, last, text
   return n + 3
end

local MOST = 4
local cuts, pieces = {}, {}

--- @param configs true: without `config`, which is known by its config_id
-- @return a shorter line of the same record; or the line itself
function shorten.line(line, configs)
   local n = 0
   local from, to, open
   if line:find('kind":"job"', 1, true) then
      -- The key stays, with a number: a comma too much would spoil the line.
      from, to, open = find(line, '"', 'begin":{')
      if from then
         n = cut(cuts, n, open, to, "0")
      end
      from, to, open = find(line, '"e', 'nd":{')
      local text = from and kept(line:sub(open, to))
      if text then
         n = cut(cuts, n, open + 1, to - 1, text)
      end
   end
   if configs then
      from, to, open = find(line, '"con', 'fig":{')
      -- A flat object: a second brace stands in a string, or we do not know it.
      if from and (line:find("{", open + 1, true) or to + 1) > to then
         n = cut(cuts, n, open, to, "0")
      end
   end
   from, to, open = find(line, '"', 'parts":{')
   if from then
      n = cut(cuts, n, open, to, "0")
   end
   local last, p = 1, pieces
   for i = 1, n, 3 do
      -- One object inside another: nothing that we write.
      if cuts[i] < last then
         return line
      end
      p[i], p[i + 1], last = line:sub(last, cuts[i] - 1), cuts[i + 2], cuts[i + 1] + 1
   end
   for i = n + 1, MOST * 3, 3 do
      p[i], p[i + 1] = "", ""
   end
   -- One concatenation: the result is copied once.
   return p[1] .. p[2] .. p[4] .. p[5] .. p[7] .. p[8] .. p[10] .. p[11] .. line:sub(last)
end

return shorten
