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

os.exit(lu.LuaUnit.run("-o", "TAP"))
