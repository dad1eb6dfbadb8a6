-- A whole run on a small simulated network: what is named for each kind of fault, and who is not.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local judge = require("syscheck.fabric.judge")
local loss = require("syscheck.fabric.loss")
local merge = require("syscheck.fabric.merge")
local random = require("syscheck.lib.random")
local samples = require("syscheck.fabric.samples")
local session = require("syscheck.fabric.session")
local schedule = require("syscheck.fabric.schedule")
local simulated = require("simulated")
local suspects = require("syscheck.fabric.suspects")
local trials = require("syscheck.fabric.trials")

local FOUR = { 8, 8, 8, 8 }

-- "nic 3 out": of a finding its kind, where, direction.
local function short(one)
   return table.concat({ one.kind, one.node or one.leaf and "l" .. one.leaf or one.from .. "-" .. one.to,
      one.direction }, " ")
end

local function run(net, world, all)
   world.noise = world.noise or 0.01
   local out = assert(session.run(net, simulated.measure(net, world), { seed = world.seed or 1, all = all }))
   local said = {}
   for k, one in ipairs(out.findings) do
      said[k] = short(one)
   end
   return said, out
end

-- With a few seeds, of orders and of noise: this and nothing else is found.
local function always(sizes, world, wanted, all)
   for seed = 1, 5 do
      world.seed = seed
      local net = simulated.net(sizes)
      local said, out = run(net, world, all)
      lu.assertEquals(said, wanted, "seed " .. seed)
      if #wanted == 1 then
         world.last = out.findings[1]
      end
   end
   return world.last
end

TestSession = {}

function TestSession:test_nothing()
   for _, sizes in ipairs({ 2, 3, 7, 20, FOUR, { 2, 2 }, { 1, 1, 1, 1 }, { 5, 3, 1 } }) do
      for seed = 1, 4 do
         local said, out = run(simulated.net(sizes), { noise = 0.02, seed = seed })
         lu.assertEquals({ said, out.again }, { {} })
         lu.assertEquals(out.unconfirmed, 0)
      end
   end
end

function TestSession:test_a_nic()
   local one = always(FOUR, { out = { [3] = 6 } }, { "nic 3 out" })
   lu.assertAlmostEquals(one.share, 0.6, 0.03)
   always(FOUR, { ["in"] = { [20] = 8 } }, { "nic 20 in" })
   always(FOUR, { out = { [9] = 5 }, ["in"] = { [9] = 7 } }, { "nic 9 both" })
   always(12, { out = { [5] = 6 } }, { "nic 5 out" })
   always({ 2, 2, 2, 2 }, { out = { [5] = 5 }, ["in"] = { [5] = 5 } }, { "nic 5 both" })
   always({ 6, 6 }, { ["in"] = { [12] = 7 } }, { "nic 12 in" }, true)
end

-- Seen once at an uplink: 0.27 up, 0.83 to 0.88 down, although only up was slow.
function TestSession:test_what_a_slow_direction_takes_along_is_not_named()
   for _, sizes in ipairs({ FOUR, { 1, 1, 1 } }) do
      local node = sizes == FOUR and 9 or 2
      always(sizes, { out = { [node] = 2.7 }, ["in"] = { [node] = 8.6 } }, { ("nic %d out"):format(node) })
      always(sizes, { out = { [node] = 8.6 }, ["in"] = { [node] = 2.7 } }, { ("nic %d in"):format(node) })
   end
   always(FOUR, { out = { [9] = 2.7 }, ["in"] = { [9] = 7 } }, { "nic 9 both" })
end

function TestSession:test_several_nics_the_worst_first()
   always(FOUR, { out = { [2] = 7, [18] = 4 }, ["in"] = { [11] = 5.5 } }, { "nic 18 out", "nic 11 in", "nic 2 out" })
   -- In the same leaf.
   always(FOUR, { out = { [2] = 7, [3] = 4 } }, { "nic 3 out", "nic 2 out" })
end

