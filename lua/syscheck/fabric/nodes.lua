--- Which nodes send or receive less than their peers. Pure.
--
-- Bandwidth of a pair is its weakest link's, y = min(c_from, c_to, path): a node that is slow makes each of its
-- partners slow once, and itself always. So a node's score is the median over its partners; the worst is blamed, what
-- was measured with it says no more of anybody, and the others' scores are taken again.
local statistics = require("syscheck.lib.statistics")

local nodes = {}

--- A node is suspected below 1 - TOLERANCE of its peers, and never within SIGMAS of what scores scatter by. At 3 %
-- run noise a median of five scatters by 1.6 %: a healthy node is suspected once in 10^6, one 15 % slow missed once in
-- 10^6; at 6 % once in 1,000 and once in 40. Each is measured again before it is named.
nodes.TOLERANCE = 0.075
nodes.SIGMAS = 3

-- Nodes of which half can be bad without their scores' scatter showing it: of three one bad one is in the middle.
local MANY = 8
-- Partners within the leaf below which flows to other leaves count, too.
local ENOUGH = 3
local OTHER = { from = "to", to = "from" }

--- What of a node is scored: which flows, in which phase.
nodes.ASPECTS = {
   { name = "out", side = "from", share = "one_share" },
   { name = "in", side = "to", share = "one_share" },
   { name = "both_out", side = "from", share = "both_share" },
   { name = "both_in", side = "to", share = "both_share" },
}

-- node -> { near, far }: its flows as `side`, within its leaf and to others.
local function flows_of(net, flows, side)
   local of = {}
   for i = 1, #net.names do
      of[i] = { near = {}, far = {} }
   end
   for _, flow in ipairs(flows) do
      table.insert(of[flow[side]][net.leaf[flow.from] == net.leaf[flow.to] and "near" or "far"], flow)
   end
   return of
end

-- The mean share with each partner that is not blamed: who was met twice counts once. And how many flows these are.
local function shares(flows, aspect, blamed)
   local at, values, met = {}, {}, {}
   local n = 0
   for _, flow in ipairs(flows) do
      local partner, share = flow[OTHER[aspect.side]], flow[aspect.share]
      if share and not blamed[partner] then
         n = n + 1
         if not at[partner] then
            at[partner] = #values + 1
            values[at[partner]], met[at[partner]] = 0, 0
         end
         values[at[partner]], met[at[partner]] = values[at[partner]] + share, met[at[partner]] + 1
      end
   end
   for k, sum in ipairs(values) do
      values[k] = sum / met[k]
   end
   return values, n
end

-- Median share within the leaf. With few partners there, also the upper quartile of flows to other leaves, which
-- others' load lowers and nothing raises: who is slow is slow in both. And how many flows it stands on. And what is
-- told of it: of three leaves one bad uplink is in most flows, what is usual there is low, and who met the other good
-- leaf has a multiple of it, which is no measure for who did not.
local function score(of, aspect, blamed)
   local near, n = shares(of.near, aspect, blamed)
   local median = statistics.median(near)
   if #near >= ENOUGH then
      return median, n, median
   end
   local far, m = shares(of.far, aspect, blamed)
   if #near + #far < 2 then
      return nil
   end
   table.sort(far)
   local quartile = statistics.upper_quartile_sorted(far)
   local all = math.max(median or 0, quartile or 0)
   return all, math.max(1, n, m // 2), median and math.max(median, math.min(1, all)) or all
end

-- Scatter of a flow's share around the best that the weaker of its two nodes has shown, of flows that hardly use an
-- uplink: there it is the runs', not other flows'.
local function flow_sigma(flows)
   local best, off = { from = {}, to = {} }, {}
   for _, flow in ipairs(flows) do
      for side, of in pairs(not flow.class:find("^across") and best or {}) do
         of[flow[side]] = math.max(of[flow[side]] or 0, flow.one_share or 0)
      end
   end
   for _, flow in ipairs(flows) do
      if flow.one_share and not flow.class:find("^across") then
         off[#off + 1] = flow.one_share - math.min(best.from[flow.from], best.to[flow.to])
      end
   end
   return select(2, statistics.robust(off)) or 0
end

--- @param flows from samples.of, with shares
-- @return { scores = { aspect = node -> share or nil }, told = the same, to be compared and recorded; blamed =
--   node -> { aspect, share } of its worst, order = list of blamed nodes, worst first; sigma = of one flow's share,
--   scatter = of healthy nodes' scores by aspect }
function nodes.find(net, flows)
   local of, scores, counts, told = {}, {}, {}, {}
   for _, aspect in ipairs(nodes.ASPECTS) do
      local name = aspect.name
      of[name], scores[name], counts[name], told[name] = flows_of(net, flows, aspect.side), {}, {}, {}
      for i = 1, #net.names do
         scores[name][i], counts[name][i], told[name][i] = score(of[name][i], aspect, {})
      end
   end
   local sigma = flow_sigma(flows)
   local scatter = {}
   for _, aspect in ipairs(nodes.ASPECTS) do
      local values = {}
      for i = 1, #net.names do
         -- Where nothing but the two nodes is in the way.
         values[#values + 1] = #of[aspect.name][i].near >= ENOUGH and scores[aspect.name][i] or nil
      end
      scatter[aspect.name] = #values >= MANY and select(2, statistics.robust(values)) or 0
   end
   local function is_low(name, i)
      local share = scores[name][i]
      return share and share < 1 - math.max(nodes.TOLERANCE, nodes.SIGMAS
         * math.max(scatter[name], 1.25 * sigma / math.sqrt(counts[name][i])))
   end
   local blamed, order, low = {}, {}, {}
   local function look(i)
      low[i] = nil
      for _, aspect in ipairs(nodes.ASPECTS) do
         local share = scores[aspect.name][i]
         if is_low(aspect.name, i) and (not low[i] or share < low[i].share) then
            low[i] = { aspect = aspect.name, share = share }
         end
      end
   end
   for i = 1, #net.names do
      look(i)
   end
   while true do
      local worst
      for i, one in pairs(low) do
         if not worst or one.share < low[worst].share or one.share == low[worst].share and i < worst then
            worst = i
         end
      end
      if not worst then
         break
      end
      blamed[worst], low[worst] = low[worst], nil
      order[#order + 1] = worst
      local partners = {}
      for _, aspect in ipairs(nodes.ASPECTS) do
         for _, kind in pairs(of[aspect.name][worst]) do
            for _, flow in ipairs(kind) do
               partners[flow[OTHER[aspect.side]]] = true
            end
         end
      end
      for partner in pairs(partners) do
         if not blamed[partner] then
            for _, aspect in ipairs(nodes.ASPECTS) do
               local name = aspect.name
               scores[name][partner], counts[name][partner], told[name][partner] = score(of[name][partner], aspect,
                  blamed)
            end
            look(partner)
         end
      end
   end
   return { scores = scores, told = told, blamed = blamed, order = order, sigma = sigma, scatter = scatter,
      counts = counts, is_low = is_low }
end

return nodes
