-- Files that all nodes write and read: who is named, alone or loaded, or a leaf, and what else can go wrong.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local simulated = require("simulated")
local storage = require("syscheck.fabric.storage")

-- Rates in GB/s: write and read of each node (default 1 and 2), `loaded` = only where more than two are at work,
-- `once` = in the first call only; `fails` = node's number -> text; noise.
local function measure_of(net, world)
   local noise, calls = simulated.noise(world.seed or 1), 0
   return function(rounds)
      calls = calls + 1
      if world.lost then
         return nil, world.lost
      end
      local out = {}
      for r, round in ipairs(rounds) do
         out[r] = {}
         local node_of, failing = round.groups[1], world.first_fails ~= nil or world.stops
            or world.second_fails and r == 2
         for _, node in ipairs(node_of) do
            failing = failing or (world.fails or {})[node] ~= nil
         end
         for _, node in ipairs(world.nobody and {} or node_of) do
            local function rate(way, usual)
               local low = (world[way] or {})[node] or calls == 1 and (world["once_" .. way] or {})[node]
                  or #node_of > 2 and (world["loaded_" .. way] or {})[node]
               local value = low and (type(low) == "table" and low[r] or low) or usual
               return not failing and value * (1 + (world.noise or 0.03) * noise()) or nil
            end
            out[r][net.names[node]] = { write_gbs = rate("write", 1), read_gbs = rate("read", 2), written = 1e9,
               filesystem = "lustre", direct = true,
               stopped = failing and "rank 3 could not" or nil,
               error = (world.fails or {})[node] or calls * 10 + r == 12 and world.second_fails
                  or node == node_of[1] and world.first_fails or nil,
               wrong = (world.wrong or {})[node] }
         end
         if round.kind == "file" and world.no_mpi_io then
            out[r] = { [net.names[1]] = { error = world.no_mpi_io } }
         end
      end
      return out
   end
end

local function run(sizes, world)
   local net = simulated.net(sizes)
   local out, said = storage.run(net, measure_of(net, world)), {}
   for k, one in ipairs(out.findings) do
      said[k] = table.concat({ one.kind, one.node or "l" .. one.leaf, one.direction, one.how }, " ")
   end
   return said, out
end

local function seeds(check)
   for seed = 1, 20 do
      check(seed)
   end
end

TestStorage = {}

function TestStorage:test_nobody()
   seeds(function(seed)
      for _, sizes in ipairs({ 2, 3, 9, { 3, 3, 3 }, { 16, 16 } }) do
         local said, out = run(sizes, { seed = seed, noise = 0.1 })
         lu.assertEquals({ said, out.unconfirmed, out.errors, out.error }, { {}, 0, {} })
      end
   end)
end

