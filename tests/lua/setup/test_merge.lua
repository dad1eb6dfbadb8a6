-- A change taken back out of what others edited.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local merge = require("syscheck.setup.merge")

TestUndo = {}

local BEFORE = "a\nb\nc\nd\ne\nf\n"
local AFTER = "a\nb\nC\nd\ne\nf\n# ours\nours=1\n"

function TestUndo:test_nobody_edited()
   lu.assertEquals(merge.undo(BEFORE, AFTER, AFTER), BEFORE)
   lu.assertEquals(merge.undo(BEFORE, AFTER, BEFORE), BEFORE)
   lu.assertEquals(merge.undo("x", "x\n# ours\n", "x\n# ours\n"), "x")
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
      local text, lost = merge.undo(BEFORE, AFTER, current)
      lu.assertEquals({ text, #lost }, { want, 0 }, current)
   end
end

function TestUndo:test_says_what_it_cannot_find()
   local text, lost = merge.undo(BEFORE, AFTER, "a\nb\nC2\nd\ne\nf\n# ours\nours=1\n")
   lu.assertEquals(text, "a\nb\nC2\nd\ne\nf\n")
   lu.assertEquals(lost, { { added = "C", removed = { "c" } } })
   text, lost = merge.undo(BEFORE, AFTER, "a\nb\nC\nd\ne\nf\n# ours\nours=2\n")
   lu.assertEquals(text, "a\nb\nc\nd\ne\nf\nours=2\n")
   lu.assertEquals(lost, { { now = "ours=2", added = "ours=1", removed = {} } })
   -- All in the order of the text.
   text, lost = merge.undo("a=1\nb\nc=1\nd\n", "a=2\nb\nc=2\nd\n", "a=3\nb\nc=3\nd\n")
   lu.assertEquals({ text, lost[1].now, lost[2].now, #lost }, { "a=3\nb\nc=3\nd\n", "a=3", "c=3", 2 })
   -- Neighbours of it edited, too.
   text, lost = merge.undo("a\nb\nc\n", "a\nB\nc\n", "A\nB2\nC\n")
   lu.assertEquals({ text, #lost }, { "A\nB2\nC\n", 1 })
end

function TestUndo:test_what_was_added_to_a_list_stays()
   for current, want in pairs({ ["S=a,o,z\n"] = "S=a,z\n", ["S=z,a,o\r\n"] = "S=z,a\r\n", ["S=b,o\n"] = "S=b\n",
      ["S=a,z,o"] = "S=a,z" }) do
      local ending = current:match("\r?\n") or "\n"
      local text, lost = merge.undo("S=a" .. ending, "S=a,o" .. ending, current)
      lu.assertEquals({ text, #lost }, { want, 0 }, current)
   end
end

function TestUndo:test_no_last_newline_and_a_line_behind_it()
   lu.assertEquals(merge.undo("x", "x\n# ours\n", "x\n# ours\ny\n"), "x\ny\n")
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
      lu.assertEquals(merge.undo(table.concat(before), table.concat(after), table.concat(current)),
         table.concat(want))
   end
end

-- What setup makes of a slurm.conf whose lists and time-outs stand next to each other, at the end.
local SITE = "ClusterName=c\nProlog=/site\nSchedulerParameters=defer\nMessageTimeout=30\n"
local MADE = "ClusterName=c\n# syscheck setup: was Prolog=/site\nProlog=/ours\n"
   .. "SchedulerParameters=defer,nohold_on_prolog_fail\nMessageTimeout=100\n"
   .. "# syscheck\nEpilog=/ours\nPrologFlags=Alloc\n"

function TestUndo:test_each_line_for_itself()
   for _, case in ipairs({
      { "MessageTimeout=100", "MessageTimeout=120", "MessageTimeout=30", "MessageTimeout=120", 1 },
      { "MessageTimeout=100", "MessageTimeout=30", "x", "x", 0 },
      { "nohold_on_prolog_fail", "nohold_on_prolog_fail,bf_window=10", "defer", "defer,bf_window=10", 0 },
      { "Alloc", "Alloc,X11", "=30\n", "=30\nPrologFlags=X11\n", 0 },
      { "Alloc", "Contain", "=30\n", "=30\nPrologFlags=Contain\n", 1 },
      { "MessageTimeout=100", "MessageTimeout=100 # his", "MessageTimeout=30", "MessageTimeout=30 # his", 0 },
      { "Alloc", "Alloc  # his", "=30\n", "=30\n# his\n", 0 },
      { "Epilog=/ours\n", "", "x", "x", 0 },
      { "Epilog=/ours\n", "his=1\nEpilog=/ours\n", "=30\n", "=30\nhis=1\n", 0 },
      { "Prolog=/ours", "Prolog=/his", "Prolog=/site", "Prolog=/his", 1 },
      { "# syscheck setup: was Prolog=/site\n", "", "x", "x", 0 },
      { "MessageTimeout=100\n", "", "MessageTimeout=30\n", "", 1 },
   }) do
      local function edited(text, from, to)
         local at, stop = text:find(from, 1, true)
         return at and text:sub(1, at - 1) .. to .. text:sub(stop + 1) or text
      end
      local text, lost = merge.undo(SITE, MADE, edited(MADE, case[1], case[2]))
      lu.assertEquals({ text, #lost }, { edited(SITE, case[3], case[4]), case[5] }, case[1] .. " " .. case[2])
      -- The next one has nothing to do but to say so.
      lu.assertEquals(merge.undo(SITE, MADE, text), text)
   end
end

function TestUndo:test_other_line_ends()
   local text, lost = merge.undo(SITE, MADE, (MADE:gsub("\n", "\r\n")))
   lu.assertEquals({ text, lost }, { SITE:gsub("\n", "\r\n"), {} })
   local last = "a\n# no newline at the end"
   text, lost = merge.undo(last, last .. "\n# syscheck\nEpilog=/ours\n",
      "a\r\n# no newline at the end\r\n# syscheck\r\nEpilog=/his\r\n")
   lu.assertEquals({ text, lost }, { "a\r\n# no newline at the end\r\nEpilog=/his\r\n",
      { { now = "Epilog=/his", added = "Epilog=/ours", removed = {} } } })
end

function TestUndo:test_a_line_that_was_moved()
   local moved = MADE:gsub("MessageTimeout=100\n", "")
   local text, lost = merge.undo(SITE, MADE, "MessageTimeout=100\n" .. moved)
   lu.assertEquals({ text, lost }, { "MessageTimeout=30\n" .. SITE:gsub("MessageTimeout=30\n", ""), {} })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
