-- slurm/switches: scontrol show topology, or whatever file an admin names.
local oracle = require("oracle")
local switches = require("syscheck.slurm.switches")

local function seeds()
   return {
      "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2],m7\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[03-04]\n"
         .. "SwitchName=up Level=1 LinkSpeed=1 Nodes=n[1-2,03-04],m7 Switches=s[0-1]\n",
      "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\nAggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n",
      "RingName=r1 Nodes=n[1-2] RingSize=2\n", "SwitchName=s0 Level=0 Nodes=n[1-", "BlockName= Nodes=\n\n",
      "No topology information available\n",
   }
end

local function run(input)
   local leaves, why = switches.leaves(input)
   if not oracle.value_or_line(leaves, why, 300) then
      return
   end
   local count = 0
   for node, leaf in pairs(leaves) do
      count = count + 1
      assert(node ~= "" and not node:find("[%s%[%]]"), "a node's name")
      assert(leaf:find("^[!-~]+$") and #leaf <= 255 and input:find("=" .. leaf .. " ", 1, true), "a leaf's name")
   end
   assert(count >= 1 and count <= 100000, "how many nodes")
end

return { run = run, seeds = seeds, max = 600 }
