-- Who talks with whom in which round.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local random = require("syscheck.lib.random")
local schedule = require("syscheck.fabric.schedule")
local simulated = require("simulated")

TestSchedule = {}

local LAYOUTS = { { 2 }, { 3 }, { 4 }, { 7 }, { 1, 1 }, { 1, 2 }, { 2, 2 }, { 3, 3 }, { 1, 1, 1 }, { 1, 1, 1, 1 },
   { 8, 8 }, { 5, 3 }, { 7, 1 }, { 9, 2, 1 }, { 4, 4, 4 }, { 6, 6, 6, 6 }, { 5, 5, 5, 5 }, { 3, 3, 3, 3, 3 },
   { 16, 1, 1, 1, 1 }, { 13, 7, 3, 1 }, { 1, 1, 1, 1, 1, 1, 1 }, { 2, 2, 2, 2, 2, 2, 2, 2 } }

-- Each net with a few seeds.
local function each(f)
   for seed = 0, 3 do
      for n = 1, 40 do
         f(simulated.net(n), seed, n .. " nodes, seed " .. seed)
      end
      for _, sizes in ipairs(LAYOUTS) do
         f(simulated.net(sizes), seed, "leaves of " .. table.concat(sizes, " ") .. ", seed " .. seed)
      end
   end
end

-- How many times each node is in a round.
local function uses(round)
   local n = {}
   for _, p in ipairs(round.pairs) do
      n[p[1]], n[p[2]] = (n[p[1]] or 0) + 1, (n[p[2]] or 0) + 1
   end
   return n
end

