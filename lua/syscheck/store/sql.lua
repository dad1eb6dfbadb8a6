--- What differs between the databases in the text of a statement. Pure.
-- Statements are this program's own, written with keywords in capitals, names in small
-- letters, and `?` for every value.
local sql = {}

-- Names of ours that one of the databases takes for its own words. PostgreSQL's bare
-- `user` even means something: whoever is asking.
local RESERVED = { key = true, user = true, trigger = true, partition = true, offset = true, text = true, name = true,
   level = true, action = true, class = true, file = true, path = true, size = true, time = true, rows = true,
   lines = true }

-- Calls outside(text) on what stands between '...' literals.
local function outside_literals(text, outside)
   local out, at = {}, 1
   while true do
      local from, to = text:find("'[^']*'", at)
      out[#out + 1] = outside(text:sub(at, (from or 0) - 1))
      if not from then
         return table.concat(out)
      end
      out[#out + 1] = text:sub(from, to)
      at = to + 1
   end
end

--- Puts quotes around the names that a database would misread.
-- @param mark `"` or a backtick
function sql.quote_names(text, mark)
   return outside_literals(text, function(part)
      return (part:gsub("%f[%w_](%l[%l_]*)%f[^%w_]", function(word)
         return RESERVED[word] and mark .. word .. mark
      end))
   end)
end

-- Tokens that matter to the select list, with the depth of their parentheses.
local function scan(text)
   local tokens, depth, at = {}, 0, 1
   while at <= #text do
      local c = text:sub(at, at)
      if c == "'" then
         at = assert(text:find("'", at + 1, true), "a literal without an end")
      elseif c == "(" then
         depth = depth + 1
      elseif c == ")" then
         depth = depth - 1
      elseif depth == 0 and c == "," then
         tokens[#tokens + 1] = { word = ",", from = at, to = at }
      elseif depth == 0 and c:find("%u") and not text:sub(at - 1, at - 1):find("[%w_]") then
         local word = text:match("^[%u_]+", at)
         tokens[#tokens + 1] = { word = word, from = at, to = at + #word - 1 }
         at = at + #word - 1
      end
      at = at + 1
   end
   return tokens
end

local ENDS = { FROM = true, UNION = true, ORDER = true, LIMIT = true, WHERE = true, GROUP = true }

--- Adds to every SELECT a last column that says which of its others are NULL, "0100".
-- LuaDBI's driver for MariaDB (0.7.2) reads a NULL number as 0, and absent is not zero.
-- @return text; and whether it was a SELECT
function sql.with_nulls(text)
   if text:find("^CREATE") then
      return text, false -- a view has the columns that it names
   end
   local tokens = scan(text)
   local out, at, found = {}, 1, false
   local i = 1
   while i <= #tokens do
      if tokens[i].word == "SELECT" then
         found = true
         local from = tokens[i].to + 1
         if tokens[i + 1] and tokens[i + 1].word == "DISTINCT" then
            i = i + 1
            from = tokens[i].to + 1
         end
         local flags, alias, stop = {}, nil, nil
         local function item(to)
            local expression = text:sub(from, alias or to)
            assert(not expression:find("?", 1, true) and not expression:find("^%s*[%w_]*%.?%*"),
               "a list of columns must name them, without ?")
            flags[#flags + 1] = ("(%s) IS NULL"):format(expression)
            alias = nil
         end
         repeat
            i = i + 1
            local token = tokens[i]
            if not token or ENDS[token.word] then
               stop = token and token.from - 1 or #text
               item(stop)
            elseif token.word == "," then
               item(token.from - 1)
               from = token.to + 1
            elseif token.word == "AS" then
               alias = token.from - 1
            end
         until stop
         out[#out + 1] = text:sub(at, stop):gsub("%s*$", "") .. (", CONCAT(%s) "):format(table.concat(flags, ", "))
         at = stop + 1
      else
         i = i + 1
      end
   end
   out[#out + 1] = text:sub(at)
   return table.concat(out), found
end

return sql
