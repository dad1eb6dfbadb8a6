--- A site's own prolog or epilog that calls ours: does it fail, and so drain the node, where
-- ours is not there (a file system that is not mounted)? By the looks of the lines, as sites
-- write them. Pure.
local wrapper = {}

--- The second line of what `syscheck setup` writes.
wrapper.MARK = "# Written by `syscheck setup`; `syscheck setup --undo` takes it back."

--- Where setup puts what stands between slurmd and ours: on a disk of the node.
-- @param stage "prolog" or "epilog"
function wrapper.guard(paths, stage)
   return ("%s/syscheck/slurm-%s"):format(paths.sysconf, stage)
end

--- The site's own script that one of setup's runs first, or nil.
function wrapper.keeps(text)
   local path = text:find(wrapper.MARK, 1, true) and text:match("\n# The site's own [^\n]*\n'([^\n]*)'\n")
   return path and path:gsub("'\\''", "'") or nil
end

local function quoted(text)
   return (text:gsub("%p", "%%%0"))
end

--- A path of the stage's script that a text calls and that is not there, as after the program directories were moved.
-- @param name "prolog", "epilog" or "health"
-- @param ours path of this installation's
-- @param is_there function(path) -> whether it is, or may be
-- @return path; nil where one of those that it names is there, or none is seen: a path in a variable's directory
function wrapper.missing(text, name, ours, is_there)
   local found
   for line in text:gmatch("[^\n]+") do
      line = " " .. line:gsub("^%s*#.*$", ""):gsub("%s#.*$", "")
      for _, pattern in ipairs({ "/[%w%._+/-]*/syscheck/" .. name, quoted(ours) }) do
         for before, path in line:gmatch("(.)(" .. pattern .. ")%f[^%w%._/+-]") do
            if before:find("[%s\"'=;&|({!]") then
               if is_there(path) then
                  return nil
               end
               found = found or path
            end
         end
      end
   end
   return found
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

-- Lines as the shell joins them: behind a backslash, || and &&. Of those that go on, the last is where it ends.
-- @return list of texts, "" for each that is part of a later one; number of the last that holds anything
local function lines_of(text)
   local lines, last, pending = {}, 0, ""
   for line in (text .. "\n"):gmatch("([^\n]*)\n") do
      line = pending .. line:gsub("^%s*#[^!].*$", ""):gsub("%s#.*$", "")
      local body = line:match("^(.*)\\$") or line:match("^(.*[|&][|&])%s*$")
      pending = body and body .. " " or ""
      lines[#lines + 1] = body and "" or line
      last = lines[#lines]:find("%S") and #lines or last
   end
   return lines, last
end

local EXIT = "%f[%w]exit%s+[\"']?" -- what follows is its code
local FAILS = EXIT .. "[1-9$]"

-- Whether a script ends by the status of the call that `rest` follows, on its line and those below: a missing file is
-- no 1, so who compares with that tells them apart.
local function passes_on(rest)
   if rest:find("%$[%w_?{}\"']+%s+[-!=]%S*%s+[\"']?1%f[%D]") then
      return false
   end
   -- $? is the call's for one more command only.
   local near = rest:match("^%s*;?[^\n]*\n*[^\n]*")
   if near:find(EXIT .. "%$%?") or (near:find("%$%?[\"']?%s+[-!=]") and rest:find(FAILS)) then
      return true
   end
   for var in rest:gmatch("([%w_]+)=[\"']?%$%?") do
      local name = "%${?" .. var .. "%f[^%w_]"
      if rest:find(EXIT .. name) or (rest:find(name .. "[}\"']*%s+[-!=]") and rest:find(FAILS)) then
         return true
      end
   end
   return false
end

-- The same of what || does, up to the line's end; or of what it notes, and the script ends by.
local function handler_fails(after, rest)
   local handler = after:match("||(.*)$")
   if not handler or handler:find("%$%?[\"']?%s+[-!=]%S*%s+1") then
      return false
   end
   local var = handler:match("^%s*{?%s*([%w_]+)=[\"']?[1-9$]")
   return handler:find(FAILS) ~= nil or (var ~= nil and rest:find(EXIT .. "%${?" .. var .. "%f[^%w_]") ~= nil)
end

-- Whether a line lets nothing behind it happen where the file is not there.
local function tests(line, names)
   for _, name in ipairs(names) do
      local test = "%-[efx]%s+[\"']?" .. name
      if line:find("if%s.*" .. test) or line:find("!%s+" .. test .. ".*exit%s+0")
         or line:find(test .. "[\"']?[%s%]]*||%s*{?%s*exit%s+0") then
         return true
      end
   end
   return false
end

--- @param text of a shell script
-- @param path of ours, or the part of it that is looked for
-- @return number of the line that ends the script with a failure where the file is not there;
--   nil when none is seen
function wrapper.fails_closed(text, path)
   local lines, last = lines_of(text)
   local names, tested = names_of(lines, path), false
   local strict = (lines[1] or ""):find("^#!.*sh%s+%-%a*e") ~= nil
   for number, line in ipairs(lines) do
      strict = strict or line:find("^%s*set%s+%-%a*e") ~= nil
      local before, after = call_in(line, names)
      -- [ -x FILE ] && FILE || exit 1 ends by the exit, too.
      if before and not tested and not before:find("!%s+%-[efx]%s") and not tests(before, names) then
         local rest = after .. "\n" .. table.concat(lines, "\n", number + 1)
         local plain = not after:find("||", 1, true) and not after:find("&&", 1, true)
         if handler_fails(after, rest) or before:find("%f[%w]exec%s") or before:find("if%s+!%s")
            or (before:find("if%s") and rest:find("%f[%w]else[;%s]+exit%s+[\"']?[1-9$]"))
            or (plain and not before:find("if%s") and (strict or number == last or passes_on(rest))) then
            return number
         end
      end
      tested = tested or (not before and tests(line, names))
   end
end

return wrapper
