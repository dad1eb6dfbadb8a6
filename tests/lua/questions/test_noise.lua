-- What noise costs jobs of many nodes: against closed forms, against draws, and through the store.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local chain = require("syscheck.questions.noise.chain")
local curve = require("syscheck.questions.noise.curve")
local delays = require("syscheck.catalogue.delays")
local noise = require("syscheck.questions.noise.logic")
local own_store = require("own_store")
local predict = require("syscheck.questions.noise.predict")
local random = require("syscheck.lib.random")
local read = require("syscheck.questions.noise.read")
local simulate = require("syscheck.questions.noise.simulate")
local sources = require("syscheck.questions.noise.sources")
local tail = require("syscheck.questions.noise.tail")
local verify = require("syscheck.questions.noise.verify")
local without = require("syscheck.questions.noise.without")
local words = require("syscheck.questions.noise.words")

local function uniform(draw)
   return (draw(1 << 30) - 0.5) / (1 << 30)
end

-- A node that loses `length` us every `period` us: delays of a quantum of `work` us, and what the slowest of n loses.
local function beat(length, period, work)
   return { work_us = work, window_s = 1, above = { 1, (work + length) / period, work / period, 0 },
      us = { 0, 0, length, length }, largest_us = { length } }
end

local function closed(length, period, work, n)
   return length - period / (n + 1) * ((1 - work / period) ^ (n + 1) - (1 - (work + length) / period) ^ (n + 1))
end

local QUIET = { work_us = 1000, window_s = 1, above = { 1, 0 }, us = { 0, 0 }, largest_us = {} }

local function node(name, one, more)
   local of = { delays = { one }, components = {}, complete = true, cores = 4 }
   for key, value in pairs(more or {}) do
      of[key] = value
   end
   return { name = name, checks = { { time = 1000, of = of } } }
end

local function nothing()
end

local WITH = { add_without = nothing }

TestCurve = {}

function TestCurve.test_closed_form()
   for _, case in ipairs({ { 2000, 10000, 100 }, { 2000, 10000, 1000 }, { 20, 4000, 1000 }, { 50000, 1e6, 10000 } }) do
      local one = beat(table.unpack(case))
      local sum = curve.new(curve.grid({ one }))
      curve.add(sum, one)
      local f = curve.mean(sum)
      for n = 1, 65536, 997 do
         lu.assertAlmostEquals(curve.slowest(f, n) / closed(case[1], case[2], case[3], n), 1, 1e-9)
      end
   end
end

