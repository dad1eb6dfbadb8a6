-- Leaf switches of nodes: what changed, in the cluster that is meant, and who is asked how often.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local leaves = require("syscheck.store.leaves")
local own_store = require("own_store")
local slurm = require("syscheck.slurm.command")
local topology = require("syscheck.cmd.common.topology")

TestLeaves = {}

local db

-- @param names words of clusters, nodes of each
local function nodes(names)
   local id = 0
   for i, cluster in ipairs(names) do
      db:exec("INSERT INTO word (id, text, private) VALUES (?, ?, 0)", i, cluster[1])
      for k = 2, #cluster do
         id = id + 1
         db:exec("INSERT INTO node (id, cluster, name, seen_s) VALUES (?, ?, ?, 0)", id, i, cluster[k])
      end
   end
end

local function found()
   local out = {}
   for t in db:rows("SELECT w.text, n.name, n.leaf FROM node n JOIN word w ON w.id = n.cluster "
      .. "WHERE n.leaf IS NOT NULL ORDER BY n.id") do
      out[#out + 1] = table.concat(t, " ")
   end
   return out
end

local run = slurm.run

function TestLeaves:setUp()
   own_store.setUp()
   db = own_store.db
end

function TestLeaves:tearDown()
   slurm.run = run
   own_store.tearDown()
end

function TestLeaves:test_only_what_changed()
   nodes({ { "a", "n1", "n2", "n3" }, { "b", "n1" } })
   lu.assertEquals(leaves.write(db, "a", { n1 = "s0", n2 = "s0", n9 = "s1" }), 2)
   lu.assertEquals(leaves.write(db, "a", { n1 = "s0", n2 = "s1" }), 1)
   -- Gone from the topology: where it was is still true of its jobs.
   lu.assertEquals(leaves.write(db, "a", { n2 = "s1" }), 0)
   lu.assertEquals(leaves.write(db, "nowhere", { n1 = "s5" }), 0)
   lu.assertEquals(found(), { "a n1 s0", "a n2 s1" })
end

function TestLeaves:test_asked_hourly()
   lu.assertTrue(leaves.is_due(db, "a", 10000))
   lu.assertFalse(leaves.is_due(db, "a", 13599))
   lu.assertTrue(leaves.is_due(db, "b", 13599))
   lu.assertTrue(leaves.is_due(db, "a", 13600))
   -- A clock that was set back does not wait for the time that was.
   lu.assertTrue(leaves.is_due(db, "a", 5000))
   lu.assertFalse(leaves.is_due(db, "a", 5001))
end

local function host_of(cluster)
   return { policy = { scontrol = "/x/scontrol" }, cluster = function()
      return cluster
   end }
end

function TestLeaves:test_slurm_is_asked_for_its_own_cluster()
   nodes({ { "a", "n1", "n2" }, { "b", "n1" }, { "" } })
   local calls, answer = 0, nil
   function slurm.run(program, args)
      calls = calls + 1
      lu.assertEquals({ program, table.unpack(args) }, { "/x/scontrol", "show", "topology" })
      return answer, "no answer"
   end
   -- Slurm here is none, or one that the store has nothing of.
   lu.assertEquals({ topology.write(db, {}, host_of(nil)) }, { 0 })
   lu.assertEquals({ topology.write(db, {}, host_of("c")) }, { 0 })
   lu.assertEquals(calls, 0)
   -- No answer, or none with leaves, is no error, and is not asked for again at once.
   lu.assertEquals({ topology.write(db, {}, host_of("a")) }, { 0 })
   lu.assertEquals({ topology.write(db, {}, host_of("a")) }, { 0 })
   lu.assertEquals(calls, 1)
   answer = "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
   lu.assertEquals({ topology.write(db, {}, host_of("b")) }, { 1 })
   lu.assertEquals({ topology.write(db, { cluster = "a" }, host_of("b")) }, { 0 }) -- asked an hour ago
   lu.assertEquals(found(), { "b n1 s0" })
   local count, err = topology.write(db, { cluster = "x\27" }, host_of("b"))
   lu.assertEquals({ count, err }, { 0, 'the store has no nodes of cluster "x\\x1b"' })
end

function TestLeaves:test_a_file()
   local file = os.tmpname()
   local function with(text, args, host)
      local f = assert(io.open(file, "w"))
      f:write(text)
      f:close()
      args.topology = file
      return topology.write(db, args, host)
   end
   local GOOD = "BlockName=b0 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
   lu.assertEquals({ with(GOOD, {}, host_of("a")) }, { 0 }) -- an empty store
   nodes({ { "a", "n1", "n2" } })
   lu.assertEquals({ with(GOOD, {}, host_of("elsewhere")) }, { 2 })
   lu.assertEquals({ with(GOOD, {}, host_of(nil)) }, { 0 })
   local count, err = with("SwitchName=s0 Nodes=n[1-2]\n", {}, host_of("a"))
   lu.assertEquals({ count, err }, { 0, file .. ": no leaf switch, block or ring with nodes in it; "
      .. "it should be what scontrol show topology prints" })
   os.remove(file)
   count, err = topology.write(db, { topology = file }, host_of("a"))
   lu.assertEquals(count, 0)
   lu.assertStrContains(err, "No such file")
   db:exec("UPDATE word SET text = 'z' WHERE id = 1")
   db:exec("INSERT INTO word (id, text, private) VALUES (7, 'y', 0)")
   db:exec("INSERT INTO node (id, cluster, name, seen_s) VALUES (7, 7, 'n1', 0)")
   count, err = with(GOOD, {}, host_of("a"))
   lu.assertEquals({ count, err }, { 0, "--topology: the store has clusters y, z: say --cluster" })
   lu.assertEquals({ with(GOOD, { cluster = "y" }, host_of("a")) }, { 1 })
   os.remove(file)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
