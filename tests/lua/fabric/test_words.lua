-- What is said of a run: sentences, JSON, CSV; and of names that would do something to a terminal.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local json = require("cjson")
local explain = require("syscheck.fabric.explain")
local network = require("syscheck.fabric.net")
local session = require("syscheck.fabric.session")
local show = require("syscheck.fabric.show")
local simulated = require("simulated")
local words = require("syscheck.fabric.words")

local HOSTILE = "n\27[31m\"\n,=1\xff"
local BAD_LEAF = "leaf\27]0;x\7\r\n"

-- Eight nodes at two leaves, of which one of each has a name that nobody should have.
local function hostile_net()
   local names, leaf = { HOSTILE }, { [HOSTILE] = BAD_LEAF }
   for k = 1, 7 do
      names[#names + 1], leaf["n" .. k] = "n" .. k, k < 4 and BAD_LEAF or "l2"
   end
   return network.new(names, { leaf = leaf })
end

local function number_of(net, name)
   for i, one in ipairs(net.names) do
      if one == name then
         return i
      end
   end
end

TestWords = {}

-- Kind, and what its sentence has to say.
local SAID = {
   { { kind = "nic", node = 1, direction = "out", share = 0.5 }, "sends at 0.50 of its peers", "NIC, port or cable" },
   { { kind = "nic", node = 1, direction = "in", share = 0.5 }, "receives at 0.50" },
   { { kind = "nic", node = 1, direction = "both", share = 0.5 }, "sends and receives at 0.50" },
   { { kind = "host", node = 1, direction = "both", how = "both directions at once", share = 0.61 }, "moves 0.61",
      "both directions run at once" },
   { { kind = "host", node = 1, direction = "in", how = "loaded", share = 0.61 }, "receives at 0.61",
      "full rate alone" },
   { { kind = "latency", node = 1, us = 1.234 }, "adds 1.23 us" },
   { { kind = "silent", node = 1 }, "does not answer: no partner" },
   { { kind = "silent", node = 1, why = "it is gone" }, "does not answer: it is gone" },
   { { kind = "leaf_switch", leaf = 1, share = 0.7 }, "0.70", "leaf switch" },
   { { kind = "uplink_link", leaf = 1, direction = "up", share = 0.2, affected = 0.25 }, "up, carries 0.20",
      "25 % of the pairs" },
   { { kind = "uplink_link", leaf = 1, direction = "both", share = 0.2, affected = 1 }, "up and down, carries 0.20" },
   { { kind = "uplink_link", leaf = 1, direction = "down", share = 0.2 }, "down, carries 0.20" },
   { { kind = "uplink_lost", leaf = 1, direction = "down", share = 0.5 }, "down, carries 0.50", "links lost" },
   { { kind = "corrupt", from = 1, to = 2, why = "byte\27[2J\n7" }, " and ", "data was changed: byte?[2J?7" },
   { { kind = "route", from = 1, to = 2, direction = "out", share = 0.4 }, " to ", "0.40", "route" },
   { { kind = "route", from = 1, to = 2, direction = "both", share = 0.4 }, " and ", "0.40", "route" },
   { { kind = "leaf_overloaded", leaf = 1, share = 0.6 }, "all-to-all within", "receive 0.60",
      "the leaf switch is overloaded" },
}

function TestWords:test_each_kind_is_one_line()
   local net = hostile_net()
   local bad, leaf = number_of(net, HOSTILE), net.leaf[number_of(net, HOSTILE)]
   for _, case in ipairs(SAID) do
      local one = {}
      for field, value in pairs(case[1]) do
         one[field] = value
      end
      one.node, one.leaf = one.node and bad, one.leaf and leaf
      one.from, one.to = one.from and bad, one.to and number_of(net, "n5")
      local text = words.of(net, one)
      lu.assertNil(text:find("[^ -~]"), one.kind)
      lu.assertStrContains(text, "\\x1b")
      for k = 2, #case do
         lu.assertStrContains(text, case[k])
      end
   end
   local text = words.of(net, SAID[11][1])
   lu.assertNil(text:find("pairs tried"))
end

-- It may be what srun or MPI said.
function TestWords:test_why_a_node_is_silent_is_one_line_too()
   local text = words.of(hostile_net(), { kind = "silent", node = 1, why = "no\27[2J\nway" })
   lu.assertNil(text:find("[^ -~]"))
end

function TestWords:test_notes()
   local found = { near = { both = 10 }, leaves = { usual = 5 }, guessed = true }
   local net = hostile_net()
   local list = words.notes(net, found)
   lu.assertEquals(#list, 1)
   lu.assertStrContains(list[1], "reaches 0.50 of one within")
   lu.assertStrContains(list[1], "2.0:1; of two leaves, neither can be blamed")
   found.leaves.usual = 9
   lu.assertEquals(words.notes(net, found), {})
   found.leaves.usual = nil
   lu.assertEquals(words.notes(net, found), {})
   for i = 1, 8 do
      net.rate[i] = (i == number_of(net, HOSTILE) or net.names[i] == "n3") and 0.5 or i == number_of(net, "n1") and 0.25
         or 1
   end
   list = words.notes(net, found)
   lu.assertEquals(#list, 2)
   lu.assertStrContains(list[1], "n1: links of 0.25")
   lu.assertStrContains(list[2], "n3")
   lu.assertNil(list[2]:find("[^ -~]"))
   -- Rates that were given are nothing to tell.
   found.guessed = false
   lu.assertEquals(words.notes(net, found), {})
   net = simulated.net({ 2, 2, 2 })
   found.leaves.usual = 5
   lu.assertNil(words.notes(net, found)[1]:find("neither"))
end

-- What else is known of who is slow: of every kind, as names of links are no better than those of nodes.
function TestWords:test_what_is_known_beside()
   local net = hostile_net()
   local text = words.of(net, { kind = "nic", node = 1, direction = "in", share = 0.5, again_pct = 0.493,
      unlike = { "eth0 at 1 Gbit/s, 8 of 9 at 10 Gbit/s" } })
   lu.assertStrContains(text, "NIC, port or cable; eth0 at 1 Gbit/s, 8 of 9 at 10 Gbit/s; TCP sends 0.49 % of it again")
end

function TestWords:test_packets_lost()
   local text = words.of(simulated.net({ 2, 2 }), { kind = "nic", how = "loss", node = 1, direction = "in",
      share = 0.98, again_pct = 0.81 })
   lu.assertEquals(text, "l1n1: TCP sends 0.81 % of what is sent to it again, with every partner: packets are lost, "
      .. "its NIC, port or cable")
end

function TestWords:test_a_window()
   local net = simulated.net({ 2, 2 })
   local window = { whose = 3, buffer = "tcp_rmem", bytes = 64e3, rtt_us = 30000, rate = 17e6 / 8, link = 622e6 / 8,
      needs = 2.33e6 }
   lu.assertEquals(words.of(net, { kind = "window", node = 3, direction = "in", share = 0.03, window = window }),
      "l2n1 receives at 0.03 of its peers: TCP's window of 64 kB at 30 ms allows 17 of 622 Mbit/s: it needs 2.3 MB "
      .. "(net.ipv4.tcp_rmem of l2n1)")
   lu.assertStrContains(words.of(net, { kind = "window", from = 1, to = 3, direction = "out", share = 0.03,
      window = window }), "l1n1 to l2n1: 0.03 of other pairs: TCP's window")
end

TestShow = {}

local function answer_of(net, world)
   local out = assert(session.run(net, simulated.measure(net, world), { seed = 2 }))
   out.net, out.notes, out.seed, out.seconds, out.about = net, {}, 2, 1.5, {}
   explain.all(out)
   return out
end

local function hostile_answer(world)
   local net = hostile_net()
   local bad = number_of(net, HOSTILE)
   world = world or { out = { [bad] = 5 }, ["in"] = { [bad] = 5 } }
   local out = answer_of(net, world)
   out.notes = { "a note\27[31m\nof two lines" }
   return out, bad
end

function TestShow:test_a_terminal_obeys_nothing()
   local text = show.table((hostile_answer()))
   lu.assertNil(text:find("[^ -~\n]"))
   local lines = {}
   for line in text:gmatch("[^\n]+") do
      lines[#lines + 1] = line
   end
   lu.assertStrContains(lines[1], "8 nodes at 2 leaves, ")
   lu.assertStrContains(lines[1], "seed 2")
   lu.assertEquals(lines[2], "note: a note?[31m?of two lines")
   lu.assertStrContains(lines[3], "fault: n\\x1b[31m")
   lu.assertEquals(#lines, 3)
   lu.assertStrContains(show.table((hostile_answer()), true), "\27[31mfault: n\\x1b")
end

function TestShow:test_patterns()
   local answer = answer_of(simulated.net({ 4, 4 }), {})
   answer.patterns = { leaves = { 0.98 }, errors = {}, packed_gbs = 0.0237, striped_gbs = 1.25, allreduce_us = 41.26,
      allreduce_steps = 3, allreduce_least_us = 9 }
   lu.assertStrContains(show.table(answer), "\nall-to-all of 35 kB: a node receives 23.7 MB/s in groups within a leaf, "
      .. "1.25 GB/s in groups across; allreduce of 8 bytes: 41.3 us, 3 messages in a row take 9 us\n")
   local got = json.decode(show.json(answer))
   lu.assertEquals({ got.alltoall_packed_gbs, got.alltoall_striped_gbs, got.allreduce_us, got.allreduce_least_us },
      { 0.0237, 1.25, 41.26, 9 })
   lu.assertEquals({ got.leaves[1].packed_ratio, got.leaves[2].packed_ratio }, { 0.98 })
   answer.patterns = { leaves = {}, errors = { "no\27answer" }, packed_gbs = 2 }
   lu.assertStrContains(show.table(answer), "within a leaf\nnote: all-to-all and allreduce: no?answer\n")
   answer.patterns = { leaves = {}, errors = {} }
   lu.assertNil(show.table(answer):find("all-to-all", 1, true))
   lu.assertNil(json.decode(show.json(answer)).allreduce_us)
end

function TestShow:test_nothing_to_say()
   local function last(answer)
      return show.table(answer):match("[^\n]*$")
   end
   lu.assertEquals(last(answer_of(simulated.net({ 4, 4 }), {})), "no node, link or route stands out")
   local answer = answer_of(simulated.net({ 4, 4 }), {})
   answer.unconfirmed = 2
   lu.assertEquals(last(answer), "no node, link or route stands out (2 suspected, not confirmed)")
   -- A collision of one run is no fault.
   answer.findings = { { kind = "collision", from = 1, to = 5, share = 0.5 } }
   lu.assertStrContains(last(answer), "no node, link or route stands out")
   lu.assertStrContains(show.table(answer_of(simulated.net(5), {})), "5 nodes, no topology known, ")
   lu.assertStrContains(show.table(answer_of(simulated.net({ 5 }), {})), "5 nodes at 1 leaf, ")
   lu.assertStrContains(last(answer_of(simulated.net(2), { out = { 5 } })), "two nodes: ")
   lu.assertStrContains(show.table(answer_of(simulated.net({ 3 }), {})), "10 GB/s within a leaf; latency 2 us within")
end

function TestShow:test_who_had_no_turn()
   local answer = answer_of(simulated.net({ 4, 4 }), { out = { 5 } })
   answer.unconfirmed = 4
   answer.untried = { { kind = "node", node = 6 }, { kind = "leaf", leaf = 2 },
      { kind = "path", flow = { from = 7, to = 8 } } }
   local text = show.table(answer)
   lu.assertStrContains(text, "\nnote: suspected, and no turn left to be measured again: l2n2, leaf l2, 1 pair; ")
   lu.assertStrContains(text, "\n4 more suspected, not confirmed")
   lu.assertStrContains(json.decode(show.json(answer)).notes[1], "l2n2, leaf l2, 1 pair")
end

-- Odd ones are paired across: what these reach is nothing that is reached within a leaf.
function TestShow:test_a_pair_within_and_across()
   local function first(sizes, uplinks)
      return show.table(answer_of(simulated.net(sizes), { up = uplinks, down = uplinks })):match("a pair: ([^;]*)")
   end
   lu.assertEquals(first({ 3, 3, 3 }, { 5, 5, 5 }):match("^[%d.]+ GB/s within a leaf"), "10 GB/s within a leaf")
   lu.assertNil(first({ 1, 1, 1, 1 }, { 10, 10, 10, 10 }):find("within"))
end

-- Who was lost on the way is at the end of the names, without anything measured, as run.lua puts him there.
function TestShow:test_who_was_lost()
   local answer = answer_of(simulated.net({ 3, 3 }), {})
   answer.net.names[7] = HOSTILE
   table.insert(answer.findings, 1, { kind = "silent", node = 7, why = "gone\27[0m" })
   lu.assertNil(show.table(answer):find("[^ -~\n]"))
   local got = json.decode(show.json(answer))
   lu.assertEquals({ got.findings[1].kind, got.nodes[7].leaf }, { "silent" })
   lu.assertEquals(got.nodes[6].leaf, "l2")
end

function TestShow:test_json()
   local answer, bad = hostile_answer()
   local text = show.json(answer)
   lu.assertNil(text:find("[^ -~]"))
   local got = json.decode(text)
   lu.assertEquals({ got.v, got.seed, got.seconds, got.unconfirmed }, { 1, 2, 1.5, answer.unconfirmed })
   lu.assertEquals({ #got.nodes, #got.leaves, #got.findings, #got.notes }, { 8, 2, 1, 1 })
   local one = got.findings[1]
   lu.assertEquals({ one.kind, one.direction, one.node }, { "nic", "both", "n\27[31m\"\n,=1\u{FFFD}" })
   lu.assertStrContains(one.text, "\\x1b")
   lu.assertAlmostEquals(one.share, 0.5, 0.05)
   lu.assertAlmostEquals(got.nodes[bad].out_ratio, 0.5, 0.05)
   lu.assertEquals(got.nodes[bad].leaf, BAD_LEAF)
   local n, rounds = 0, 0
   for _, part in ipairs({ answer, answer.again }) do
      for _, round in ipairs(part.rounds) do
         n, rounds = n + #round.pairs, rounds + 1
      end
   end
   lu.assertEquals(#got.pairs, n)
   lu.assertEquals(got.pairs[n].round, rounds)
   lu.assertAlmostEquals(got.pairs[1].lat_us, got.pairs[1].hops + 1, 0.1)
   -- What is empty is a list.
   text = show.json(answer_of(simulated.net(4), {}))
   for _, list in ipairs({ "findings", "leaves", "notes" }) do
      lu.assertStrContains(text, ('"%s":[]'):format(list))
   end
   lu.assertNil(json.decode(text).nodes[1].leaf)
end

function TestShow:test_json_of_each_kind()
   local answer = hostile_answer()
   answer.findings = {}
   for k, case in ipairs(SAID) do
      answer.findings[k] = case[1]
   end
   answer.findings[#SAID + 1] = { kind = "collision", from = 1, to = 2, share = 0.5 }
   local got = json.decode(show.json(answer)).findings
   for k, case in ipairs(SAID) do
      for _, field in ipairs({ "kind", "direction", "share", "us", "how", "affected", "why" }) do
         lu.assertEquals(got[k][field], case[1][field])
      end
      lu.assertEquals({ got[k].node ~= nil, got[k].leaf ~= nil, got[k].from ~= nil, got[k].to ~= nil },
         { case[1].node ~= nil, case[1].leaf ~= nil, case[1].from ~= nil, case[1].to ~= nil })
   end
   lu.assertNil(got[#SAID + 1].text)
   lu.assertEquals(got[#SAID + 1].kind, "collision")
end

function TestShow:test_csv_is_a_line_a_pair()
   local answer = hostile_answer({ silent = { [2] = true } })
   local text, n, lines = show.csv(answer), 0, {}
   for _, part in ipairs({ answer, answer.again }) do
      for _, round in ipairs(part.rounds) do
         n = n + #round.pairs
      end
   end
   lu.assertNil(text:gsub("\r\n", ""):find("[%c\127]"))
   for line in text:gmatch("(.-)\r\n") do
      lines[#lines + 1] = line
   end
   lu.assertEquals(#lines, n + 1)
   lu.assertEquals(lines[1], "round,kind,a,b,hops,lat_us,ab_gbs,ba_gbs,both_ab_gbs,both_ba_gbs,error,rail,shard")
   local silent = 0
   for k = 2, #lines do
      lu.assertNotNil(lines[k]:find("^%d+,%l+,"))
      silent = silent + (lines[k]:find(",,,,,no answer,,$") and 1 or 0)
   end
   lu.assertTrue(silent > 0)
end

-- Which rail it was is in each answer's title, in each finding, and in columns.
function TestShow:test_rails()
   local answers = {}
   for k = 1, 2 do
      answers[k] = hostile_answer({})
      answers[k].rail = k
      answers[k].findings = { { kind = "nic", node = 1, direction = "in", share = 0.6, rail = k, port = "mlx5_1/1" } }
   end
   answers[2].shard = 3
   local text = show.all("table", answers)
   lu.assertStrContains(text, "rail 1, ")
   lu.assertStrContains(text, "\nrail 2, shard 3, ")
   lu.assertStrContains(text, "fault: rail 2 (mlx5_1/1): ")
   lu.assertStrContains(show.all("csv", answers), ",2,3\r\n")
   lu.assertStrContains(show.all("json", answers), '"rail":2')
end

TestNet = {}

function TestNet:test_nodes_by_their_numbers()
   local net = network.new({ "n10", "n9", "n1" }, { leaf = { n1 = "b", n10 = "a", n9 = "b" } })
   lu.assertEquals(net.names, { "n1", "n9", "n10" })
   lu.assertEquals(net.leaf, { 1, 1, 2 })
   lu.assertEquals(net.leaves, { { name = "b", members = { 1, 2 } }, { name = "a", members = { 3 } } })
   lu.assertEquals({ net.hops(1, 2), net.hops(1, 3), net.known }, { 1, 2, true })
end

-- A node that the topology does not name is a leaf for itself, nobody's neighbour.
function TestNet:test_what_the_topology_does_not_say()
   local net = network.new({ "a", "b", "c", "d" }, { leaf = { a = "s" }, hops = function(p, q)
      return (p == "s" or q == "s") and 3 or nil
   end }, { a = 100, c = 200 })
   lu.assertEquals(net.leaf, { 1, 2, 3, 4 })
   lu.assertEquals({ net.hops(1, 2), net.hops(2, 3) }, { 3, 2 })
   lu.assertEquals(net.rate, { [1] = 100, [3] = 200 })
   net = network.new({ "a", "b" })
   lu.assertEquals({ #net.leaves, net.hops(1, 2), net.known, net.rate }, { 1, 1, false, {} })
   lu.assertEquals(network.new({}).names, {})
end

function TestNet:test_it_does_not_keep_what_it_was_given()
   local names = { "b", "a" }
   local net = network.new(names)
   lu.assertEquals({ names, net.names }, { { "b", "a" }, { "a", "b" } })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
