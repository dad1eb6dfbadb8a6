--- What a noise kernel's trace says, thinned to what a picture can show. Pure.
--
-- A busy core has a hundred thousand detours a second. Of those that would be drawn at the same place one is kept, and
-- the longest of all by name.
local detours = {}
detours.__index = detours

local COLUMNS, ROWS_A_DECADE = 320, 14 -- places in the picture
local LONGEST = 5
local MOST = 2000000 -- lines that are looked at
local MOST_S = 1e9 -- a clock that says more is damaged

--- @param seconds that the kernel had: its time box
function detours.new(seconds)
   return setmetatable({ seconds = seconds, cells = {}, points = {}, longest = {}, count = 0 }, detours)
end

--- Takes one line, "cpu start length" in seconds.
-- @return false: enough was read
function detours:line(text)
   local cpu, start, length = text:match("^(%d+) (%d+%.?%d*) (%d+%.?%d*)$")
   cpu, start, length = tonumber(cpu), tonumber(start), tonumber(length)
   if not (math.tointeger(cpu or "") and start and length) or length <= 0 or length > MOST_S or start > MOST_S then
      return true
   end
   -- Cores are written one after another: the first detour of any is where time begins.
   self.first = math.min(self.first or start, start)
   self.count = self.count + 1
   local row = math.floor(math.log(length, 10) * ROWS_A_DECADE)
   local cell = math.floor(start / self.seconds * COLUMNS) * 4096 + row
   if not self.cells[cell] then
      self.cells[cell] = true
      self.points[#self.points + 1] = { start, length }
   end
   local list = self.longest
   if #list < LONGEST or length > list[#list].length then
      list[#list + 1] = { cpu = cpu, start = start, length = length }
      table.sort(list, function(a, b)
         return a.length > b.length
      end)
      list[LONGEST + 1] = nil
   end
   return self.count < MOST
end

--- @return { count, seconds (from the first to the last), points = list of { seconds since the first, us }, longest =
--   list of { cpu, at_s, us } }; nil where there was none
function detours:answer()
   if self.count == 0 then
      return nil
   end
   local out = { count = self.count, points = {}, longest = {}, seconds = 0 }
   for i, point in ipairs(self.points) do
      out.points[i] = { point[1] - self.first, point[2] * 1e6 }
      out.seconds = math.max(out.seconds, point[1] - self.first)
   end
   for i, one in ipairs(self.longest) do
      out.longest[i] = { cpu = one.cpu, at_s = one.start - self.first, us = one.length * 1e6 }
   end
   return out
end

return detours