function TestStorage:test_what_is_measured()
   local _, out = run({ 3, 3 }, { noise = 0 })
   lu.assertEquals(out.own, { write_gbs = 1, read_gbs = 2, write_all_gbs = 6, read_all_gbs = 12 })
   lu.assertEquals(out.shared, out.own)
   lu.assertEquals({ out.filesystem, out.direct, out.bytes, #out.nodes }, { "lustre", true, 1e9, 6 })
   lu.assertEquals(out.nodes[2], { node = 2, write_gbs = 1, read_gbs = 2, shared_write_gbs = 1, shared_read_gbs = 2 })
end

function TestStorage:test_a_slow_node()
   seeds(function(seed)
      lu.assertEquals(run({ 3, 3, 3 }, { write = { [5] = 0.5 }, seed = seed }), { "io 5 write alone" })
      lu.assertEquals(run(3, { read = { [1] = 1 }, seed = seed }), { "io 1 read alone" })
      lu.assertEquals(run({ 8, 8 }, { write = { [2] = 0.3 }, read = { [2] = 1 }, seed = seed }), { "io 2 both alone" })
      lu.assertEquals(run({ 8, 8 }, { loaded_write = { [2] = 0.3 }, seed = seed }), { "io 2 write loaded" })
      lu.assertEquals(run(9, { write = { [2] = 0.5, [7] = 0.3 }, seed = seed }),
         { "io 7 write alone", "io 2 write alone" })
   end)
   local _, out = run(9, { write = { [5] = 0.5 }, noise = 0 })
   lu.assertAlmostEquals(out.findings[1].share, 0.5, 1e-9)
end

-- Once is chance; little is nothing; of two nobody is blamed, nor most.
function TestStorage:test_who_is_not_named()
   lu.assertEquals(run(9, { write = { [5] = { 0.5, 1 } } }), {})
   lu.assertEquals(run(9, { write = { [5] = { 1, 0.5 } } }), {})
   lu.assertEquals(run(9, { write = { [5] = 0.87 } }), {})
   lu.assertEquals(run(2, { write = { [2] = 0.3 } }), {})
   local said, out = run(9, { write = { 0.2, 0.3, 0.5, 0.7 }, noise = 0 })
   lu.assertEquals({ #said, out.unconfirmed }, { 4, 0 })
   said, out = run(12, { write = { 0.2, 0.3, 0.4, 0.5, 0.55 }, noise = 0 })
   lu.assertEquals({ #said, out.unconfirmed }, { 4, 1 })
end

-- Files of a node on a busy server in both of the first rounds.
function TestStorage:test_who_was_unlucky_twice()
   local said, out = run(9, { once_write = { [5] = 0.4 } })
   lu.assertEquals({ said, out.unconfirmed }, { {}, 1 })
   said, out = run({ 3, 3, 3 }, { once_read = { [4] = 0.4, [5] = 0.4, [6] = 0.4 } })
   lu.assertEquals({ said, out.unconfirmed }, { {}, 1 })
end

function TestStorage:test_a_leaf()
   seeds(function(seed)
      local low = { [4] = 0.5, [5] = 0.5, [6] = 0.5 }
      lu.assertEquals(run({ 3, 3, 3 }, { loaded_write = low, seed = seed }), { "io_leaf l2" })
      lu.assertEquals(run({ 3, 3, 3 }, { write = low, read = low, seed = seed }), { "io_leaf l2" })
      -- Of two leaves, whose is it? Each node is what it is.
      lu.assertEquals(#run({ 6, 3 }, { write = { [7] = 0.5, [8] = 0.5, [9] = 0.5 }, seed = seed }), 3)
   end)
end

function TestStorage:test_who_cannot()
   local said, out = run(9, { fails = { [5] = "No such file or directory" } })
   lu.assertEquals(said, { "io_error 5" })
   lu.assertEquals(out.errors, { { text = "No such file or directory", nodes = { "l1n5" } } })
   lu.assertEquals({ out.error, out.shared }, { nil, {} })
   lu.assertTrue(out.own.write_gbs > 0.9)
   said, out = run(4, { fails = { "Permission denied", "Permission denied" } })
   lu.assertEquals({ said, out.error, out.own }, { {}, "Permission denied", {} })
   -- The first one of them only, whoever that is: it says what none of them could.
   said, out = run(9, { first_fails = "no directory can be made there: Disk quota exceeded" })
   lu.assertEquals({ said, out.error }, { {}, "no directory can be made there: Disk quota exceeded" })
   -- Nobody says why, or nobody says anything: no node is called well.
   said, out = run(4, { stops = true })
   lu.assertEquals({ said, out.error, out.own }, { {}, "some node did not go on: rank 3 could not", {} })
   said, out = run(4, { nobody = true })
   lu.assertEquals({ said, out.error, out.own }, { {}, "no answer from l1n[1-4]", {} })
   said, out = run(4, { second_fails = "write: No space left on device" })
   lu.assertEquals({ said, out.error }, { {}, "write: No space left on device" })
   said, out = run(4, { lost = "n3: not all nodes came" })
   lu.assertEquals({ said, out.error }, { {}, "n3: not all nodes came" })
   said, out = run(4, { no_mpi_io = "MPI_File_open: unsupported" })
   lu.assertEquals({ said, out.error }, { {}, "one file for all: MPI_File_open: unsupported" })
   lu.assertTrue(out.own.write_gbs > 0.9)
end

function TestStorage:test_what_came_back_wrong()
   lu.assertEquals(run(9, { wrong = { [3] = "byte 5" } })[1], "io_corrupt 3")
   -- Then nobody goes on.
   lu.assertEquals(run(9, { wrong = { [3] = "byte 5" }, stops = true })[1], "io_corrupt 3")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
