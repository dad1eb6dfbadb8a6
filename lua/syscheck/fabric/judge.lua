--- What is wrong with a suspect, now that it was measured alone and loaded again. Pure.
--
--                     | with all partners          | only across leaves        | one pair
--  slow alone         | NIC, port, cable           | a link of the uplink      | dead or wrong route
--  slow only loaded   | host (PCIe, pinning), port | links lost, oversubscribed | hash collision
local leaves = require("syscheck.fabric.leaves")
local loss = require("syscheck.fabric.loss")
local nodes = require("syscheck.fabric.nodes")
local samples = require("syscheck.fabric.samples")
local statistics = require("syscheck.lib.statistics")
local latency = require("syscheck.fabric.latency")
local merge = require("syscheck.fabric.merge")

local judge = {}

-- A median of n flows alone is low from here on. Who comes here was low in a median of several flows already.
local ALONE_TOLERANCE = 0.06
local BOTH_TOLERANCE = 0.09 -- both directions at once cost healthy hosts up to a twentieth, and not each the same
local ALONE_SIGMAS = 2
local CONSISTENT_SIGMAS = 6 -- highest over lowest of some trials
local LEAST_SIGMA = 0.02
local OTHER_WAY = 1 / 3 -- of what a direction lost, the other one may lose because of it
local OTHERS_LEAST = 4 -- nodes of a leaf from which on a pair of it is not alone in a loaded round

local function limit_of(sigma, n, tolerance)
   return 1 - math.max(tolerance or ALONE_TOLERANCE, ALONE_SIGMAS * 1.25 * sigma / math.sqrt(n))
end

local function key(a, b)
   return a * 1000000 + b
end

-- Flows and latencies of rounds alone by their pair: where it was measured twice, the better one. Other work lowers
-- what a pair reaches, and nothing raises it.
local function index(measured)
   local flows, us, silent = {}, {}, {}
   local function share(flow)
      return flow.one_share or flow.both_share or 0
   end
   for _, flow in ipairs(measured.flows) do
      if flow.class:find("^alone") then
         local at = key(flow.from, flow.to)
         flows[at] = flows[at] and share(flows[at]) >= share(flow) and flows[at] or flow
      end
   end
   for _, one in ipairs(measured.latencies) do
      local at = key(one.a, one.b)
      us[at] = us[at] and us[at].us < one.us and us[at] or one
   end
   for _, one in ipairs(measured.silent) do
      silent[key(one.a, one.b)], silent[key(one.b, one.a)] = true, true
   end
   return { flows = flows, us = us, silent = silent }
end

