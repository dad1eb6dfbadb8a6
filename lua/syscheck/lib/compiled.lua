--- The modules as they were compiled at installation, in one file: compiling them anew was a third of the CPU
-- time of a passive prolog. With debug information: tracebacks name file and line. The file is not trusted to be
-- of today: bytecode counts for the one interpreter that wrote it, a module for as long as its source is as it
-- was. Whatever is not so is read from the source. `agent.lua compile` writes it.
local uv = require("luv")

local compiled = {}

local FORMAT = "syscheck modules 1"
local MAX_INDEX = 1048576

-- What a file is known again by. Whole seconds: of a node's image (squashfs, cpio, tar) no more comes back.
local function stamp(path)
   local stat = uv.fs_stat(path)
   return stat and ("%d.%d"):format(stat.size, stat.mtime.sec)
end

-- Bytecode of another patch release may be read as something else: Lua's own header does not say.
local function first_line()
   return ("%s %s"):format(FORMAT, stamp("/proc/self/exe") or "?")
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
   if first ~= first_line() or size > MAX_INDEX then
      uv.fs_close(fd)
      return false
   end
   if #head < at - 1 + size then
      head = uv.fs_read(fd, at - 1 + size, 0) or ""
   end
   local index = {}
   for name, rest in head:sub(at, at - 1 + size):gmatch("([^\t\n]+)\t([^\n]+)\n") do
      index[name] = rest
   end
   table.insert(package.searchers, 2, function(name)
      local from, length, was, path = (index[name] or ""):match("^(%d+)\t(%d+)\t(%S+)\t(.+)$")
      if not from or stamp(path) ~= was then
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

-- Every module below a directory, by name.
local function modules(dir, prefix, out)
   local scan = assert(uv.fs_scandir(dir))
   for entry, kind in uv.fs_scandir_next, scan do
      if kind == "directory" then
         modules(dir .. "/" .. entry, prefix .. entry .. ".", out)
      elseif entry:match("%.lua$") then
         out[#out + 1] = { name = prefix .. entry:sub(1, -5), path = dir .. "/" .. entry }
      end
   end
   return out
end

--- Writes the file, as a whole or not at all.
-- @param output its path
-- @param dir has syscheck/
function compiled.write(output, dir)
   local list = modules(dir .. "/syscheck", "syscheck.", {})
   table.sort(list, function(a, b)
      return a.name < b.name
   end)
   local index, code, from = {}, {}, 0
   for i, m in ipairs(list) do
      local file = assert(io.open(m.path, "rb"))
      local text = file:read("a")
      file:close()
      code[i] = string.dump(assert(load(text, "@" .. m.path, "t")))
      index[i] = ("%s\t%d\t%d\t%s\t%s\n"):format(m.name, from, #code[i], stamp(m.path), m.path)
      from = from + #code[i]
   end
   index = table.concat(index)
   -- On disk before it has the name: nothing looks into bytecode of which a crash has left a part.
   local text = ("%s\n%d\n%s%s"):format(first_line(), #index, index, table.concat(code))
   assert(require("syscheck.lib.files").write(output, text, 420, true)) -- 0644
end

return compiled
