--- Which nodes send or receive less than their peers. Pure.
--
-- Bandwidth of a pair is its weakest link's, y = min(c_from, c_to, path): a node that is slow makes each of its
-- partners slow once, and itself always. So a node's score is the median over its partners; the worst is blamed, what
-- was measured with it says no more of anybody, and the others' scores are taken again.
local statistics = require("syscheck.lib.statistics")

local nodes = {}

--- A node is suspected below 1 - TOLERANCE of its peers, and never within SIGMAS of what scores scatter by. At 3 %
-- run noise a median of five scatters by 1.6 %: a healthy node is suspected once in 10^6, one 15 % slow missed once in
-- 10^5; each is measured again before it is named.
nodes.TOLERANCE = 0.075
nodes.SIGMAS = 4.5

--- Partners within the leaf below which flows to other leaves count, too.
local ENOUGH = 3

--- What of a node is scored: which flows, in which phase.
nodes.ASPECTS = {
   { name = "out", side = "from", share = "one_share" },
   { name = "in", side = "to", share = "one_share" },
   { name = "both_out", side = "from", share = "both_share" },
   { name = "both_in", side = "to", share = "both_share" },
}

-- node -> its flows as `side`, within its leaf; all of them where it has few partners there.
local function flows_of(net, flows, side)
   local near, all, partners = {}, {}, {}
   local other = side == "from" and "to" or "from"
   for i = 1, #net.names do
      near[i], all[i], partners[i] = {}, {}, {}
   end
   for _, flow in ipairs(flows) do
      local node = flow[side]
      table.insert(all[node], flow)
      if net.leaf[flow.from] == net.leaf[flow.to] then
         table.insert(near[node], flow)
         if not partners[node][flow[other]] then
            partners[node][flow[other]] = true
            partners[node].n = (partners[node].n or 0) + 1
         end
      end
   end
   for i = 1, #net.names do
      if (partners[i].n or 0) < ENOUGH then
         near[i] = all[i]
      end
   end
   return near
end

-- Median share of flows with partners that are not blamed; nil without two of them.
local function score(flows, aspect, blamed)
   local values, partners, n = {}, {}, 0
   local other = aspect.side == "from" and "to" or "from"
   for _, flow in ipairs(flows) do
      if not blamed[flow[other]] and flow[aspect.share] then
         values[#values + 1] = flow[aspect.share]
         if not partners[flow[other]] then
            partners[flow[other]] = true
            n = n + 1
         end
      end
   end
   return n >= 2 and statistics.median(values) or nil
end

--- Scatter of a pair's share around the weaker of its two nodes.
local function pair_sigma(flows, of)
   local off = {}
   for _, flow in ipairs(flows) do
      local from, to = of.out[flow.from], of["in"][flow.to]
      if flow.one_share and from and to then
         off[#off + 1] = math.abs(flow.one_share - math.min(from, to, 1))
      end
   end
   return #off > 0 and statistics.MAD_SCALE * statistics.median(off) or 0
end

--- @param flows from samples.of, with shares
-- @return { scores = { aspect = node -> share or nil }, blamed = node -> { aspect, share } of its worst, order = list of
--   blamed nodes, worst first; sigma = of one flow's share, below = aspect -> where suspicion begins }
function nodes.find(net, flows)
   local of, scores = {}, {}
   for _, aspect in ipairs(nodes.ASPECTS) do
      of[aspect.name] = flows_of(net, flows, aspect.side)
      scores[aspect.name] = {}
      for i = 1, #net.names do
         scores[aspect.name][i] = score(of[aspect.name][i], aspect, {})
      end
   end
   local sigma = pair_sigma(flows, scores)
   local below = {}
   for _, aspect in ipairs(nodes.ASPECTS) do
      local values = {}
      for i = 1, #net.names do
         values[#values + 1] = scores[aspect.name][i]
      end
      local _, scatter = statistics.robust(values)
      -- Of few nodes the scatter of scores says little: what a median of so many flows scatters by, at least.
      local expected = 1.25 * sigma / math.sqrt(math.max(1, #flows / #net.names))
      below[aspect.name] = 1 - math.max(nodes.TOLERANCE, nodes.SIGMAS * math.max(scatter or 0, expected))
   end
   local blamed, order = {}, {}
   local function worst()
      local node, share, name
      for _, aspect in ipairs(nodes.ASPECTS) do
         for i = 1, #net.names do
            local one = scores[aspect.name][i]
            if one and not blamed[i] and one < below[aspect.name] and (not share or one < share) then
               node, share, name = i, one, aspect.name
            end
         end
      end
      return node, share, name
   end
   local node, share, name = worst()
   while node do
      blamed[node] = { aspect = name, share = share }
      order[#order + 1] = node
      for _, aspect in ipairs(nodes.ASPECTS) do
         local other = aspect.side == "from" and "to" or "from"
         for _, flow in ipairs(of[aspect.name][node]) do
            local partner = flow[other]
            for _, again in ipairs(nodes.ASPECTS) do
               scores[again.name][partner] = score(of[again.name][partner], again, blamed)
            end
         end
      end
      node, share, name = worst()
   end
   return { scores = scores, blamed = blamed, order = order, sigma = sigma, below = below }
end

return nodes