-- A lone pair is compared with lone pairs of nodes and leaves that nobody suspects; where there are fewer than
-- three, with pairs within leaves, of which the network between them is none.
local function normalise_alone(net, found, measured)
   local function is_bad(node)
      return found.bad[node] or found.leaves.bad[net.leaf[node]] or found.leaf[net.leaf[node]]
   end
   local alone, count = {}, {}
   for _, flow in ipairs(measured.flows) do
      if flow.class:find("^alone") then
         alone[#alone + 1] = flow
         if not is_bad(flow.from) and not is_bad(flow.to) then
            count[flow.class] = (count[flow.class] or 0) + 1
         end
      end
   end
   local reference = samples.normalise(net, alone, is_bad)
   for _, flow in ipairs(alone) do
      if (count[flow.class] or 0) < 3 then
         for _, mode in ipairs({ "one", "both" }) do
            local share = flow[mode .. "_share"]
            flow[mode .. "_share"] = share and share * reference[flow.class][mode] / found.near[mode]
         end
      end
   end
   return reference
end

local function highest(list)
   return #list > 0 and math.max(table.unpack(list)) or nil
end

-- The median of a node's trials. Where they differ by more than runs do, something was in the way of some of them
-- that is not the node: then the best one.
local function with_every_partner(list, sigma)
   if #list == 0 then
      return nil
   end
   local most, least = math.max(table.unpack(list)), math.min(table.unpack(list))
   return most > (1 + CONSISTENT_SIGMAS * math.max(sigma, LEAST_SIGMA)) * least and most or statistics.median(list)
end

-- Shares of a node alone: { out, in -> median over its trials; both_out, both_in -> highest, of who loses nothing };
-- and how many these are.
-- Those over an uplink that is suspected itself say nothing of a node: without others it stays unconfirmed.
local function alone_of(one, with)
   local values = { out = {}, ["in"] = {}, both_out = {}, both_in = {} }
   local at, leaf, bad = with.at, with.net.leaf, with.found.leaves.bad
   for _, p in ipairs(one.trials) do
      local across = leaf[p[1]] ~= leaf[p[2]]
      local clean = not (across and (bad[leaf[p[1]]] or bad[leaf[p[2]]]))
      local other = p[2]
      local out = clean and at.flows[key(one.node, other)] or nil
      local back = clean and at.flows[key(other, one.node)] or nil
      table.insert(values.out, out and out.one_share)
      table.insert(values["in"], back and back.one_share)
      table.insert(values.both_out, out and out.both_share)
      table.insert(values.both_in, back and back.both_share)
   end
   local shares, n = {}, 1
   for name, list in pairs(values) do
      -- A host that cannot do both at once cannot with anybody; a busy moment costs one trial a tenth.
      local of_all = name:find("^both") and not with.found.loses[one.node] and highest or with_every_partner
      shares[name], n = of_all(list, with.found.nodes.sigma), math.max(n, #list)
   end
   return shares, n
end

-- What TCP sends again of a node's flows alone, within its leaf: { out, in }, as of loss.find; nil: too little.
local function lost_alone(one, with)
   local values = { out = {}, ["in"] = {} }
   for _, p in ipairs(one.trials) do
      local near = with.net.leaf[p[1]] == with.net.leaf[p[2]]
      local out, back = with.at.flows[key(p[1], p[2])], with.at.flows[key(p[2], p[1])]
      table.insert(values.out, near and out and out.tcp and out.tcp.again_pct or nil)
      table.insert(values["in"], near and back and back.tcp and back.tcp.again_pct or nil)
   end
   local lost = {}
   for way, list in pairs(values) do
      local median = statistics.median(list)
      lost[way] = median and median >= loss.PCT and median or nil
   end
   return next(lost) and lost or nil
end

local function direction_of(out, into)
   return out and into and "both" or out and "out" or into and "in" or nil
end

-- Which of the shares alone are low. A slow direction can take some of the other one along, which is not what is wrong.
-- Seen at an uplink at 0.27: with both ways at work 0.65 to 0.78 in 93 % of its flows; one way at a time once (0.83 to
-- 0.88 in 4 of 10 flows), why is not known, and in none of 165 flows after it.
local function low_of(out, into, limit)
   local lost_out, lost_in = 1 - (out or 1), 1 - (into or 1)
   return direction_of((out or 1) < limit and lost_out >= OTHER_WAY * lost_in,
      (into or 1) < limit and lost_in >= OTHER_WAY * lost_out)
end

-- A node that is slow only while others are at work, with all partners: nearly all of its flows within the leaf
-- are low, and those that were measured again, too. Pairs that happen to collide somewhere are fast with others.
-- Of three nodes two are measured and one is at rest, in loaded rounds as alone: what differs there is chance.
local function loaded_of(node, with)
   if #with.net.leaves[with.net.leaf[node]].members < OTHERS_LEAST then
      return nil
   end
   local worst
   for _, aspect in ipairs(nodes.ASPECTS) do
      local first, again = with.near_flows[1][aspect.side][node] or {}, with.near_flows[2][aspect.side][node] or {}
      local all, late = {}, {}
      for _, flow in ipairs(first) do
         table.insert(all, flow[aspect.share])
      end
      for _, flow in ipairs(again) do
         table.insert(all, flow[aspect.share])
         table.insert(late, flow[aspect.share])
      end
      table.sort(all)
      local limit = limit_of(with.found.nodes.sigma, #all)
      local most, median = statistics.upper_quartile_sorted(all), statistics.median(late)
      if median and median < limit and most < limit and (not worst or median < worst.share) then
         worst = { kind = "host", node = node, direction = aspect.name:find("out$") and "out" or "in", how = "loaded",
            share = median }
      end
   end
   return worst
end

-- node -> its flows within its leaf, as "from" and as "to"; of a leaf of few all that are no more than usually loaded.
local function near_flows(flows)
   local out = { from = {}, to = {} }
   for _, flow in ipairs(flows) do
      if not flow.class:find("^alone") and not flow.class:find("^across") then
         for side, of in pairs(out) do
            of[flow[side]] = of[flow[side]] or {}
            table.insert(of[flow[side]], flow)
         end
      end
   end
   return out
end

local JUDGES = {}

function JUDGES.node(one, with)
   local alone, n = alone_of(one, with)
   local limit = limit_of(with.found.nodes.sigma, n)
   if not alone.out and not alone["in"] then
      return nil
   end
   local direction = low_of(alone.out, alone["in"], limit)
   if direction then
      local share = math.min(direction ~= "in" and alone.out or 1, direction ~= "out" and alone["in"] or 1)
      return { kind = "nic", node = one.node, direction = direction, share = share,
         shares = { out = alone.out, ["in"] = alone["in"] } }
   end
   local lost = with.found.loses[one.node] and lost_alone(one, with)
   if lost then
      return { kind = "nic", node = one.node, how = "loss", direction = direction_of(lost.out, lost["in"]),
         again_pct = math.max(lost.out or 0, lost["in"] or 0), share = math.min(alone.out or 1, alone["in"] or 1, 1),
         shares = { out = alone.out, ["in"] = alone["in"] } }
   end
   limit = limit_of(with.found.nodes.sigma, n, BOTH_TOLERANCE)
   direction = direction_of((alone.both_out or 1) < limit, (alone.both_in or 1) < limit)
   if direction then
      return { kind = "host", node = one.node, direction = "both", how = "both directions at once",
         share = math.min(alone.both_out or 1, alone.both_in or 1) }
   end
   -- Where no topology is known, what is above the node's switch may be it as well.
   return with.net.known and loaded_of(one.node, with) or nil
end

function JUDGES.latency(one, with)
   local list = {}
   for _, p in ipairs(one.trials) do
      local got = with.at.us[key(p[1], p[2])] or with.at.us[key(p[2], p[1])]
      local mu = got and with.found.latency.mu[got.hops]
      if mu then
         list[#list + 1] = got.us - mu - (with.found.latency.added[p[2]] or 0)
      end
   end
   local added = statistics.median(list)
   local fit = with.found.latency
   if added and added > 0.7 * math.max(latency.TOLERANCE * with.least_us, latency.SIGMAS * fit.sigma) then
      return { kind = "latency", node = one.node, us = added }
   end
end

function JUDGES.silent(one, with)
   local asked, answered = 0, false
   for _, p in ipairs(one.trials) do
      if with.at.silent[key(p[1], p[2])] then
         asked = asked + 1
      elseif with.at.flows[key(p[1], p[2])] or with.at.flows[key(p[2], p[1])] then
         answered = true
      end
   end
   return asked > 0 and not answered and { kind = "silent", node = one.node } or nil
end

function JUDGES.within(one, with)
   local values = {}
   for _, p in ipairs(one.trials) do
      for _, flow in ipairs({ with.at.flows[key(p[1], p[2])] or false, with.at.flows[key(p[2], p[1])] or false }) do
         values[#values + 1] = flow and flow.one_share or nil
      end
   end
   local share = statistics.median(values)
   if share and share < limit_of(with.found.nodes.sigma, #values) then
      return { kind = "leaf_switch", leaf = one.leaf, share = share }
   end
end

function JUDGES.leaf(one, with)
   local slow, n, worst = 0, 0, 1
   for _, p in ipairs(one.trials) do
      local flow = with.at.flows[key(p[1], p[2])]
      local share = flow and (flow.one_share or flow.both_share)
      if share then
         n = n + 1
         slow = slow + (share < with.path_limit and 1 or 0)
         worst = math.min(worst, share)
      end
   end
   if n > 0 and 2 * slow >= n then
      return { kind = "uplink_link", leaf = one.leaf, direction = one.direction, share = worst,
         affected = one.affected }
   end
   -- Nearer to what it was than to what its peers do.
   local again = with.again.scores[one.direction][one.leaf]
   if again and again < (1 + one.share) / 2 then
      return { kind = "uplink_lost", leaf = one.leaf, direction = one.direction, share = again }
   end
end

function JUDGES.path(one, with)
   local from, to = one.flow.from, one.flow.to
   local alone = with.at.flows[key(from, to)]
   local share = alone and alone.one_share or with.at.silent[key(from, to)] and 0 or nil
   if not share then
      return nil
   elseif share >= with.path_limit then
      local again = with.loaded_pairs[key(from, to)]
      return again and again < with.path_limit and { kind = "collision", from = from, to = to, share = again } or nil
   end
   -- Where one of the two is as slow with another, the pair is not what is wrong.
   for _, p in ipairs(one.trials) do
      local flow = (p[1] ~= from or p[2] ~= to) and with.at.flows[key(p[1], p[2])]
      if flow and flow.one_share and flow.one_share < with.path_limit then
         return nil
      end
   end
   local back = with.at.flows[key(to, from)]
   return { kind = "route", from = from, to = to, share = share,
      direction = back and back.one_share and back.one_share < with.path_limit and "both" or "out" }
end

--- Judges every suspect.
-- @param net from net.new
-- @param found from suspects.find
-- @param first from samples.of: what `found` is from
-- @param measured from samples.of: of the rounds that trials.build gave
-- @return list of findings { kind = "nic", "host", "latency", "silent", "leaf_switch", "uplink_link", "uplink_lost",
--   "route" or "collision"; node, leaf or from and to; direction = "out", "in" or "both" of a node, "up", "down" or
--   "both" of a leaf, "out" or "both" of a pair; share = of what peers reach, shares = by
--   direction, of a NIC; us = of latency; how; affected = share
--   of a leaf's flows }; how many suspects stay unconfirmed; list of those of them, from found.list, that had no turn
function judge.all(net, found, first, measured)
   local loaded = {}
   for _, flow in ipairs(measured.flows) do
      if not flow.class:find("^alone") then
         loaded[#loaded + 1] = flow
      end
   end
   samples.normalise(net, loaded, function(node)
      return found.nodes.blamed[node] ~= nil
   end)
   normalise_alone(net, found, measured)
   local with = { net = net, at = index(measured), found = found,
      near_flows = { near_flows(first.flows), near_flows(loaded) },
      again = leaves.find(net, loaded, found.nodes, found.near),
      loaded_pairs = {}, least_us = math.huge }
   with.path_limit = 1 - math.max(leaves.PATH_TOLERANCE, math.min(0.3, 4 * found.nodes.sigma))
   for _, us in pairs(found.latency.mu) do
      with.least_us = math.min(with.least_us, us)
   end
   for _, flow in ipairs(loaded) do
      with.loaded_pairs[key(flow.from, flow.to)] = flow.one_share
   end
   local list, unconfirmed, tried, untried = {}, 0, {}, {}
   local function try(name)
      tried[name] = (tried[name] or 0) + 1
   end
   for _, one in ipairs(found.list) do
      if one.kind == "path" and one.tried then
         try("up" .. net.leaf[one.flow.from])
         try("down" .. net.leaf[one.flow.to])
      end
      local finding = one.trials and JUDGES[one.kind](one, with)
      list[#list + 1] = finding
      unconfirmed = unconfirmed + (finding and 0 or 1)
      untried[#untried + 1] = not finding and not one.tried and one or nil
   end
   return merge(net, list, tried), unconfirmed, untried
end

return judge
