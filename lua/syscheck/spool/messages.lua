--- Records in messages of bounded size, and back. Pure.
--
-- A record that fits is a message as it is. A longer one is split into JSON objects
-- { id, part, of, text }: the texts of all parts, in order, are the record's line.
local json = require("cjson.safe").new()

local messages = {}

--- RFC 5424, 6.1: a receiver should take 2,048 bytes. What syslog puts before it (priority,
-- time, host, tag) needs up to 300 of them.
messages.MAX = 1748

local ROOM = messages.MAX - 90 -- less braces, keys, id, numbers
-- Who can write to the log can begin records that never end.
local MAX_PENDING, MAX_PENDING_BYTES, MAX_PARTS = 10000, 67108864, 4096

-- How many bytes a byte takes in a JSON text.
local function cost(byte)
   if byte == 34 or byte == 92 or byte == 47 then -- " \ and /, which cjson escapes, too
      return 2
   end
   return (byte < 32 or byte == 127) and 6 or 1
end

-- Where the part that begins at `from` ends: no UTF-8 sequence is cut.
local function end_of(line, from)
   local room, at = ROOM, from
   while at <= #line do
      room = room - cost(line:byte(at))
      if room < 0 then
         break
      end
      at = at + 1
   end
   if at > #line then
      return #line
   end
   local last = at - 1
   while last > from and last > at - 5 and line:byte(last + 1) & 0xC0 == 0x80 do
      last = last - 1
   end
   return last
end

--- @param line a record as one line of JSON
-- @param id its id
-- @return list of messages
function messages.split(line, id)
   if #line <= messages.MAX then
      return { line }
   end
   local texts, from = {}, 1
   while from <= #line do
      local to = end_of(line, from)
      texts[#texts + 1] = line:sub(from, to)
      from = to + 1
   end
   local out = {}
   for i, text in ipairs(texts) do
      out[i] = json.encode({ id = id:sub(1, 32), part = i, of = #texts, text = text })
   end
   return out
end

--- Puts records together again from a log that syslog wrote.
-- @param lines iterator of lines, whatever stands before the JSON in them
-- @return iterator of records' lines; function() -> how many records lack a part
function messages.join(lines)
   local pending, order, lacking, bytes = {}, {}, 0, 0
   local function drop_first()
      local oldest = table.remove(order, 1)
      local got = pending[oldest]
      if got then
         pending[oldest], lacking, bytes = nil, lacking + 1, bytes - got.bytes
      end
   end
   local function take(part)
      local id, of = part.id, math.tointeger(part.of)
      if not of or of < 1 or of > MAX_PARTS then
         return nil
      end
      local got = pending[id]
      if not got or got.of ~= of then
         bytes = bytes - (got and got.bytes or 0)
         got = { of = of, n = 0, bytes = 0 }
         pending[id] = got
         order[#order + 1] = id
         if #order > MAX_PENDING then
            drop_first()
         end
      end
      local i = math.tointeger(part.part)
      if i and i >= 1 and i <= of and not got[i] then
         got[i], got.n = part.text, got.n + 1
         got.bytes, bytes = got.bytes + #part.text, bytes + #part.text
      end
      while bytes > MAX_PENDING_BYTES and #order > 1 do
         drop_first()
      end
      if got.n == of then
         pending[id], bytes = nil, bytes - got.bytes
         for at = #order, 1, -1 do
            if order[at] == id then
               table.remove(order, at)
               break
            end
         end
         return table.concat(got)
      end
   end
   local function next_record()
      for line in lines do
         local from = line and line:find("{", 1, true)
         local object = from and json.decode(line:sub(from))
         if type(object) == "table" and type(object.id) == "string" then
            local whole
            -- A record is one line; who can write to the log can write parts that are none.
            if type(object.text) == "string" and object.part and object.of and object.text:find("^[^\n]+$") then
               whole = take(object)
            elseif type(object.kind) == "string" then
               whole = line:sub(from)
            end
            if whole then
               return whole
            end
         end
      end
   end
   return next_record, function()
      for _ in pairs(pending) do
         lacking = lacking + 1
      end
      pending = {}
      return lacking
   end
end

return messages
