--- The modules as they were compiled at installation, in one file: compiling them anew was a third of the CPU
-- time of a passive prolog. With debug information: tracebacks name file and line. The file is not trusted to be
-- of today: bytecode counts for the one interpreter that wrote it, a module for as long as its source is as it
-- was. Whatever is not so is read from the source. lib/compile.lua writes it.
local uv = require("luv")

local compiled = {}

local FORMAT = "syscheck modules 1"
local MAX_INDEX = 1048576

--- What a file is known again by. Whole seconds: of a node's image (squashfs, cpio, tar) no more comes back.
function compiled.stamp(path)
   local stat = uv.fs_stat(path)
   return stat and ("%d.%d"):format(stat.size, stat.mtime.sec)
end

--- The file's first line. Lua's own header does not say of which patch release bytecode is; another one may misread it.
function compiled.first_line()
   return ("%s %s"):format(FORMAT, compiled.stamp("/proc/self/exe") or "?")
end

--- From now on `require` takes modules from there.
-- @param file its path
-- @return true; false where it is not there, or of another interpreter
function compiled.use(file)
   local fd = uv.fs_open(file, "r", 0)
   if not fd then
      return false
   end
   local head = uv.fs_read(fd, 65536, 0) or ""
   local first, size, at = head:match("^([^\n]*)\n(%d+)\n()")
   size = tonumber(size)
   if first ~= compiled.first_line() or size > MAX_INDEX then
      uv.fs_close(fd)
      return false
   end
   if #head < at - 1 + size then
      head = uv.fs_read(fd, at - 1 + size, 0) or ""
   end
   local index = "\n" .. head:sub(at, at - 1 + size)
   table.insert(package.searchers, 2, function(name)
      -- Not a table of them: a check loads a fifth.
      local _, last = index:find("\n" .. name .. "\t", 1, true)
      local from, length, was, path = index:match("^(%d+)\t(%d+)\t(%S+)\t([^\n]+)\n", (last or 0) + 1)
      if not from or compiled.stamp(path) ~= was then
         return nil
      end
      -- A length that is none, of a damaged file, is an error.
      local ok, text = pcall(uv.fs_read, fd, tonumber(length), at - 1 + size + tonumber(from))
      local run = ok and text and load(text, "@" .. path, "b")
      if run then
         return run, path
      end
   end)
   return true
end

return compiled
