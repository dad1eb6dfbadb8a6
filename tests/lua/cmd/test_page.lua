-- Tables, bars and sentences as wide as the terminal.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local page = require("syscheck.cmd.common.page")

local ROWS = { { "NAME", "RATE", "" }, { "a", "1.0", { bar = 0.5 } }, { "b", "2.0", { bar = 1, after = " knee" } } }

local function widest(text)
   local most = 0
   for line in text:gmatch("[^\n]+") do
      most = math.max(most, utf8.len(line))
   end
   return most
end

TestPage = {}

function TestPage:test_a_bar_has_the_room_that_is_left()
   lu.assertEquals(page.table({ rows = ROWS }, { width = 30 }, 2),
      "  NAME  RATE\n  a      1.0  ######\n  b      2.0  ########### knee")
   lu.assertTrue(widest(page.table({ rows = ROWS }, { width = 300, as_utf8 = true }, 0)) < 80)
end

function TestPage:test_no_room_no_bar()
   lu.assertEquals(page.table({ rows = ROWS }, { width = 19 }, 0), "NAME  RATE\na      1.0\nb      2.0   knee")
end

function TestPage:test_no_terminal_a_plain_table_of_80_columns()
   local text = page.table({ rows = ROWS }, {}, 0)
   lu.assertStrContains(text, ("#"):rep(40) .. " knee")
   lu.assertNotStrContains(text, "\27")
end

function TestPage:test_narrow_columns_then_a_shorter_one_then_sentences()
   local block = { rows = { { "NAME", "VALUE" }, { ("x"):rep(30), "12.5" } }, cut = 1 }
   lu.assertEquals(page.table(block, { width = 25 }, 0), "NAME                VALUE\nxxxxxxxxxxxxxxx...   12.5")
   lu.assertEquals(page.table({ rows = { { "NAME", "VALUE", "MORE" }, { "x", "12.5", "a text" } } }, { width = 18 }, 2),
      "  x: VALUE 12.5,\n    MORE a text")
   block = { rows = { { "NAME", "VALUE", "MORE" }, { "x", "12.5", "a text" } }, narrow = { { "NAME" }, { "x" } } }
   lu.assertEquals(page.table(block, { width = 15 }, 0), "NAME\nx")
end

function TestPage:test_sections_with_colours_and_without()
   local sections = { { title = "One", "a sentence of words", { text = "bad", style = "warn" } }, { title = "Two" } }
   lu.assertEquals(page.sections(sections, { width = 14 }), "One\n  a sentence\n  of words\n  bad\n\nTwo")
   lu.assertEquals(page.sections(sections, { color = true }),
      "\27[1mOne\27[0m\n  a sentence of words\n\27[33m  bad\27[0m\n\n\27[1mTwo\27[0m")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
