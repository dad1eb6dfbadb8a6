-- Markup: what came from elsewhere never is any.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local element = require("syscheck.html.element")
local page = require("syscheck.html.page")

local tag, text_of = element.tag, element.text_of

TestElement = {}

function TestElement:test_tags()
   lu.assertEquals(text_of(tag("p", nil, "a", 1, nil, false, { "b", tag("i", nil, "c") })), "<p>a1b<i>c</i></p>")
   lu.assertEquals(text_of(tag("rect", { y = 2, x = 1.26, class = "a" })), '<rect class="a" x="1.3" y="2"/>')
   lu.assertEquals(text_of(tag("td", nil)), "<td></td>")
   lu.assertEquals(text_of(tag("rect", nil, tag("title", nil, "x"))), "<rect><title>x</title></rect>")
end

function TestElement:test_text_is_escaped()
   for _, case in ipairs({
      { "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;" },
      { '" onload="x', "&quot; onload=&quot;x" }, { "a&amp;b", "a&amp;amp;b" }, { "]]>", "]]&gt;" },
      { "<!-- x", "&lt;!-- x" }, { "a\0b\27[1m\127\r\n\t", "a\\x00b\\x1b[1m\\x7f\\x0d\\x0a\\x09" },
      { "\u{85}\u{9B}2J", "\\x85\\x9b2J" }, { "\xFF\xC3(", "\u{FFFD}\u{FFFD}(" }, { "\xED\xA0\x80",
         ("\u{FFFD}"):rep(3) },
      { "\u{202E}gnp", "\\u{202e}gnp" }, { "a\u{200B}b\u{FEFF}", "a\\u{200b}b\\u{feff}" }, { "\u{FFFE}", "\\u{fffe}" },
      { "Größe 節點 🙂", "Größe 節點 🙂" }, { "", "" } }) do
      lu.assertEquals(element.escape(case[1]), case[2])
      lu.assertEquals(text_of(tag("p", { class = case[1] }, case[1])), ('<p class="%s">%s</p>'):format(case[2],
         case[2]))
   end
end

-- Whatever the bytes are: valid UTF-8, no control characters, none of the three that are markup.
function TestElement:test_any_bytes()
   math.randomseed(5)
   for _ = 1, 3000 do
      local bytes = {}
      for i = 1, math.random(0, 24) do
         bytes[i] = string.char(math.random(3) == 1 and math.random(0xC0, 0xFF) or math.random(0, 255))
      end
      local text = element.escape(table.concat(bytes))
      lu.assertNotNil(utf8.len(text))
      lu.assertNil(text:find("[%c\127<>\"]"))
      lu.assertNil(text:find("\xC2[\x80-\x9F]"))
   end
end

function TestElement:test_names_are_cut_where_a_character_ends()
   lu.assertEquals(element.name(nil), "-")
   lu.assertEquals(element.name(12), "12")
   lu.assertEquals(element.name("abcdef", 6), "abcdef")
   lu.assertEquals(element.name("abcdefg", 6), "abcdef…")
   lu.assertEquals(element.name("ééé", 5), "éé…")
   lu.assertEquals(element.name(("é"):rep(10000), 64), ("é"):rep(32) .. "…")
   lu.assertEquals(element.name(("\xFF"):rep(10000), 6), "\u{FFFD}\u{FFFD}…")
end

function TestElement:test_numbers_are_short()
   for value, text in pairs({ [1] = "1", [1.04] = "1", [-0.04] = "0", [12.35] = "12.3", [1e15] = "1000000000000000",
      [math.huge] = "0", [-math.huge] = "0" }) do
      lu.assertEquals(element.number(value), text)
   end
   lu.assertEquals(element.number(0 / 0), "0")
end

TestPage = {}

function TestPage:test_its_frame()
   local text = page.build({ title = "<b>", answer = "job 1 is <fine>", facts = { { "user", "<u>" }, { "none", nil } },
      sections = { false, page.section({ title = "A & B", pictures = { element.markup("<svg/>") },
         table = page.table({ "x", "n" }, { { "<a>", 1 }, { nil, page.bad("2") } }, 1) }) },
      made = { version = "1", time = "now" } })
   lu.assertStrContains(text, "<!DOCTYPE html>")
   lu.assertStrContains(text, "content=\"default-src 'none'; style-src 'unsafe-inline'\"")
   lu.assertStrContains(text, '<p class="answer">Job 1 is &lt;fine&gt;.</p>')
   lu.assertStrContains(text, "<li><i>user</i> &lt;u&gt;</li>")
   lu.assertStrContains(text, "<details><summary>Table</summary>")
   lu.assertStrContains(text, "<td>&lt;a&gt;</td><td>1</td>")
   lu.assertStrContains(text, "<td>-</td><td><b>2*</b></td>")
   lu.assertNil(text:find("<script", 1, true))
   lu.assertNil(text:find("none", text:find("<main>", 1, true), true))
   -- Colours of the dark are of screens only.
   lu.assertEquals(select(2, text:gsub("prefers%-color%-scheme", "")), 1)
   lu.assertStrContains(text, "@media screen and (prefers-color-scheme:dark)")
end

function TestPage:test_sentences_and_long_lists()
   lu.assertEquals(page.sentence("none of 3"), "None of 3.")
   lu.assertEquals(page.sentence("n3 stands out."), "n3 stands out.")
   lu.assertEquals(page.sentence("rack: x"), "rack: x.")
   lu.assertNil(page.list({}))
   lu.assertStrContains(text_of(page.list({ "a", "b", "c" }, 2)), "<li>and 1 more</li>")
   lu.assertNil(page.table({ "x" }, {}))
   local rows = {}
   for i = 1, 5 do
      rows[i] = { ("x"):rep(10 * i) }
   end
   local text = text_of(tag("div", nil, page.table({ "x" }, rows, nil, 4)))
   lu.assertStrContains(text, "1 more; --csv has all.")
   lu.assertEquals(select(2, text:gsub("<tr>", "")), 5)
   lu.assertEquals(select(2, text:gsub('<td class="p">', "")), 1)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
