-- Times and spans as text.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local time = require("syscheck.lib.time")

TestTime = {}

local NOW = 1795000000 -- 2026-11-18T11:06:40Z

function TestTime:test_points()
   for text, want in pairs({
      ["7d"] = NOW - 7 * 86400, ["12h"] = NOW - 12 * 3600, ["30m"] = NOW - 1800, ["2w"] = NOW - 14 * 86400,
      ["2026-11-01"] = 1793491200, ["2026-11-01T08:00Z"] = 1793520000, ["2026-11-01T08:00:30Z"] = 1793520030,
      ["2026-11-01 08:00"] = 1793520000, ["2026-11-01T08:00:00+01:00"] = 1793516400,
      ["2026-11-01T08:00:00.250-0130"] = 1793525400, ["2024-02-29"] = 1709164800, ["1970-01-01"] = 0,
      ["1960-01-01"] = 0, ["60w"] = NOW - 60 * 604800,
   }) do
      lu.assertEquals(time.point(text, NOW), want, text)
   end
end

function TestTime:test_what_is_no_point()
   for _, text in ipairs({ "", "d", "7", "7x", "-7d", "7 d", "0d", "1.5d", "2026-13-01", "2026-02-29", "2026-11-31",
      "2026-11-01T24:00Z", "2026-11-01T08:61Z", "2026-11-01T", "2026-11-01T08", "2026-11-01Tgarbage",
      "yesterday", "99999999999d", "40000d", "2027-01-01", "7d;rm", "\27[31m\0\255" }) do
      local at, err = time.point(text, NOW)
      lu.assertNil(at, text)
      lu.assertStrMatches(err, "[ -~]+")
   end
end

function TestTime:test_parse()
   for text, want in pairs({ ["1970-01-01T00:00:00Z"] = 0, ["2000-02-29T23:59:59Z"] = 951868799,
      ["2026-11-20T08:00:00.5Z"] = 1795161600, ["2100-03-01T00:00:00Z"] = 4107542400 }) do
      lu.assertEquals(time.parse(text), want)
   end
   for _, text in ipairs({ "", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z",
      "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00+01:00", "x2026-01-01T00:00:00Z" }) do
      lu.assertNil(time.parse(text), text)
   end
end

function TestTime:test_show()
   lu.assertEquals(time.show(NOW), "2026-11-18T11:06:40Z")
   lu.assertEquals(time.show(NOW + 0.9), "2026-11-18T11:06:40Z")
   lu.assertEquals(time.show(nil), "-")
   lu.assertEquals(time.parse(time.show(NOW)), NOW)
end

function TestTime:test_span()
   lu.assertEquals(time.span("400d", "hdwy"), 400 * 86400)
   lu.assertEquals(time.span("2y", "hdwy"), 2 * 31536000)
   lu.assertEquals(time.span("0h", "hdwy"), 0)
   for _, text in ipairs({ "", "2y", "d", "4", "-4d", "4 d", "12345678901d", "4d4" }) do
      lu.assertNil(time.span(text, "mhdw"), text)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
