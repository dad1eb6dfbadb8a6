-- JSON, CSV and tables, whatever the text.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local json = require("cjson")
local output = require("syscheck.lib.output")

-- What a terminal, a spreadsheet, a shell, a database and a browser would take for orders.
local NASTY = 'a\27[31m\7"b\'; DROP TABLE run;--<script>\r\nx,\xC3\xA9\xFF\xC2\x9B2J'

TestOutput = {}

function TestOutput:test_json_is_ascii_and_exact()
   local text = output.json({ b = NASTY, a = output.list(), n = 3.0, big = 1 << 40, x = 0.1, bad = 0 / 0, t = true,
      l = { 1, false }, emoji = "\u{1F600}" })
   lu.assertStrMatches(text, "[ -~]+")
   local back = json.decode(text)
   lu.assertEquals(back.b, (NASTY:gsub("\xFF", "\u{FFFD}")))
   lu.assertEquals(back.emoji, "\u{1F600}")
   lu.assertEquals(text:match('"a":(%[%])'), "[]")
   lu.assertEquals(text:match('"n":(%d+)'), "3")
   lu.assertEquals(back.big, 1 << 40)
   lu.assertEquals(back.bad, json.null)
   lu.assertEquals(back.l, { 1, false })
end

function TestOutput:test_csv()
   local titles = { "a", "b", "c", "d", "e", "f", "g" }
   lu.assertEquals(output.csv(titles, { { "a,b", 'c"d', nil, 5.0, -1.5, true } }),
      'a,b,c,d,e,f,g\r\n"a,b","c""d",,5,-1.5,true,\r\n')
   -- A spreadsheet would run these; a number is a number.
   lu.assertEquals(output.csv({ "=1+1", "+x", "-y", "@z", -3 }, {}), "'=1+1,'+x,'-y,'@z,-3\r\n")
   -- So where a ; parts cells, after spaces, and in the widths of East Asian keyboards.
   lu.assertEquals(output.csv({ "a;=b", ' "; @c', ";;-d", " =e", "k=l; m" }, {}),
      "a;'=b,\" \"\";' @c\",;;'-d,' =e,k=l; m\r\n")
   lu.assertEquals(output.csv({ 'n;"=o', '""=p' }, {}), "\"n;'\"\"=o\",\"'\"\"\"\"=p\"\r\n")
   lu.assertEquals(output.csv({ "\u{FF1D}f", "g;\u{FF0B}1", "\u{FF0D}h", "\u{3000}\u{FF20}i" }, {}),
      "'\u{FF1D}f,g;'\u{FF0B}1,'\u{FF0D}h,'\u{3000}\u{FF20}i\r\n")
   local row = output.csv({ NASTY }, {})
   lu.assertEquals(select(2, row:gsub("[%c\127]", "")), 2) -- the line end's own
   lu.assertStrContains(row, "\\x1b[31m")
   lu.assertStrContains(row, "\xC3\xA9")
   lu.assertNil(row:find("\xC2\x9B", 1, true))
end

function TestOutput:test_table()
   local rows = { { "NODE", "X", "TEXT" }, { "n1", "5", "a" }, { "n100", output.cell("1204*", "bad"), "" } }
   lu.assertEquals(output.table(rows), "NODE      X  TEXT\nn1        5  a\nn100  1204*")
   local colored = output.table(rows, true)
   lu.assertStrContains(colored, "\27[31m1204*\27[0m")
   lu.assertEquals((colored:gsub("\27%[%d+m", "")), output.table(rows))
end

local function widest(text)
   local most = 0
   for line in text:gmatch("[^\n]+") do
      most = math.max(most, utf8.len(line))
   end
   return most
end

local WIDE = { { "NODE", "CHECKED", "TRIAD", "ZERO", "NONE", "NOISE" },
   { "n1", "2026-11-20T13:09:16Z", "86.1", "0", "-", "0.2" },
   { "n100", "2026-11-20T13:09:17Z", output.cell("61.3*", "bad"), "0.00", "-", "0.0" } }

function TestOutput:test_a_table_that_fits_stays_as_it_is()
   lu.assertEquals((output.fitted(WIDE, false, nil)), output.table(WIDE))
   lu.assertEquals((output.fitted(WIDE, false, 200)), output.table(WIDE))
   local text, left_out = output.fitted(WIDE, false, widest(output.table(WIDE)))
   lu.assertEquals(text, output.table(WIDE))
   lu.assertEquals(left_out, {})
end

function TestOutput:test_first_goes_what_says_nothing()
   local text, left_out = output.fitted(WIDE, false, 42)
   lu.assertEquals(left_out, { "ZERO", "NONE" })
   lu.assertEquals(text, "NODE  CHECKED               TRIAD  NOISE\nn1    2026-11-20T13:09:16Z   86.1    0.2\n"
      .. "n100  2026-11-20T13:09:17Z  61.3*    0.0")
end

function TestOutput:test_then_it_is_parted_and_each_part_begins_alike()
   lu.assertEquals((output.fitted(WIDE, false, 30)), "NODE  CHECKED\nn1    2026-11-20T13:09:16Z\n"
      .. "n100  2026-11-20T13:09:17Z\n\nNODE  TRIAD  NOISE\nn1     86.1    0.2\nn100  61.3*    0.0")
   lu.assertStrContains(output.fitted(WIDE, true, 30), "\27[31m61.3*\27[0m")
   -- Whatever the width, every cell that says something is there.
   for width = 20, 60 do
      local text = output.fitted(WIDE, false, width)
      for _, cell in ipairs({ "NODE", "n100", "2026-11-20T13:09:17Z", "61.3*", "NOISE" }) do
         lu.assertStrContains(text, cell)
      end
      lu.assertTrue(widest(text) <= math.max(width, 29), text)
   end
end

function TestOutput:test_sentences_take_several_lines()
   local rows = { { "NODE", "WHAT" }, { "n1", "throttled 620 s of 1623 s, its peers never" },
      { "n2", output.cell("a", "warn") } }
   lu.assertEquals((output.fitted(rows, false, 36, { prose = true })),
      "NODE  WHAT\nn1    throttled 620 s of 1623 s, its\n      peers never\nn2    a")
   lu.assertEquals((output.fitted(rows, false, 24, { prose = true })),
      "NODE  n1\nWHAT  throttled 620 s of\n      1623 s, its peers\n      never\n\nNODE  n2\nWHAT  a")
end

function TestOutput:test_a_name_as_wide_as_the_terminal()
   local rows = { { "NODE", "X", "Y" }, { ("n"):rep(64), "1", "2" } }
   lu.assertEquals((output.fitted(rows, false, 40)), "NODE\n      " .. ("n"):rep(64) .. "\nX     1\nY     2")
   lu.assertEquals((output.fitted({ { "A", "B" } }, false, 20)), "A  B")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
