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

os.exit(lu.LuaUnit.run("-o", "TAP"))
