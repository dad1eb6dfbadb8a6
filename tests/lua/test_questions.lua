-- What people type and how answers are printed; who stands out; a node's story; a fleet.
package.path = "lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local jobid = require("syscheck.jobid")
local output = require("syscheck.output")
local since = require("syscheck.since")

-- What a terminal, a spreadsheet, a shell, a database and a browser would take for orders.
local NASTY = 'a\27[31m\7"b\'; DROP TABLE run;--<script>\r\nx,\xC3\xA9\xFF\xC2\x9B2J'

TestSince = {}

local NOW = 1795000000 -- 2026-11-18T11:06:40Z

function TestSince:test_forms()
   for text, want in pairs({
      ["7d"] = NOW - 7 * 86400, ["12h"] = NOW - 12 * 3600, ["30m"] = NOW - 1800, ["2w"] = NOW - 14 * 86400,
      ["2026-11-01"] = 1793491200, ["2026-11-01T08:00Z"] = 1793520000, ["2026-11-01T08:00:30Z"] = 1793520030,
      ["2026-11-01 08:00"] = 1793520000, ["2026-11-01T08:00:00+01:00"] = 1793516400,
      ["2026-11-01T08:00:00.250-0130"] = 1793525400, ["2024-02-29"] = 1709164800, ["1970-01-01"] = 0,
      ["1960-01-01"] = 0, ["60w"] = NOW - 60 * 604800,
   }) do
      lu.assertEquals(since.parse(text, NOW), want, text)
   end
end

function TestSince:test_what_parses_to_nothing()
   for _, text in ipairs({ "", "d", "7", "7x", "-7d", "7 d", "0d", "1.5d", "2026-13-01", "2026-02-29", "2026-11-31",
      "2026-11-01T24:00Z", "2026-11-01T08:61Z", "2026-11-01T", "2026-11-01T08", "2026-11-01Tgarbage",
      "yesterday", "99999999999d", "40000d", "2027-01-01", "7d;rm", NASTY }) do
      local at, err = since.parse(text, NOW)
      lu.assertNil(at, text)
      lu.assertStrMatches(err, "[ -~]+")
   end
end

function TestSince:test_keys_are_in_the_order_of_time()
   lu.assertEquals(since.key(NOW) >> 30, NOW)
   lu.assertEquals(math.type(since.key(NOW + 0.0)), "integer")
   lu.assertEquals(since.show(NOW), "2026-11-18T11:06:40Z")
end

TestJobId = {}

function TestJobId:test_forms()
   lu.assertEquals(jobid.parse("4711"), { kind = "job", id = 4711, text = "4711" })
   lu.assertEquals(jobid.parse("0123_04"), { kind = "array", id = 123, part = 4, text = "123_4" })
   lu.assertEquals(jobid.parse("123+1"), { kind = "het", id = 123, part = 1, text = "123+1" })
end

function TestJobId:test_anything_else()
   for _, text in ipairs({ "", "x", "12x", "-5", "1.5", "4711.batch", "123_", "_4", "123_4_5", "123+", "123_4+1",
      "0x10", "1e3", "4294967296", "99999999999999", "1_99999999999", " 1", "1 ", "1\n", "1 OR 1=1", NASTY }) do
      local id, err = jobid.parse(text)
      lu.assertNil(id, text)
      lu.assertStrMatches(err, "job ID must be one like 4711, [ -~]+")
   end
end

function TestJobId:test_labels_and_matches()
   lu.assertEquals(jobid.label({ job_id = 4711.0 }), "4711")
   lu.assertEquals(jobid.label({ job_id = 130, array_job_id = 123, array_task_id = 4 }), "123_4 (job 130)")
   lu.assertEquals(jobid.label({ id = 124, het_job_id = 123, het_offset = 1 }), "123+1 (job 124)")
   lu.assertTrue(jobid.matches(jobid.parse("123_4"), { id = 130, array_job_id = 123, array_task_id = 4 }))
   lu.assertFalse(jobid.matches(jobid.parse("123"), { id = 130, array_job_id = 123, array_task_id = 4 }))
   lu.assertTrue(jobid.matches(jobid.parse("123+0"), { id = 123, het_job_id = 123, het_offset = 0 }))
end

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
   lu.assertEquals(output.csv({ "a,b", 'c"d', nil, 5.0, -1.5, true }, 7), '"a,b","c""d",,5,-1.5,true,\r\n')
   -- A spreadsheet would run these; a number is a number.
   lu.assertEquals(output.csv({ "=1+1", "+x", "-y", "@z", -3 }, 5), "'=1+1,'+x,'-y,'@z,-3\r\n")
   local row = output.csv({ NASTY }, 1)
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
