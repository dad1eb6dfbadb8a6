--- A site's own prolog or epilog that calls ours: does it fail, and so drain the node, where
-- ours is not there (a file system that is not mounted)? By the looks of the lines, as sites
-- write them. Pure.
local wrapper = {}

local function quoted(text)
   return (text:gsub("%p", "%%%0"))
end

-- Names of the file in the script: its path, and variables that hold it.
local function names_of(lines, path)
   local names = { quoted(path) }
   for _, line in ipairs(lines) do
      local var = line:match("^%s*[%w_ ]-([%w_]+)=[\"']?" .. names[1])
      if var then
         table.insert(names, "%$" .. var .. "%f[^%w_]")
         table.insert(names, "%${" .. var .. "}")
      end
   end
   return names
end

-- A call of it in a line. @return what stands before and after; or nil
local function call_in(line, names)
   for _, name in ipairs(names) do
      local from, to = line:find(name)
      local before = from and line:sub(1, from - 1):gsub("[\"']$", "")
      -- Neither a test of it nor an assignment.
      if before and not before:find("=[\"']?$") and not before:find("%-[efx]%s+[\"']?$") then
         return before, (line:sub(to + 1):gsub("^[\"']", ""))
      elseif from then
         local more, rest = call_in(line:sub(to + 1), names)
         if more then
            return line:sub(1, to) .. more, rest
         end
      end
   end
end

--- @param text of a shell script
-- @param path of ours, or the part of it that is looked for
-- @return number of the line that ends the script with a failure where the file is not there;
--   nil when none is seen
function wrapper.fails_closed(text, path)
   local lines, last = {}, 0
   for line in (text .. "\n"):gmatch("([^\n]*)\n") do
      line = line:gsub("^%s*#[^!].*$", ""):gsub("%s#.*$", "")
      lines[#lines + 1] = line
      last = line:find("%S") and #lines or last
   end
   local names, tested = names_of(lines, path), false
   local strict = (lines[1] or ""):find("^#!.*sh%s+%-%a*e") ~= nil
   for number, line in ipairs(lines) do
      strict = strict or line:find("^%s*set%s+%-%a*e") ~= nil
      local before, after = call_in(line, names)
      if before then
         -- [ -x FILE ] && FILE || exit 1 ends by the exit, too.
         local guard = before:find("!%s+%-[efx]%s") or tested
         local plain = not after:find("||", 1, true) and not after:find("&&", 1, true)
         if not guard and not after:find("$?", 1, true) and (after:find("||%s*{?%s*exit") or before:find("%f[%w]exec%s")
            or before:find("if%s+!%s") or (plain and not before:find("if%s") and (strict or number == last))) then
            return number
         end
      end
      -- if [ -x FILE ]; then, on a line before it
      for _, name in ipairs(names) do
         tested = tested or (line:find("if%s.*%-[efx]%s+[\"']?" .. name) ~= nil and not before)
            or line:find("!%s+%-[efx]%s+[\"']?" .. name .. ".*exit%s+0") ~= nil
      end
   end
end

return wrapper
