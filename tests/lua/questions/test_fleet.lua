-- The nodes of a fleet that stand out.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local causes = require("syscheck.questions.why.causes")
local expected = require("syscheck.questions.why.expected")
local felt = require("syscheck.questions.fleet.felt")
local fleet = require("syscheck.questions.fleet.logic")

local NOW = 1795000000 -- 2026-11-18T11:06:40Z

TestFleet = {}

local function nodes(n, sick, class)
   local list = {}
   for i = 1, n do
      list[i] = { node = "n" .. i, class = class or "epyc", values = {
         triad_gbs = { value = sick[i] or 100 + i % 5, time = NOW, status = sick[i] and "fail" or "pass" } } }
   end
   return list
end

function TestFleet:test_who_is_out()
   local m = fleet.compare(nodes(40, { [7] = 61, [9] = 140 }))[1].metrics[1]
   lu.assertEquals({ m.slowest.node, m.fastest.node, m.nodes, m.median }, { "n7", "n9", 40, 102 })
   lu.assertEquals({ m.out[1].node, m.out[1].worse, m.out[2].node, m.out[2].worse }, { "n7", true, "n9", false })
   lu.assertAlmostEquals(m.spread_pct, 100 * 79 / 140, 1e-9)
   lu.assertAlmostEquals(m.rest_pct, 100 * 4 / 104, 1e-9)
   lu.assertEquals(#fleet.compare(nodes(40, {}))[1].metrics[1].out, 0)
   -- Two or three per cent are no outlier, however alike the others are.
   local alike = nodes(40, {})
   for i, node in ipairs(alike) do
      node.values.triad_gbs.value = i == 3 and 97.5 or 100
   end
   lu.assertEquals(#fleet.compare(alike)[1].metrics[1].out, 0)
end

function TestFleet:test_few_nodes_and_classes()
   lu.assertEquals(#fleet.compare(nodes(4, { 10 }))[1].metrics[1].out, 0)
   local list = nodes(6, { [2] = 50 })
   table.move(nodes(1, { 10 }, "xeon"), 1, 1, 7, list)
   local answer = fleet.compare(list)
   lu.assertEquals({ answer[1].class, answer[2].class, answer[2].nodes }, { "epyc", "xeon", 1 })
   lu.assertEquals(#answer[1].metrics[1].out, 1)
end

-- n runs of a kind that takes 1000 s, at so many times that, so many days from the measurement.
local function runs(n, ratio, days)
   local like, list = {}, {}
   for i = 1, 20 do
      like[i] = { begin_s = NOW + i * 3600, elapsed_s = 1000 + i % 5 }
   end
   local e = expected.of(like, NOW)
   for i = 1, n do
      list[i] = { e = e, y = math.log(1002 * ratio), days = days or i % 3 - 1 }
   end
   return list
end

function TestFleet:test_whether_its_jobs_felt_it()
   local triad
   for _, item in ipairs(causes.CHECK) do
      triad = item.name == "triad_gbs" and item or triad
   end
   local jobs = felt.of(runs(8, 1.25), triad, 0.3)
   lu.assertEquals({ jobs.runs, jobs.felt }, { 8, true })
   lu.assertAlmostEquals(jobs.ratio, 1.25, 0.01)
   lu.assertFalse(felt.of(runs(20, 1), triad, 0.3).felt)
   -- One that was as fast as ever says little, and those of another week nothing.
   lu.assertNil(felt.of(runs(1, 1), triad, 0.3).felt)
   -- Surely 4 % longer: nobody calls that slow.
   lu.assertNil(felt.of(runs(8, 1.04), triad, 0.3).felt)
   lu.assertNil(felt.of(runs(8, 1.25, 5), triad, 0.3))
   lu.assertNil(felt.of({}, triad, 0.3))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
