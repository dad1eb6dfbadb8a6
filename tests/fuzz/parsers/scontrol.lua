-- slurm/storm and slurm/comment: what scontrol prints of nodes and squeue of a job; reasons and comments are others'.
local oracle = require("oracle")
local comment = require("syscheck.slurm.comment")
local storm = require("syscheck.slurm.storm")

local NODE = "NodeName=%s Arch=x86_64 CoresPerSocket=1 State=%s ThreadsPerCore=1 Partitions=%s BootTime=2026-11-21T08:00:00 "
   .. "Reason=%s [root@2026-11-21T08:23:34] Comment=x\n"

-- Of squeue: slurm/comment's FORMAT.
local ROW = "%-12s%-12s%-12s%-12s%-12s%s\n"

local function seeds()
   return {
      NODE:format("n1", "IDLE+DRAIN", "p,q", "syscheck: triad 1 < 2") .. NODE:format("n2", "DOWN*", "p", "x [y@z]")
         .. NODE:format("n3", "ALLOCATED+REBOOT_REQUESTED", "q", "syscheck: [a@1] b"),
      "NodeName=n1 State=MIXED\nNodeName=n2 State=IDLE+DRAIN Reason=syscheck: x\nNodeName=n2 State=IDLE\n",
      ROW:format("4711", "4711", "3", "N/A", "N/A", "syscheck drained n1: y") .. ROW:format("4712", "4711", "4-9", "N/A",
         "N/A", "(null)"),
      ROW:format("4711", "4711", "N/A", "4711", "0", "b") .. ROW:format("4712", "4712", "N/A", "4711", "1", "c\nd"),
   }
end

local function run(input)
   local nodes, by_name = storm.parse(input)
   for i, node in ipairs(nodes) do
      assert(by_name[node.name] == node and node.name ~= "" and type(node.state) == "string", "a node")
      assert(#node.partitions >= 1 and type(node.drained) == "boolean" and type(node.down) == "boolean", "a node's partitions")
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
   local name, found = comment.find(input, "4711")
   if name then
      assert(name == "4711" or name:find("^4711[_+]%d+$"), "a job's name: " .. name)
      assert(not found:find("\n", 1, true), "a comment of several lines")
      local added = comment.add(found, { "syscheck drained n1: x" })
      assert(added:sub(1, #found) == found and comment.add(added, { "syscheck drained n1: x" }) == added
         or #added > 900, "what is added stays")
   end
end

return { run = run, seeds = seeds, max = 3000 }