-- More nodes than fit into an exact grid: many alike, and one that has a long delay.
function TestCurve.test_coarse_grid()
   local list = {}
   for i = 1, 1000 do
      list[i] = beat(2000, 10000, 1000)
   end
   list[1001] = { above = { 1, 0.5, 0 }, us = { 0, 3, 90000 } }
   local grid = curve.grid(list)
   lu.assertTrue(#grid < 200)
   local sum = curve.new(grid)
   for i = 1, 1000 do
      curve.add(sum, list[i])
   end
   local f = curve.mean(sum)
   for _, n in ipairs({ 1, 16, 256, 4096, 65536 }) do
      lu.assertAlmostEquals(curve.slowest(f, n) / closed(2000, 10000, 1000, n), 1, 0.05)
   end
end

-- F of any list of nodes, against the plain definition.
function TestCurve.test_mean_and_product()
   local draw = random.new(3)
   local list, curves = {}, {}
   for j = 1, 5 do
      local one = { above = { 1 }, us = { 0 } }
      for k = 2, 10 do
         one.above[k] = one.above[k - 1] * (0.3 + 0.6 * uniform(draw))
         one.us[k] = one.us[k - 1] + (draw(3) == 1 and 0 or 100 * uniform(draw))
      end
      one.above[10] = 0
      list[j] = one
   end
   local grid = curve.grid(list)
   local function below(one, x)
      local p = 0
      for k = 1, #one.us do
         if one.us[k] <= x then
            p = 1 - one.above[k]
            local next_us = one.us[k + 1]
            if next_us and next_us > x then
               p = p + (one.above[k] - one.above[k + 1]) * (x - one.us[k]) / (next_us - one.us[k])
            end
         end
      end
      return p
   end
   for j, one in ipairs(list) do
      curves[j] = curve.new(grid)
      curve.add(curves[j], one)
   end
   local mean, singles = curve.mean(curve.join(curve.new(grid), curves)), {}
   for j = 1, #curves do
      singles[j] = curve.mean(curves[j])
   end
   local product = curve.product(singles)
   for i, x in ipairs(grid) do
      local sum, all = 0, 1
      for _, one in ipairs(list) do
         sum, all = sum + below(one, x) / #list, all * below(one, x)
      end
      lu.assertAlmostEquals(mean.at[i], sum, 1e-9)
      lu.assertAlmostEquals(product.at[i] ^ #list, all, 1e-9)
   end
   lu.assertAlmostEquals(curve.above(mean, curve.quantile(mean, 0.9)), 0.1, 1e-9)
end

function TestCurve.test_nobody_loses_anything()
   local sum = curve.new(curve.grid({ QUIET }))
   curve.add(sum, QUIET)
   lu.assertEquals(curve.slowest(curve.mean(sum), 65536), 0)
end

-- Small beyond what 1e-9 of it can be told from 0.
function TestCurve.test_flat_and_nearly_nothing()
   local f = { grid = { 0, 1, 2 }, at = { 5e-324, 5e-324, 1 }, before = { 0, 5e-324, 1 } }
   for _, n in ipairs({ 1, 16, 65536 }) do
      local us = curve.slowest(f, n)
      lu.assertTrue(us >= 1.5 - 1e-9 and us <= 2, us)
   end
end

TestTail = {}

function TestTail.test_shape_and_scale_of_what_was_drawn()
   local draw, events, lists = random.new(1), {}, {}
   local function descending(a, b)
      return a > b
   end
   for i = 1, 50000 do
      events[i] = 10 * uniform(draw) ^ -0.4 -- Pareto, shape 0.4
      local list = lists[i % 3000 + 1] or {}
      list[#list + 1], lists[i % 3000 + 1] = events[i], list
   end
   for _, list in ipairs(lists) do
      table.sort(list, descending)
   end
   table.sort(events, descending)
   local fit = tail.fit(lists)
   lu.assertEquals(fit.n, 1000)
   lu.assertEquals(fit.from, events[1001])
   -- However the nodes have them.
   lu.assertEquals(tail.fit({ events }), fit)
   lu.assertAlmostEquals(fit.shape, 0.4, 0.1)
   -- The slowest of so many is beyond all that was drawn: its mean is 10 n^0.4 gamma(0.6).
   local above = 1000 / 50000
   local n = 1e6
   lu.assertAlmostEquals((fit.from + tail.beyond(fit, above, n)) / (10 * n ^ 0.4 * 1.4892), 1, 0.35)
end

function TestTail.test_too_few()
   lu.assertNil(tail.fit({}))
   local events = {}
   for i = 1, 100 do
      events[i] = i
   end
   table.sort(events, function(a, b)
      return a > b
   end)
   lu.assertNil(tail.fit({ events }))
   lu.assertNil(tail.fit({ {}, events, {} }))
   for i = 1, 200 do
      events[i] = 5 -- all alike: no tail
   end
   lu.assertNil(tail.fit({ events }))
end

TestPredict = {}

function TestPredict.test_job_of_the_class_and_of_all_its_nodes()
   local nodes = {}
   for i = 1, 64 do
      nodes[i] = node("n" .. i, beat(2000, 10000, 1000))
   end
   local sample = predict.sample(nodes, 1000)
   local rows = predict.drawn(sample, { 1, 64 })
   lu.assertAlmostEquals(rows[2].us, chain.slowest(sample.f, 64, { work = 1000, cores = 4 }), 1e-6)
   lu.assertTrue(rows[2].us > closed(2000, 10000, 1000, 64))
   -- Whatever was drawn: without waits before, it is F to the power of how many there are.
   lu.assertAlmostEquals(curve.slowest(sample.f, 64), closed(2000, 10000, 1000, 64), 1e-6)
   lu.assertAlmostEquals(predict.own(sample).us, rows[2].us, 1e-6)
   lu.assertNil(predict.own(sample).low)
   -- All nodes are alike: no draw of them differs.
   lu.assertAlmostEquals(rows[2].low, rows[2].high, 1e-6)
   lu.assertNil(rows[2].at_least)
   lu.assertNil(predict.sample(nodes, 100))
end

-- The interval holds the truth as often as it says: nodes differ, and a fleet is drawn of them.
function TestPredict.test_interval()
   local draw, held, runs = random.new(5), 0, 60
   local function fleet(n)
      local nodes = {}
      for i = 1, n do
         nodes[i] = node("n" .. i, beat(500 + 3000 * uniform(draw) ^ 2, 20000, 1000))
      end
      return predict.sample(nodes, 1000)
   end
   local truth = predict.drawn(fleet(4000), { 16 })[1].us
   for _ = 1, runs do
      local row = predict.drawn(fleet(60), { 16 })[1]
      held = held + (row.low <= truth and truth <= row.high and 1 or 0)
   end
   lu.assertTrue(held >= 0.75 * runs, held)
   lu.assertTrue(held < runs, held)
end

function TestPredict.test_no_more_than_the_samples_support()
   local sample = predict.sample({ node("n1", beat(2000, 10000, 1000)) }, 1000)
   local rows = predict.drawn(sample, { 100, 101 })
   lu.assertNil(rows[1].at_least)
   lu.assertTrue(rows[2].at_least)
   lu.assertNil(rows[2].most_us) -- one event is no tail
end

-- Two checks of a node weigh as long as they sampled, and a node as much as any other.
function TestPredict.test_checks_of_a_node()
   local one, other = node("n1", beat(2000, 10000, 1000)), node("n2", QUIET)
   local long = { time = 500, of = { delays = { { work_us = 1000, window_s = 3, above = { 1, 0 }, us = { 0, 0 } } },
      components = {} } }
   table.insert(one.checks, long)
   local sample = predict.sample({ one, other }, 1000)
   lu.assertAlmostEquals(sample.mean_us, closed(2000, 10000, 1000, 1) / 8, 1e-9)
   lu.assertAlmostEquals(sample.samples, 5000, 1e-9)
end

-- Cores are those of the nodes that have the quantum.
function TestPredict.test_a_quantum_that_some_lack()
   local one = node("n1", beat(2000, 10000, 1000), { cores = 1 })
   local few = node("n2", { work_us = 100, window_s = 1, above = { 1, 0 }, us = { 0, 0 } }, { cores = 128 })
   local samples = predict.samples({ one, few }, { 100, 1000, 10000 })
   lu.assertEquals({ samples[1].work, samples[1].cores }, { 100, 128 })
   lu.assertEquals({ samples[2].work, samples[2].cores }, { 1000, 1 })
   lu.assertNil(samples[3])
end

TestChain = {}

-- Detours of one length begin at random; n nodes do quantum after quantum, and wait for the slowest.
local function walked(length, every, work, n, quanta)
   local draw = random.new(n)
   local function gap()
      return -every * math.log(uniform(draw))
   end
   local next_at, now = {}, 0
   for i = 1, n do
      next_at[i] = gap()
   end
   for _ = 1, quanta do
      local last = now
      for i = 1, n do
         local at, left = now, work
         while next_at[i] < at + left do
            left = left - math.max(0, next_at[i] - at)
            -- One that began before, while this node waited, is over at its end.
            at = math.max(at, next_at[i] + length)
            next_at[i] = next_at[i] + length + gap()
         end
         last = math.max(last, at + left)
      end
      now = last
   end
   return now / quanta - work
end

function TestChain.test_quantum_after_quantum()
   for _, case in ipairs({ { 2000, 50000, 100 }, { 2000, 50000, 1000 }, { 100, 5000, 1000 }, { 30000, 6e5, 1000 } }) do
      local length, every, work = table.unpack(case)
      local s = 1 - math.exp(-work / every)
      local twice = s - work / every * math.exp(-work / every)
      local one = { above = { 1, s, s, twice, twice, 0 }, us = { 0, 0, length, length, 2 * length, 2 * length } }
      local sum = curve.new(curve.grid({ one }))
      curve.add(sum, one)
      local f = curve.mean(sum)
      for _, n in ipairs({ 1, 8, 64 }) do
         local truth = walked(length, every, work, n, 3e6 // n // 4)
         local at_random = curve.slowest(chain.after(f, work, math.huge), n)
         lu.assertAlmostEquals(chain.slowest(f, n, { work = work }) / truth, 1, 0.15, ("%d of %d us"):format(n, length))
         lu.assertTrue(chain.slowest(f, n, { work = work }) <= at_random * 1.0001)
      end
      -- Begins at any time, as of one node that does not wait: (g + L / 2) L / P, what the closed form has for n = 1.
      lu.assertAlmostEquals(curve.slowest(chain.after(f, work, math.huge), 1) / closed(length, every, work, 1), 1, 0.1)
   end
end

-- Where nearly all knots are beyond what F^n leaves, the cell in which it begins is none of those left out.
function TestChain.test_what_is_left_out_is_nothing()
   local one = { above = { 1, 0.081298282, 1.2e-8, 0 }, us = { 0, 29.8225, 36.2796, 1e4 } }
   local sum = curve.new(curve.grid({ one }))
   curve.add(sum, one)
   local f = curve.mean(sum)
   for _, n in ipairs({ 16, 1024, 65536 }) do
      local whole = curve.slowest(chain.after(f, 10000, 30), n)
      lu.assertAlmostEquals(curve.slowest(chain.after(f, 10000, 30, 1, n), n) / whole, 1, 1e-9)
   end
end

function TestChain.test_what_is_left_after_a_wait()
   local one = { above = { 1, 0.02, 0.02, 0 }, us = { 0, 0, 2000, 2000 } }
   local sum = curve.new(curve.grid({ one }))
   curve.add(sum, one)
   local rest, draw, hits, total = chain.rest(curve.mean(sum), 100), random.new(1), 0, 20000
   lu.assertEquals(rest(0, 0.5), 0)
   for _ = 1, total do
      local us = rest(500, uniform(draw))
      lu.assertTrue(us >= 0 and us <= 2000)
      hits = hits + (us > 0 and 1 or 0)
   end
   -- 0.02 in 100 us is 0.1 in 500.
   lu.assertAlmostEquals(hits / total, 1 - math.exp(-0.1), 0.02)
end

TestWithout = {}

local function kipmi(name)
   return { period_ms = 10, duration_us = 2000, lost_pct = 5, source = name, without = { QUIET } }
end

local function fleet()
   local nodes = {}
   for i = 0, 127 do
      local loud = i % 32 == 0
      nodes[i + 1] = node("n" .. i, loud and beat(2000, 10000, 1000) or QUIET,
         { components = loud and { kipmi("kipmi0") } or {} })
   end
   return nodes
end

function TestWithout.test_a_source_its_nodes_and_what_it_costs()
   local answer = noise.of(fleet(), {}, WITH)
   local source = answer.sources[1]
   lu.assertEquals(#answer.sources, 1)
   lu.assertEquals(source.names, { "n0", "n32", "n64", "n96" })
   lu.assertEquals(source.regular, { every = 32, first = { 0 } })
   lu.assertEquals(answer.head.nodes, 64)
   lu.assertAlmostEquals(source.costs_pct, answer.head.pct, 1e-9)
   lu.assertAlmostEquals(source.without_pct, 0, 1e-9)
   answer.of = "jobs of class x"
   lu.assertStrContains(words.head(answer), "at 64 nodes and 1 ms between barriers jobs of class x lose ")
   lu.assertStrContains(words.head(answer), "kipmi0: 2.00 ms every 10.0 ms on n[0,32,64,96] costs ")
end

-- The order in which a record has them says nothing.
function TestWithout.test_two_components_of_a_node_in_one_source()
   local small = kipmi("kipmi0")
   small.lost_pct, small.without = 1, { beat(2000, 10000, 1000) }
   for _, components in ipairs({ { kipmi("kipmi0"), small }, { small, kipmi("kipmi0") } }) do
      local answer = noise.of({ node("n1", beat(2000, 10000, 1000), { components = components }), node("n2", QUIET) },
         {}, WITH)
      lu.assertEquals(#answer.sources, 1)
      lu.assertEquals(answer.sources[1].names, { "n1" })
      lu.assertAlmostEquals(answer.sources[1].without_pct, 0, 1e-9)
   end
end

function TestWithout.test_the_worst_nodes()
   local nodes = fleet()
   nodes[8] = node("n7", beat(9000, 20000, 1000))
   local answer = noise.of(nodes, {}, WITH)
   lu.assertEquals(answer.worst[1].name, "n7")
   lu.assertTrue(answer.worst[1].costs_pct > answer.worst[2].costs_pct)
   lu.assertTrue(answer.without_worst_pct < answer.head.pct)
   -- Of those nodes certainly: the same.
   answer = noise.of(nodes, { own = true }, WITH)
   lu.assertEquals(answer.head.nodes, 128)
   lu.assertEquals(#answer.works[1].rows, 1)
end

-- In phase on all of its nodes: a job of many waits for it as often as one node does.
function TestWithout.test_in_phase_counts_once()
   local draw = random.new(2)
   local function class(in_phase)
      local nodes = {}
      for i = 1, 40 do
         local component = kipmi("crond")
         component.beat = ("%.6f"):format(1764000000 + 3600 * (i % 7) + (in_phase and 0.004 or 0.01 * uniform(draw)))
         nodes[i] = node("n" .. i, beat(2000, 10000, 1000), { components = { component } })
      end
      return noise.of(nodes, { sizes = { 1, 256 } }, WITH)
   end
   local together, apart = class(true), class(false)
   -- What a source costs and what is left without it are the whole, in phase or not.
   for _, answer in ipairs({ together, apart }) do
      local source = answer.sources[1]
      lu.assertAlmostEquals(source.costs_pct + source.without_pct, answer.head.pct, 1e-9)
   end
   lu.assertTrue(together.sources[1].in_phase)
   lu.assertFalse(apart.sources[1].in_phase)
   lu.assertAlmostEquals(apart.works[1].rows[2].us, closed(2000, 10000, 1000, 256), 1)
   for i = 1, 2 do
      lu.assertAlmostEquals(together.works[1].rows[i].us, closed(2000, 10000, 1000, 1), 1)
   end
end

function TestWithout.test_one_node()
   local answer = noise.of({ node("n1", beat(2000, 10000, 1000)) }, {}, WITH)
   lu.assertEquals(answer.head.nodes, 16)
   lu.assertNil(answer.worst)
   lu.assertNil(noise.of({}, {}, WITH))
end

-- Nothing known of what they would be without it: no cost is said.
function TestWithout.test_a_source_that_was_not_asked()
   local component = kipmi("kipmi0")
   component.without = nil
   local answer = noise.of({ node("n1", beat(2000, 10000, 1000), { components = { component } }),
      node("n2", QUIET) }, {}, WITH)
   lu.assertNil(answer.sources[1].costs_pct)
   lu.assertNil(select(2, without.source(predict.sample({ node("n1", QUIET) }, 1000), { nodes = {} })))
end

TestSources = {}

function TestSources.test_period_and_length()
   local function with(name, period, duration)
      return node(name, QUIET, { components = { { period_ms = period, duration_us = duration, lost_pct = 1 } } })
   end
   local found = sources.of({ with("n1", 10, 100), with("n2", 10.05, 120), with("n3", 10.05, 180),
      with("n4", 10.3, 100) })
   lu.assertEquals(#found, 3)
   lu.assertEquals(found[1].names, { "n1", "n2" })
end

function TestSources.test_regular()
   local function names(from, to, step)
      local out = {}
      for i = from, to, step do
         out[#out + 1] = "n" .. i
      end
      return out
   end
   local all = names(0, 255, 1)
   lu.assertEquals(sources.regular(names(5, 255, 16), all), { every = 16, first = { 5 } })
   local three = {}
   for i = 0, 255 do
      three[#three + 1] = (i % 32 == 0 or i % 32 == 1 or i % 32 == 31) and "n" .. i or nil
   end
   lu.assertEquals(sources.regular(three, all), { every = 32, first = { 0, 1, 31 } })
   lu.assertEquals(words.regular({ every = 32, first = { 0 } }), "every 32nd node")
   lu.assertEquals(words.regular({ every = 11, first = { 0 } }), "every 11th node")
   lu.assertEquals(words.regular({ every = 32, first = { 0, 1, 31 } }), "0, 1, 31 of every 32 nodes")
   -- Some nodes are at no regular positions, nor are names without numbers.
   lu.assertNil(sources.regular({ "n3", "n17", "n18", "n101" }, all))
   lu.assertNil(sources.regular({ "a", "b", "c" }, { "a", "b", "c", "d", "e", "f", "g", "h" }))
end

-- By chance less than one in a thousand is in phase.
function TestSources.test_phases_of_chance()
   local draw, found = random.new(9), 0
   for _ = 1, 2000 do
      local list = {}
      for i = 1, 10 do
         list[i] = { component = { period_ms = 10, beat = ("%.6f"):format(1764000000 + 100 * uniform(draw)) } }
      end
      local p = sources.in_phase(list, 10)
      found = found + (p < 0.001 and 1 or 0)
   end
   lu.assertTrue(found <= 8, found)
   -- Four are too few, and a beat that is none is left out.
   local four = {}
   for i = 1, 4 do
      four[i] = { component = { period_ms = 10, beat = "1764000000.5" } }
   end
   lu.assertNil(sources.in_phase(four, 10))
   for _, text in ipairs({ "x", "0x64", " 101 ", "1.02e2", "103.", "104", "1e400", ("9"):rep(13) .. ".5" }) do
      local list = {}
      for i = 1, 20 do
         list[i] = { component = { period_ms = 10, beat = text } }
      end
      lu.assertNil(sources.in_phase(list, 10), text)
   end
   -- A period that is no round number: only beats near each other tell.
   local near, far = {}, {}
   for i = 1, 20 do
      near[i] = { component = { period_ms = 13.77, beat = ("%.6f"):format(1764000000 + 0.01377 * draw(50)) } }
      far[i] = { component = { period_ms = 13.77 * (1 + 1e-4 * (uniform(draw) - 0.5)),
         beat = ("%.6f"):format(1764000000 + 0.01377 * draw(50) + 86400 * i) } }
   end
   lu.assertTrue(sources.in_phase(near, 13.77) < 0.001)
   lu.assertNil(sources.in_phase(far, 13.77))
end

TestSimulate = {}

function TestSimulate.test_between_all_and_nothing()
   local nodes = {}
   for i = 1, 32 do
      nodes[i] = node("n" .. i, beat(2000, 50000, 1000))
   end
   local sample = predict.sample(nodes, 1000)
   for _, n in ipairs({ 2, 64, 1000 }) do
      local all = closed(2000, 50000, 1000, n)
      local barrier = simulate.delay(sample, n, "barrier", 0)
      -- With messages that take no time a dissemination barrier waits for everybody.
      lu.assertAlmostEquals(barrier / all, 1, 0.15)
      local halo = simulate.delay(sample, n, "halo", 0)
      lu.assertTrue(halo <= barrier * 1.1 + 1e-9 and halo > 0, n)
      if n == 1000 then
         lu.assertTrue(halo > sample.mean_us and halo < barrier)
      end
   end
   -- What the messages take is no noise.
   local quiet = predict.sample({ node("n1", QUIET) }, 1000)
   for _, kind in ipairs(simulate.KINDS) do
      lu.assertAlmostEquals(simulate.delay(quiet, 100, kind, 5), 0, 1e-6)
   end
end

function TestSimulate.test_draws_have_the_distribution()
   local draw, one, sum = random.new(1), beat(2000, 10000, 1000), 0
   for _ = 1, 100000 do
      sum = sum + simulate.draw_delay({ one, window_s = one.window_s }, draw) / 100000
   end
   lu.assertAlmostEquals(sum / closed(2000, 10000, 1000, 1), 1, 0.02)
end

TestStore = {}

function TestStore:setUp()
   own_store.setUp()
end

function TestStore:tearDown()
   own_store.tearDown()
end

local function check(name, at, result, more)
   local r = { kind = "check", node = name, class = "big", level = "quick", status = "pass", action = "none", time = at,
      boot_id = "b", runs = { { kernel = "noise", state = "ok", result = result } } }
   for key, value in pairs(more or {}) do
      r[key] = value
   end
   return own_store.record(r)
end

local function result(length)
   local one = beat(length, 10000, 1000)
   return { noise_pct = 1, threads = 8, components_complete = true, spared_cores = 1, delays = { one },
      delays_spared = { { work_us = 1000, above = { 1, 0 }, us = { 0, 0 } } },
      components = { { period_ms = 10, duration_us = length, lost_pct = 4, source = "kipmi0",
         beat = "1764000000.004000", without = { { work_us = 1000, above = { 1, 0 }, us = { 0, 0 } } } } } }
end

local T0 = 1764000000

function TestStore.test_what_is_stored_is_read()
   own_store.write({ check("n1", T0, result(1000)), check("n2", T0, { noise_pct = 3 }) })
   local wanted = read.wanted(own_store.db, T0 - 1000, { class = "big" })
   local nodes, silent = read.nodes(own_store.db, { from = T0 - 1000, to = T0 + 1 }, wanted)
   lu.assertEquals(silent, { "n2" })
   lu.assertEquals(#nodes, 1)
   local of = nodes[1].checks[1].of
   lu.assertEquals(of.delays[1].us, { 0, 0, 1000, 1000 })
   lu.assertNil(of.spared)
   read.add_without(own_store.db, { from = T0 - 1000, to = T0 + 1 }, nodes[1])
   of = nodes[1].checks[1].of
   lu.assertEquals(of.spared[1].us, { 0, 0 })
   lu.assertEquals(of.components[1].without[1].above, { 1, 0 })
   lu.assertEquals(of.components[1].source, "kipmi0")
   lu.assertEquals(of.cores, 8)
   lu.assertTrue(of.complete)
   -- Before they were, there is nothing; of another class neither.
   lu.assertEquals(#read.nodes(own_store.db, { from = T0 + 10, to = T0 + 20 }, wanted), 0)
   lu.assertEquals(#read.wanted(own_store.db, T0 - 1000, { class = "small" }), 0)
end

-- A node keeps its newest check of each 3 hours of the day, in one batch or in several, in any order.
function TestStore.test_bounded()
   local list = {}
   for i = 1, 400 do
      list[i] = check("n1", T0 + i * 600, result(1000 + i))
   end
   own_store.write(list)
   own_store.write({ check("n1", T0 + 401 * 600, result(2000)), check("n2", T0, result(1)) })
   lu.assertEquals(own_store.db:row("SELECT COUNT(*) FROM noise_node WHERE node = 1")[1], 8)
   local nodes = read.nodes(own_store.db, { from = T0, to = T0 + 1000000 }, (read.wanted(own_store.db, T0, {})))
   lu.assertEquals(#nodes[1].checks, 8)
   lu.assertEquals(nodes[1].checks[1].of.delays[1].us[4], 2000)
   lu.assertEquals(own_store.db:row("SELECT COUNT(*) FROM check_node")[1], 402)
end

-- One of level full stays beside those of quick ones, and its names are read first.
function TestStore.test_names()
   local quick = result(1000)
   quick.components[1].source = nil
   own_store.write({ check("n1", T0, result(1000), { level = "full" }), check("n1", T0 + 100, quick) })
   local span = { from = T0, to = T0 + 1000 }
   local nodes = read.nodes(own_store.db, span, (read.wanted(own_store.db, T0, {})))
   lu.assertEquals(#nodes[1].checks, 2)
   lu.assertEquals(nodes[1].checks[1].time, T0)
   read.add_without(own_store.db, span, nodes[1])
   lu.assertEquals(nodes[1].checks[1].of.components[1].source, "kipmi0")
   lu.assertNotNil(nodes[1].checks[1].of.components[1].without)
   -- Before it there was only one.
   nodes = read.nodes(own_store.db, { from = T0, to = T0 + 50 }, (read.wanted(own_store.db, T0, {})))
   lu.assertEquals(#nodes[1].checks, 1)
end

-- What others disturbed says nothing of the node.
function TestStore.test_disturbed()
   own_store.write({ check("n1", T0, result(1000), { metrics = { { name = "noise_pct", value = 30, status = "unrated",
      busy = true } } }), check("n1", T0 + 1, result(1000), { busy = { cpus = 2, checks = 3 } }) })
   lu.assertEquals(own_store.db:row("SELECT COUNT(*) FROM noise_node")[1], 0)
end

function TestStore.test_allreduce()
   own_store.write({ check("n1", T0, result(1000)), own_store.record({ kind = "fabric", node = "n1",
      class = "fabric-100g-1hop", by = "n1", seed = 1, nodes = 8, status = "pass", action = "none", time = T0,
      allreduce_us = 9, allreduce_steps = 3 }) })
   local nodes = read.nodes(own_store.db, { from = T0, to = T0 + 1000000 }, (read.wanted(own_store.db, T0, {})))
   lu.assertEquals(read.allreduce(own_store.db, T0, nodes), { us = 9, steps = 3, time = T0 })
   local answer = noise.of(nodes, { allreduce = { us = 9, steps = 3 }, sizes = { 1, 1024 } }, WITH)
   lu.assertAlmostEquals(answer.works[1].rows[2].pct, 100 * answer.works[1].rows[2].us / (1000 + 30), 1e-9)
   lu.assertAlmostEquals(answer.works[1].rows[1].pct, 100 * answer.works[1].rows[1].us / 1000, 1e-9)
end

TestDamage = {}

-- Whatever a record says: nothing of it, or numbers that are ones.
function TestDamage.test_anything()
   local good = result(1000)
   local junk = { false, 0, -1, 1e300, "x", {}, { {} }, { 1, "x" }, { work_us = 1000 }, 0 / 0, math.huge }
   local function copy(value)
      if type(value) ~= "table" then
         return value
      end
      local out = {}
      for key, one in pairs(value) do
         out[key] = copy(one)
      end
      return out
   end
   local function each(value, path, visit)
      visit(path)
      for key, one in pairs(type(value) == "table" and value or {}) do
         local longer = table.move(path, 1, #path, 1, {})
         longer[#longer + 1] = key
         each(one, longer, visit)
      end
   end
   local tried = 0
   each(good, {}, function(path)
      for _, bad in ipairs(junk) do
         local broken = copy(good)
         local at = broken
         for i = 1, #path - 1 do
            at = at[path[i]]
         end
         if #path == 0 then
            broken = bad
         else
            at[path[#path]] = bad
         end
         local of = delays.of(broken)
         tried = tried + 1
         if of then
            local answer = noise.of({ { name = "n1", checks = { { time = 1, of = of } } },
               node("n2", beat(10, 10000, 1000)) }, { sizes = { 1, 64 } }, WITH)
            lu.assertTrue(answer.head.pct == answer.head.pct and answer.head.pct < math.huge)
            answer.of = "x"
            lu.assertIsString(words.head(answer))
         end
      end
   end)
   lu.assertTrue(tried > 300)
   -- What is counted is whole, and no check is longer than a day.
   good.threads, good.spared_cores = 4.5, 1.5
   lu.assertNil(delays.of(good).cores)
   lu.assertNil(delays.of(good).spared_cores)
   good.threads = 8
   good.delays[1].window_s = 1e12
   lu.assertNil(delays.of(good))
   good.delays[1].window_s = 1
   lu.assertNil(delays.of(nil))
   local of = delays.of(good)
   delays.join(of, { spared = "x", components = { { { work_us = 1 } } } })
   lu.assertNil(of.spared)
   lu.assertNil(of.components[1].without)
   delays.join(of, "x")
end

TestVerify = {}

-- @param pct predicted; m what was measured, in %; se its standard error
local function compared(pct, m, se, more)
   local row = { nodes = 2, pct = pct, at_least = more and more.at_least }
   return verify.compare({ nodes = 2, works = { { work_us = 1000, rows = { row } } } }, { { work_us = 1000, steps = 9,
      step_us = 1100 * (1 + m / 100), se_us = se and 11 * se, base_us = 1100, call_us = 100,
      call_mean_us = more and more.mean or 100, cores = {} } })
end

function TestVerify:test_agrees_within_a_fifth_and_two_errors()
   for _, case in ipairs({ { 10, 12.4, 0 }, { 10, 12.6, 0, "more" }, { 10, 12.6, 0.1 }, { 10, 8.1, 0 },
      { 10, 7.9, 0, "less" }, { 0, 0.09, nil }, { 0, 0.11, nil, "more" }, { 0.05, 0, nil },
      { 10, 14, nil, "more" } }) do
      local one = compared(case[1], case[2], case[3])[1]
      lu.assertEquals({ one.agrees, one.differs }, { case[4] == nil, case[4] })
      lu.assertAlmostEquals(one.measured_pct, case[2], 1e-9)
   end
end

function TestVerify:test_at_least_is_no_upper_limit()
   local one = compared(1, 50, 0, { at_least = true })[1]
   lu.assertEquals({ one.agrees, one.differs }, {})
   lu.assertEquals(words.agrees(one), "cannot tell")
   lu.assertTrue(compared(10, 11, 0, { at_least = true })[1].agrees)
   lu.assertEquals(compared(10, 1, 0, { at_least = true })[1].differs, "less")
end

-- An error larger than the fifth would agree with anything.
function TestVerify:test_what_varies_too_much_cannot_be_told()
   for _, case in ipairs({ { 0.34, 255, 179 }, { 10, 10, 1.1 }, { 22, 37, 35 } }) do
      local one = compared(case[1], case[2], case[3])[1]
      lu.assertEquals({ one.agrees, one.differs }, {})
   end
   lu.assertTrue(compared(10, 10, 0.9)[1].agrees)
   lu.assertEquals(compared(10, 60, 5)[1].differs, "more")
end

function TestVerify:test_faster_than_undisturbed_is_nothing_lost()
   lu.assertEquals(compared(0.05, -0.01, 0)[1].measured_pct, 0)
end

-- What not all nodes have samples for is compared with nothing.
function TestVerify:test_a_column_of_fewer_nodes_is_left_out()
   local answer = { nodes = 3, works = { { work_us = 1000, rows = { { nodes = 2, pct = 1 } } } } }
   lu.assertEquals(verify.compare(answer, { { work_us = 1000 } }), {})
   lu.assertEquals(verify.compare(answer, { { work_us = 100 } }), {})
end

function TestVerify:test_what_is_said_of_it()
   lu.assertEquals(words.of_verify(compared(10, 10, 0)), {})
   lu.assertStrContains(words.of_verify(compared(10, 20, 0))[1], "more than predicted at 1 ms")
   lu.assertStrContains(words.of_verify(compared(10, 2, 0))[1], "less than predicted at 1 ms")
   -- 55 us of 1,100 on top of the median, in each step.
   lu.assertStrContains(words.of_verify(compared(2, 7, 0, { mean = 155 }))[2], "the allreduce alone has 5 points at")
   local list = compared(10, 10, 0)
   list.cores = { verify.other_cores({ { name = "c/n1", name_alone = "n1", checks = { { of = { cores = 8 } } } },
      { name = "c/n2", name_alone = "n2", checks = { { of = { cores = 64 } } } } },
      { { cores = { n1 = 8, n2 = 2 } } }) }
   lu.assertStrContains(words.of_verify(list)[1], "2 of c/n2, where checks sampled 64")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
