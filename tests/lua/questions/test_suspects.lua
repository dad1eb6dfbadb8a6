-- Nodes whose jobs were slow for a time.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local expected = require("syscheck.questions.why.expected")
local suspects = require("syscheck.questions.suspects.logic")

TestSuspects = {}

local e = expected.of({ { begin_s = 1, elapsed_s = 1000 }, { begin_s = 2, elapsed_s = 1010 },
   { begin_s = 3, elapsed_s = 990 }, { begin_s = 4, elapsed_s = 1005 }, { begin_s = 5, elapsed_s = 995 },
   { begin_s = 6, elapsed_s = 1000 } }, 7)

local function run(i, ratio)
   local y = math.log(1000 * ratio)
   return { begin_s = i * 3600, ratio = ratio, score = suspects.score(e, y), job_id = i }
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

function TestSuspects:test_score()
   lu.assertTrue(suspects.score(e, math.log(1200)) > 1)
   lu.assertTrue(suspects.score(e, math.log(1000)) < 0)
   -- One run that was much faster is not proof of a good node.
   lu.assertTrue(suspects.score(e, math.log(300)) > -2)
end

function TestSuspects:test_the_bad_node_and_its_days_and_not_its_neighbours()
   local found = suspects.find(history(7, 100, 300, 1.3))
   lu.assertEquals(#found, 1)
   local one = found[1]
   lu.assertEquals(one.node, 7)
   lu.assertTrue(one.p < 1e-3)
   lu.assertTrue(one.from_s >= 100 * 3600 and one.to_s <= 300 * 3600)
   lu.assertTrue(#one.slow >= 0.9 * one.runs)
   lu.assertAlmostEquals(one.cost, 1.3, 0.03)
end

-- Four bad days of a month are not diluted by the rest.
function TestSuspects:test_a_few_bad_days()
   local found = suspects.find(history(7, 200, 260, 1.5))
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
   local found = suspects.find(of)
   lu.assertEquals(#found, 2)
   lu.assertItemsEquals({ found[1].node, found[2].node }, { 7, 25 })
end

function TestSuspects:test_nobody()
   lu.assertEquals(suspects.find(history(nil, 1, 400, 1)), {})
   lu.assertEquals(suspects.find({}), {})
   -- One slow run, or two, are no spell.
   lu.assertEquals(suspects.find({ { run(1, 3), run(2, 3) } }), {})
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
   lu.assertEquals(suspects.find(of), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
