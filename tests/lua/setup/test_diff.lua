-- Lines compared as diff(1) does.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local diff = require("syscheck.setup.diff")

TestHunks = {}

-- b made of a by its hunks
local function patched(a, b)
   local out, at = {}, 1
   for _, h in ipairs(diff.hunks(a, b)) do
      table.move(a, at, h.a1 - 1, #out + 1, out)
      table.move(b, h.b1, h.b2, #out + 1, out)
      at = h.a2 + 1
   end
   table.move(a, at, #a, #out + 1, out)
   return table.concat(out)
end

function TestHunks:test_random_texts()
   math.randomseed(7)
   for _ = 1, 2000 do
      local a, b = {}, {}
      for i = 1, math.random(0, 12) do
         a[i] = math.random(4) .. "\n"
      end
      for i = 1, math.random(0, 12) do
         b[i] = math.random(4) .. "\n"
      end
      lu.assertEquals(patched(a, b), table.concat(b))
   end
end

function TestHunks:test_few_hunks()
   local a, b = {}, {}
   for i = 1, 100 do
      a[i], b[i] = i .. "\n", i .. "\n"
   end
   b[50] = "other\n"
   table.insert(b, 70, "more\n")
   lu.assertEquals(diff.hunks(a, b), { { a1 = 50, a2 = 50, b1 = 50, b2 = 50 }, { a1 = 70, a2 = 69, b1 = 70, b2 = 70 } })
end

function TestHunks:test_texts_that_have_nothing_in_common()
   local a, b = {}, {}
   for i = 1, 3000 do
      a[i], b[i] = "a" .. i .. "\n", "b" .. i .. "\n"
   end
   lu.assertEquals(diff.hunks(a, b), { { a1 = 1, a2 = 3000, b1 = 1, b2 = 3000 } })
end

TestUnified = {}

function TestUnified:test_as_diff_u()
   local function shown(a, b)
      return table.concat(diff.unified("/f", a, b), "\n")
   end
   lu.assertEquals(shown("1\n2\n3\n4\n5\n", "1\n2\n3\nx\n5\n"),
      "--- /f\n+++ /f\n@@ -1,5 +1,5 @@\n 1\n 2\n 3\n-4\n+x\n 5")
   lu.assertEquals(shown(nil, "1\n"), "--- /dev/null\n+++ /f\n@@ -0,0 +1 @@\n+1")
   lu.assertEquals(shown("1", "1\n2\n"),
      "--- /f\n+++ /f\n@@ -1 +1,2 @@\n-1\n\\ No newline at end of file\n+1\n+2")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
