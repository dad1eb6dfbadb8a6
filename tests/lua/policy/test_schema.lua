-- What `expect` may hold.
-- lua: lua5.1 lua5.2 lua5.3 lua5.4
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local policy = require("syscheck.policy.policy")

TestSchema = {}

function TestSchema:test_bad_policies()
   for text, want in pairs({
      ['["*"] = { memory = 768 }'] = "unknown key expect.*.memory",
      ['["*"] = { dimms = 0 }'] = "expect.*.dimms must be a number from 1, or a list of such",
      ['["*"] = { dimms = {} }'] = "or a list of such",
      ['["*"] = { dimms = { 1, "2" } }'] = "or a list of such",
      ['["*"] = { dimms = { { 1 } } }'] = "or a list of such",
      ['["*"] = { action = "off" }'] = 'one of "fail", "warn"',
      ['["*"] = 7'] = "expect.* must be a table",
      ['["a-2s4c-768g"] = { dimms = 2 }'] = "must not name the memory size",
   }) do
      local p, err = policy.parse("return { expect = {" .. text .. "} }", "p")
      lu.assertNil(p, text)
      lu.assertStrContains(err, want)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
