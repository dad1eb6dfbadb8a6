-- What scontrol show topology prints, of each of Slurm's topologies, and what it never does.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local switches = require("syscheck.slurm.switches")

TestSwitches = {}

function TestSwitches:test_tree()
   lu.assertEquals(switches.leaves([[
SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2],m7
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[03-04]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-2,03-04],m7,x Switches=s[0-1]
]]), { n1 = "s0", n2 = "s0", m7 = "s0", n03 = "s1", n04 = "s1" })
   -- 10 is no 0, and a node of two leaves is at the first.
   lu.assertEquals(switches.leaves("SwitchName=a Level=10 LinkSpeed=1 Nodes=n1\n"
      .. "SwitchName=b Level=0 LinkSpeed=1 Nodes=n1\n"
      .. "SwitchName=c Level=0 LinkSpeed=1 Nodes=n[1-2]"), { n1 = "b", n2 = "c" })
end

function TestSwitches:test_blocks_and_rings()
   lu.assertEquals(switches.leaves("BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
      .. "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
      .. "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n"),
      { n1 = "b1", n2 = "b1", n3 = "b2", n4 = "b2" })
   lu.assertEquals(switches.leaves("RingName=r1 Nodes=n[1-2] RingSize=2\n"), { n1 = "r1", n2 = "r1" })
end

function TestSwitches:test_what_is_none()
   for _, text in ipairs({ "", "\n\n", "junk", "No topology information available\n", "SwitchName=s0 Nodes=n[1-4]",
      "SwitchName=s0 Level=0 LinkSpeed=1", "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=", "SwitchName= Level=0 Nodes=n1",
      "SwitchName=s0 Level=1 LinkSpeed=1 Nodes=n1 Switches=s1", " BlockName=b Nodes=n1", "BlockName=\27[31m Nodes=n1",
      "BlockName=" .. ("b"):rep(256) .. " BlockIndex=0 Nodes=n1", "BlockName=b Level=0 xNodes=n1" }) do
      local leaves, why = switches.leaves(text)
      lu.assertNil(leaves, text)
      lu.assertEquals(why, "no leaf switch, block or ring with nodes in it")
   end
   lu.assertEquals(switches.leaves("junk\nBlockName=b BlockIndex=1 Nodes=n1\r\n"), { n1 = "b" })
end

-- Half a topology is none: the nodes that are missing would keep what they had.
function TestSwitches:test_nodes_that_cannot_be_read()
   local GOOD = "BlockName=a BlockIndex=0 Nodes=n1\n"
   for _, list in ipairs({ "n[1-", "n[1-\0]", "n[1-999999999]", ",", "n[1-50000],m[1-50000]" }) do
      local leaves, why = switches.leaves(GOOD .. "BlockName=b BlockIndex=1 Nodes=" .. list .. "\n")
      lu.assertNil(leaves, list)
      lu.assertEquals(why, "the nodes of b cannot be read")
   end
   lu.assertNil((switches.leaves(("BlockName=b BlockIndex=0 Nodes=n[1-20000]\n"):rep(6))))
   lu.assertNotNil(switches.leaves(("BlockName=b BlockIndex=0 Nodes=n[1-20000]\n"):rep(5)))
end

-- How many levels are between two leaves.
local SPINES = [[
SwitchName=l1 Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=l2 Level=0 LinkSpeed=1 Nodes=n[3-4]
SwitchName=l3 Level=0 LinkSpeed=1 Nodes=n[5-6]
SwitchName=l4 Level=0 LinkSpeed=1 Nodes=n[7-8]
SwitchName=far Level=0 LinkSpeed=1 Nodes=n9
SwitchName=s1 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=l[1-2]
SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[5-8] Switches=l3,l4
SwitchName=core Level=2 LinkSpeed=1 Nodes=n[1-8] Switches=s[1-2]
]]

function TestSwitches:test_distance_in_a_tree()
   local two = switches.distance("SwitchName=a Level=0 LinkSpeed=1 Nodes=n1\n"
      .. "SwitchName=b Level=0 LinkSpeed=1 Nodes=n2\n"
      .. "SwitchName=s1 Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=a,b\n"
      .. "SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=a,b\n")
   lu.assertEquals(two("a", "b"), 2)
   local three = switches.distance(SPINES)
   for _, case in ipairs({ { "l1", "l2", 2 }, { "l3", "l4", 2 }, { "l1", "l3", 3 }, { "l2", "l4", 3 } }) do
      lu.assertEquals(three(case[1], case[2]), case[3])
      lu.assertEquals(three(case[2], case[1]), case[3])
      lu.assertEquals(three(case[1], case[2]), case[3])
   end
   -- Nothing joins them, or nobody has heard of them.
   lu.assertEquals({ three("l1", "far"), three("far", "nowhere"), three("x", "y") }, { 2, 2, 2 })
end

-- The nearest of several that join them.
function TestSwitches:test_distance_with_several_spines()
   local distance = switches.distance(SPINES .. "SwitchName=s3 Level=1 LinkSpeed=1 Nodes=n[3-6] Switches=l[2-3]\n"
      .. "SwitchName=core2 Level=2 LinkSpeed=1 Nodes=n[1-8] Switches=s[1-3]\n")
   lu.assertEquals({ distance("l2", "l3"), distance("l1", "l3"), distance("l1", "l2") }, { 2, 3, 2 })
   -- Leaves that are joined at level 1 and, on a way of their own, at the top.
   distance = switches.distance("SwitchName=top Level=3 LinkSpeed=1 Switches=a,b\n"
      .. "SwitchName=s Level=1 LinkSpeed=1 Switches=a,b\n")
   lu.assertEquals(distance("a", "b"), 2)
end

function TestSwitches:test_distance_without_a_tree()
   for _, text in ipairs({ "", "junk\n\0\n", "BlockName=a BlockIndex=0 Nodes=n1\nBlockName=b BlockIndex=1 Nodes=n2\n"
      .. "AggregatedBlock=a,b BlockIndex=2 Nodes=n[1-2]\n", "RingName=a Nodes=n1\nRingName=b Nodes=n2\n",
      "SwitchName=s Level=1 LinkSpeed=1 Switches=a,b[1-", "SwitchName=s Level=x LinkSpeed=1 Switches=a,b",
      "SwitchName=s Level=1 LinkSpeed=1 Switches=", "SwitchName=s Level=1 LinkSpeed=1 Switches=x[1-99999999]" }) do
      lu.assertEquals(switches.distance(text)("a", "b"), 2, text)
   end
end

-- What no slurmctld prints: it ends, and soon.
function TestSwitches:test_distance_ends()
   local ring = switches.distance("SwitchName=a Level=1 LinkSpeed=1 Switches=b\n"
      .. "SwitchName=b Level=1 LinkSpeed=1 Switches=a\n"
      .. "SwitchName=c Level=1 LinkSpeed=1 Switches=c\n")
   lu.assertEquals({ ring("a", "b"), ring("a", "c"), ring("c", "c") }, { 2, 2, 2 })
   local lines = {}
   for i = 1, 300 do
      lines[i] = ("SwitchName=s%d Level=%d LinkSpeed=1 Switches=s[1-300]"):format(i, i)
   end
   lu.assertTrue(switches.distance(table.concat(lines, "\n"))("s1", "s2") >= 2)
   local many = ("SwitchName=s Level=1 LinkSpeed=1 Switches=x[1-20000]\n"):rep(9)
   lu.assertEquals(switches.distance(many .. "SwitchName=t Level=1 LinkSpeed=1 Switches=a,b\n")("a", "b"), 2)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
