-- slurm/storm and slurm/comment: what scontrol prints of nodes and of a job; reasons and job names are others'.
local oracle = require("oracle")
local comment = require("syscheck.slurm.comment")
local storm = require("syscheck.slurm.storm")

local NODE = "NodeName=%s Arch=x86_64 CoresPerSocket=1 State=%s ThreadsPerCore=1 Partitions=%s BootTime=2026-11-21T08:00:00 "
   .. "Reason=%s [root@2026-11-21T08:23:34] Comment=x\n"

local function seeds()
   return {
      NODE:format("n1", "IDLE+DRAIN", "p,q", "syscheck: triad 1 < 2") .. NODE:format("n2", "DOWN*", "p", "x [y@z]")
         .. NODE:format("n3", "ALLOCATED+REBOOT_REQUESTED", "q", "syscheck: [a@1] b"),
      "NodeName=n1 State=MIXED\nNodeName=n2 State=IDLE+DRAIN Reason=syscheck: x\nNodeName=n2 State=IDLE\n",
      "JobId=4711 ArrayJobId=4711 ArrayTaskId=3 JobName=x\n   UserId=u(1) GroupId=g\n   AdminComment=syscheck drained n1: y\n"
         .. "   Comment=z\n\nJobId=4712 ArrayJobId=4711 ArrayTaskId=4 JobName=y\n",
      "JobId=4711 HetJobId=4711 HetJobOffset=0 JobName=a\n   AdminComment=b\n   AdminComment=c\n   NodeList=n[1-4]\n",
   }
end

local function run(input)
   local nodes, by_name = storm.parse(input)
   for i, node in ipairs(nodes) do
      assert(by_name[node.name] == node and node.name ~= "" and type(node.state) == "string", "a node")
      assert(#node.partitions >= 1 and type(node.out) == "boolean", "a node's partitions")
      assert(node.time == nil or math.type(node.time) == "integer", "a reason's time")
      assert(not node.ours or node.reason:find("^syscheck:"), "ours without our reason")
      if i <= 4 then
         local full = storm.full(nodes, node, 0.1, 86400, 1763713414)
         assert(full == nil or full.taken >= full.cap and full.cap >= 1 and full.taken <= full.total, "the cap")
         if node.ours and node.time then
            for _, entry in ipairs(comment.entries({ nodelist = node.name .. ",n[1-4]" }, nodes, node)) do
               oracle.is("string", entry, "an entry")
            end
         end
      end
   end
   local reason = storm.reason(input)
   oracle.line(reason, 250)
   assert(storm.reason(reason:sub(#storm.PREFIX + 2)) == reason, "a reason that is none yet")
   local name = comment.name(input, "4711")
   assert(name == "4711" or name:find("^4711[_+]%d+$"), "a job's name")
   local found = comment.find(input)
   if found then
      assert(not found:find("\n", 1, true), "a comment of several lines")
      local added = comment.add(found, { "syscheck drained n1: x" })
      assert(added:sub(1, #found) == found and comment.add(added, { "syscheck drained n1: x" }) == added
         or #added > 900, "what is added stays")
   end
end

return { run = run, seeds = seeds, max = 3000 }
