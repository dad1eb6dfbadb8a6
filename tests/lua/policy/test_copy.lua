-- The copy of a good policy.
-- lua: lua5.1 lua5.2 lua5.3 lua5.4
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local policy = require("syscheck.policy.policy")
local policy_copy = require("syscheck.policy.copy")

TestCopy = {}

function TestCopy:test_whole_or_nothing()
   local text = "return {\n}\n" .. ("-- x\n"):rep(5000)
   local copy = policy_copy.wrap(text, "2026-11-21T08:00:00Z")
   lu.assertEquals({ policy_copy.unwrap(copy) }, { text, "2026-11-21T08:00:00Z" })
   lu.assertTrue(policy_copy.is_of(copy, text))
   lu.assertFalse(policy_copy.is_of(copy, text .. " "))
   for _, bad in ipairs({ "", "return {}", copy:sub(1, -2), copy .. " ", (copy:gsub("%-%- x\n", "-- y\n", 1)) }) do
      lu.assertNil(policy_copy.unwrap(bad))
   end
   -- It is a policy itself, for whoever wants it back.
   lu.assertTrue(policy.parse(copy, "p") ~= nil)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
