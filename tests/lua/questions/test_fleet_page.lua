-- The page of a fleet larger than its map.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local fleet = require("syscheck.questions.fleet.logic")
local page = require("syscheck.questions.fleet.page")

TestFleetPage = {}

local function answer_of(count)
   local nodes = {}
   for i = 1, count do
      local value = i == count and 200 or 380 + i % 7
      nodes[i] = { node = ("n%d"):format(i), key = i, class = "epyc",
         values = { triad_gbs = { value = value, time = 1e9, status = "pass" } } }
   end
   local answer = fleet.compare(nodes)
   answer.nodes, answer.since, answer.to, answer.unknown, answer.fabric = nodes, 1e9, 1e9 + 86400, {}, {}
   answer.checks = { { node = "n1", checks = { { time = 1e9, status = "fail" }, { time = 1e9 + 50, status = "fail" },
      { time = 1e9 + 100, status = "pass" } } }, { node = "n2", checks = { { time = 1e9, status = "pass" } } } }
   return answer
end

function TestFleetPage:test_who_is_out_is_in_the_map_of_any_fleet()
   for _, count in ipairs({ 3, 100, 5000 }) do
      local text = page(answer_of(count))
      lu.assertEquals(select(2, text:gsub('<rect class="x"', "")), math.min(count, 2000))
      lu.assertEquals(text:find("1 of " .. count .. " nodes is worse", 1, true) ~= nil, count >= fleet.MIN_NODES)
      lu.assertStrContains(text, ("<title>n%d: triad 200.0 GB/s</title>"):format(count))
      lu.assertStrContains(text, "1 other node passed all")
      lu.assertTrue(#text < 1000000)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
