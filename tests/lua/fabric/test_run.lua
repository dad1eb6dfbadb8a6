-- A measurement as a whole, Slurm's step played by one process (ranks.lua): rail by rail, who has fewer, who keeps to
-- none.
package.path = "lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local uv = require("luv")
local run = require("syscheck.fabric.run")
local words = require("syscheck.fabric.words")

local NAMES = { "n1", "n2", "n3", "n4", "n5", "n6" }

-- @param change node's name -> what is unlike the others' two rails
-- @return run.rails' answers, what failed as texts, and all that is said of findings
local function rails(n, change)
   local world = {}
   for _, name in ipairs(NAMES) do
      world[name] = change[name] or { rails = 2 }
   end
   uv.os_setenv("RANKS", json.encode(world))
   local answers, failed = run.rails(NAMES, n, 512, { srun = "tests/lua/fabric/ranks.lua", kernel = "fabric", job = 1,
      seed = 1, settings = {} }, function() end, function() end)
   local not_done, said = {}, {}
   for k, one in ipairs(failed) do
      not_done[k] = one.why
   end
   for _, answer in ipairs(answers) do
      for _, one in ipairs(answer.findings) do
         said[#said + 1] = words.of(answer.net, one)
      end
   end
   return answers, not_done, said
end

TestRun = {}

function TestRun:test_without_rails_openmpi_chooses()
   local answers, failed, said = rails(nil, {})
   lu.assertEquals(#answers, 1)
   lu.assertNil(answers[1].rail)
   lu.assertEquals(failed, {})
   lu.assertEquals(said, {})
end

function TestRun:test_each_rail_names_its_own()
   local answers, failed, said = rails(2, { n2 = { rails = 2, slow = { ["1"] = 0.5 } },
      n5 = { rails = 2, slow = { ["2"] = 0.7 } } })
   lu.assertEquals(failed, {})
   lu.assertEquals({ answers[1].rail, answers[2].rail, #answers }, { 1, 2, 2 })
   lu.assertEquals(#said, 2)
   lu.assertStrContains(said[1], "rail 1 (eth0): n2 receives at 0.50 of")
   lu.assertStrContains(said[2], "rail 2 (eth1): n5 receives at 0.70 of")
end

-- One node, its fault on both: two findings, of a rail each.
function TestRun:test_both_rails_of_a_node()
   local _, _, said = rails(2, { n4 = { rails = 2, slow = { ["1"] = 0.5, ["2"] = 0.6 } } })
   lu.assertEquals(#said, 2)
   lu.assertStrContains(said[1], "rail 1 (eth0): n4 receives at 0.50 of")
   lu.assertStrContains(said[2], "rail 2 (eth1): n4 receives at 0.60 of")
end

-- Its second port is called the first one: with the others it would be slow, or cut off.
function TestRun:test_fewer_rails_than_most_are_left_out()
   local answers, failed, said = rails(2, { n3 = { rails = 1, slow = { ["1"] = 0.1 } } })
   lu.assertEquals(failed, {})
   lu.assertEquals(said, {})
   lu.assertEquals(answers[1].nodes, 5)
   lu.assertEquals(answers[1].notes, { "fewer than 2 such ports in use, left out: n3" })
   lu.assertEquals(answers[2].nodes, 5)
   lu.assertEquals(answers[2].notes, { "no rail 2, left out: n3" })
end

function TestRun:test_nobody_has_that_rail()
   local answers, failed = rails(4, {})
   lu.assertEquals(#answers, 2)
   lu.assertEquals(failed, { "there is no rail 3: they have 2 at most" })
end

function TestRun:test_only_one_has_that_rail()
   local change = {}
   for _, name in ipairs(NAMES) do
      change[name] = { rails = 1 }
   end
   change.n6 = { rails = 2 }
   local answers, failed = rails(2, change)
   lu.assertEquals(#answers, 1)
   lu.assertEquals(answers[1].nodes, 6)
   lu.assertEquals(failed, { "only n6 has a rail 2" })
end

-- The second port was asked for, the bytes went by the first: what was measured is no rail 2.
function TestRun:test_another_port_is_used()
   local answers, failed, said = rails(2, { n2 = { rails = 2, instead = { ["2"] = "eth0" } } })
   lu.assertEquals(#answers, 1)
   lu.assertEquals(said, {})
   lu.assertEquals(#failed, 1)
   lu.assertStrContains(failed[1], "rail 2: OpenMPI does not keep to rail 2 on n2, it used eth0")
end

os.exit(lu.LuaUnit.run())
