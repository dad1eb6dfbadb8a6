-- What a policy names that is not there.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local policy = require("syscheck.policy.policy")
local references = require("syscheck.cmd.common.references")

TestReferences = {}

-- @return texts about one key of a policy
local function said_of(key, value)
   local p, out = policy.default(), {}
   p[key] = value
   for _, found in ipairs(references.check(p, function() end)) do
      out[#out + 1] = found.text:find(key .. ": ", 1, true) == 1 and found.text or nil
   end
   return out
end

-- What config check calls good ingest takes: getent finds group 0 by its number.
function TestReferences:test_a_group_is_what_ingest_takes_for_one()
   lu.assertEquals(said_of("store_group", "root"), {})
   for _, name in ipairs({ "nosuchgroup", "0", "-h" }) do
      lu.assertEquals(said_of("store_group", name),
         { ("store_group: %s: no such group on this host: ingest does not run without it"):format(name) })
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
