-- Who is suspected of what was measured: nodes, latency, leaves and paths, link rates.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local latency = require("syscheck.fabric.latency")
local nodes = require("syscheck.fabric.nodes")
local rates = require("syscheck.fabric.rates")
local samples = require("syscheck.fabric.samples")
local schedule = require("syscheck.fabric.schedule")
local simulated = require("simulated")
local suspects = require("syscheck.fabric.suspects")

-- What the first rounds of a run give.
local function measured(net, world, all)
   local rounds = schedule.build(net, world.seed or 1, all)
   return samples.of(net, rounds, simulated.measure(net, world)(rounds))
end

local function sorted(set)
   local out = {}
   for key in pairs(set) do
      out[#out + 1] = key
   end
   table.sort(out)
   return out
end

-- Each of a few seeds, which are other partners and other noise.
local function seeds(f)
   for seed = 1, 8 do
      f(seed)
   end
end

TestNodes = {}

local function find(net, world)
   local m = measured(net, world)
   samples.normalise(net, m.flows)
   local first = nodes.find(net, m.flows)
   samples.normalise(net, m.flows, function(node)
      return first.blamed[node] ~= nil
   end)
   return nodes.find(net, m.flows), m.flows
end

function TestNodes:test_a_slow_sender_and_a_slow_receiver()
   for _, sizes in ipairs({ 16, { 8, 8 }, { 5, 4, 7 } }) do
      seeds(function(seed)
         local found = find(simulated.net(sizes), { out = { [3] = 6 }, noise = 0.02, seed = seed })
         lu.assertEquals(found.order, { 3 })
         lu.assertEquals(found.blamed[3].aspect, "out")
         lu.assertAlmostEquals(found.blamed[3].share, 0.6, 0.03)
         lu.assertAlmostEquals(found.scores["in"][3], 1, 0.05)
         found = find(simulated.net(sizes), { ["in"] = { [11] = 7 }, noise = 0.02, seed = seed })
         lu.assertEquals(found.order, { 11 })
         lu.assertEquals(found.blamed[11].aspect, "in")
         lu.assertAlmostEquals(found.scores.out[11], 1, 0.05)
         found = find(simulated.net(sizes), { both = { [2] = 6 }, noise = 0.02, seed = seed })
         lu.assertEquals(found.order, { 2 })
         lu.assertStrContains(found.blamed[2].aspect, "both_")
         lu.assertAlmostEquals(found.scores.out[2], 1, 0.05)
      end)
   end
end

-- The worst first; who was with them is not one of them, also where all of one's partners are slow.
function TestNodes:test_the_worst_first_and_their_partners_not()
   seeds(function(seed)
      local found = find(simulated.net(12), { out = { [2] = 8, [7] = 4 }, ["in"] = { [2] = 8, [7] = 4, [9] = 6 },
         noise = 0.02, seed = seed })
      lu.assertEquals(found.order, { 7, 9, 2 })
   end)
end

-- Hand-made: 1 has met three partners, of which two are slow; they met others, too.
local function flow(a, b, share)
   return { from = a, to = b, class = "within 1", round = 1, phase = 1, one = share, one_share = share }
end

local function hand(n, list)
   local flows = {}
   for _, one in ipairs(list) do
      flows[#flows + 1] = flow(one[1], one[2], one[3])
      flows[#flows + 1] = flow(one[2], one[1], one[3])
   end
   return nodes.find(simulated.net(n), flows)
end

function TestNodes:test_a_victim_of_two()
   local list = {}
   for a = 9, 16 do
      for b = a + 1, 16 do
         list[#list + 1] = { a, b, 1 }
      end
   end
   for _, one in ipairs({ { 1, 2, 0.5 }, { 1, 3, 0.5 }, { 1, 4, 1 }, { 2, 5, 0.5 }, { 2, 6, 0.5 }, { 2, 4, 0.5 },
      { 3, 7, 0.5 }, { 3, 8, 0.5 }, { 3, 5, 0.5 }, { 4, 6, 1 }, { 5, 7, 1 }, { 6, 8, 1 }, { 7, 8, 1 }, { 5, 6, 1 },
      { 4, 7, 1 }, { 1, 8, 1 } }) do
      list[#list + 1] = one
   end
   local found = hand(16, list)
   lu.assertItemsEquals(found.order, { 2, 3 })
   lu.assertEquals(found.scores.out[1], 1)
end

function TestNodes:test_three_nodes()
   lu.assertEquals(hand(3, { { 1, 2, 0.5 }, { 1, 3, 0.5 }, { 2, 3, 1 } }).order, { 1 })
   seeds(function(seed)
      for slow = 1, 3 do
         lu.assertEquals(find(simulated.net(3), { out = { [slow] = 5 }, ["in"] = { [slow] = 5 }, noise = 0.01,
            seed = seed }).order, { slow }, "seed " .. seed)
      end
   end)
end

-- Whom they met twice says no more than whom they met once: 3 is slow, not 1, nor 2.
function TestNodes:test_three_nodes_that_met_unevenly()
   lu.assertEquals(hand(3, { { 3, 2, 0.5 }, { 3, 1, 0.499 }, { 2, 1, 1 }, { 3, 2, 0.5 }, { 3, 1, 0.499 } }).order,
      { 3 })
end

function TestNodes:test_two_slow_nodes_that_are_partners()
   -- 1 and 2 are slow, and met; so did 3 with both.
   local found = hand(6, { { 1, 2, 0.5 }, { 1, 3, 0.6 }, { 1, 4, 0.6 }, { 2, 3, 0.5 }, { 2, 5, 0.5 }, { 3, 4, 1 },
      { 3, 6, 1 }, { 4, 5, 1 }, { 5, 6, 1 }, { 4, 6, 1 } })
   lu.assertEquals(found.order, { 2, 1 })
   lu.assertEquals(found.blamed[1].share, 0.6)
   seeds(function(seed)
      lu.assertItemsEquals(find(simulated.net(8), { out = { [1] = 5, [2] = 6 }, noise = 0.02, seed = seed }).order,
         { 1, 2 })
   end)
end

-- Two to a leaf: one partner says nothing of who it is, those of other leaves do.
function TestNodes:test_small_leaves()
   seeds(function(seed)
      for _, sizes in ipairs({ { 2, 2, 2, 2, 2, 2 }, { 1, 1, 1, 1, 1, 1 }, { 3, 2, 1, 2 } }) do
         local found = find(simulated.net(sizes), { out = { [4] = 5 }, ["in"] = { [4] = 5 }, noise = 0.01,
            seed = seed })
         lu.assertEquals(found.order, { 4 }, table.concat(sizes, " ") .. ", seed " .. seed)
      end
   end)
end

-- Uplinks that carry little make nobody of small leaves slow, of whom one partner within says that he is not.
function TestNodes:test_load_between_leaves_is_no_node_s()
   seeds(function(seed)
      local up = {}
      for l = 1, 6 do
         up[l] = 8
      end
      lu.assertEquals(find(simulated.net({ 2, 2, 2, 2, 2, 2 }), { up = up, noise = 0.02, seed = seed }).order, {})
      lu.assertEquals(find(simulated.net({ 6, 6, 6 }), { up = { 25, 25, 25 }, noise = 0.02, seed = seed }).order, {})
   end)
end

function TestNodes:test_noise_is_nobody()
   seeds(function(seed)
      for _, noise in ipairs({ 0, 0.02, 0.04 }) do
         for _, sizes in ipairs({ 2, 3, 5, 32, { 8, 8, 8 }, { 2, 2, 2, 2 } }) do
            lu.assertEquals(find(simulated.net(sizes), { noise = noise, seed = seed }).order, {}, noise)
         end
      end
   end)
   -- Much noise makes nobody slow where there are many, nor hides who is.
   seeds(function(seed)
      lu.assertEquals(find(simulated.net(32), { noise = 0.05, seed = seed }).order, {})
      lu.assertEquals(find(simulated.net(32), { out = { [3] = 8 }, noise = 0.05, seed = seed }).order, { 3 })
   end)
   -- A hair within the tolerance, and a hair without.
   local function one(share)
      return hand(5, { { 1, 2, share }, { 1, 3, share }, { 1, 4, share }, { 2, 3, 1 }, { 3, 4, 1 }, { 4, 5, 1 },
         { 2, 5, 1 }, { 3, 5, 1 }, { 2, 4, 1 } }).order
   end
   lu.assertEquals(one(0.926), {})
   lu.assertEquals(one(0.924), { 1 })
end

function TestNodes:test_nothing_measured()
   local found = nodes.find(simulated.net(4), {})
   lu.assertEquals({ found.order, found.blamed, found.scores.out }, { {}, {}, {} })
end

TestSamples = {}

function TestSamples:test_flows_and_silence()
   local net = simulated.net({ 2, 1 })
   local m = samples.of(net, { { kind = "within", pairs = { { 1, 2 } } }, { kind = "across", pairs = { { 3, 1 } } },
      { kind = "across", pairs = { { 2, 3 } } } }, {
      { { lat_us = 2, ab_gbs = 5, ba_gbs = 6, both_ab_gbs = 4, wrong = "x" } }, { { error = "gone", lat_us = 3 } } })
   lu.assertEquals(m, { flows = {
      { from = 1, to = 2, round = 1, class = "within 1", phase = 1, one = 5, both = 4 },
      { from = 2, to = 1, round = 1, class = "within 1", phase = 2, one = 6 } },
      latencies = { { a = 1, b = 2, hops = 1, us = 2 }, { a = 3, b = 1, hops = 2, us = 3 } },
      silent = { { a = 3, b = 1, round = 2, error = "gone" }, { a = 2, b = 3, round = 3, error = "no answer" } },
      wrong = { { a = 1, b = 2, text = "x" } } })
end

-- Nobody is slow for the link that he has, nor for whom he talks with.
function TestSamples:test_shares_of_what_links_are_made_for()
   local net = simulated.net(4)
   net.rate = { 10, 10, 5, 5 }
   local flows = { { from = 1, to = 2, class = "within 1", one = 9 },
      { from = 1, to = 3, class = "within 1", one = 4.5 },
      { from = 3, to = 4, class = "within 1", one = 4.5 }, { from = 4, to = 2, class = "within 1", one = 2.25 },
      { from = 1, to = 2, class = "across 2", one = 3 }, { from = 1, to = 2, class = "across 3", one = 1 } }
   local reference = samples.normalise(net, flows)
   lu.assertEquals(reference["within 1"].one, 0.9)
   for k, share in ipairs({ 1, 1, 1, 0.5, 1, 1 }) do
      lu.assertAlmostEquals(flows[k].one_share, share, 1e-9)
   end
   lu.assertNil(flows[1].both_share)
   -- Half of them slow: with their names it is the others that count.
   flows = { { from = 1, to = 2, class = "within 1", one = 10 }, { from = 3, to = 4, class = "within 1", one = 2 },
      { from = 4, to = 3, class = "within 1", one = 2 } }
   samples.normalise(net, flows, function(node)
      return node > 2
   end)
   lu.assertEquals(flows[1].one_share, 1)
   -- A rate of nothing is no reference.
   flows = { { from = 1, to = 2, class = "within 1", one = 0 } }
   samples.normalise(net, flows)
   lu.assertNil(flows[1].one_share)
end

TestLatency = {}

-- Hand-made: all pairs of a net, hops as it has them.
local function all_pairs(net, us)
   local list = {}
   for a = 1, #net.names do
      for b = a + 1, #net.names do
         list[#list + 1] = { a = a, b = b, hops = net.hops(a, b), us = us(a, b) }
      end
   end
   return list
end

function TestLatency:test_effects_are_recovered()
   local added = { [2] = 1, [5] = 3, [11] = 0.5 }
   local net = simulated.net({ 5, 5, 5 }, function(a, b)
      return (a == "l3" or b == "l3") and 3 or 2
   end)
   for _, list in ipairs({ all_pairs(net, function(a, b)
      return simulated.US[net.hops(a, b)] + (added[a] or 0) + (added[b] or 0)
   end), measured(net, { latency = added }).latencies }) do
      local found = latency.find(net, list)
      for i = 1, #net.names do
         lu.assertAlmostEquals(found.added[i], added[i] or 0, 0.01)
      end
      for hops, us in ipairs(simulated.US) do
         lu.assertAlmostEquals(found.mu[hops], us, 0.02)
      end
      lu.assertEquals(found.order, { 5, 2, 11 })
      lu.assertEquals(sorted(found.blamed), { 2, 5, 11 })
   end
end

function TestLatency:test_noise_and_outliers_are_nobody()
   seeds(function(seed)
      for _, sizes in ipairs({ 3, 8, { 6, 6 }, { 2, 2, 2, 2, 2 } }) do
         lu.assertEquals(latency.find(simulated.net(sizes), measured(simulated.net(sizes),
            { noise = 0.03, seed = seed }).latencies).order, {})
      end
      local net, noise = simulated.net({ 6, 6 }), simulated.noise(seed)
      local list = all_pairs(net, function(a, b)
         return simulated.US[net.hops(a, b)] * (1 + 0.01 * noise()) + ((a == 3 and b == 8) and 40 or 0)
            + (a == 4 and 1 or 0) + (b == 4 and 1 or 0)
      end)
      local found = latency.find(net, list)
      lu.assertEquals(found.order, { 4 })
      lu.assertAlmostEquals(found.added[4], 1, 0.1)
   end)
   local few = measured(simulated.net(12), {}).latencies
   few[7].us = 50
   lu.assertEquals(latency.find(simulated.net(12), few).order, {})
end

-- Three nodes, each pair once or twice: what one pair's messages took differed by 4 us, and n2 was named.
function TestLatency:test_few_nodes_and_what_one_pair_scatters_by()
   local net = simulated.net(3)
   local function named(us)
      local list = {}
      for k, p in ipairs({ { 2, 3 }, { 2, 1 }, { 3, 1 }, { 2, 3 }, { 2, 1 } }) do
         list[k] = { a = p[1], b = p[2], hops = 1, us = us[k] }
      end
      return latency.find(net, list).order
   end
   lu.assertEquals(named({ 9.494, 13.485, 9.60175, 13.495, 9.1435 }), {})
   lu.assertEquals(named({ 13.4, 13.6, 9.6, 13.5, 13.4 }), { 2 })
end

-- Of 2 us a tenth is nothing, a fifth is something; of what scatters by more it is nothing.
function TestLatency:test_how_much_is_too_much()
   local net = simulated.net(10)
   for _, case in ipairs({ { 0.2, {} }, { 0.4, { 3 } } }) do
      lu.assertEquals(latency.find(net, measured(net, { latency = { [3] = case[1] } }).latencies).order, case[2])
   end
   seeds(function(seed)
      lu.assertEquals(latency.find(net, measured(net, { noise = 0.3, seed = seed }).latencies).order, {})
   end)
end

function TestLatency:test_two_nodes_and_none()
   local found = latency.find(simulated.net(2), { { a = 1, b = 2, hops = 1, us = 2 },
      { a = 2, b = 1, hops = 1, us = 9 } })
   lu.assertEquals({ found.order, found.blamed }, { {}, {} })
   found = latency.find(simulated.net(4), {})
   lu.assertEquals({ found.order, found.mu, found.added, found.sigma }, { {}, {}, {}, 0 })
end

function TestLatency:test_three_nodes()
   local found = latency.find(simulated.net(3), all_pairs(simulated.net(3), function(a, b)
      return 2 + ((a == 2 or b == 2) and 1 or 0)
   end))
   lu.assertEquals(found.order, { 2 })
   lu.assertAlmostEquals(found.added[2], 1, 0.05)
end

-- What is the network's is nobody's: all add the same.
function TestLatency:test_what_all_have_is_the_network_s()
   local net, added = simulated.net(8), {}
   for i = 1, 8 do
      added[i] = 5
   end
   local found = latency.find(net, measured(net, { latency = added }).latencies)
   lu.assertEquals(found.order, {})
   lu.assertAlmostEquals(found.mu[1], 12, 0.01)
end

TestLeaves = {}

-- @return { "1 up", ... } worst first, and what else was found
local function blame(sizes, world, all)
   local net = simulated.net(sizes)
   local m = measured(net, world, all)
   local found = suspects.find(net, m)
   local out = {}
   for k, one in ipairs(found.leaves.blamed) do
      out[k] = one.leaf .. " " .. one.direction
   end
   return out, found.leaves, found, net
end

local THREE, EIGHT = { 8, 8, 8 }, { 8, 8, 8, 8, 8, 8, 8, 8 }

function TestLeaves:test_an_uplink_at_half_its_rate()
   for _, sizes in ipairs({ THREE, EIGHT }) do
      seeds(function(seed)
         local what = #sizes .. " leaves, seed " .. seed
         local got, found = blame(sizes, { up = { [2] = 40 }, noise = 0.02, seed = seed })
         lu.assertEquals(got, { "2 up" }, what)
         lu.assertAlmostEquals(found.blamed[1].share, 0.5, 0.08, what)
         lu.assertAlmostEquals(found.scores.down[2], 1, 0.06, what)
         lu.assertEquals(blame(sizes, { down = { [3] = 40 }, noise = 0.02, seed = seed }), { "3 down" }, what)
         got = blame(sizes, { up = { [1] = 40 }, down = { [1] = 30 }, noise = 0.02, seed = seed })
         lu.assertEquals(got, { "1 down", "1 up" }, what)
      end)
   end
end

function TestLeaves:test_of_two_leaves_neither()
   seeds(function(seed)
      local got, found = blame({ 8, 8 }, { up = { 40, 30 }, down = { 60, 40 }, noise = 0.02,
         seed = seed })
      lu.assertEquals(got, {})
      lu.assertTrue(found.usual < 0.75 * simulated.BOTH)
   end)
   lu.assertEquals(blame({ 16 }, { noise = 0.02 }), {})
   lu.assertEquals(blame(16, { noise = 0.02 }), {})
end

function TestLeaves:test_oversubscribed_everywhere_is_nobody()
   seeds(function(seed)
      for _, sizes in ipairs({ THREE, EIGHT, { 8, 4, 8, 6, 8, 8 } }) do
         local up, down = {}, {}
         for l, size in ipairs(sizes) do
            up[l], down[l] = 5 * size, 5 * size
         end
         lu.assertEquals(blame(sizes, { up = up, down = down, noise = 0.02, seed = seed }), {},
            table.concat(sizes, " ") .. ", seed " .. seed)
      end
   end)
   -- And one that has less than the others.
   seeds(function(seed)
      local up = { 40, 40, 40, 40, 20, 40, 40, 40 }
      lu.assertItemsEquals(blame(EIGHT, { up = up, down = up, noise = 0.02, seed = seed }), { "5 down", "5 up" },
         "seed " .. seed)
   end)
end

-- Uplinks that differ from each other by a few per cent, all of them: nobody.
function TestLeaves:test_uplinks_that_scatter()
   seeds(function(seed)
      lu.assertEquals(blame(EIGHT, { up = { 40, 36, 44, 38, 42, 40, 39, 41 }, noise = 0.02, seed = seed }), {})
   end)
end

function TestLeaves:test_noise_is_no_path()
   seeds(function(seed)
      local _, found = blame({ 6, 6, 6 }, { noise = 0.03, seed = seed })
      lu.assertEquals(found.paths, {})
   end)
end

-- Few large leaves on uplinks that are too small for them, beside many small ones that need no more than they get.
function TestLeaves:test_few_large_leaves_are_made_so()
   local sizes, up = {}, {}
   for l = 1, 60 do
      sizes[l], up[l] = l <= 5 and 16 or 2, l <= 5 and 96 or 100
   end
   for seed = 1, 3 do
      lu.assertEquals(blame(sizes, { up = up, down = up, noise = 0.02, seed = seed }), {}, "seed " .. seed)
   end
end

-- Few lost half of their links, all others carry what their nodes can: they are no measure of each other.
function TestLeaves:test_few_that_lost_links_are_no_measure()
   local sizes, up = {}, {}
   for l = 1, 160 do
      sizes[l], up[l] = 8, l <= 12 and 40 or 100
   end
   local found = {}
   for _, name in ipairs(blame(sizes, { up = up, down = up, noise = 0.02, seed = 1 })) do
      found[tonumber(name:match("%d+"))] = true
   end
   lu.assertEquals(#found, 12)
end

-- One leaf has fewer nodes of the job: it needs no more than it gets.
function TestLeaves:test_a_small_leaf_is_no_bad_one()
   seeds(function(seed)
      for _, sizes in ipairs({ { 8, 8, 8, 2 }, { 8, 8, 8, 8, 8, 1 }, { 6, 5, 4, 3, 2, 1 } }) do
         lu.assertEquals(blame(sizes, { noise = 0.02, seed = seed }), {}, table.concat(sizes, " "))
      end
   end)
end

function TestLeaves:test_a_slow_path_is_a_path()
   local net = simulated.net({ 6, 6, 6 })
   local hit = 0
   seeds(function(seed)
      -- A pair that meets in these rounds.
      local p
      for _, round in ipairs(schedule.build(net, seed)) do
         p = p or round.kind == "across" and net.leaf[round.pairs[1][1]] ~= net.leaf[round.pairs[1][2]]
            and round.pairs[1] or nil
      end
      local got, found, all = blame({ 6, 6, 6 }, { path = { [p[1] .. " " .. p[2]] = 3 }, noise = 0.02,
         seed = seed })
      lu.assertEquals(got, {})
      lu.assertEquals(all.nodes.order, {})
      lu.assertEquals({ found.paths[1].from, found.paths[1].to }, { p[1], p[2] })
      for _, one in ipairs(found.paths) do
         lu.assertEquals({ one.from, one.to }, { p[1], p[2] })
      end
      lu.assertAlmostEquals(found.paths[1].share, 0.3, 0.05)
      hit = hit + 1
   end)
   lu.assertEquals(hit, 8)
end

-- A slow node's flows are no paths, nor its leaf's uplink.
function TestLeaves:test_a_slow_node_is_no_leaf()
   seeds(function(seed)
      local got, found, all = blame({ 6, 6, 6 }, { out = { [4] = 3 }, ["in"] = { [4] = 3 }, noise = 0.02, seed = seed })
      lu.assertEquals({ got, found.paths, all.nodes.order }, { {}, {}, { 4 } })
   end)
end

TestRates = {}

local function guess(sizes, world)
   local net = simulated.net(sizes)
   return rates.guess(net, measured(net, world).flows)
end

local function caps(n, is_slow, rate)
   local out = {}
   for i = 1, n do
      out[i] = is_slow(i) and rate or nil
   end
   return out
end

function TestRates:test_two_rates_scattered_and_by_leaf()
   seeds(function(seed)
      for what, is_slow in pairs({ scattered = function(i)
         return i % 3 == 0
      end, ["by leaf"] = function(i)
         return i <= 16
      end }) do
         local slow = caps(32, is_slow, 5)
         local rate = guess({ 8, 8, 8, 8 }, { out = slow, ["in"] = slow, noise = 0.02, seed = seed })
         lu.assertNotNil(rate, what)
         for i = 1, 32 do
            lu.assertAlmostEquals(rate[i], is_slow(i) and 0.5 or 1, 0.04, what)
         end
      end
   end)
   lu.assertNil(guess(32, { noise = 0.03 }))
   -- Four of 32 that are alike are a rate, three are trouble.
   local few = { [2] = 5, [11] = 5, [19] = 5 }
   lu.assertNil(guess(32, { out = few, ["in"] = few, noise = 0.01 }))
   few[30] = 5
   lu.assertAlmostEquals(guess(32, { out = few, ["in"] = few, noise = 0.01 })[11], 0.5, 0.03)
end

-- Few, each as slow as it happens to be; and as many as there are, 15 % slow.
function TestRates:test_slow_nodes_are_no_rate()
   seeds(function(seed)
      local slow = { [3] = 8.5, [9] = 8.5, [20] = 8.5 }
      lu.assertNil(guess({ 16, 16 }, { out = slow, ["in"] = slow, noise = 0.02, seed = seed }))
      lu.assertNil(guess(32, { out = slow, ["in"] = slow, noise = 0.02, seed = seed }))
   end)
end

function TestRates:test_one_slow_leaf_is_no_rate()
   seeds(function(seed)
      lu.assertNil(guess({ 8, 8, 8, 8 }, { switch = { [2] = 5 }, out = caps(32, function(i)
         return i > 8 and i <= 16
      end, 5), ["in"] = caps(32, function(i)
         return i > 8 and i <= 16
      end, 5), noise = 0.02, seed = seed }))
   end)
end

-- What links say is believed: as many as can be slow by themselves where all say the same, one leaf of another
-- rate.
function TestRates:test_what_links_say()
   local slow = caps(16, function(i)
      return i % 4 == 0
   end, 5)
   local net = simulated.net({ 8, 8 })
   local m = measured(net, { out = slow, ["in"] = slow, noise = 0.01 })
   local found = suspects.find(net, m)
   lu.assertTrue(found.guessed)
   lu.assertEquals(found.nodes.order, {})
   for i = 1, 16 do
      net.rate[i] = 100
   end
   found = suspects.find(net, m)
   lu.assertFalse(found.guessed)
   table.sort(found.nodes.order)
   lu.assertEquals(found.nodes.order, { 4, 8, 12, 16 })
   -- They are alike, all the same: rating takes nobody out of service for that.
   lu.assertAlmostEquals(found.alike[8], 0.5, 0.03)
   local leaf = caps(32, function(i)
      return i <= 8
   end, 2.5)
   net = simulated.net({ 8, 8, 8, 8 })
   m = measured(net, { out = leaf, ["in"] = leaf, noise = 0.01 })
   lu.assertNotEquals(suspects.find(net, m).leaf, {})
   for i = 1, 32 do
      net.rate[i] = i <= 8 and 25 or 100
   end
   found = suspects.find(net, m)
   lu.assertEquals({ found.list, found.leaf }, { {}, {} })
   lu.assertNil(found.alike)
end

-- Few that say another rate are what is wrong: a link that came up with half of its lanes.
function TestRates:test_a_lower_rate_of_few_is_trouble()
   local net, slow = simulated.net({ 8, 8 }), { [3] = 5 }
   for i = 1, 16 do
      net.rate[i] = i == 3 and 50 or 100
   end
   lu.assertEquals(suspects.find(net, measured(net, { out = slow, ["in"] = slow, noise = 0.01 })).nodes.order, { 3 })
end

-- One connection does not fill the faster ones, or goes by another port than the one that says its rate.
function TestRates:test_how_much_faster_is_measured()
   for reached, is_slow in pairs({ [6] = true, [10] = true }) do
      local slow = caps(16, function(i)
         return is_slow and i % 2 == 0
      end, reached)
      local net = simulated.net({ 8, 8 })
      for i = 1, 16 do
         net.rate[i] = i % 2 == 0 and 25 or 100
      end
      local found = suspects.find(net, measured(net, { out = slow, ["in"] = slow, noise = 0.01 }))
      lu.assertEquals(found.list, {})
      lu.assertAlmostEquals(net.rate[2] / net.rate[1], reached / 10, 0.03)
   end
end

function TestRates:test_most_say_nothing()
   local net = simulated.net({ 8, 8 })
   for i = 1, 8 do
      net.rate[i] = 100
   end
   lu.assertNil(rates.said(net, measured(net, {}).flows))
   net.rate[9] = 100
   lu.assertEquals(rates.said(net, measured(net, {}).flows), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
