-- Text as wide as the terminal.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local terminal = require("syscheck.lib.terminal")

TestTerminal = {}

function TestTerminal:test_wrapped_at_blanks()
   lu.assertEquals(terminal.wrap("one two three four", 9), "one two\nthree\nfour")
   lu.assertEquals(terminal.wrap("one two three four", 11, 3), "one two\n   three\n   four")
   lu.assertEquals(terminal.wrap("one two\n\nthree", 40), "one two\n\nthree")
end

function TestTerminal:test_a_line_that_fits_keeps_its_blanks()
   lu.assertEquals(terminal.wrap("a   b", 5), "a   b")
   lu.assertEquals(terminal.flow("a b\nc", 5), "a b c")
   lu.assertEquals(terminal.flow("a b\nc", nil), "a b\nc")
end

function TestTerminal:test_what_is_longer_than_the_width_stays_whole()
   lu.assertEquals(terminal.wrap("a 0123456789 b", 5), "a\n0123456789\nb")
   lu.assertEquals(terminal.wrap("0123456789", 5), "0123456789")
end

function TestTerminal:test_an_indented_line_keeps_its_indent()
   lu.assertEquals(terminal.wrap("  one two", 6, 4), "  one\n    two")
end

function TestTerminal:test_a_letter_of_many_bytes_is_one_column()
   lu.assertEquals(terminal.wrap("äää äää", 7), "äää äää")
end

function TestTerminal:test_no_terminal_no_width()
   lu.assertEquals(terminal.wrap("one two three", nil), "one two three")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