function TestSession:test_a_host()
   local one = always(FOUR, { both = { [14] = 5 } }, { "host 14 both" })
   lu.assertEquals(one.how, "both directions at once")
   lu.assertAlmostEquals(one.share, 5 / simulated.BOTH, 0.03)
   one = always(FOUR, { loaded_out = { [14] = 6 } }, { "host 14 out" })
   lu.assertEquals(one.how, "loaded")
   lu.assertAlmostEquals(one.share, 0.6, 0.04)
   always(FOUR, { loaded_in = { [30] = 6 } }, { "host 30 in" })
   -- Both directions at once cost healthy hosts a twentieth.
   one = always(FOUR, { loaded_out = { [14] = 6 }, both = { [14] = 9 } }, { "host 14 out" })
   lu.assertEquals(one.how, "loaded")
   -- Without a topology that may be a switch nobody knows of.
   always(16, { loaded_out = { [4] = 6 } }, {})
   -- In a leaf of three a pair is alone at all times: a busy machine once made a host "slow while others are at work".
   always({ 3 }, { loaded_out = { [2] = 9 } }, {})
   always({ 3, 3, 3 }, { loaded_out = { [2] = 6 } }, {})
   always({ 4, 4, 4 }, { loaded_out = { [2] = 6 } }, { "host 2 out" })
end

