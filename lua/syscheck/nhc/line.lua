--- Lines of LBNL NHC's nhc.conf: whom a line is for, and its words. It is a shell's text there; here nothing of it is
-- ever evaluated: what only a shell could make sense of is said to be so. Pure.
local printable = require("syscheck.lib.printable")

local line = {}

local MOST_NODES = 4096 -- characters, as the policy takes them

-- A class of digits, "0-37", as a hostlist has it: [0-3,7]. nil: it has something else.
local function class_of(body)
   local list, at = {}, 1
   while at <= #body do
      local from, to = body:match("^(%d)%-(%d)", at)
      local one = from and from <= to and from .. "-" .. to or not from and body:match("^%d", at)
      if not one then
         return nil
      end
      list[#list + 1], at = one, at + #one
   end
   return #list > 0 and "[" .. table.concat(list, ",") .. "]" or nil
end

-- A pattern of characters, ours: * and ? as in a glob, classes of digits as in a hostlist.
-- @return text; or nil, it has something else
local function glob(text)
   local out, at = {}, 1
   while at <= #text do
      local body = text:match("^%[([^%]]+)%]", at)
      local c = text:match("^[%w_.*?-]", at)
      if body then
         -- [0-300] in a glob is one character, and was hardly meant so.
         local class = not body:find("^%d%-%d%d") and class_of(body)
         if not class then
            return nil
         end
         out[#out + 1], at = class, at + #body + 2
      elseif c then
         out[#out + 1], at = c, at + 1
      else
         return nil
      end
   end
   return table.concat(out)
end

-- The next part of a regular expression, as far as it is one of names: a letter, \\., a class, (a|b).
-- @return list of alternatives, where the rest begins; or nil
local function part(text, at)
   local group, body = text:match("^%(([%w_|-]+)%)", at), text:match("^%[([^%]]+)%]", at)
   local list, after = {}, at + 1
   if group then
      for one in group:gmatch("[^|]+") do
         list[#list + 1] = one
      end
      after = at + #group + 2
   elseif body then
      list[1], after = class_of(body), at + #body + 2
   elseif text:find("^\\%.", at) then
      list[1], after = ".", at + 2
   else
      list[1] = text:match("^[%w_-]", at)
   end
   return #list > 0 and not text:find("^[*+?{]", after) and list or nil, after
end

-- A regular expression as a list of nodes, or nil.
local function regexp(text)
   local starts, ends = text:find("^%^") ~= nil, text:find("[^\\]%$$") ~= nil
   local names, at = { starts and "" or "*" }, starts and 2 or 1
   text = ends and text:sub(1, -2) or text
   while at <= #text do
      local list, after = part(text, at)
      local more = {}
      at = after
      for _, name in ipairs(list and names or {}) do
         for _, one in ipairs(list) do
            more[#more + 1] = name .. one
         end
      end
      if #more == 0 or #more > 64 then
         return nil
      end
      names = more
   end
   for i, name in ipairs(names) do
      names[i] = ends and name or name .. "*"
   end
   return table.concat(names, ",")
end

--- Whom a line is for, as the policy's `nodes`.
-- @param mask as it stands before ||
-- @return text, "" for every node; or nil: the policy cannot say it
function line.nodes(mask)
   local negated, text = mask:match("^(!?)(.*)$")
   local out
   if text == "*" then
      return negated == "" and "" or nil
   elseif #text > MOST_NODES then
      return nil
   elseif text:find("^/.*/$") then
      out = regexp(text:sub(2, -2))
   elseif text:find("^{.*}$") then
      out = text:sub(2, -2)
      out = out:find("^[%w_.,%[%]-]+$") and out or nil
   else
      out = glob(text)
   end
   out = out and negated .. out
   return out and #out <= MOST_NODES and out or nil
end

-- What has a meaning to a shell, outside of quotes; between double quotes less.
local SHELL, IN_QUOTES = "[$`;|&<>()]", "[$`]"

--- The words of a command.
-- @return list; or nil and what only a shell could make sense of
function line.words(text)
   local out, word, at = {}, nil, 1
   while at <= #text do
      local c = text:sub(at, at)
      if c:find("%s") then
         out[#out + 1], word = word, nil
      elseif c == "#" and not word then
         break
      elseif c == "'" then
         local body = text:match("^([^']*)'", at + 1)
         if not body then
            return nil, "a quote without its end"
         end
         word, at = (word or "") .. body, at + #body + 1
      elseif c == '"' then
         word = word or ""
         at = at + 1
         while text:sub(at, at) ~= '"' do
            local d = text:sub(at, at)
            if d == "" then
               return nil, "a quote without its end"
            elseif d:find(IN_QUOTES) then
               return nil, d
            elseif d == "\\" and text:find('^["\\$`]', at + 1) then
               at = at + 1
               d = text:sub(at, at)
            end
            word, at = word .. d, at + 1
         end
      elseif c == "\\" then
         word, at = (word or "") .. text:sub(at + 1, at + 1), at + 1
      elseif c:find(SHELL) then
         return nil, c
      else
         word = (word or "") .. c
      end
      at = at + 1
   end
   out[#out + 1] = word
   return out
end

--- A line.
-- @return nil for one that is blank or a comment; else { mask, command } or { } where it has no ||
function line.parse(text)
   if not text:find("%S") or text:find("^%s*#") then
      return nil
   end
   local mask, command = text:match("^%s*(%S+)%s*||%s*(.*)$")
   command = printable.trimmed(command or "")
   return command ~= "" and { mask = mask, command = command } or {}
end

--- "5%" -> 5, "%"; "3gb" -> GiB, "GiB"; "1k" -> 1000, "" (a count). NHC takes a size without a unit for kB.
-- @return number, unit; nil: neither
function line.size(text)
   local n, unit = (text or ""):match("^([%d.]+)(.*)$")
   n = tonumber(n)
   if not n then
      return nil
   elseif unit == "%" then
      return n, "%"
   end
   local power = ({ [""] = 1, k = 1, m = 2, g = 3, t = 4, p = 5 })[unit:lower():gsub("b$", "")]
   return power and n * 1024 ^ (power - 3), power and "GiB" or nil
end

--- The same of a count: "1k" is 1000.
function line.count(text)
   local n, unit = (text or ""):match("^([%d.]+)([kKmMgG]?)$")
   local times = n and ({ [""] = 1, k = 1e3, m = 1e6, g = 1e9 })[unit:lower()]
   return times and tonumber(n) and tonumber(n) * times
end

--- Options of a check: letters that take a value, those that take none.
-- @return { letter = value or true, ... }, rest; or nil and the one that is not known
function line.options(words, with, without)
   local given, rest, at = {}, {}, 2
   while at <= #words do
      local word = words[at]
      local letter = word:match("^%-(.)$")
      if letter and with:find(letter, 1, true) then
         at = at + 1
         given[letter] = given[letter] or {}
         table.insert(given[letter], words[at] or "")
      elseif letter and without:find(letter, 1, true) then
         given[letter] = true
      elseif word:find("^%-.") and #rest == 0 then
         return nil, word
      else
         rest[#rest + 1] = word
      end
      at = at + 1
   end
   return given, rest
end

--- Of such an option.
function line.not_known(option)
   return ("option %s has no equal"):format(option)
end

--- The same of paths: a shell's operator among them may turn a test into its opposite.
-- @return given, paths; or nil and why
function line.paths(words, with, without)
   local given, rest = line.options(words, with, without)
   for _, word in ipairs(given and rest or {}) do
      if word:sub(1, 1) ~= "/" then
         return nil, ("%s is no path"):format(word)
      end
   end
   if not given or #rest == 0 then
      return nil, given and "no path" or line.not_known(rest)
   end
   return given, rest
end

return line
