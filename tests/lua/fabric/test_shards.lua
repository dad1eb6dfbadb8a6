-- More nodes than one job should have: which are measured together, and what is found between these.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local network = require("syscheck.fabric.net")
local rating = require("syscheck.fabric.rating")
local session = require("syscheck.fabric.session")
local shards = require("syscheck.fabric.shards")
local simulated = require("simulated")

-- Names and tree of leaves of these sizes: "l1n1"..
local function site(sizes)
   local names, leaf = {}, {}
   for l, size in ipairs(sizes) do
      for k = 1, size do
         names[#names + 1] = ("l%dn%d"):format(l, k)
         leaf[names[#names]] = "l" .. l
      end
   end
   return names, { leaf = leaf }
end

local function sizes_of(list)
   local out, seen = {}, {}
   for k, names in ipairs(list) do
      out[k] = #names
      for _, name in ipairs(names) do
         lu.assertNil(seen[name])
         seen[name] = true
      end
   end
   return out
end

TestShards = {}

function TestShards:test_whole_leaves()
   local names, tree = site({ 200, 200, 200, 100, 400 })
   local list = shards.build(names, tree, 512)
   lu.assertEquals(sizes_of(list), { 400, 300, 400 })
   for _, part in ipairs(list) do
      for _, name in ipairs(part) do
         lu.assertTrue(name:sub(1, 2) ~= "l2" or part == list[1])
      end
   end
   lu.assertEquals(#shards.build(names, tree, 512)[1], 400)
end

function TestShards:test_large_leaves_and_no_topology()
   local names, tree = site({ 1100, 5 })
   lu.assertEquals(sizes_of(shards.build(names, tree, 512)), { 366, 367, 372 })
   lu.assertEquals(sizes_of(shards.build(names, nil, 512)), { 368, 368, 369 })
   lu.assertEquals(sizes_of(shards.build(names, nil, 2000)), { 1105 })
   lu.assertEquals(sizes_of(shards.build({ "a", "b" }, nil, 512)), { 2 })
end

function TestShards:test_nobody_is_left_alone()
   local names, tree = site({ 512, 1 })
   lu.assertEquals(sizes_of(shards.build(names, tree, 512)), { 510, 3 })
   -- Each node that the topology does not name is a leaf for itself.
   tree.leaf = {}
   lu.assertEquals(sizes_of(shards.build(names, tree, 512)), { 510, 3 })
end

function TestShards:test_ten_thousand_nodes()
   local sizes = {}
   for l = 1, 313 do
      sizes[l] = 32
   end
   local names, tree = site(sizes)
   local list = shards.build(names, tree, 512)
   lu.assertEquals({ #list, #list[1], #list[20] }, { 20, 512, 10016 - 19 * 512 })
end

-- Answers as run.run gives them, of leaves of these sizes.
local function answer_of(net, world)
   local out = assert(session.run(net, simulated.measure(net, world or {}), { seed = 3 }))
   out.net, out.about, out.notes = net, {}, {}
   return out
end

function TestShards:test_one_good_node_of_each_leaf()
   local names, tree = site({ 4, 4, 4, 4 })
   local parts = shards.build(names, tree, 8)
   local one = answer_of(network.new(parts[1], tree), { out = { [1] = 5, [6] = 5 } })
   local two = answer_of(network.new(parts[2], tree))
   lu.assertEquals(#one.findings, 2)
   lu.assertEquals(shards.across({ one, two }, 512), { "l1n2", "l2n1", "l3n1", "l4n1" })
   lu.assertEquals(shards.across({ one, two }, 3), { "l1n2", "l2n1", "l3n1" })
   lu.assertEquals(shards.across({ one }, 512), {})
   lu.assertEquals(shards.across({ answer_of(network.new(parts[1])), answer_of(network.new(parts[2])) }, 512), {})
end

function TestShards:test_what_a_shard_does_not_see_is_said()
   for sizes, said in pairs({ [{ 4 }] = "^one leaf in", [{ 4, 4 }] = "^2 leaves in", [{ 4, 4, 4 }] = false,
      [4] = false }) do
      local out = answer_of(simulated.net(sizes))
      shards.note(out)
      lu.assertEquals(#out.notes, said and 1 or 0)
      lu.assertTrue(not said or out.notes[1]:find(said) ~= nil)
   end
end

function TestShards:test_what_is_slow_between_them_is_no_node()
   local net = simulated.net({ 1, 1, 1, 1, 1 })
   local out = answer_of(net, { out = { [2] = 4 }, ["in"] = { [4] = 5 }, latency = { [5] = 4 } })
   local kinds = {}
   for _, one in ipairs(out.findings) do
      kinds[one.kind] = true
   end
   lu.assertEquals(kinds, { nic = true, latency = true })
   shards.explain(out)
   local said = {}
   for k, one in ipairs(out.findings) do
      said[k] = { one.kind, one.leaf, one.direction, one.node }
   end
   lu.assertEquals(said, { { "uplink_link", 2, "up" }, { "uplink_link", 4, "down" } })
   lu.assertEquals(out.unconfirmed, 1)
   -- No node has a value from it, nor is its uplink called good.
   for _, rated in ipairs(rating.of(out, { limits = {}, mode = "enforce" })) do
      lu.assertEquals({ rated.metrics, rated.status, rated.uplinks }, { {}, "unknown" })
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
