--- Which leaf switches' uplinks, and which paths, carry less than others. Pure.
--
-- A flow across is its nodes' and two uplinks', up at its own leaf and down at the other. Flows of blamed nodes say
-- nothing here. A leaf's score is the mean share of its flows, not the median: with k uplinks of which one is bad
-- one flow in k is slow. It has to be low against two other leaves at least, and what those did with others counts.
local statistics = require("syscheck.lib.statistics")

local leaves = {}

leaves.TOLERANCE = 0.08
leaves.SIGMAS = 4.5
leaves.PATH_TOLERANCE = 0.15 -- of one pair: at 3 % run noise five times what it scatters by
local PATH_SIGMAS = 5

local DIRECTIONS = { up = "from", down = "to" }

local function mean(list)
   local sum = 0
   for _, value in ipairs(list) do
      sum = sum + value
   end
   return #list > 0 and sum / #list or nil
end

-- A flow's share of what its two nodes can do, one phase's or both phases' mean; 1 at most: a flow that others leave
-- more room than usual says nothing good of the leaf.
local function share_of(flow, scores)
   local function node(aspect, i)
      return math.min(scores[aspect][i] or 1, 1)
   end
   local one = flow.one_share and flow.one_share / math.min(node("out", flow.from), node("in", flow.to))
   local both = flow.both_share and flow.both_share / math.min(node("both_out", flow.from), node("both_in", flow.to))
   local share = one and both and (one + both) / 2 or one or both
   return share and math.min(share, 1)
end

-- The mean over the leaf's flows, and the same without the other leaf where it is lowest: one bad path, or one bad
-- leaf beyond it, is not this one's.
local function score(by_other)
   local all, low, low_at = {}, nil, nil
   local others = 0
   for other, values in pairs(by_other) do
      local one = mean(values)
      if one then
         others = others + 1
         if not low or one < low or one == low and other < low_at then
            low, low_at = one, other
         end
         table.move(values, 1, #values, #all + 1, all)
      end
   end
   if others < 2 then
      return nil
   end
   local rest = {}
   for other, values in pairs(by_other) do
      if other ~= low_at then
         table.move(values, 1, #values, #rest + 1, rest)
      end
   end
   return mean(all), mean(rest), #all
end

--- @param net from net.new
-- @param flows from samples.of, with shares; only those of rounds across count
-- @param found from nodes.find
-- @return { scores = { up, down = leaf -> share or nil }, blamed = list of { leaf, direction, share, affected = share
--   of its flows that are slow, flows }, worst first; paths = list of flows that are slow alone, worst first; sigma }
function leaves.find(net, flows, found)
   local cells = { up = {}, down = {} } -- [direction][leaf][other leaf] = list of shares
   local used, off = {}, {}
   for _, flow in ipairs(flows) do
      local from, to = net.leaf[flow.from], net.leaf[flow.to]
      if from ~= to and not flow.class:find("^within") and not found.blamed[flow.from] and not found.blamed[flow.to] then
         flow.share = share_of(flow, found.scores)
         if flow.share then
            used[#used + 1] = flow
            off[#off + 1] = math.abs(1 - flow.share)
            for direction, side in pairs(DIRECTIONS) do
               local leaf, other = net.leaf[flow[side]], side == "from" and to or from
               local of = cells[direction]
               of[leaf] = of[leaf] or {}
               of[leaf][other] = of[leaf][other] or {}
               table.insert(of[leaf][other], flow.share)
            end
         end
      end
   end
   local sigma = #off > 0 and statistics.MAD_SCALE * statistics.median(off) or 0
   local scores, below = { up = {}, down = {} }, {}
   for direction, of in pairs(cells) do
      local values = {}
      for leaf, by_other in pairs(of) do
         local all = score(by_other)
         scores[direction][leaf] = all
         values[#values + 1] = all
      end
      local typical, scatter = statistics.robust(values)
      below[direction] = function(n)
         return (typical or 1) - math.max(leaves.TOLERANCE, leaves.SIGMAS * math.max(scatter or 0,
            sigma / math.sqrt(n)))
      end
   end
   local blamed, is_blamed = {}, { up = {}, down = {} }
   while true do
      local worst
      for direction, of in pairs(cells) do
         for leaf, by_other in pairs(of) do
            if not is_blamed[direction][leaf] then
               local all, rest, n = score(by_other)
               if all and math.max(all, rest) < below[direction](n)
                  and (not worst or all < worst.share or all == worst.share and leaf < worst.leaf) then
                  worst = { leaf = leaf, direction = direction, share = all }
               end
            end
         end
      end
      if not worst then
         break
      end
      is_blamed[worst.direction][worst.leaf] = true
      blamed[#blamed + 1] = worst
      -- What came through it says nothing of the leaves at its other end.
      local opposite = worst.direction == "up" and "down" or "up"
      for _, by_other in pairs(cells[opposite]) do
         by_other[worst.leaf] = nil
      end
   end
   local limit = 1 - math.max(leaves.PATH_TOLERANCE, PATH_SIGMAS * sigma)
   local paths = {}
   for _, one in ipairs(blamed) do
      one.flows, one.affected = {}, 0
      local n = 0
      for _, flow in ipairs(used) do
         if net.leaf[flow[DIRECTIONS[one.direction]]] == one.leaf then
            n = n + 1
            if flow.share < limit then
               one.affected = one.affected + 1
               table.insert(one.flows, flow)
            end
         end
      end
      one.affected = n > 0 and one.affected / n or 0
   end
   for _, flow in ipairs(used) do
      if flow.share < limit and not is_blamed.up[net.leaf[flow.from]] and not is_blamed.down[net.leaf[flow.to]] then
         paths[#paths + 1] = flow
      end
   end
   local function by_share(a, b)
      return a.share < b.share
   end
   table.sort(paths, by_share)
   for _, one in ipairs(blamed) do
      table.sort(one.flows, by_share)
   end
   return { scores = scores, blamed = blamed, paths = paths, sigma = sigma }
end

return leaves
