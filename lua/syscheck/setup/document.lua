--- A configuration file that is changed by line: what is not changed stays as it stands, comments, indentation and line
-- ends included. Pure.
local diff = require("syscheck.setup.diff")

local document = {}
document.__index = document

--- What a line that was switched off begins with: its old text follows.
document.WAS = "# syscheck setup: was "

--- @param path its name, for messages
-- @param text nil where there is no such file yet
function document.new(path, text)
   return setmetatable({ path = path, before = text, lines = diff.lines(text or "") }, document)
end

-- "a=1 # why\r\n" -> "a=1 ", "# why", "\r\n"
local function split(line)
   local body, ending = line:match("^(.-)(\r?\n?)$")
   local from = 1
   while true do
      local at = body:find("[\\#]", from)
      if not at then
         return body, "", ending
      elseif body:sub(at, at) == "#" then
         return body:sub(1, at - 1), body:sub(at), ending
      end
      from = at + 2
   end
end

-- The line of an entry, its continuations joined: code, list of comments, line end.
local function joined(self, entry)
   local code, comments, ending = {}, {}, nil
   for number = entry.line, entry.last do
      local text, comment
      text, comment, ending = split(self.lines[number])
      code[#code + 1] = number < entry.last and text:match("^(.*)\\%s*$") or text
      comments[#comments + 1] = comment ~= "" and comment or nil
   end
   return table.concat(code), comments, ending
end

-- An entry's lines are these from now on; the numbers of others stay.
local function replace(self, entry, text)
   self.lines[entry.line] = text
   for number = entry.line + 1, entry.last do
      self.lines[number] = ""
   end
end

-- A value at the end of some code: what stands before it, its quotes, what is behind.
local function value_in(code)
   local head, value, tail = code:match('^(%s*[%w_.]+%s*=%s*)"([^"]*)"(.*)$')
   if head and (tail == "" or tail:find("^%s")) then
      return head, '"', value, tail
   end
   head, value, tail = code:match("^(%s*[%w_.]+%s*=%s*)(%S+)(.*)$")
   return head, "", value, tail
end

--- Gives a key another value.
-- @param entry from slurm/conf.lua, of this file
-- @return true; or nil and why it cannot be done
function document:set(entry, value)
   local code, comments, ending = joined(self, entry)
   local head, quote, old, tail = value_in(code)
   if old ~= entry.value or code:find("\\", 1, true) then
      return nil, "that line cannot be edited"
   end
   if entry.last == entry.line then
      self.lines[entry.line] = head .. quote .. value .. quote .. tail .. (comments[1] or "") .. ending
      return true
   end
   -- More of a list that goes over several lines stands on the last one.
   local text, comment = split(self.lines[entry.last])
   local more = value:sub(1, #old) == old and tail:find("^%s*$") and text:match("^.*%S")
   if more then
      more = quote ~= "" and more:sub(1, -2) or more
      self.lines[entry.last] = more .. value:sub(#old + 1) .. text:sub(#more + 1) .. comment .. ending
   else
      local above = #comments > 0 and table.concat(comments, " ") .. (ending == "" and "\n" or ending) or ""
      replace(self, entry, above .. head .. quote .. value .. quote .. tail .. ending)
   end
   return true
end

--- Switches a line off: it stays as a comment, with lines in its place behind it.
-- @param lines that follow it, without line ends
function document:switch_off(entry, lines)
   local code, comments, ending = joined(self, entry)
   local indent, rest = code:match("^(%s*)(.*)$")
   ending = ending == "" and "\n" or ending
   local text = document.WAS .. rest .. table.concat(comments, " ") .. ending
   for _, line in ipairs(lines) do
      text = text .. indent .. line .. ending
   end
   replace(self, entry, text)
end

--- Puts a line behind that of an entry.
function document:insert_behind(entry, line)
   local last = self.lines[entry.last]
   local indent, ending = self.lines[entry.line]:match("^%s*"), last:match("\r?\n$") or "\n"
   self.lines[entry.last] = (last:sub(-1) == "\n" and last or last .. ending) .. indent .. line .. ending
end

--- Appends lines to the file.
function document:append(lines)
   local first, last = self.lines[1], self.lines[#self.lines]
   local ending = first and first:match("\r?\n$") or "\n"
   if last and last:sub(-1) ~= "\n" then
      self.lines[#self.lines] = last .. ending
   end
   for _, line in ipairs(lines) do
      self.lines[#self.lines + 1] = line .. ending
   end
end

--- The text as it is now.
function document:text()
   return table.concat(self.lines)
end

--- The text of each line that was switched off.
function document:switched_off()
   local out = {}
   for _, line in ipairs(self.lines) do
      if line:sub(1, #document.WAS) == document.WAS then
         out[#out + 1] = line:sub(#document.WAS + 1):gsub("%s+$", "")
      end
   end
   return out
end

return document
