-- Nodes next to each other by name.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local racks = require("syscheck.questions.suspects.racks")

TestRacks = {}

-- n1 to n<count> of a cluster, ids from `first` on, in no order.
local function nodes(count, cluster, first, out)
   out = out or {}
   for i = 1, count do
      table.insert(out, 1 + i * 7 % (#out + 1), { id = first + i - 1, cluster = cluster, name = "n" .. i })
   end
   return out
end

local function of_width(list, width)
   local out = {}
   for _, rack in ipairs(list) do
      out[#out + 1] = rack.width == width and rack.members or nil
   end
   return out
end

function TestRacks:test_by_name_each_half_over_the_last()
   local sixes = of_width(racks.of(nodes(12, 1, 101)), 6)
   lu.assertEquals(sixes, { { 101, 102, 103, 104, 105, 106 }, { 104, 105, 106, 107, 108, 109 },
      { 107, 108, 109, 110, 111, 112 } })
end

-- Of any 12 neighbours nine at least are in one rack of 24 or less.
function TestRacks:test_no_place_is_cut_in_two()
   local all = racks.of(nodes(100, 1, 1))
   for first = 1, 89 do
      local most = 0
      for _, rack in ipairs(all) do
         local n = 0
         for _, node in ipairs(rack.members) do
            n = n + (node >= first and node <= first + 11 and 1 or 0)
         end
         most = rack.width <= 24 and math.max(most, n) or most
      end
      lu.assertTrue(most >= 9, first)
   end
end

-- Whatever is before it: each row of names has all of its racks.
function TestRacks:test_clusters_and_kinds_of_names_apart()
   local list = nodes(9, 2, 1, nodes(4, 1, 101))
   for i = 1, 7 do
      list[#list + 1] = { id = 200 + i, cluster = 1, name = "gpu" .. i }
   end
   list[#list + 1] = { id = 300, cluster = 1, name = "login" }
   local widest = {}
   for _, rack in ipairs(racks.of(list)) do
      local of = rack.members[1] // 100
      for _, node in ipairs(rack.members) do
         lu.assertEquals(node // 100, of)
      end
      widest[of] = math.max(widest[of] or 0, #rack.members)
   end
   lu.assertEquals(widest, { [0] = 9, [1] = 4, [2] = 7 })
end

-- No two have the same nodes.
function TestRacks:test_each_once()
   for count = 1, 100 do
      local seen = {}
      for _, rack in ipairs(racks.of(nodes(count, 1, 1))) do
         local key = table.concat(rack.members, " ")
         lu.assertNil(seen[key], count)
         seen[key] = true
      end
   end
end

function TestRacks:test_few_nodes()
   lu.assertEquals(racks.of({}), {})
   lu.assertEquals(racks.of(nodes(2, 1, 1)), {})
   for _, rack in ipairs(racks.of(nodes(5, 1, 1))) do
      lu.assertTrue(#rack.members >= 3)
   end
end

function TestRacks:test_what_their_nodes_have()
   local a, b, c = {}, {}, {}
   local rack = { members = { 1, 2, 3 } }
   lu.assertItemsEquals(racks.runs(rack, { { a, b }, { b, c }, [4] = { {} } }), { a, b, c })
   local of = { { clock = { { run = a, share = 0.1, item = "x" }, { run = b, share = 0.2, item = "x" } } },
      { clock = { { run = b, share = 0.3, item = "y" } }, link = { { run = c, share = 0.1, item = "z" } } } }
   local found = racks.conditions(rack, of, { clock = true, memory = true })
   lu.assertEquals(#found.clock, 2)
   lu.assertEquals(found.clock.by[b].share, 0.3)
   lu.assertEquals(found.clock.by[b].item, "y")
   lu.assertNil(found.link)
   lu.assertNil(found.memory)
   lu.assertEquals(#of[1].clock, 2)
   lu.assertEquals(of[1].clock[2].share, 0.2)
end

-- What `why` says of runs of a rack of nodes 1 to 6.
local function shown(runs, known)
   return racks.shown(runs, "clock", { 1, 2, 3, 4, 5, 6 }, known or {})
end

local function says(...)
   local out = { ... }
   for i, h in ipairs(out) do
      out[i] = { group = h[1], probability = h[2], node = type(h[3]) == "number" and h[3] or nil,
         nodes = type(h[3]) == "table" and h[3] or nil, all = h[3] == "all", text = h[3] and "text" or nil }
   end
   return out
end

function TestRacks:test_what_their_runs_show_together()
   local weak, nothing = says({ "nothing", 0.5 }, { "clock", 0.3, "all" }), says({ "nothing", 0.9 })
   -- Half of them show it, by 0.3 each: 0.15 of five, and more.
   local runs = { weak, nothing, weak, nothing, weak, nothing }
   lu.assertEquals(shown(runs), { group = "clock", told = 0, first = weak[2] })
   table.insert(runs, nothing)
   lu.assertNil(shown(runs))
   -- Runs with something else in them say nothing of it, for it or against it.
   for _, other in ipairs({ { "input", 0.9 }, { "clock", 0.9, 7 }, { "storage", 0.9, "all" }, { "daemon", 0.9, 3 },
      { "neighbour", 0.9, 2 } }) do
      other = says(other)
      lu.assertEquals(shown({ weak, nothing, weak, other, weak, other, nothing, other }).first, weak[2])
      lu.assertNil(shown({ weak, weak, weak, weak, other, other }))
   end
   lu.assertNil(shown({ nothing, nothing, nothing, nothing, nothing }))
end

-- A node that is a suspect itself explains its own runs; what others of the rack have beside it is the rack's.
function TestRacks:test_a_bad_node_does_not_speak_for_its_rack()
   local own, both = says({ "clock", 0.9, 2 }), says({ "clock", 0.8, { 2, 3 } }, { "clock", 0.1, 2 })
   lu.assertEquals(shown({ own, own, own, own, own }).first, own[1])
   lu.assertNil(shown({ own, own, own, own, own }, { [2] = true }))
   lu.assertEquals(shown({ both, both, both, both, both }, { [2] = true }).first, both[1])
   lu.assertNil(shown({ both, both, both, both, both }, { [2] = true, [3] = true }))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
