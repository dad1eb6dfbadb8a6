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

-- A policy that wants what this host cannot count.
function TestReferences:test_counters_of_memory_traffic()
   local memory_traffic = require("syscheck.counters.memory_traffic")
   local real, there = memory_traffic.directory, nil
   memory_traffic.directory = function(_, perf) -- luacheck: ignore
      return perf == (there == "perf") and there or nil
   end
   lu.assertEquals(said_of("traffic", { groups = false, perf = false }), {})
   lu.assertStrContains(said_of("traffic", { groups = true })[1], "mount -t resctrl resctrl /sys/fs/resctrl")
   lu.assertStrContains(said_of("traffic", { sample_s = 10 })[1], "no counters of memory traffic")
   lu.assertStrContains(said_of("traffic", { perf = true })[1], "neither uncore_imc nor amd_umc")
   there = "perf"
   lu.assertEquals(said_of("traffic", { perf = true }), {})
   memory_traffic.directory = real -- luacheck: ignore
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
