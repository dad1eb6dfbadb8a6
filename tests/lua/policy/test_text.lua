-- A policy's text: what it may not do, and which line sets a key.
-- lua: lua5.1 lua5.2 lua5.3 lua5.4
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local policy = require("syscheck.policy.policy")
local policy_text = require("syscheck.policy.text")

TestText = {}

function TestText:test_what_burns_time_or_memory_is_refused_before_it_runs()
   local cases = {
      { "while true do end", '"while": a policy has tables and values only, no loop' },
      { "return\n{ mode = ('x'):rep(1e9) }", "p.lua:2: \":\": a policy" },
      { "return { mode = ('x').rep('x', 1e9) }", "p.lua:1: " },
      { "local s = 'x' s = s..s return {}", '"..": a policy' },
      { "for i = 1, 2 do end return {}", "no loop" },
      { "repeat until nil return {}", "no loop" },
      { "local function f() return f() end return f()", "no function" },
      { "\27LuaQ", "bytecode" },
      { "return { mode = [==[\n", "p.lua:" },
      { "return { mode = 'x", "p.lua:1: " },
      { "return setmetatable({}, {})", "p.lua:1: " },
      { ("{"):rep(1000), "p.lua:" },
   }
   for _, c in ipairs(cases) do
      local parsed, err = policy.parse(c[1], "p.lua")
      lu.assertNil(parsed, c[1])
      lu.assertStrContains(err, c[2])
      lu.assertEquals(("x"):rep(2), "xx", "strings have their methods back")
   end
end

function TestText:test_words_in_comments_and_strings_are_no_loops()
   local p = assert(policy.parse('return { -- while "x".. for\n io_paths = { "/for..while:x", [[/function]] },'
      .. " --[==[ goto ]] ]==] spool = '/it\\'s..' }", "p"))
   lu.assertEquals(p.io_paths, { "/for..while:x", "/function" })
   lu.assertEquals(p.spool, "/it's..")
end

function TestText:test_keys_that_are_set_twice()
   local twice = policy_text.repeated('return {\n mode = "observe", -- mode = 1\n limits = { gflops = { min = 1 },'
      .. ' triad_gbs = { min = 1 } },\n ["mode"] = "enforce",\n io_paths = { "/mode = 1", "/x" } }')
   lu.assertEquals(twice, { { key = "mode", line = 4, first = 2 } })
   lu.assertEquals(policy_text.repeated("local p = { a = 1 }\np.a = 2\np.a = 3\n"
      .. "local q = { a = p.a == 1, b = p.a == 2 } return p"), {})
end

function TestText:test_a_line_for_each_key_that_is_set()
   local text = 'local p = {\n mode = "enforce",\n partitions = { ["gpu.x"] = { floor = "none",\n'
      .. ' default = "quick" } },\n}\np.limits = { triad_gbs = {\n mode = "observe" } }\nreturn p'
   local _, _, line_of = policy.parse(text, "p")
   lu.assertEquals(line_of({ "mode" }), 2)
   lu.assertEquals(line_of({ "partitions", "gpu.x", "floor" }), 3)
   lu.assertEquals(line_of({ "partitions", "gpu.x", "default" }), 4)
   lu.assertEquals(line_of({ "limits", "triad_gbs", "mode" }), 7)
   lu.assertNil(line_of({ "budget" }))
   lu.assertNil(line_of({ "partitions", "gpu.x", "ceiling" }))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
