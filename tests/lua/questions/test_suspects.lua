-- Nodes whose jobs were slow for a time.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local odds = require("syscheck.questions.why.odds")
local expected = require("syscheck.questions.why.expected")
local suspects = require("syscheck.questions.suspects.logic")

TestSuspects = {}

local function none()
   return {}
end

local NOTHING_LAST = { hours = none, uplinks = none }

local function find(list, of)
   return suspects.find(list, of, NOTHING_LAST, function()
      return true
   end)
end

local e = expected.of({ { begin_s = 1, elapsed_s = 1000 }, { begin_s = 2, elapsed_s = 1010 },
   { begin_s = 3, elapsed_s = 990 }, { begin_s = 4, elapsed_s = 1005 }, { begin_s = 5, elapsed_s = 995 },
   { begin_s = 6, elapsed_s = 1000 } }, 7)

local function run(i, ratio)
   local y = math.log(1000 * ratio)
   return { begin_s = i * 3600, ratio = ratio, fits = suspects.fits(e, y), y = y, job_id = i, key = i }
end

-- A run under a condition that may have cost it such a share.
-- @param seen the run as a rack's, or nil
-- @param like of expected.of, or nil: e
local function event(one, share, seen, like)
   seen = seen or one
   return { run = one, seen = seen, share = share, fits = odds.levels(like or e, seen.y, share, 20, 1.2) }
end

local function sort(events)
   table.sort(events, function(a, b)
      return suspects.earlier(a.run, b.run)
   end)
end

-- 400 runs of 4 nodes in turn among 40; those with node `bad` are slow between two runs.
local function history(bad, from, to, ratio)
   math.randomseed(9)
   local of = {}
   for i = 1, 400 do
      local first, nodes, hit = math.random(40), {}, false
      for k = 0, 3 do
         nodes[k + 1] = (first + k) % 40
         hit = hit or nodes[k + 1] == bad and i >= from and i <= to
      end
      local one = run(i, (hit and ratio or 1) * (1 + (i % 7 - 3) / 200))
      for _, node in ipairs(nodes) do
         of[node] = of[node] or {}
         table.insert(of[node], one)
      end
   end
   return of
end

-- A node's condition in some of its runs, which is its own (odds 1) or anybody's.
local function condition(node, runs, share, own)
   local events = {}
   for i, one in ipairs(runs) do
      events[i] = event(one, share)
   end
   return { node = node, group = "clock", events = events, worth = function()
      return own and 0 or math.log(0.01), own and math.huge or 0
   end }
end

