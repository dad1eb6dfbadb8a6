-- Lines compared as diff(1) does, and a change taken back out of what others edited.
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

TestUndo = {}

local BEFORE = "a\nb\nc\nd\ne\nf\n"
local AFTER = "a\nb\nC\nd\ne\nf\n# ours\nours=1\n"

function TestUndo:test_nobody_edited()
   lu.assertEquals(diff.undo(BEFORE, AFTER, AFTER), BEFORE)
   lu.assertEquals(diff.undo(BEFORE, AFTER, BEFORE), BEFORE)
   lu.assertEquals(diff.undo("x", "x\n# ours\n", "x\n# ours\n"), "x")
end

function TestUndo:test_hand_edits_stay()
   for current, want in pairs({
      ["new\na\nb\nC\nd\ne\nf\n# ours\nours=1\n"] = "new\na\nb\nc\nd\ne\nf\n",
      ["a\nB\nC\nD\ne\nf\n# ours\nours=1\n"] = "a\nB\nc\nD\ne\nf\n",
      ["a\nb\nC\nd\ne\nf\n# ours\nours=1\nlast\n"] = "a\nb\nc\nd\ne\nf\nlast\n",
      ["C\n# ours\nours=1"] = "c\n",
      ["C\nf\n# ours\nours=1\n"] = "c\nf\n",
      ["a\nb\nc\nd\ne\nf\n# ours\nours=1\n"] = BEFORE, -- one change taken out by hand
      ["a\nb\nC\nd\ne\nf\n"] = BEFORE,
      ["a\nb\nC\nd\ne\nf\n# ours\nhis\nours=1\n"] = "a\nb\nc\nd\ne\nf\nhis\n",
   }) do
      local text, lost = diff.undo(BEFORE, AFTER, current)
      lu.assertEquals({ text, #lost }, { want, 0 }, current)
   end
end

function TestUndo:test_says_what_it_cannot_find()
   local text, lost = diff.undo(BEFORE, AFTER, "a\nb\nC2\nd\ne\nf\n# ours\nours=1\n")
   lu.assertEquals(text, "a\nb\nC2\nd\ne\nf\n")
   lu.assertEquals(lost, { { now = { "C2\n" }, removed = { "c\n" } } })
   text, lost = diff.undo(BEFORE, AFTER, "a\nb\nC\nd\ne\nf\n# ours\nours=2\n")
   lu.assertEquals(text, "a\nb\nc\nd\ne\nf\nours=2\n")
   lu.assertEquals(lost, { { now = { "ours=2\n" }, removed = {} } })
   -- All in the order of the text.
   text, lost = diff.undo("a\nb\nc\nd\n", "A\nb\nC\nd\n", "A1\nb\nC1\nd\n")
   lu.assertEquals({ text, lost[1].now, lost[2].now, #lost }, { "A1\nb\nC1\nd\n", { "A1\n" }, { "C1\n" }, 2 })
   -- Neighbours of it edited, too.
   text, lost = diff.undo("a\nb\nc\n", "a\nB\nc\n", "A\nB2\nC\n")
   lu.assertEquals({ text, #lost }, { "A\nB2\nC\n", 1 })
end

function TestUndo:test_what_was_added_to_a_list_stays()
   for current, want in pairs({ ["S=a,o,z\n"] = "S=a,z\n", ["S=z,a,o\r\n"] = "S=z,a\r\n", ["S=b,o\n"] = "S=b\n",
      ["S=a,z,o"] = "S=a,z\n" }) do
      local ending = current:match("\r?\n") or "\n"
      local text, lost = diff.undo("S=a" .. ending, "S=a,o" .. ending, current)
      lu.assertEquals({ text, #lost }, { want, 0 }, current)
   end
end

function TestUndo:test_no_last_newline_and_a_line_behind_it()
   lu.assertEquals(diff.undo("x", "x\n# ours\n", "x\n# ours\ny\n"), "x\ny\n")
end

function TestUndo:test_random_hand_edits_elsewhere()
   math.randomseed(9)
   for _ = 1, 500 do
      local before, after, current, want = {}, {}, {}, {}
      for i = 1, 30 do
         local line = i .. "\n"
         before[i] = line
         local ours = i % 7 == 3
         local mine = ours and "ours" .. line or line
         after[i] = mine
         local his = not ours and math.random(4)
         if his == 1 then
            current[#current + 1], want[#want + 1] = "his" .. line, "his" .. line
         elseif his ~= 2 then
            current[#current + 1], want[#want + 1] = mine, line
         end
      end
      lu.assertEquals(diff.undo(table.concat(before), table.concat(after), table.concat(current)),
         table.concat(want))
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
