-- Any bytes become valid UTF-8.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local unicode = require("syscheck.lib.unicode")

TestUtf8 = {}

function TestUtf8:testAnyBytes()
   for _, case in ipairs({
      { "", "" },
      { "plain", "plain" },
      { "gr\u{FC}n \u{1F600}", "gr\u{FC}n \u{1F600}" },
      { "a\xffb", "a\u{FFFD}b" },
      { "\xc3", "\u{FFFD}" },
      { "\xed\xa0\x80", "\u{FFFD}\u{FFFD}\u{FFFD}" }, -- a surrogate is no character
      { "\xc0\xaf", "\u{FFFD}\u{FFFD}" },
      { "a\n\27[31m\0\"", "a\n\27[31m\0\"" }, -- whoever shows it escapes it
   }) do
      lu.assertEquals(unicode.valid(case[1], 1024), case[2])
   end
end

function TestUtf8:testIsCutBetweenCharacters()
   lu.assertEquals(unicode.valid("ab\u{FC}\u{FC}", 3), "ab")
   lu.assertEquals(unicode.valid("ab\u{FC}\u{FC}", 4), "ab\u{FC}")
   lu.assertEquals(unicode.valid("\u{1F600}", 3), "")
   lu.assertEquals(unicode.valid("a\xff\xff", 6), "a\u{FFFD}")
   for max = 0, 40 do
      for _, text in ipairs({ ("\xff"):rep(30), ("\u{FC}"):rep(30), ("\u{1F600}\xf0"):rep(9) }) do
         local out = unicode.valid(text, max)
         lu.assertTrue(#out <= max and #out > max - 4)
         lu.assertNotNil(utf8.len(out))
      end
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
