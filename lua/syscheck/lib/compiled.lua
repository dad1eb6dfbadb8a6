--- The modules as they were compiled at installation, in one file: compiling them anew was a third of the CPU
-- time of a passive prolog. With debug information: tracebacks name file and line. The file is not trusted to be
-- of today: bytecode counts for the one interpreter that wrote it, a module for as long as its source is as it
-- was. Whatever is not so is read from the source. lib/compile.lua writes it.
local native = require("syscheck_native")

local compiled = {}

local FORMAT = "syscheck modules 1"
local HEAD = 64
local MAX_INDEX = 1048576

--- The file's first line. Lua's own header does not say of which patch release bytecode is; another one may misread it.
function compiled.first_line()
   return ("%s %s"):format(FORMAT, native.stamp("/proc/self/exe") or "?")
end

--- From now on `require` takes modules from there.
-- @param file its path
-- @return true; false where it is not there, or of another interpreter
function compiled.use(file)
   local at = native.map(file)
   local first, size, start = ((at and at(0, HEAD)) or ""):match("^([^\n]*)\n(%d+)\n()")
   size = math.tointeger(tonumber(size))
   local index = first == compiled.first_line() and size and size <= MAX_INDEX and at(start - 1, size)
   if not index then
      return false
   end
   index = "\n" .. index
   table.insert(package.searchers, 2, function(name)
      -- Not a table of them: a check loads a fifth.
      local _, last = index:find("\n" .. name .. "\t", 1, true)
      local from, length, was, path = index:match("^(%d+)\t(%d+)\t(%S+)\t([^\n]+)\n", (last or 0) + 1)
      if not from or native.stamp(path) ~= was then
         return nil
      end
      -- Of a damaged file there may be no such number.
      local ok, run = pcall(at, start - 1 + size + tonumber(from), tonumber(length), "@" .. path)
      if ok and run then
         return run, path
      end
   end)
   return true
end

return compiled
