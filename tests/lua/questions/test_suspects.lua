-- Nodes that are in too many slow jobs.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local suspects = require("syscheck.questions.suspects.logic")

TestSuspects = {}

-- 200 runs of 4 nodes among 40, kinds alike; runs with node 7 are slow.
local function history(bad)
   math.randomseed(9)
   local kinds, slow, exposure = {}, {}, {}
   for i = 1, 400 do
      local nodes, from = {}, math.random(40)
      for k = 0, 3 do
         nodes[k + 1] = (from + k) % 40
      end
      local hit = false
      for _, n in ipairs(nodes) do
         hit = hit or n == bad
      end
      local kind = i % 10 + 1
      kinds[kind] = kinds[kind] or {}
      table.insert(kinds[kind], { elapsed_s = 1000 * (hit and 1.4 or 1) * (1 + (i % 7 - 3) / 200), nodes = nodes })
   end
   for _, runs in ipairs(kinds) do
      local some, share = suspects.slow(runs)
      table.move(some, 1, #some, #slow + 1, slow)
      for _, r in ipairs(runs) do
         for _, n in ipairs(r.nodes) do
            local e = exposure[n] or { runs = 0, expected = 0 }
            exposure[n] = e
            e.runs, e.expected = e.runs + 1, e.expected + share
         end
      end
   end
   return slow, exposure
end

function TestSuspects:test_the_bad_node_and_not_its_neighbours()
   local found = suspects.find(history(7))
   lu.assertEquals(#found, 1)
   lu.assertEquals(found[1].node, 7)
   lu.assertTrue(found[1].p_corrected < 1e-4)
   lu.assertTrue(found[1].times > 3)
   lu.assertEquals(#found[1].slow, found[1].runs)
end

function TestSuspects:test_nobody()
   lu.assertEquals(suspects.find(history(nil)), {})
   lu.assertEquals(suspects.find({}, {}), {})
   lu.assertEquals(suspects.find({ { nodes = { 1 } } }, { [1] = { runs = 1, expected = 0 } }), {})
end

function TestSuspects:test_which_were_slow()
   lu.assertEquals(#suspects.slow({ { elapsed_s = 1 }, { elapsed_s = 9 } }), 0)
   local runs = {}
   for i = 1, 10 do
      runs[i] = { elapsed_s = i == 10 and 150 or 100 }
   end
   local slow, share = suspects.slow(runs)
   lu.assertEquals({ #slow, share }, { 1, 0.1 })
   lu.assertAlmostEquals(slow[1].ratio, 1.5, 1.5e-9)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
