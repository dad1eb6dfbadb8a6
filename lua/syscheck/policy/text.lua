--- A policy's text: what may stand in it, what it evaluates to, which line sets a
-- key. Pure; runs on 5.1 to 5.4, because job_submit loads it.
--
-- A policy is tables and values. Without loops, functions and concatenation every
-- instruction runs once and nothing grows beyond the text: it cannot burn time or
-- memory, in a prolog that runs as root or under slurmctld's locks.
local policy_text = {}

local FORBIDDEN = {
   ["while"] = "loop", ["for"] = "loop", ["repeat"] = "loop", ["goto"] = "loop", ["function"] = "function",
   [".."] = "concatenation", [":"] = "method call",
}

-- Where a long bracket's text ends: "[==[ ... ]==]" that begins at `at`; nil: none begins there.
local function long_end(text, at)
   local level = text:match("^%[(=*)%[", at)
   if not level then
      return nil
   end
   local _, last = text:find("]" .. level .. "]", at, true)
   return last or #text
end

-- Next token from `at` on: kind ("name", "string", "number", or the symbol itself),
-- first and last byte; nil at the end. White space and comments are none.
local function next_token(text, at)
   while true do
      at = text:find("%S", at)
      if not at then
         return nil
      elseif text:sub(at, at + 1) ~= "--" then
         break
      end
      at = (long_end(text, at + 2) or (text:find("\n", at, true) or #text)) + 1
   end
   local _, last = text:find("^[%a_][%w_]*", at)
   if last then
      return "name", at, last
   end
   last = long_end(text, at)
   if last then
      return "string", at, last
   end
   local c = text:sub(at, at)
   if c == '"' or c == "'" then
      local i = at + 1
      while true do
         i = text:find("[\\" .. c .. "]", i)
         if not i or text:sub(i, i) == c then
            return "string", at, i or #text
         end
         i = i + 2
      end
   end
   _, last = text:find("^%.?%d[%w.]*", at)
   if last then
      return "number", at, last
   end
   _, last = text:find("^%.%.+", at)
   return last and text:sub(at, last) or c, at, last or at
end

local function lines_before(text, at)
   local _, n = text:sub(1, at - 1):gsub("\n", "")
   return n + 1
end

--- Refuses what a table of values does not need.
-- @return true, or nil, the line and what stands there
function policy_text.plain(text)
   local suspect = false
   for word in pairs(FORBIDDEN) do
      suspect = suspect or text:find(word, 1, true)
   end
   local at = 1
   if not suspect then
      return true -- the quick way, for long tables
   end
   while true do
      local kind, first, last = next_token(text, at)
      if not kind then
         return true
      end
      local what = kind == "name" and FORBIDDEN[text:sub(first, last)] or kind ~= "name" and FORBIDDEN[kind]
      if what then
         return nil, lines_before(text, first),
            ('"%s": a policy has tables and values only, no %s'):format(text:sub(first, last), what)
      end
      at = last + 1
   end
end

-- Where each key is set: list of { path = "a\0b", line }. Keys stand before "=",
-- as name, as ["name"], or after dots (p.limits.x = 1); tables nest them.
local function index(text)
   local out, stack, trail = {}, {}, {}
   local at, line, counted = 1, 1, 1
   local previous, bracket
   while true do
      local kind, first, last = next_token(text, at)
      if not kind then
         return out
      end
      local word = text:sub(first, last)
      local _, newlines = text:sub(counted, first - 1):gsub("\n", "")
      line, counted, at = line + newlines, first, last + 1
      if kind == "name" and word ~= "return" and word ~= "local" then
         trail = previous == "." and trail or {}
         trail[#trail + 1] = word
      elseif kind == "string" and previous == "[" then
         bracket = word:match("^[\"'](.*)[\"']$")
      elseif kind == "]" and bracket then
         trail = (stack[1] and #trail == 0 or not stack[1]) and trail or {}
         trail[#trail + 1], bracket = bracket, nil
      elseif kind == "=" then
         local path = {}
         for _, key in ipairs(stack) do
            path[#path + 1] = key ~= "" and key or nil
         end
         path[#path + 1] = table.concat(trail, "\0")
         out[#out + 1] = { path = table.concat(path, "\0"), line = line }
      elseif kind == "{" then
         stack[#stack + 1] = previous == "=" and table.concat(trail, "\0") or ""
         trail = {}
      elseif kind == "}" then
         stack[#stack], trail = nil, {}
      elseif kind == "," or kind == ";" then
         trail = {}
      end
      previous = word == "return" and "return" or kind
   end
end

--- Keys that one table constructor sets twice: Lua takes the last one without a word.
-- @return list of { key, line, first = line of the one that does not hold }
function policy_text.repeated(text)
   local out, seen = {}, {}
   local at, key, previous = 1, nil, nil
   while true do
      local kind, first, last = next_token(text, at)
      if not kind then
         return out
      end
      local word = text:sub(first, last)
      at = last + 1
      if kind == "{" then
         seen[#seen + 1] = {}
      elseif kind == "}" then
         seen[#seen] = nil
      elseif kind == "=" and key and #seen > 0 then
         local line, keys = lines_before(text, first), seen[#seen]
         if keys[key] then
            out[#out + 1] = { key = key, line = line, first = keys[key] }
         end
         keys[key] = line
      end
      -- A key stands behind "{" or a separator: mode =, ["mode"] =.
      local starts = previous == "{" or previous == "," or previous == ";"
      if kind == "name" and starts then
         key = word
      elseif kind == "string" and previous == "[" then
         key = word:match("^[\"'](.*)[\"']$")
      elseif not (kind == "]" and previous == "string") then
         key = nil
      end
      previous = kind
   end
end

--- Says where keys are set.
-- @return function(list of keys) -> line of the innermost of them that the text sets,
--   and how many of them that is (0: none)
function policy_text.lines(text)
   local line_of
   return function(trail)
      if not line_of then
         line_of = {}
         -- The last one counts. One key more in front is a local's name ("p.limits.x").
         -- A table by path: a policy that a script wrote is wrong in thousands of places.
         for _, entry in ipairs(index(text)) do
            local zero = entry.path:find("\0", 1, true) or 0
            line_of[entry.path], line_of[entry.path:sub(zero + 1)] = entry.line, entry.line
         end
      end
      for n = #trail, 1, -1 do
         local line = line_of[table.concat(trail, "\0", 1, n)]
         if line then
            return line, n
         end
      end
      return 1, 0
   end
end

-- No global is in reach. A word that is none of the file's own is mostly a text without
-- its quotes (mode = enforce): as nil it would silently be the default.
local function environment()
   return setmetatable({}, { __index = function(_, word)
      -- Strings have no methods here, see evaluate.
      word = string.gsub(string.sub(tostring(word), 1, 64), "[^%w_]", "?")
      error(string.format('"%s" is no value; a text wants quotes', word), 2)
   end })
end

-- 5.1 has loadstring and setfenv, later ones load with a mode and a table. Bytecode is
-- refused, as it can crash Lua.
local function load_chunk(text, name)
   if text:find("\27", 1, true) == 1 then
      return nil, name .. ":1: bytecode, not Lua text"
   end
   if setfenv then -- luacheck: ignore 113
      local chunk, err = loadstring(text, "=" .. name) -- luacheck: ignore 113
      return chunk and setfenv(chunk, environment()), err -- luacheck: ignore 113
   end
   return load(text, "=" .. name, "t", environment())
end

-- What Lua's own message about a table mostly means. It names the place where it noticed,
-- which for a comma is the line after the mistake.
-- @return text to append, or ""
local function hint(text, err)
   if err:find("near '?<eof>") then
      return "; a } or a quote is missing before the end"
   end
   local line = tonumber(err:match(":(%d+): '}' expected"))
   local near = line and err:match("near (.-)$")
   if not near then
      return ""
   elseif near == "'='" then
      return "; a key is one word, or in brackets and quotes: [\"gpu-a\"] = ..."
   end
   -- The last line before it with something else than a comment.
   local number, before = 0, nil
   for content in (text .. "\n"):gmatch("(.-)\n") do
      number = number + 1
      if number < line and content:gsub("%-%-.*", ""):find("%S") then
         before = number
      end
   end
   return ("; is a comma missing at the end of line %d%s?"):format(before or line,
      before and (" or in line %d"):format(line) or "")
end

local MAX_STEPS = 1e6 -- a second fence: a policy is a table; more VM steps are a loop

--- Evaluates a policy.
-- @return what it returns; or nil and "name:line: why"
function policy_text.evaluate(text, name)
   local chunk, err = load_chunk(text, name)
   if not chunk then
      return nil, err .. hint(text, err)
   end
   local ok, line, what = policy_text.plain(text)
   if not ok then
      return nil, ("%s:%d: %s"):format(name, line, what)
   end
   -- Its own coroutine, so that the hook counts nothing but the file. Without the
   -- metatable's index a string has no methods: ("x"):rep(1e9) is out of reach.
   local run, strings = coroutine.create(chunk), getmetatable("")
   local methods = strings.__index
   local too_long = name .. ":0: runs too long; a policy is one table"
   debug.sethook(run, function()
      error(too_long, 0)
   end, "", MAX_STEPS)
   strings.__index = nil
   local good, value = coroutine.resume(run)
   strings.__index = methods
   if not good then
      return nil, tostring(value)
   end
   if type(value) ~= "table" then
      return nil, name .. ":1: must return a table (return { ... })"
   end
   return value
end

return policy_text