local function rounds_of(rounds, kind)
   local out = {}
   for _, round in ipairs(rounds) do
      out[#out + 1] = round.kind == kind and round or nil
   end
   return out
end

function TestSchedule:test_a_round_is_a_matching()
   each(function(net, seed, what)
      for _, all in ipairs({ false, true }) do
         for _, round in ipairs(schedule.build(net, seed, all)) do
            for node, n in pairs(uses(round)) do
               lu.assertEquals(n, 1, what)
               lu.assertNotNil(net.names[node], what)
            end
         end
      end
   end)
end

-- All but one of an odd number have work, in each round but the one that closes odd cycles.
function TestSchedule:test_nobody_waits()
   each(function(net, seed, what)
      local rounds = schedule.build(net, seed)
      for r = 1, schedule.WITHIN + (#net.leaves > 1 and schedule.ACROSS or 0) do
         lu.assertEquals(#rounds[r].pairs, #net.names // 2, what)
         lu.assertEquals(rounds[r].kind, r <= schedule.WITHIN and "within" or "across", what)
      end
   end)
end

function TestSchedule:test_one_node_has_nobody()
   for _, all in ipairs({ false, true }) do
      for _, round in ipairs(schedule.build(simulated.net(1), 1, all)) do
         lu.assertEquals(round.pairs, {})
      end
   end
   lu.assertEquals(schedule.build(simulated.net(2), 1, true), { { kind = "all", pairs = { { 1, 2 } } } })
end

function TestSchedule:test_the_seed_is_the_order()
   local net = simulated.net({ 8, 7, 5 })
   for _, all in ipairs({ false, true }) do
      lu.assertEquals(schedule.build(net, 7, all), schedule.build(net, 7, all))
      lu.assertNotEquals(schedule.build(net, 7, all), schedule.build(net, 8, all))
   end
   -- No draw of one number is of another, the first no less than the rest.
   local seen = {}
   for seed = -3, 100 do
      local first = random.new(seed)(1 << 30)
      lu.assertNil(seen[first])
      seen[first] = true
   end
end

function TestSchedule:test_random_is_what_it_is_everywhere()
   local draw, n = random.new(0), { 0, 0, 0 }
   for _ = 1, 3000 do
      local one = draw(3)
      n[one] = n[one] + 1
   end
   for _, count in ipairs(n) do
      lu.assertTrue(count > 900 and count < 1100)
   end
   local list = random.shuffle({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, random.new(3))
   lu.assertNotEquals(list, { 1, 2, 3, 4, 5, 6, 7, 8, 9 })
   lu.assertItemsEquals(list, { 1, 2, 3, 4, 5, 6, 7, 8, 9 })
   lu.assertEquals(random.shuffle({}, draw), {})
end

function TestSchedule:test_within_is_within_as_far_as_a_leaf_is_even()
   each(function(net, seed, what)
      for _, round in ipairs(rounds_of(schedule.build(net, seed), "within")) do
         local alone = {}
         if #round.pairs == #net.names // 2 then
            for _, p in ipairs(round.pairs) do
               local a, b = net.leaf[p[1]], net.leaf[p[2]]
               if a ~= b then
                  alone[a], alone[b] = (alone[a] or 0) + 1, (alone[b] or 0) + 1
               end
            end
         end
         for l, n in pairs(alone) do
            lu.assertEquals({ n, #net.leaves[l].members % 2 }, { 1, 1 }, what)
         end
      end
   end)
end

-- Nobody meets one twice within a leaf that has enough others.
function TestSchedule:test_within_meets_somebody_else_each_time()
   for seed = 0, 5 do
      local net, met = simulated.net({ 6, 7, 8 }), {}
      for _, round in ipairs(rounds_of(schedule.build(net, seed), "within")) do
         for _, p in ipairs(round.pairs) do
            if net.leaf[p[1]] == net.leaf[p[2]] then
               local name = math.min(p[1], p[2]) .. " " .. math.max(p[1], p[2])
               lu.assertNil(met[name], name)
               met[name] = true
            end
         end
      end
   end
end

-- An even number of leaves alike: each with one other, and another each time; all of a leaf's nodes on one side.
function TestSchedule:test_across_is_leaf_with_leaf()
   for seed = 0, 5 do
      for _, sizes in ipairs({ { 5, 5 }, { 4, 4, 4, 4 }, { 3, 3, 3, 3, 3, 3 } }) do
         local net, met = simulated.net(sizes), {}
         for _, round in ipairs(rounds_of(schedule.build(net, seed), "across")) do
            local with, side = {}, {}
            for _, p in ipairs(round.pairs) do
               for k = 1, 2 do
                  local own, other = net.leaf[p[k]], net.leaf[p[3 - k]]
                  lu.assertNotEquals(own, other)
                  lu.assertEquals(with[own] or other, other)
                  lu.assertEquals(side[own] or k, k)
                  with[own], side[own] = other, k
               end
            end
            for own, other in pairs(with) do
               met[own] = met[own] or {}
               if #sizes > schedule.ACROSS then
                  lu.assertNil(met[own][other])
               end
               met[own][other] = true
            end
         end
      end
   end
end

-- Leaves that differ, or one without a counterpart: who is left over goes to another leaf, but for the rest of the one
-- leaf that has more than half of those.
function TestSchedule:test_across_leaves_one_leaf_over_at_most()
   each(function(net, seed, what)
      for _, round in ipairs(rounds_of(schedule.build(net, seed), "across")) do
         local own, n = {}, 0
         for _, p in ipairs(round.pairs) do
            local leaf = net.leaf[p[1]]
            if leaf == net.leaf[p[2]] then
               n = n + (own[leaf] and 0 or 1)
               own[leaf] = true
            end
         end
         lu.assertTrue(n <= 1, what)
         -- Of two leaves nobody is left over but of the larger one.
         lu.assertFalse(#net.leaves == 2 and #net.leaves[1].members == #net.leaves[2].members and n > 0, what)
      end
   end)
end

function TestSchedule:test_all_is_everybody_with_everybody_once()
   for n = 1, 40 do
      local net, met, count = simulated.net(n % 2 == 0 and n or { n // 2, n - n // 2 }), {}, 0
      for _, round in ipairs(schedule.build(net, n, true)) do
         lu.assertEquals(round.kind, "all")
         for _, p in ipairs(round.pairs) do
            local name = math.min(p[1], p[2]) .. " " .. math.max(p[1], p[2])
            lu.assertNil(met[name])
            met[name], count = true, count + 1
         end
      end
      lu.assertEquals(count, n * (n - 1) // 2)
   end
end

-- Whether two colours do for a component, by depth first; and how many nodes it has.
local function two_colours(beside, first, colour)
   local ok, n, stack = true, 0, { { first, 0 } }
   while #stack > 0 do
      local node, want = table.unpack(table.remove(stack))
      if colour[node] then
         ok = ok and colour[node] == want
      else
         colour[node], n = want, n + 1
         for other in pairs(beside[node]) do
            stack[#stack + 1] = { other, 1 - want }
         end
      end
   end
   return ok, n
end

-- Without one, latencies of two colours cannot be told apart.
function TestSchedule:test_who_are_joined_have_an_odd_cycle()
   each(function(net, seed, what)
      local beside, colour = {}, {}
      for i = 1, #net.names do
         beside[i] = {}
      end
      for _, round in ipairs(schedule.build(net, seed)) do
         for _, p in ipairs(round.pairs) do
            beside[p[1]][p[2]], beside[p[2]][p[1]] = true, true
         end
      end
      for i = 1, #net.names do
         if not colour[i] then
            local two, n = two_colours(beside, i, colour)
            lu.assertFalse(two and n > 2, what)
            lu.assertTrue(n > 1 or #net.names == 1, what)
         end
      end
   end)
end

function TestSchedule:test_what_is_loaded_again()
   local net = simulated.net({ 4, 4 })
   local rounds = schedule.loaded(net, random.new(1), 2, 3)
   lu.assertEquals({ #rounds, #rounds_of(rounds, "within"), #rounds_of(rounds, "across") }, { 5, 2, 3 })
   lu.assertEquals(schedule.loaded(net, random.new(1), 0, 0), {})
   lu.assertEquals(#schedule.loaded(simulated.net(6), random.new(1), 2, 3), 2)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