-- What loses packets is slow now and then: three nodes are enough, where TCP says so.
function TestSession:test_who_loses_packets()
   for _, world in ipairs({ { loaded_out = { [2] = 6 } }, { both = { [2] = 6 } } }) do
      for _, again in ipairs({ 0, 5 }) do
         local net = simulated.net({ 3, 3, 3 })
         local measure, alone = simulated.measure(net, world), 0
         local out = assert(session.run(net, function(rounds)
            local results = measure(rounds)
            for r, round in ipairs(rounds) do
               for k, p in ipairs(round.pairs) do
                  local got = results[r][k]
                  got.ab_tcp = { again_pct = p[1] == 2 and again or 0 }
                  got.ba_tcp = { again_pct = p[2] == 2 and again or 0 }
                  -- The last one of its trials alone is well.
                  if world.both and round.kind == "alone" and p[1] == 2 then
                     alone = alone + 1
                     got.both_ab_gbs, got.both_ba_gbs = alone == 4 and 9.5 or 6, alone == 4 and 9.5 or 6
                  end
               end
            end
            return results
         end, { seed = 3 }))
         lu.assertEquals(#out.findings, again > 0 and 1 or 0)
         lu.assertEquals(out.findings[1] and out.findings[1].node, again > 0 and 2 or nil)
      end
   end
end

-- At full rate, as TCP makes up for what is lost: its account is what tells. One that many have is the network's.
function TestSession:test_packets_lost_at_full_rate()
   local function losing(sizes, of)
      local net = simulated.net(sizes)
      local measure = simulated.measure(net, { noise = 0.01 })
      local out = assert(session.run(net, function(rounds)
         local results = measure(rounds)
         for r, round in ipairs(rounds) do
            for k, p in ipairs(round.pairs) do
               results[r][k].ab_tcp = { again_pct = of(p[1], p[2], round.kind) }
               results[r][k].ba_tcp = { again_pct = of(p[2], p[1], round.kind) }
            end
         end
         return results
      end, { seed = 3 }))
      return out.findings, out.unconfirmed
   end
   for _, sizes in ipairs({ { 3, 3, 3 }, FOUR, 9 }) do
      local found = losing(sizes, function(from, to)
         return (from == 2 or to == 2) and 4 or 0
      end)
      lu.assertEquals(#found, 1)
      lu.assertEquals({ found[1].kind, found[1].node, found[1].how, found[1].direction, found[1].again_pct },
         { "nic", 2, "loss", "both", 4 })
   end
   local found = losing(FOUR, function(_, to)
      return to == 5 and 0.8 or 0
   end)
   lu.assertEquals({ #found, found[1].node, found[1].direction }, { 1, 5, "in" })
   -- A good node that met only the bad one is not suspected before it.
   local flows = {}
   for k, f in ipairs({ { 3, 1, 9 }, { 1, 2, 3 }, { 1, 3, 7 }, { 4, 5, 0 }, { 5, 6, 0 }, { 4, 6, 0 }, { 6, 4, 0 } }) do
      flows[k] = { from = f[1], to = f[2], tcp = { again_pct = f[3] } }
   end
   lu.assertEquals(loss.find(simulated.net({ 3, 3 }), flows), { { out = 5 } })
   -- Of two nobody can tell which.
   lu.assertEquals(losing({ 2, 2, 2 }, function(from, to) return (from == 2 or to == 2) and 4 or 0 end), {})
   -- Loaded only, in all flows, only across, with one partner: no cable's.
   for what, of in pairs({
      loaded = function(from, _, kind) return from == 2 and kind ~= "alone" and 4 or 0 end,
      all = function() return 1 end,
      across = function(from, to) return from == 2 and to > 8 and 4 or 0 end,
      pair = function(from, to) return from == 2 and to == 3 and 9 or 0 end,
   }) do
      lu.assertEquals(losing(FOUR, of), {}, what)
   end
end

function TestSession:test_latency()
   local one = always(FOUR, { latency = { [7] = 1.5 } }, { "latency 7" })
   lu.assertAlmostEquals(one.us, 1.5, 0.1)
   always(3, { latency = { [2] = 1 } }, { "latency 2" })
   always(2, { latency = { [2] = 1 } }, {})
   -- A node that is slow in two ways is named for both.
   always(FOUR, { latency = { [7] = 2 }, out = { [7] = 5 } }, { "nic 7 out", "latency 7" })
end

function TestSession:test_silence()
   always(FOUR, { silent = { [12] = true } }, { "silent 12" })
   always(FOUR, { silent = { [1] = true, [2] = true } }, { "silent 1", "silent 2" })
   always(5, { silent = { [5] = true } }, { "silent 5" })
end

-- It stops answering after the first rounds, or answers when it is asked again.
function TestSession:test_silence_that_passes()
   local net, calls = simulated.net(FOUR), 0
   local measure = simulated.measure(net, { noise = 0.01 })
   local dead = simulated.measure(net, { noise = 0.01, silent = { [9] = true } })
   local out = session.run(net, function(rounds)
      calls = calls + 1
      return (calls == 1 and dead or measure)(rounds)
   end, { seed = 1 })
   lu.assertEquals({ #out.findings, out.unconfirmed, calls }, { 0, 1, 2 })
end

-- Asked again it answers some: alive.
function TestSession:test_silence_to_some()
   local net, mute = simulated.net(FOUR), {}
   for i = 1, 32, 2 do
      mute["9 " .. i] = true
   end
   local dead = simulated.measure(net, { noise = 0.01, silent = { [9] = true } })
   local some = simulated.measure(net, { noise = 0.01, mute = mute })
   for seed = 1, 5 do
      local calls = 0
      local out = session.run(net, function(rounds)
         calls = calls + 1
         return (calls == 1 and dead or some)(rounds)
      end, { seed = seed })
      local answered = 0
      for k, p in ipairs(out.found.list[1].trials) do
         lu.assertEquals({ p[1], k <= 4 }, { 9, true })
         answered = answered + (p[2] % 2 == 0 and 1 or 0)
      end
      lu.assertEquals(#out.findings, answered > 0 and 0 or 1)
   end
end

-- Slow once, well when measured again: said to nobody.
function TestSession:test_what_is_not_confirmed_is_no_finding()
   for what, world in pairs({ nic = { out = { [3] = 5 } }, latency = { latency = { [3] = 2 } },
      uplink = { up = { [2] = 40 } } }) do
      local net, calls = simulated.net(FOUR), 0
      world.noise = 0.01
      local slow, good = simulated.measure(net, world), simulated.measure(net, { noise = 0.01 })
      local out = session.run(net, function(rounds)
         calls = calls + 1
         return (calls == 1 and slow or good)(rounds)
      end, { seed = 3 })
      lu.assertEquals({ out.findings, calls }, { {}, 2 }, what)
      lu.assertTrue(out.unconfirmed > 0, what)
   end
end

function TestSession:test_a_measurement_that_fails()
   local net = simulated.net(FOUR)
   local slow = simulated.measure(net, { out = { [3] = 5 } })
   for at = 1, 2 do
      local calls = 0
      local out, why = session.run(net, function(rounds)
         calls = calls + 1
         if calls == at then
            return nil, "lost"
         end
         return slow(rounds)
      end, { seed = 1 })
      lu.assertEquals({ out, why, calls }, { nil, "lost", at })
   end
end

function TestSession:test_nobody_to_measure()
   local out, why = session.run(simulated.net(1), simulated.measure(simulated.net(1), {}), { seed = 1 })
   lu.assertEquals({ out, why }, { nil, "no pair of nodes could be measured" })
   local net = simulated.net(3)
   out, why = session.run(net, simulated.measure(net, { silent = { true, true, true } }), { seed = 1 })
   lu.assertEquals({ out, why }, { nil, "no pair of nodes could be measured: no answer" })
end

-- Data that was changed is a fault at once, however fast; once for a pair.
function TestSession:test_changed_data()
   local net = simulated.net(2)
   local measure, n = simulated.measure(net, { noise = 0.01 }), 0
   local out = session.run(net, function(rounds)
      local results = measure(rounds)
      for r, round in ipairs(rounds) do
         n = n + #round.pairs
         results[r][1].wrong = round.pairs[1] and "byte 7" or nil
      end
      return results
   end, { seed = 3 })
   lu.assertTrue(n > 1)
   lu.assertEquals(#out.findings, 1)
   local one = out.findings[1]
   lu.assertEquals({ one.kind, one.why, one.from + one.to }, { "corrupt", "byte 7", 3 })
end

function TestSession:test_a_leaf_switch()
   local one = always({ 16, 16, 16, 16 }, { switch = { [2] = 5 } }, { "leaf_switch l2" })
   lu.assertAlmostEquals(one.share, 0.5, 0.03)
   one = always(FOUR, { switch = { [2] = 6 } }, { "leaf_switch l2" })
   lu.assertAlmostEquals(one.share, 0.6, 0.03)
end

-- Each as it is loaded, alone at full rate.
function TestSession:test_an_uplink_that_lost_links()
   local one = always(FOUR, { up = { [2] = 40 } }, { "uplink_lost l2 up" })
   lu.assertAlmostEquals(one.share, 0.5, 0.1)
   always(FOUR, { down = { [3] = 50 } }, { "uplink_lost l3 down" })
   always(FOUR, { up = { [1] = 40 }, down = { [1] = 40 } }, { "uplink_lost l1 both" })
   always({ 8, 8 }, { up = { [1] = 40 } }, {})
   always(FOUR, { up = { 40, 40, 40, 40 }, down = { 40, 40, 40, 40 } }, {})
end

-- Every third pair goes over it, alone or not.
function TestSession:test_a_link_of_an_uplink()
   local one = always(FOUR, { link_up = { [3] = 2 } }, { "uplink_link l3 up" })
   lu.assertAlmostEquals(one.share, 0.2, 0.02)
   lu.assertTrue(one.affected > 0 and one.affected < 1)
   always(FOUR, { link_down = { [2] = 2 } }, { "uplink_link l2 down" })
end

-- Of a few pairs only: it is no more than the routes that were seen, if those are not with two leaves. No node, no
-- other leaf.
function TestSession:test_a_link_of_an_uplink_in_both_directions()
   local whole, net = 0, simulated.net(FOUR)
   for seed = 1, 20 do
      local _, out = run(net, { link_up = { [4] = 2 }, link_down = { [4] = 2 }, seed = seed })
      for _, one in ipairs(out.findings) do
         whole = whole + (short(one) == "uplink_link l4 both" and 1 or 0)
         if one.kind ~= "uplink_link" then
            lu.assertStrMatches(one.kind, "[rc]o[ul][tl].*")
            lu.assertTrue(net.leaf[one.from] == 4 or net.leaf[one.to] == 4)
         else
            lu.assertEquals(short(one), "uplink_link l4 both")
         end
      end
   end
   lu.assertTrue(whole > 10)
end

-- A pair of these rounds, of two leaves.
local function across(net, seed)
   for _, round in ipairs(schedule.build(net, seed)) do
      local p = round.kind == "across" and round.pairs[1]
      if p then
         return p[1], p[2]
      end
   end
end

function TestSession:test_a_route()
   for seed = 1, 5 do
      local net = simulated.net(FOUR)
      local a, b = across(net, seed)
      lu.assertEquals(run(net, { path = { [a .. " " .. b] = 4 }, seed = seed }), { ("route %d-%d out"):format(a, b) })
      lu.assertEquals(run(net, { path = { [b .. " " .. a] = 4 }, seed = seed }), { ("route %d-%d out"):format(b, a) })
      local said, out = run(net, { path = { [a .. " " .. b] = 4, [b .. " " .. a] = 3 }, seed = seed })
      lu.assertEquals(#said, 1)
      lu.assertEquals({ out.findings[1].kind, out.findings[1].direction }, { "route", "both" })
      -- A pair that does not talk at all, each of which does with others.
      lu.assertEquals(#run(net, { mute = { [a .. " " .. b] = true }, seed = seed }), 1)
   end
end

-- No node but the bad one is named, whatever it is and whoever it met.
function TestSession:test_partners_are_never_named()
   local net = simulated.net(FOUR)
   for node = 1, 32 do
      for _, world in ipairs({ { out = { [node] = 2 }, ["in"] = { [node] = 2 } }, { both = { [node] = 3 } },
         { latency = { [node] = 9 } }, { silent = { [node] = true } }, { loaded_in = { [node] = 2 } } }) do
         world.seed = node
         local _, out = run(net, world)
         lu.assertEquals(#out.findings, 1)
         lu.assertEquals(out.findings[1].node, node)
      end
   end
end

TestTrials = {}

local function measured(net, world)
   local rounds = schedule.build(net, 1)
   return samples.of(net, rounds, simulated.measure(net, world)(rounds))
end

function TestTrials:test_nobody_suspected_nothing_measured()
   local net = simulated.net(FOUR)
   lu.assertEquals(trials.build(net, suspects.find(net, measured(net, {})), 1), {})
end

-- Alone: in each round a leaf has one pair; a suspect never meets a suspect.
function TestTrials:test_alone_is_alone()
   local net = simulated.net(FOUR)
   local bad = { [2] = 5, [3] = 6, [17] = 4, [30] = 5 }
   local found = suspects.find(net, measured(net, { out = bad, ["in"] = bad, noise = 0.01 }))
   local rounds = trials.build(net, found, 1)
   lu.assertEquals(rounds, trials.build(net, found, 1))
   local met, controls = {}, 0
   for _, round in ipairs(rounds) do
      local busy, used = {}, {}
      for _, p in ipairs(round.pairs) do
         lu.assertNil(used[p[1]])
         lu.assertNil(used[p[2]])
         used[p[1]], used[p[2]] = true, true
         if round.kind == "alone" then
            lu.assertFalse(bad[p[1]] ~= nil and bad[p[2]] ~= nil)
            controls = controls + ((bad[p[1]] or bad[p[2]]) and 0 or 1)
            for l in pairs({ [net.leaf[p[1]]] = true, [net.leaf[p[2]]] = true }) do
               lu.assertNil(busy[l])
               busy[l] = true
            end
            for k = 1, 2 do
               met[p[k]] = met[p[k]] or { 0, 0 }
               local far = net.leaf[p[1]] == net.leaf[p[2]] and 1 or 2
               met[p[k]][far] = met[p[k]][far] + 1
            end
         end
      end
   end
   for node in pairs(bad) do
      lu.assertEquals(met[node], { 2, 2 })
   end
   lu.assertTrue(controls > 0)
end

-- Half of a leaf is slow: nobody is measured again with one of those.
function TestTrials:test_partners_are_good_ones()
   local net = simulated.net(FOUR)
   local bad = { [1] = 5, [2] = 6, [3] = 5.5, [4] = 6.5 }
   local found = suspects.find(net, measured(net, { out = bad, ["in"] = bad, noise = 0.01 }))
   lu.assertEquals(#found.list, 4)
   for seed = 1, 5 do
      for _, round in ipairs(trials.build(net, found, seed)) do
         for _, p in ipairs(round.kind == "alone" and round.pairs or {}) do
            lu.assertFalse(bad[p[1]] ~= nil and bad[p[2]] ~= nil)
         end
      end
   end
end

-- What nobody is suspected for is not measured again; and there is an end.
function TestTrials:test_rounds_are_bounded()
   local net, slow = simulated.net({ 40, 40, 40 }), {}
   for i = 1, 9 do
      slow[i] = 3 + i / 3
   end
   local count = {}
   for _, round in ipairs(trials.build(net, suspects.find(net, measured(net, { out = slow, noise = 0.01 })), 1)) do
      count[round.kind] = (count[round.kind] or 0) + 1
   end
   lu.assertEquals(count, { alone = trials.ALONE, within = trials.WITHIN })
   net = simulated.net(FOUR)
   count = {}
   for _, round in ipairs(trials.build(net, suspects.find(net, measured(net, { latency = { [2] = 5 } })), 1)) do
      count[round.kind] = (count[round.kind] or 0) + 1
   end
   lu.assertEquals({ count.within, count.across }, {})
end

-- A pair whose path is suspected meets again while all are at work.
function TestTrials:test_a_path_is_loaded_again()
   local net = simulated.net(FOUR)
   local a, b = across(net, 1)
   local found = suspects.find(net, measured(net, { path = { [a .. " " .. b] = 4 }, noise = 0.01 }))
   local n = 0
   for _, round in ipairs(trials.build(net, found, 1)) do
      for _, p in ipairs(round.pairs) do
         n = n + (round.kind == "across" and math.min(p[1], p[2]) == math.min(a, b)
            and math.max(p[1], p[2]) == math.max(a, b) and 1 or 0)
      end
   end
   lu.assertEquals(n, trials.ACROSS)
end

-- Too late for its rounds: not measured, not named.
-- Other work lowers a pair for a moment: it is tried twice where there is room, and the better one counts.
function TestTrials:test_a_path_that_is_slow_once_is_none()
   local net = simulated.net(FOUR)
   local a, b
   for _, round in ipairs(schedule.build(net, 1)) do
      if round.kind == "across" then
         a, b = table.unpack(round.pairs[1])
      end
   end
   local first = measured(net, { path = { [a .. " " .. b] = 3, [b .. " " .. a] = 3 } })
   local found = suspects.find(net, first)
   local rounds, seen = trials.build(net, found, 1), 0
   local results = simulated.measure(net, {})(rounds)
   for r, round in ipairs(rounds) do
      for k, p in ipairs(round.pairs) do
         if round.kind == "alone" and (p[1] == a and p[2] == b or p[1] == b and p[2] == a) then
            seen = seen + 1
            if seen == 2 then
               results[r][k].ab_gbs, results[r][k].ba_gbs = 3, 3
            end
         end
      end
   end
   lu.assertTrue(seen >= 2)
   lu.assertEquals((judge.all(net, found, first, samples.of(net, rounds, results))), {})
end

-- A whole rack of old cables: each of them, as its turn costs the others none.
function TestTrials:test_many_in_a_leaf()
   for _, sizes in ipairs({ { 16, 16, 16, 16 }, { 31, 31, 31, 31 } }) do
      local slow, wanted = {}, {}
      for k = 1, sizes[1] // 3 do
         slow[2 * k], wanted[k] = 6, ("nic %d out"):format(2 * k)
      end
      for seed = 1, 5 do
         local said = run(simulated.net(sizes), { out = slow, seed = seed })
         table.sort(said)
         table.sort(wanted)
         lu.assertEquals(said, wanted, "seed " .. seed)
      end
   end
end

function TestTrials:test_who_had_no_turn_is_unconfirmed()
   local net, slow = simulated.net(40), {}
   for i = 1, 15 do
      slow[i] = 2 + i / 3
   end
   local said, out = run(net, { out = slow })
   lu.assertTrue(#said < 15 and #said + out.unconfirmed >= 15)
   lu.assertEquals(#said + #out.untried, 15)
   for _, one in ipairs(out.findings) do
      lu.assertEquals(short(one), ("nic %d out"):format(one.node))
      lu.assertNotNil(slow[one.node])
   end
end

TestMerge = {}

local function merged(list, tried, sizes)
   local out = {}
   for k, one in ipairs(merge(simulated.net(sizes or FOUR), list, tried or {})) do
      out[k] = short(one) .. (" %.1f"):format(one.share or 0)
   end
   return out
end

local function route(from, to, share, direction)
   return { kind = "route", from = from, to = to, share = share, direction = direction or "out" }
end

function TestMerge:test_directions()
   lu.assertEquals(merged({}), {})
   lu.assertEquals(merged({ { kind = "uplink_lost", leaf = 1, direction = "up", share = 0.5 },
      { kind = "uplink_lost", leaf = 2, direction = "up", share = 0.6 },
      { kind = "uplink_lost", leaf = 1, direction = "down", share = 0.4 } }),
      { "uplink_lost l1 both 0.4", "uplink_lost l2 up 0.6" })
   lu.assertEquals(merged({ route(1, 9, 0.5), route(9, 1, 0.4) }), { "route 1-9 both 0.4" })
   lu.assertEquals(merged({ route(1, 9, 0.5), route(1, 9, 0.4) }), { "route 1-9 out 0.4" })
end

-- A link by its leaf's total, and by its routes.
function TestMerge:test_one_direction_twice_is_one_direction()
   for _, direction in ipairs({ "up", "down", "both" }) do
      lu.assertEquals(merged({ { kind = "uplink_link", leaf = 1, direction = direction, share = 0.5 },
         { kind = "uplink_link", leaf = 1, direction = direction, share = 0.4 } }),
         { ("uplink_link l1 %s 0.4"):format(direction) })
   end
end

function TestMerge:test_one_node_one_fault_but_latency()
   lu.assertEquals(merged({ { kind = "nic", node = 3, direction = "out", share = 0.5 },
      { kind = "host", node = 3, direction = "in", share = 0.6 }, { kind = "latency", node = 3, us = 2 } }),
      { "nic 3 out 0.5", "latency 3 0.0" })
   -- Who is silent is nothing else.
   lu.assertEquals(merged({ { kind = "latency", node = 3, us = 2 }, { kind = "silent", node = 3 } }),
      { "silent 3 0.0" })
end

function TestMerge:test_who_loses_packets_is_slow_now_here_now_there()
   local loser = { kind = "nic", node = 3, direction = "both", share = 0.9, how = "loss" }
   lu.assertEquals(merged({ loser, route(3, 9, 0.3), route(10, 3, 0.4), { kind = "collision", from = 3, to = 17 },
      route(4, 9, 0.5) }), { "nic 3 both 0.9", "route 4-9 out 0.5" })
   -- Two of them to two leaves are no link of an uplink.
   lu.assertEquals(merged({ loser, route(3, 9, 0.3), route(3, 17, 0.3) }), { "nic 3 both 0.9" })
   loser.how = nil
   lu.assertEquals(merged({ loser, route(3, 9, 0.3) }), { "nic 3 both 0.9", "route 3-9 out 0.3" })
end

function TestMerge:test_a_link_explains_what_its_uplink_lost()
   lu.assertEquals(merged({ { kind = "uplink_lost", leaf = 1, direction = "up", share = 0.8 },
      { kind = "uplink_link", leaf = 1, direction = "up", share = 0.2 },
      { kind = "uplink_lost", leaf = 2, direction = "up", share = 0.7 } }),
      { "uplink_link l1 up 0.2", "uplink_lost l2 up 0.7" })
end

-- Of one leaf with two others: a link. With one other, or within a leaf, routes.
function TestMerge:test_routes_that_are_a_link()
   local list = merge(simulated.net(FOUR), { route(1, 9, 0.5), route(2, 17, 0.4) }, { up1 = 4 })
   lu.assertEquals(list, { { kind = "uplink_link", leaf = 1, direction = "up", share = 0.4, affected = 0.5 } })
   lu.assertEquals(merged({ route(9, 1, 0.5), route(17, 2, 0.4) }), { "uplink_link l1 down 0.4" })
   lu.assertEquals(merged({ route(1, 9, 0.5), route(2, 10, 0.4) }), { "route 1-9 out 0.5", "route 2-10 out 0.4" })
   lu.assertEquals(merged({ route(1, 9, 0.5), route(17, 2, 0.4) }), { "route 1-9 out 0.5", "route 17-2 out 0.4" })
   lu.assertEquals(merged({ route(1, 9, 0.5, "both"), route(17, 2, 0.4, "both") }), { "uplink_link l1 both 0.4" })
   -- What it does not explain stays.
   lu.assertEquals(merged({ route(1, 9, 0.5), route(2, 17, 0.4), route(25, 10, 0.3) }),
      { "uplink_link l1 up 0.4", "route 25-10 out 0.3" })
end

TestJudge = {}

function TestJudge:test_nothing_measured_again_is_nothing_found()
   local net = simulated.net(FOUR)
   local first = measured(net, { out = { [3] = 5 }, latency = { [9] = 3 }, up = { [4] = 30 } })
   local found = suspects.find(net, first)
   lu.assertTrue(#found.list >= 3)
   local rounds = trials.build(net, found, 1)
   local list, unconfirmed = judge.all(net, found, first, samples.of(net, rounds, {}))
   lu.assertEquals({ list, unconfirmed }, { {}, #found.list })
end

-- All three of a leaf were suspected once, beside its uplink: no partner of theirs was at another one's leaf only.
function TestJudge:test_what_went_over_a_bad_uplink_says_nothing_of_a_node()
   local net = simulated.net({ 3, 3, 3 })
   local path = {}
   for a = 4, 6 do
      for _, b in ipairs({ 1, 2, 3, 7, 8, 9 }) do
         path[a .. " " .. b] = 3
      end
   end
   local measure = simulated.measure(net, { path = path })
   local first = measured(net, { path = path })
   local found = suspects.find(net, first)
   lu.assertEquals(found.leaves.bad, { [2] = true })
   for node = 4, 6 do
      found.bad[node] = true
      table.insert(found.list, 1, { kind = "node", node = node, share = 0.3, aspect = "out" })
   end
   local rounds = trials.build(net, found, 1)
   local list = judge.all(net, found, first, samples.of(net, rounds, measure(rounds)))
   lu.assertEquals({ #list, list[1].kind, list[1].leaf }, { 1, "uplink_link", 2 })
end

TestRandomOrder = {}

-- What is found does not hang on the order that the seed gives.
function TestRandomOrder:test_many_seeds()
   local draw = random.new(5)
   for _ = 1, 30 do
      local seed, node = draw(1 << 30), draw(32)
      lu.assertEquals(run(simulated.net(FOUR), { out = { [node] = 6 }, seed = seed, noise = 0.02 }),
         { ("nic %d out"):format(node) }, "seed " .. seed)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
