-- What a run prints, for people.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local explain = require("syscheck.fabric.explain")
local session = require("syscheck.fabric.session")
local show = require("syscheck.fabric.show")
local simulated = require("simulated")

local FOUR = { 8, 8, 8, 8 }

-- Lines of a run's table; `change(answer)` before it is shown.
local function lines_of(world, sizes, change)
   world.noise = world.noise or 0.01
   local net, lines = simulated.net(sizes or FOUR), {}
   local answer = assert(session.run(net, simulated.measure(net, world), { seed = 1 }))
   answer.net, answer.about, answer.notes, answer.seed, answer.seconds = net, {}, {}, 1, 2
   explain.all(answer)
   if change then
      change(answer)
   end
   for line in show.table(answer):gmatch("[^\n]+") do
      lines[#lines + 1] = line
   end
   return lines
end

TestShow = {}

function TestShow:test_healthy()
   local lines = lines_of({})
   lu.assertEquals(#lines, 2)
   lu.assertStrMatches(lines[1], "32 nodes at 4 leaves, %d+ %+ 0 rounds in 2%.0 s %(seed 1%); a pair: "
      .. "[%d.]+ GB/s within a leaf, [%d.]+ GB/s across, all at once; "
      .. "latency [%d.]+ us within a leaf, [%d.]+ us across")
   lu.assertEquals(lines[2], "no node, link or route stands out")
end

function TestShow:test_a_fault()
   local lines = lines_of({ out = { [3] = 5 } })
   lu.assertStrMatches(lines[2], "fault: l1n3 sends at 0%.%d+ of its peers, alone and with every partner: its NIC, .*")
   lu.assertEquals(#lines, 2)
end

function TestShow:test_two_nodes()
   local lines = lines_of({ out = { [1] = 5 } }, { 2 })
   lu.assertEquals(lines[#lines], "two nodes: what is measured is the pair's, and of two nobody can be blamed")
end

-- Half of all for a moment, and nobody again: not the network. Beside a fault others are slow for its sake.
function TestShow:test_suspects_that_did_not_show_again()
   local function many(answer)
      answer.unconfirmed = 20
   end
   local lines = lines_of({}, FOUR, many)
   lu.assertStrMatches(lines[2], "note: 20 suspects did not show again: .*repeat it")
   lu.assertEquals(lines[3], "no node, link or route stands out (20 suspected, not confirmed)")
   lines = lines_of({ out = { [3] = 5 } }, FOUR, many)
   lu.assertStrContains(lines[2], "fault: l1n3")
   lu.assertEquals(lines[3], "20 more suspected, not confirmed")
   lines = lines_of({}, FOUR, function(answer) answer.unconfirmed = 2 end)
   lu.assertEquals({ #lines, lines[2] }, { 2, "no node, link or route stands out (2 suspected, not confirmed)" })
end

function TestShow:test_suspects_that_had_no_turn()
   local lines = lines_of({}, FOUR, function(answer)
      answer.unconfirmed = 4
      answer.untried = { { node = 1 }, { node = 2 }, { leaf = 3 }, { flow = { from = 1, to = 9 } } }
   end)
   lu.assertStrContains(lines[2], "no turn left to be measured again: l1n[1-2], leaf ")
   lu.assertStrContains(lines[2], ", 1 pair; measure again")
end

function TestShow:test_long_times()
   lu.assertStrContains(lines_of({}, FOUR, function(answer)
      answer.found.latency.mu[2] = 1234.5
   end)[1], " us within a leaf, 1234 us across")
end

-- Nobody is accused by a value alone.
function TestShow:test_a_value_beyond_a_limit_is_a_note()
   local lines = lines_of({}, FOUR, function(answer)
      answer.kept = { recorded = 32, failed = {}, beyond = { { nodes = { "n4", "n5" }, text = "sends 0.8 < 0.9" } } }
   end)
   lu.assertEquals(lines[3], "note: n[4-5]: beyond a limit, and nothing was found: sends 0.8 < 0.9")
   lu.assertEquals(lines[4], "32 records written; syscheck ingest stores them")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