-- Those that began in a time.
local function between(runs, from, to)
   local out = {}
   for _, one in ipairs(runs) do
      out[#out + 1] = one.begin_s >= from * 3600 and one.begin_s <= to * 3600 and one or nil
   end
   return out
end

local function nodes_of(found)
   local out = {}
   for i, one in ipairs(found) do
      out[i] = one.node
   end
   return out
end

function TestSuspects:test_what_a_run_s_time_says()
   lu.assertTrue(math.max(table.unpack(suspects.fits(e, math.log(1200)))) > 5)
   lu.assertTrue(math.max(table.unpack(suspects.fits(e, math.log(1000)))) < 1)
end

-- What its own runs raised is not what they are judged by.
function TestSuspects:test_a_node_is_judged_by_others_runs()
   local of = history(7, 0, 0, 1)
   lu.assertEquals(nodes_of(find({}, of)), {})
   for _, one in ipairs(of[7]) do
      local y = one.y + math.log(1.3)
      one.of = { [7] = { e = e, y = y, ratio = 1.3 * one.ratio, fits = suspects.fits(e, y) } }
   end
   local found = find({}, of)
   lu.assertEquals(nodes_of(found), { 7 })
   lu.assertAlmostEquals(found[1].cost, 1.3, 0.01)
end

-- Its condition finds it in fewer runs than its times alone would.
function TestSuspects:test_a_condition_and_its_days()
   local of = history(7, 150, 180, 1.04)
   lu.assertEquals(nodes_of(find({}, of)), {})
   local found = find({ condition(7, between(of[7], 150, 180), 0.1, true) }, of)
   lu.assertEquals(nodes_of(found), {})
   of = history(7, 150, 200, 1.12)
   found = find({ condition(7, between(of[7], 150, 200), 0.2, true) }, of)
   lu.assertEquals(nodes_of(found), { 7 })
   lu.assertEquals(found[1].group, "clock")
   lu.assertTrue(found[1].probability > 0.9)
end

function TestSuspects:test_a_condition_that_harms_nobody_or_that_all_have()
   local of = history(nil, 1, 400, 1)
   lu.assertEquals(find({ condition(12, of[12], 0.3, true) }, of), {})
   -- Slow, and under something: so are others under it.
   of = history(7, 100, 130, 1.06)
   lu.assertEquals(find({ condition(7, between(of[7], 100, 130), 0.2, false) }, of), {})
end

-- Runs that a worse node slowed say nothing of who was beside it: neither that it is bad nor that it is not.
function TestSuspects:test_beside_a_worse_one()
   local function both(own)
      local of = history(nil, 1, 400, 1)
      of[7], of[8] = {}, {}
      for i = 1, 48 do
         local one = run(i, i % 4 > 0 and 1.6 or own)
         table.insert(of[7], one)
         of[8][#of[8] + 1] = i % 4 > 0 and one or nil
      end
      return nodes_of(find({ condition(8, of[8], 0.5, true), condition(7, of[7], 0.12, true) }, of))
   end
   lu.assertItemsEquals(both(1.12), { 7, 8 })
   lu.assertEquals(both(1), { 8 })
end

-- Slow runs of which each may well be slow by itself: five are not enough, whatever the node has; of a tight kind they
-- are.
function TestSuspects:test_how_many_it_slowed()
   local times = {}
   for i = 1, 30 do
      times[i] = { begin_s = i, elapsed_s = 1000 + 16 * (i * 7 % 11 - 5) }
   end
   local function found(like, n)
      local of, h = { [7] = {} }, { node = 7, group = "clock", events = {}, worth = function() return 4, 8 end }
      for i = 1, n do
         local one = run(i, 1.13)
         one.fits = suspects.fits(like, one.y)
         of[7][i], h.events[i] = one, event(one, 0.3, nil, like)
      end
      return nodes_of(find({ h }, of))
   end
   local wide = expected.of(times, 31)
   lu.assertEquals(found(wide, 5), {})
   lu.assertEquals(found(wide, 6), { 7 })
   lu.assertEquals(found(e, 5), { 7 })
   lu.assertEquals(found(e, 4), {})
end

-- One that is found explains what another had in the same runs, but not what may have cost more than twice as much,
-- where nobody knows that it was harmless.
function TestSuspects:test_what_may_have_cost_more()
   local function both(share, harmless)
      local of = { [7] = {}, [8] = {} }
      for i = 1, 60 + harmless do
         local one = run(i, i <= 60 and 1.25 or 1)
         of[8][#of[8] + 1] = i <= 60 and one or nil
         of[7][#of[7] + 1] = i > 30 and one or nil
      end
      local other = condition(7, of[7], share, true)
      other.group = "memory"
      return nodes_of(find({ condition(8, of[8], 0.25, true), other }, of))
   end
   lu.assertEquals(both(0.45, 0), { 8 })
   lu.assertItemsEquals(both(0.55, 0), { 7, 8 })
   lu.assertEquals(both(0.55, 30), { 8 })
end

-- Two have it in the same runs: nobody can tell them apart. What ran beside them has nothing.
function TestSuspects:test_two_nodes_with_the_same_condition()
   local of = history(7, 1, 400, 1.3)
   local found = find({ condition(7, of[7], 0.3, true), condition(8, of[7], 0.25, true) }, of)
   lu.assertItemsEquals(nodes_of(found), { 7, 8 })
   found = find({ condition(7, of[7], 0.3, true), condition(8, of[7], 0.1, true) }, of)
   lu.assertEquals(nodes_of(found), { 7 })
end

-- Each node's runs show too little; together they do not, if each has enough of them: runs that are hardly slow for
-- their kind may be slow for their own reasons. A member that was not slow is not listed.
function TestSuspects:test_a_rack()
   local function rack(each)
      local times, of, list, all = {}, {}, {}, {}
      for i = 1, 30 do
         times[i] = { begin_s = i, elapsed_s = 1000 + 16 * (i * 7 % 11 - 5) }
      end
      local wide = expected.of(times, 31)
      for node = 1, 6 do
         of[node], list[node] = {}, { node = node, group = "clock", events = {}, worth = function() return -4, 8 end }
         for i = 1, each do
            local one = run(10 * i + node, node < 6 and 1.13 or 0.98)
            one.fits = suspects.fits(wide, one.y)
            of[node][i], list[node].events[i] = one, event(one, 0.3, nil, wide)
            all[#all + 1] = event(one, 0.3, nil, wide)
         end
      end
      lu.assertEquals(nodes_of(find(list, of)), {})
      -- One whose slow runs are those that it shared with a bad one, and which had as much of it in others, without
      -- harm.
      of[7], list[7] = {}, { node = 7, group = "clock", events = {}, worth = list[1].worth }
      for i = 1, 16 do
         local one = i <= 4 and of[1][i] or run(10.5 + 3 * i, 0.96)
         one.fits = one.fits or suspects.fits(wide, one.y)
         of[7][i], list[7].events[i] = one, event(one, 0.3, nil, wide)
         all[#all + 1] = i > 4 and list[7].events[i] or nil
      end
      sort(all)
      sort(list[7].events)
      list[8] = { rack = { members = { 1, 2, 3, 4, 5, 6, 7 }, width = 7 }, group = "clock", events = all,
         worth = function() return -4, math.huge end }
      return nodes_of(find(list, of))
   end
   lu.assertEquals(rack(5), {})
   lu.assertEquals(rack(6), { 1, 2, 3, 4, 5 })
end

-- What a rack's nodes raised together none of them shows, compared with all others; as the rack is, it does. One with a
-- tenth of the condition stays with its own.
function TestSuspects:test_a_rack_s_nodes_are_judged_as_the_rack_is()
   local of, list, all = {}, {}, {}
   for node = 1, 6 do
      of[node], list[node] = {}, { node = node, group = "clock", events = {}, worth = function() return -4, 0 end }
      for i = 1, 5 do
         local one, as_rack = run(10 * i + node, 1), run(10 * i + node, 1.15)
         local share = node < 6 and 0.3 or 0.03
         of[node][i], list[node].events[i] = one, event(one, share)
         all[#all + 1] = event(one, 0.3, as_rack)
      end
   end
   sort(all)
   lu.assertEquals(nodes_of(find(list, of)), {})
   list[7] = { rack = { members = { 1, 2, 3, 4, 5, 6 }, width = 6 }, group = "clock", events = all,
      worth = function() return -4, math.huge end }
   local found = find(list, of)
   lu.assertItemsEquals(nodes_of(found), { 1, 2, 3, 4, 5 })
   lu.assertAlmostEquals(found[1].cost, 1.15, 0.01)
end

-- What is said of a rack of six nodes, each slow in its runs, the last one's in a share of them.
-- @param refused set of nodes that `why` does not confirm
-- @param options { share_of_6 = its condition, the others' is 0.3; slow_of_6 = of its 22 runs, else all; rack = what is
--   said of it, or nil }
-- @return nodes listed; them, by node; what confirm_rack was asked, or nil; how many were asked of confirm
local function of_rack(refused, options)
   local of, all, asked, count = {}, {}, nil, 0
   local list = { { rack = { members = { 1, 2, 3, 4, 5, 6 }, width = 6 }, group = "clock", events = all,
      worth = function() return -4, math.huge end } }
   for node = 1, 6 do
      local share = node == 6 and options.share_of_6 or 0.3
      of[node] = {}
      list[node + 1] = { node = node, group = "clock", events = {}, worth = function() return -4, 0 end }
      for i = 1, options.slow_of_6 and 22 or 6 do
         local one = run(100 * i + node, node == 6 and i > (options.slow_of_6 or i) and 1 or 1.15)
         of[node][i], list[node + 1].events[i] = one, event(one, share)
         all[#all + 1] = event(one, 0.3)
      end
   end
   sort(all)
   local found = suspects.find(list, of, NOTHING_LAST, function(one)
      count = count + 1
      return not refused[one.node]
   end, function(ones, members, known)
      asked = { nodes = nodes_of(ones), members = members, known = {} }
      for node = 1, 6 do
         asked.known[node] = known[node]
      end
      return options.rack
   end)
   table.sort(found, function(x, y)
      return x.node < y.node
   end)
   return nodes_of(found), found, asked, count
end

-- Where a rack shows its trouble, those that `why` does not confirm are suspects, too, if they had as much.
function TestSuspects:test_the_others_of_a_rack()
   local refused, says = { [4] = true, [5] = true, [6] = true }, { group = "clock" }
   local nodes, found, asked = of_rack(refused, { rack = says })
   lu.assertEquals(nodes, { 1, 2, 3, 4, 5, 6 })
   lu.assertNil(found[3].as)
   lu.assertIs(found[4].as, says)
   lu.assertEquals(asked.members, { 1, 2, 3, 4, 5, 6 })
   lu.assertItemsEquals(asked.nodes, { 1, 2, 3, 4, 5, 6 })
   lu.assertEquals(asked.known, { true, true, true })
   lu.assertEquals(of_rack(refused, {}), { 1, 2, 3 })
   lu.assertEquals(of_rack(refused, { rack = says, share_of_6 = 0.12 }), { 1, 2, 3, 4, 5 })
   -- It is not asked where each stands for itself.
   nodes, found, asked = of_rack({}, { rack = says, share_of_6 = 0.12 })
   lu.assertEquals(nodes, { 1, 2, 3, 4, 5, 6 })
   lu.assertNil(found[6].as)
   lu.assertNil(asked)
   -- None by itself, all together.
   lu.assertEquals(of_rack({ true, true, true, true, true, true }, { rack = says }), { 1, 2, 3, 4, 5, 6 })
   lu.assertEquals(of_rack({ true, true, true, true, true, true }, {}), {})
end

-- One that is likelier than not to share in it speaks for nothing itself.
function TestSuspects:test_who_may_share_in_a_racks_trouble()
   local options = { rack = { group = "clock" }, slow_of_6 = 5 }
   local nodes, found, asked, count = of_rack({ [5] = true }, options)
   lu.assertEquals(nodes, { 1, 2, 3, 4, 5, 6 })
   lu.assertTrue(found[6].probability >= 0.5 and found[6].probability < suspects.NEED)
   lu.assertItemsEquals(asked.nodes, { 1, 2, 3, 4, 5 })
   lu.assertEquals(count, 6)
   options.rack = nil
   lu.assertEquals(of_rack({ [5] = true }, options), { 1, 2, 3, 4 })
   -- Nor is a rack of suspects asked for it alone.
   options.rack = { group = "clock" }
   lu.assertEquals(of_rack({}, options), { 1, 2, 3, 4, 5, 6 })
end

function TestSuspects:test_the_bad_node_and_its_days_and_not_its_neighbours()
   local found = find({}, history(7, 100, 300, 1.3))
   lu.assertEquals(#found, 1)
   local one = found[1]
   lu.assertEquals(one.node, 7)
   lu.assertTrue(one.probability > 0.99)
   lu.assertTrue(one.from_s >= 100 * 3600 and one.to_s <= 300 * 3600)
   lu.assertTrue(#one.slow >= 0.9 * one.runs)
   lu.assertAlmostEquals(one.cost, 1.3, 0.03)
end

-- Four bad days of a month are not diluted by the rest.
function TestSuspects:test_a_few_bad_days()
   local found = find({}, history(7, 200, 260, 1.5))
   lu.assertEquals(#found, 1)
   lu.assertEquals(found[1].node, 7)
end

function TestSuspects:test_two_bad_nodes()
   local of = history(7, 1, 400, 1.3)
   for node, runs in pairs(history(25, 1, 400, 1.3)) do
      for _, one in ipairs(runs) do
         one.begin_s = one.begin_s + 400 * 3600
         table.insert(of[node], one)
      end
   end
   local found = find({}, of)
   lu.assertEquals(#found, 2)
   lu.assertItemsEquals({ found[1].node, found[2].node }, { 7, 25 })
end

function TestSuspects:test_nobody()
   lu.assertEquals(find({}, history(nil, 1, 400, 1)), {})
   lu.assertEquals(find({}, {}), {})
   -- One slow run, or two, are no spell.
   lu.assertEquals(find({}, { { run(1, 3), run(2, 3) } }), {})
   -- Runs that are slow here and there are nobody's.
   math.randomseed(3)
   local of = {}
   for i = 1, 600 do
      local one, first = run(i, math.random() < 0.05 and 1.4 or 1), math.random(40)
      for k = 0, 3 do
         local node = (first + k) % 40
         of[node] = of[node] or {}
         table.insert(of[node], one)
      end
   end
   lu.assertEquals(find({}, of), {})
end

-- How often runs are slow by themselves is learned from them, whatever they lose.
function TestSuspects:test_how_often_runs_are_slow_by_themselves()
   local function share(slow)
      local fits = {}
      for i = 1, 1000 do
         local ratio = i <= 1000 * slow and 1.05 + i % 20 / 10 or 1 + (i % 7 - 3) / 200
         fits[i] = odds.own_fit(e, math.log(1000 * ratio))
      end
      return odds.LEVELS * odds.own_of_level(fits)
   end
   lu.assertAlmostEquals(share(0.1), 0.1, 0.03)
   lu.assertAlmostEquals(share(0.03), 0.03, 0.015)
   lu.assertTrue(share(0) < 0.01)
   lu.assertEquals(odds.LEVELS * odds.own_of_level({}), odds.OWN)
end

-- What a condition costs may be each run's own, and alike in none of them.
function TestSuspects:test_each_run_lost_its_own()
   local of = history(5, 100, 300, 1.3)
   local one = condition(5, between(of[5], 100, 300), 0.3, true)
   for _, its in ipairs(one.events) do
      its.fits = { 0.5, 0.5, 0.5, 0.5, 4 }
   end
   local found = find({ one }, of)
   lu.assertEquals({ #found, found[1].node, found[1].group }, { 1, 5, "clock" })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
