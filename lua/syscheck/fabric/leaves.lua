--- Which leaf switches' uplinks, and which paths, carry less than others. Pure.
--
-- What all flows of a leaf carry at the same time is at most what its uplink can, and less where the leaf at the other
-- end, or a node, holds them back. So the capacity that a leaf has shown is the highest total of its rounds (of the two
-- highest the mean). Where a network is oversubscribed, leaves have as much capacity each or, where a job has parts of
-- them, as much for each node: what scatters less is compared.
local samples = require("syscheck.fabric.samples")
local statistics = require("syscheck.lib.statistics")

local leaves = {}

leaves.TOLERANCE = 0.10
leaves.SIGMAS = 4
leaves.PATH_TOLERANCE = 0.15 -- of one pair: at 3 % run noise five times what it scatters by
local CLEARLY = 0.8 -- how much less leaves have to differ in another way to look at them
local FEW, FEW_TOLERANCE = 5, 0.15 -- leaves that have no scatter to speak of
local MADE_SO = 0.15
local FULL = 0.85 -- of what the nodes could do: an uplink that carries more holds nobody back
local SIBLINGS = 4 -- flows between the same leaves at the same time that say what is usual there

local SIDE = { up = "from", down = "to" }

-- What the two nodes could do, in GB/s, if only they were in the way.
local function able(flow, mode, net, near, scores)
   local ends = mode == "one" and { "out", "in" } or { "both_out", "both_in" }
   return near[mode] * samples.nominal(net, flow)
      * math.min(scores[ends[1]][flow.from] or 1, scores[ends[2]][flow.to] or 1, 1)
end

-- [direction][leaf] = list of { total, able }: of each phase of each round, GB/s.
local function totals_of(net, used)
   local sums = { up = {}, down = {} }
   for _, flow in ipairs(used) do
      for direction, side in pairs(SIDE) do
         local leaf = net.leaf[flow[side]]
         local of = sums[direction][leaf] or {}
         sums[direction][leaf] = of
         for mode, phase in pairs({ one = flow.phase, both = 0 }) do
            if flow[mode] then
               local at = flow.round * 3 + phase
               of[at] = of[at] or { total = 0, able = 0 }
               of[at].total = of[at].total + flow[mode]
               of[at].able = of[at].able + flow.able[mode]
            end
         end
      end
   end
   return sums
end

