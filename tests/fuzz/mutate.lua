--- Inputs made of other inputs: what a torn file, another version and an attacker write.
local mutate = {}

local random = math.random

-- Numbers at which counting in 31, 32, 53, 63, 64 bits or in a double ends, and what is no number.
local NUMBERS = { "0", "-0", "1", "-1", "00", "007", "2147483647", "2147483648", "4294967295", "4294967296",
   "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
   "18446744073709551615", "18446744073709551616", "99999999999999999999999", "1e308", "1e309", "-1e309", "1e-320",
   "nan", "inf", "-inf", "0x10", "0x7fffffffffffffff", "1.5", ".", "1.", "65535", "65536", "4096", "1024",
   ("9"):rep(400) }
local BYTES = { "\0", "\n", "\r", "\t", " ", "\127", "\255", "\254", "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80",
   "\xC0\x80", "\u{FEFF}", "\27[2J", "\\", '"', "'", "=", ",", ";", ":", "[", "]", "{", "}", "(", ")", "%n", "%s",
   "../", "null", "true", "false", "\\u0000", "\\ud800" }

local tokens = { "x" }

--- Words of inputs, which others may get.
function mutate.learn(inputs)
   local seen = {}
   for _, input in ipairs(inputs) do
      for _, pattern in ipairs({ "[%w_]+", "[%w_./:-]+", "[^%w%s]+", "%p?[%w_]+%p" }) do
         for word in input:sub(1, 65536):gmatch(pattern) do
            if #tokens < 4000 and #word <= 80 and not seen[word] then
               seen[word] = true
               tokens[#tokens + 1] = word
            end
         end
      end
   end
end

local function one_of(list)
   return list[random(#list)]
end

local function cut(text, from, to, with)
   return text:sub(1, from - 1) .. with .. text:sub(to + 1)
end

-- A place, and how far something goes on from there: mostly short.
local function range(text)
   local from = random(#text)
   local most = random(4) == 1 and #text - from + 1 or math.min(16, #text - from + 1)
   return from, from + random(most) - 1
end

-- The line around a place.
local function line_at(text)
   local at = random(#text)
   local from = at
   while from > 1 and from > at - 400 and text:byte(from - 1) ~= 10 do
      from = from - 1
   end
   return from, text:find("\n", at, true) or #text
end

-- A word or number around or behind a place.
local function word_at(text, pattern)
   return text:find(pattern, random(#text))
end

local OPERATIONS = {
   function(text) -- a bit
      local at = random(#text)
      return cut(text, at, at, string.char(text:byte(at) ~ (1 << random(0, 7))))
   end,
   function(text) -- a byte
      local at = random(#text)
      return cut(text, at, at, string.char(random(0, 255)))
   end,
   function(text) -- bytes that mean something
      local at = random(#text + 1)
      return cut(text, at, at - 1, one_of(BYTES))
   end,
   function(text) -- left out
      local from, to = range(text)
      return cut(text, from, to, "")
   end,
   function(text) -- twice
      local from, to = range(text)
      return cut(text, to + 1, to, text:sub(from, to))
   end,
   function(text) -- elsewhere
      local from, to = range(text)
      local at = random(#text)
      return cut(text, at, at - 1, text:sub(from, to))
   end,
   function(text) -- torn
      return text:sub(1, random(#text))
   end,
   function(text) -- a number at a limit
      local from, to = word_at(text, "%-?%d+")
      return from and cut(text, from, to, one_of(NUMBERS)) or text .. one_of(NUMBERS)
   end,
   function(text) -- a number nearby
      local from, to = word_at(text, "%d+")
      local n = from and math.tointeger(tonumber(text:sub(from, to)))
      return n and cut(text, from, to, ("%d"):format(n + random(-2, 2))) or text
   end,
   function(text) -- another word
      local from, to = word_at(text, "[%w_]+")
      return from and cut(text, from, to, one_of(tokens)) or text
   end,
   function(text) -- one word more
      local at = random(#text + 1)
      return cut(text, at, at - 1, one_of(tokens))
   end,
   function(text) -- a line again
      local from, to = line_at(text)
      return cut(text, to + 1, to, text:sub(from, to):rep(random(1, 4)))
   end,
   function(text) -- without a line
      local from, to = line_at(text)
      return cut(text, from, to, "")
   end,
   function(text) -- a line elsewhere
      local from, to = line_at(text)
      local line = text:sub(from, to)
      text = cut(text, from, to, "")
      local at = text:find("\n", random(#text + 1), true) or 0
      return cut(text, at + 1, at, line)
   end,
   function(text) -- long
      local from, to = range(text)
      return cut(text, to + 1, to, text:sub(from, to):rep(random(2, 200)))
   end,
}
-- Rarely: most of what it makes is refused at its first byte.
local LONG = #OPERATIONS

--- A new input.
-- @param corpus list of inputs
function mutate.input(corpus, max)
   -- The newest reached what no other did.
   local n = #corpus
   local text = n == 0 and "" or corpus[random(3) == 1 and random(math.max(1, n - 20), n) or random(n)]
   if random(8) == 1 and n > 1 then
      local other = corpus[random(n)]
      text = text:sub(1, random(0, #text)) .. other:sub(random(#other + 1))
   end
   for _ = 1, random(4) == 1 and random(2, 8) or random(2) do
      if text == "" then
         text = one_of(tokens)
      end
      local which = random(LONG)
      if which == LONG and random(4) > 1 then
         which = random(LONG - 1)
      end
      text = OPERATIONS[which](text)
   end
   return #text > max and text:sub(1, max) or text
end

return mutate
