-- Modules compiled at installation: what is of another day, or no such file, is read from the source.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
package.cpath = "build/lua/?.so;" .. package.cpath
local lu = require("luaunit")
local uv = require("luv")
local compile = require("syscheck.lib.compile")
local compiled = require("syscheck.lib.compiled")

TestCompiled = {}

local function put(path, text)
   local file = assert(io.open(path, "wb"))
   file:write(text)
   file:close()
end

local function get(path)
   local file = assert(io.open(path, "rb"))
   local text = file:read("a")
   file:close()
   return text
end

function TestCompiled:setUp()
   self.searchers, self.path = table.move(package.searchers, 1, #package.searchers, 1, {}), package.path
   self.dir = assert(uv.fs_mkdtemp("/tmp/compiled.XXXXXX"))
   uv.fs_mkdir(self.dir .. "/syscheck", 493)
   uv.fs_mkdir(self.dir .. "/syscheck/sub", 493)
   put(self.dir .. "/syscheck/one.lua", 'return { from = "one", name = ... }\n')
   put(self.dir .. "/syscheck/sub/two.lua", 'local two = {}\nfunction two.fail()\n   error("no")\nend\nreturn two\n')
   self.file = self.dir .. "/modules.luac"
   compile.write(self.file, self.dir)
   package.path = self.dir .. "/?.lua"
end

function TestCompiled:tearDown()
   for i = #package.searchers, 1, -1 do
      package.searchers[i] = self.searchers[i]
   end
   package.path = self.path
   package.loaded["syscheck.one"], package.loaded["syscheck.sub.two"] = nil, nil
   os.execute("rm -rf " .. self.dir)
end

-- Where a module comes from: a compiled one has no source to read.
local function hide(path)
   local stat = uv.fs_stat(path)
   put(path, ("x"):rep(stat.size))
   uv.fs_utime(path, stat.atime.sec + stat.atime.nsec / 1e9, stat.mtime.sec + stat.mtime.nsec / 1e9)
end

function TestCompiled:test_modules_come_from_the_file_and_tracebacks_name_the_source()
   for _, path in ipairs({ "/syscheck/one.lua", "/syscheck/sub/two.lua" }) do
      uv.fs_utime(self.dir .. path, 1000000000, 1000000000) -- a time that can be set again
   end
   compile.write(self.file, self.dir)
   hide(self.dir .. "/syscheck/one.lua")
   hide(self.dir .. "/syscheck/sub/two.lua")
   lu.assertTrue(compiled.use(self.file))
   lu.assertEquals(require("syscheck.one"), { from = "one", name = "syscheck.one" })
   local two = require("syscheck.sub.two")
   local _, err = xpcall(two.fail, debug.traceback)
   lu.assertStrContains(err, self.dir .. "/syscheck/sub/two.lua:3: no")
   lu.assertFalse((pcall(require, "syscheck.none")))
end

function TestCompiled:test_a_changed_source_counts()
   lu.assertTrue(compiled.use(self.file))
   put(self.dir .. "/syscheck/one.lua", 'return { from = "changed" }\n')
   lu.assertEquals(require("syscheck.one"), { from = "changed" })
end

function TestCompiled:test_another_interpreter()
   local text = get(self.file)
   put(self.file, (text:gsub("^(syscheck modules 1 )%d", "%10")))
   lu.assertFalse(compiled.use(self.file))
   lu.assertEquals(require("syscheck.one").from, "one")
   lu.assertFalse(compiled.use(self.dir .. "/absent"))
   lu.assertFalse(compiled.use(self.dir))
end

function TestCompiled:test_every_cut_of_it_is_the_source()
   local text = get(self.file)
   for cut = 0, #text - 1, 7 do
      put(self.file, text:sub(1, cut))
      local ok = pcall(compiled.use, self.file)
      package.loaded["syscheck.one"] = nil
      lu.assertEquals({ require("syscheck.one").from }, { "one" }, cut)
      if ok then
         for i = #package.searchers, 1, -1 do
            package.searchers[i] = self.searchers[i]
         end
      end
   end
end

function TestCompiled:test_a_damaged_index_is_the_source()
   local text = get(self.file)
   local length = text:match("syscheck%.one\t0\t(%d+)\t")
   for _, wrong in ipairs({ "9", "99999999999999999", "9999999999999999999999", "0" }) do
      local index = text:match("^[^\n]*\n(%d+)\n")
      local damaged = text:gsub("(syscheck%.one\t0\t)%d+", "%1" .. wrong, 1)
         :gsub("\n" .. index .. "\n", ("\n%d\n"):format(index + #wrong - #length), 1)
      put(self.file, damaged)
      lu.assertTrue(compiled.use(self.file))
      package.loaded["syscheck.one"] = nil
      lu.assertEquals(require("syscheck.one").from, "one", wrong)
      table.remove(package.searchers, 2)
   end
end

function TestCompiled:test_a_module_that_cannot_be_compiled_leaves_the_old_file()
   local before = get(self.file)
   put(self.dir .. "/syscheck/bad.lua", "return return\n")
   lu.assertFalse((pcall(compiled.write, self.file, self.dir)))
   lu.assertEquals(get(self.file), before)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
