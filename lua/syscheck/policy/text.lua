--- A policy's text: what may stand in it, what it evaluates to, which line sets a
-- key. Pure; runs on 5.1 to 5.4, because job_submit loads it.
--
-- A policy is tables and values. Without loops, functions and concatenation every
-- instruction runs once and nothing grows beyond the text: it cannot burn time or
-- memory, in a prolog that runs as root or under slurmctld's locks. Evaluating is left to
-- Lua itself, so that what its manual says of tables, numbers and locals holds.
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
   if not last then
      _, last = text:find("^[=~<>]=", at)
   end
   return text:sub(at, last or at), at, last or at
end

-- "a\0b" of "a" and "b"; either may be nil.
local function join(path, key)
   return path and key and path .. "\0" .. key or path or key
end

-- One walk through the tokens. Keys stand before "=", as name, as ["name"], or after dots
-- (p.limits.x = 1); tables nest them.
-- @return { refused = what no table of values needs, the first one: { line, text }, or nil;
--   line_of = { ["a\0b"] = line, of the last one that sets it }; repeated = see below }
local function scan(text)
   local out, tables = { line_of = {}, repeated = {} }, {}
   local at, line, newline = 1, 1, text:find("\n", 1, true)
   local previous, bracket, key -- key: the path that has been read so far
   while true do
      local kind, first, last = next_token(text, at)
      if not kind then
         return out
      end
      local word, top = text:sub(first, last), tables[#tables]
      while newline and newline < first do
         line, newline = line + 1, text:find("\n", newline + 1, true)
      end
      at = last + 1
      local what = kind ~= "string" and FORBIDDEN[word]
      if what and not out.refused then
         out.refused = { line = line, text = ('"%s": a policy has tables and values only, no %s'):format(word, what) }
      end
      if kind == "name" then
         key = join(previous == "." and key or nil, word)
      elseif kind == "string" and previous == "[" then
         bracket = word:match("^[\"'](.*)[\"']$")
      elseif kind == "]" then
         key, bracket = bracket and join(not top and key or nil, bracket), nil
      elseif kind == "=" and key then
         local path = join(top and top.path, key)
         -- Outside of a table the first key is a local's name: p.limits.x.
         local zero = path:find("\0", 1, true) or 0
         out.line_of[path], out.line_of[path:sub(zero + 1)] = line, line
         if top and top.keys[key] then
            out.repeated[#out.repeated + 1] = { key = key, line = line, first = top.keys[key] }
         end
         if top then
            top.keys[key] = line
         end
      elseif kind == "{" then
         tables[#tables + 1] = { path = join(top and top.path, previous == "=" and key or nil), keys = {} }
         key = nil
      elseif kind == "}" then
         tables[#tables], key = nil, nil
      elseif kind == "," or kind == ";" then
         key = nil
      end
      previous = kind
   end
end

--- Keys that one table constructor sets twice: Lua takes the last one and reports nothing.
-- @return list of { key, line, first = line of the one that does not hold }
function policy_text.repeated(text)
   return scan(text).repeated
end

--- Finds where keys are set.
-- @return function(list of keys) -> line of the innermost of them that the text sets, else 1
function policy_text.lines(text)
   local line_of
   return function(trail)
      line_of = line_of or scan(text).line_of
      for n = #trail, 1, -1 do
         local line = line_of[table.concat(trail, "\0", 1, n)]
         if line then
            return line
         end
      end
      return 1
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

-- 5.4 names no place where it gives up a text that is nested too deeply, and lets an xpcall's handler make what it
-- likes of the message. Given line by line it is the last one it took.
local function too_deep(text, name)
   local line, rest = 0, string.gmatch(text, "[^\n]*\n?")
   load(function()
      line = line + 1
      return rest()
   end, "=" .. name, "t")
   return ("%s:%d: nested too deeply"):format(name, line)
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
   local chunk, err = load(text, "=" .. name, "t", environment())
   if chunk or type(err) == "string" and err:find("^[^\n]*:%d+: ") then
      return chunk, err
   end
   return nil, too_deep(text, name)
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

-- Whether a word that is refused may stand in it: most long tables need no look at each token.
local function is_suspect(text)
   for word in pairs(FORBIDDEN) do
      if text:find(word, 1, true) then
         return true
      end
   end
   return false
end

--- Evaluates a policy.
-- @return what it returns; or nil and "name:line: why"
function policy_text.evaluate(text, name)
   local chunk, err = load_chunk(text, name)
   if not chunk then
      return nil, err .. hint(text, err)
   end
   local refused = is_suspect(text) and scan(text).refused
   if refused then
      return nil, ("%s:%d: %s"):format(name, refused.line, refused.text)
   end
   -- Without the metatable's index a string has no methods: ("x").rep("x", 1e9) is out of reach.
   local strings = getmetatable("")
   local methods = strings.__index
   strings.__index = nil
   local good, value = pcall(chunk)
   strings.__index = methods
   if not good then
      return nil, tostring(value)
   elseif type(value) ~= "table" then
      return nil, name .. ":1: must return a table (return { ... })"
   end
   return value
end

return policy_text
