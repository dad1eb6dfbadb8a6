--- Compiles the modules, at installation: `agent.lua compile`. lib/compiled.lua reads the file, before anything else is
-- loaded, and is for that as short as it can be.
local native = require("syscheck_native")
local uv = require("luv")
local compiled = require("syscheck.lib.compiled")
local files = require("syscheck.lib.files")

local compile = {}

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
function compile.write(output, dir)
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
      index[i] = ("%s\t%d\t%d\t%s\t%s\n"):format(m.name, from, #code[i], native.stamp(m.path), m.path)
      from = from + #code[i]
   end
   index = table.concat(index)
   -- On disk before it has the name: nothing looks into bytecode of which a crash has left a part.
   local text = ("%s\n%d\n%s%s"):format(compiled.first_line(), #index, index, table.concat(code))
   assert(files.write(output, text, 420, true)) -- 0644
end

return compile
