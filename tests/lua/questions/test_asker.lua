-- What `ask` lets through, and for whom.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local asker = require("syscheck.questions.asker")

TestAsk = {}

function TestAsk:test_what_is_let_through()
   lu.assertEquals(asker.parse({ "job", "123_4", "--json" }), { command = "job", spool = {}, json = true,
      id = { kind = "array", id = 123, part = 4, text = "123_4" } })
   lu.assertEquals(asker.parse({ "why", "4711" }).command, "why")
   for _, words in ipairs({ {}, { "job" }, { "4711" }, { "node", "n1" }, { "job", "x" },
      { "job", "4711", "--store=/x" }, { "job", "4711", "--store" }, { "job", "--store", "/x" },
      { "job", "4711", "--json", "--policy=/x" },
      { "job", "4711", "--spool" }, { "--policy", "/x", "job" }, { "../cmd/ingest", "1" }, { "job", "4711\n" },
      { "job", "4711", "" }, { "", "4711" } }) do
      local args, err = asker.parse(words)
      lu.assertNil(args, table.concat(words, " "))
      lu.assertStrMatches(err, "[ -~]+")
   end
end

function TestAsk:test_who_asks()
   local function with(value)
      return asker.uid(function() return value end)
   end
   lu.assertEquals(with("1000"), "1000")
   for _, wrong in ipairs({ "", "root", "-1", "0x0", "1 0", "99999999999" }) do
      lu.assertNil((with(wrong)))
   end
   lu.assertNil((with(nil)))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
