--- Nodes of which packets are lost on the way, by what TCP sends again. Pure.
--
-- A bad cable that loses one packet in a hundred lowers a rate now and then and costs a collective its slowest message;
-- the account is plain: what a healthy link sends again is nothing, 0.05 % where queues are full. Flows within a leaf
-- tell, as what is lost across may be lost at an uplink, in the queue before it.
local statistics = require("syscheck.lib.statistics")

local loss = {}

--- Of the bytes, in the middle of a node's partners.
loss.PCT = 0.5
-- So much of all flows: queues are too short for what goes through them, and nobody's cable is bad.
local OTHERS_PCT = 0.1

local SIDE = { out = "from", ["in"] = "to" }

-- In the middle of a node's partners; nil: of one alone, whichever of the two loses.
local function middle_of(flows, side, node, blamed)
   local of, values = {}, {}
   for _, flow in ipairs(flows) do
      local other = side == "from" and flow.to or flow.from
      if flow[side] == node and not blamed[other] then
         of[other] = of[other] or {}
         table.insert(of[other], flow.tcp.again_pct)
      end
   end
   for _, list in pairs(of) do
      values[#values + 1] = statistics.median(list)
   end
   return #values > 1 and statistics.median(values) or nil
end

-- The one that loses most of those that are left, as whoever it meets seems to lose, too.
local function worst_of(of_node, blamed)
   local worst
   for node, flows in pairs(of_node) do
      if not blamed[node] then
         local one, most = { node = node }, 0
         for way, side in pairs(SIDE) do
            local middle = middle_of(flows, side, node, blamed)
            one[way] = middle and middle >= loss.PCT and middle or nil
            most = math.max(most, one[way] or 0)
         end
         if most > 0 and (not worst or most > worst.most or most == worst.most and node < worst.node) then
            one.most, worst = most, one
         end
      end
   end
   return worst
end

--- @param flows from samples.of, of any rounds
-- @return node -> { out, in = % of what it sends, and of what is sent to it, that TCP sends again; nil: less than PCT }
function loss.find(net, flows)
   local of_node, all, blamed = {}, {}, {}
   for _, flow in ipairs(flows) do
      if flow.tcp and net.leaf[flow.from] == net.leaf[flow.to] then
         all[#all + 1] = flow.tcp.again_pct
         for _, node in ipairs({ flow.from, flow.to }) do
            of_node[node] = of_node[node] or {}
            table.insert(of_node[node], flow)
         end
      end
   end
   if (statistics.median(all) or 0) >= OTHERS_PCT then
      return blamed
   end
   local worst = worst_of(of_node, blamed)
   while worst do
      blamed[worst.node] = { out = worst.out, ["in"] = worst["in"] }
      worst = worst_of(of_node, blamed)
   end
   return blamed
end

return loss