-- A leaf's capacity as far as it was shown, three ways: in GB/s and as a share of what its nodes could do in the
-- two phases where it was highest; and that share in the middle of all. `full`: in one phase at least all got what
-- they could.
local function shown(phases)
   local list, middle = {}, {}
   for _, one in pairs(phases) do
      list[#list + 1] = one
   end
   table.sort(list, function(a, b)
      return a.total > b.total
   end)
   local a, b, full, most = list[1], list[2] or list[1], false, 0
   for _, one in ipairs(list) do
      most = math.max(most, one.able)
   end
   for _, one in ipairs(list) do
      -- A phase in which few had work shows little.
      if one.able > 0.75 * most then
         middle[#middle + 1] = one.total / one.able
         full = full or one.total > FULL * one.able
      end
   end
   return { total = (a.total + b.total) / 2, share = (a.total + b.total) / (a.able + b.able),
      middle = statistics.median(middle), full = full }
end

-- The deviation that three of four do not exceed.
local function quartile_off(values, from)
   local off = {}
   for i, value in ipairs(values) do
      off[i] = math.abs(value - from)
   end
   table.sort(off)
   return statistics.upper_quartile_sorted(off)
end

-- Scores of a direction: leaf -> what it carries over what its peers do; and from where on one is too low. Of the
-- ways to look at it the one in which leaves differ least: each switch has as many uplinks, or as many for each
-- node; or pairs collide, and the mean of many says more than the best of them.
local function scores_of(sums)
   local of, values = {}, { total = {}, share = {}, middle = {} }
   for leaf, phases in pairs(sums) do
      of[leaf] = shown(phases)
      for way, list in pairs(values) do
         list[#list + 1] = (way ~= "total" or not of[leaf].full) and of[leaf][way] or nil
      end
   end
   if #values.share == 0 then
      return {}, 0
   end
   if #values.share < FEW then
      -- Half of them may be bad: the best one is the measure, and low is who is so in both views.
      local most, scores = { total = 0, share = 0 }, {}
      for _, one in pairs(of) do
         most.total, most.share = math.max(most.total, one.total), math.max(most.share, one.share)
      end
      for leaf, one in pairs(of) do
         scores[leaf] = one.full and 1 or math.max(one.total / most.total, one.share / most.share)
      end
      return scores, 1 - FEW_TOLERANCE
   end
   -- What a leaf carries that nobody holds back: who carries more is larger, whatever his nodes could do.
   local carried = 0
   for _, one in pairs(of) do
      carried = one.full and math.max(carried, one.total) or carried
   end
   local best
   for _, way in ipairs({ "share", "total", "middle" }) do
      local usual, scatter = statistics.robust(values[way])
      -- Where nearly no uplink holds anybody back, what the others carry is no measure, if it is less: all may be bad.
      if usual and (way == "share" or #values[way] >= FEW
         and (#values[way] > MADE_SO * #values.share or usual > carried)) then
         -- The median deviation is none where just more than half have the same; three quarters may not be chance.
         local most = quartile_off(values[way], usual) / usual
         if not best or most < CLEARLY * best.most then
            best = { way = way, usual = usual, scatter = scatter / usual, most = most }
         end
      end
   end
   local scores, usual_share = {}, statistics.median(values.share)
   for leaf, one in pairs(of) do
      scores[leaf] = (best.way ~= "middle" and one.full) and 1 or one[best.way] / best.usual
      if best.way == "share" and carried > 0 and one.total >= carried then
         scores[leaf] = math.max(scores[leaf], 1)
      end
      if best.way == "total" then
         -- A leaf of few nodes has no more to carry; it is low where each of them gets less than others', too.
         scores[leaf] = math.max(scores[leaf], one.share / usual_share)
      end
   end
   local below = 1 - math.max(leaves.TOLERANCE, leaves.SIGMAS * best.scatter)
   -- So many are not broken but made so: faster nodes on the same uplinks, switches of another kind.
   local low = {}
   for _, score in pairs(scores) do
      low[#low + 1] = score < below and score or nil
   end
   if #low > math.max(3, MADE_SO * #values.share) then
      local usual, scatter = statistics.robust(low)
      below = usual * (1 - math.max(leaves.TOLERANCE, leaves.SIGMAS * scatter / usual))
   end
   return scores, below
end

local function by_share(a, b)
   return a.share < b.share
end

-- A flow over what is usual between its leaves at that time, and what its nodes could do, whichever is less.
local function rate_flows(net, used)
   local beside = {}
   local function place(flow)
      return ("%d %d %d"):format(net.leaf[flow.from], net.leaf[flow.to], flow.round)
   end
   for _, flow in ipairs(used) do
      local at = place(flow)
      beside[at] = beside[at] or { one = {}, both = {} }
      table.insert(beside[at].one, flow.one)
      table.insert(beside[at].both, flow.both)
   end
   local usual = {}
   for at, of in pairs(beside) do
      usual[at] = { one = #of.one >= SIBLINGS and statistics.median(of.one),
         both = #of.both >= SIBLINGS and statistics.median(of.both) }
   end
   for _, flow in ipairs(used) do
      local sum, n = 0, 0
      for _, mode in ipairs({ "one", "both" }) do
         local class = flow[mode] and flow[mode .. "_share"] and flow[mode .. "_share"] > 0
            and flow[mode] / flow[mode .. "_share"]
         local want = usual[place(flow)][mode] or class
         if flow[mode] and want then
            sum, n = sum + flow[mode] / math.min(want, flow.able[mode]), n + 1
         end
      end
      flow.share = n > 0 and sum / n or 1
   end
end

--- @param net from net.new
-- @param flows from samples.of, with shares; only those of rounds across count
-- @param found from nodes.find
-- @param near { one, both }: what a healthy pair within a leaf reaches over its nominal rate
-- @return { scores = { up, down = leaf -> share or nil }, blamed = list of { leaf, direction, share, affected = share
--   of its flows that are slow, flows }, worst first; bad = leaf -> true of these; paths = list of flows that are
--   slow, worst first; usual = of both_gbs over its nominal rate between leaves that are not blamed }
function leaves.find(net, flows, found, near)
   local used = {}
   for _, flow in ipairs(flows) do
      if net.leaf[flow.from] ~= net.leaf[flow.to] and not flow.class:find("^within") then
         flow.able = { one = able(flow, "one", net, near, found.scores),
            both = able(flow, "both", net, near, found.scores) }
         used[#used + 1] = flow
      end
   end
   local sums, scores, blamed, is_blamed = totals_of(net, used), {}, {}, {}
   for direction in pairs(SIDE) do
      local below
      scores[direction], below = scores_of(sums[direction])
      is_blamed[direction] = {}
      for leaf, share in pairs(scores[direction]) do
         -- Of two leaves each has but the other.
         if share < below and #net.leaves > 2 and #net.leaves[leaf].members > 1 then
            is_blamed[direction][leaf] = { leaf = leaf, direction = direction, share = share, flows = {}, affected = 0 }
            table.insert(blamed, is_blamed[direction][leaf])
         end
      end
   end
   for k = #blamed, 1, -1 do
      -- Low against others of which each is low at its own end is nobody's fault.
      local one, opposite = blamed[k], blamed[k].direction == "up" and "down" or "up"
      local n = 0
      for _ in pairs(is_blamed[opposite]) do
         n = n + 1
      end
      if n - (is_blamed[opposite][one.leaf] and 1 or 0) >= #net.leaves - 1 and #net.leaves < FEW then
         table.remove(blamed, k)
         is_blamed[one.direction][one.leaf] = nil
      end
   end
   table.sort(blamed, function(a, b)
      if a.share ~= b.share then
         return a.share < b.share
      end
      return a.leaf < b.leaf or a.leaf == b.leaf and a.direction > b.direction
   end)
   rate_flows(net, used)
   local paths, healthy = {}, {}
   for _, flow in ipairs(used) do
      if flow.both and not is_blamed.up[net.leaf[flow.from]] and not is_blamed.down[net.leaf[flow.to]] then
         healthy[#healthy + 1] = flow.both / samples.nominal(net, flow)
      end
      if not found.blamed[flow.from] and not found.blamed[flow.to] then
         local free = true
         for direction, side in pairs(SIDE) do
            local one = is_blamed[direction][net.leaf[flow[side]]]
            if one then
               table.insert(one.flows, flow)
               free = false
            end
         end
         if free and flow.share < 1 - leaves.PATH_TOLERANCE then
            paths[#paths + 1] = flow
         end
      end
   end
   local bad = {}
   for _, one in ipairs(blamed) do
      bad[one.leaf] = true
      local slow = 0
      for _, flow in ipairs(one.flows) do
         slow = slow + (flow.share < 1 - leaves.PATH_TOLERANCE and 1 or 0)
      end
      one.affected = slow / math.max(1, #one.flows)
      table.sort(one.flows, by_share)
   end
   table.sort(paths, by_share)
   return { scores = scores, blamed = blamed, bad = bad, paths = paths, usual = statistics.median(healthy) }
end

return leaves
