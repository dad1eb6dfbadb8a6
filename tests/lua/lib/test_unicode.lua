-- Any bytes as valid UTF-8, cut between characters.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local unicode = require("syscheck.lib.unicode")

TestUnicode = {}

function TestUnicode:testAnyBytes()
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
      lu.assertEquals(unicode.repair(case[1]), case[2])
   end
end

local function cut(text, bytes)
   return unicode.cut(unicode.repair(text), bytes)
end

function TestUnicode:testIsCutBetweenCharacters()
   lu.assertEquals(cut("ab\u{FC}\u{FC}", 3), "ab")
   lu.assertEquals(cut("ab\u{FC}\u{FC}", 4), "ab\u{FC}")
   lu.assertEquals(cut("\u{1F600}", 3), "")
   lu.assertEquals(cut("a\xff\xff", 6), "a\u{FFFD}")
   for max = 0, 40 do
      for _, text in ipairs({ ("\xff"):rep(30), ("\u{FC}"):rep(30), ("\u{1F600}\xf0"):rep(9) }) do
         local out = cut(text, max)
         lu.assertTrue(#out <= max and #out > max - 4)
         lu.assertNotNil(utf8.len(out))
      end
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
