--- What is known beside rates of why a node or a pair is slow: TCP's own account of its connections, and links that are
-- unlike most nodes'. Pure.
--
-- A window W allows W per round trip, however fast the link is. Who is held by that is no bad NIC: the account says
-- who had to wait for whose window, and the rate times the round trip is the window. The least round trip, that is: a
-- slow link has a queue before it, in which as much waits as the window lets through.
local inventory = require("syscheck.fabric.inventory")
local samples = require("syscheck.fabric.samples")
local sorted = require("syscheck.lib.sorted")
local statistics = require("syscheck.lib.statistics")

local explain = {}

-- Of the time with data to send. In a phase of 0.1 s, of a few round trips, the kernel counts half of it or less.
local HELD_PCT = 20
-- A receiver that is slow itself closes its window, too: then what was on the way is a small part of its buffer. Of
-- that the kernel lets half be the window (net.ipv4.tcp_adv_win_scale).
local LEAST_OF_BUFFER, MOST_OF_BUFFER = 0.2, 1.2
local LESS = 0.9 -- of what healthy pairs reach
local LEAST_WAIT = 0.05 -- of its time, beyond what others wait
local AGAIN_PCT = 0.05 -- of the bytes: a healthy link loses none, and what congestion costs is shared by all

-- Which windows: whose it is, and where its size is set.
local KINDS = {
   { held = "rwnd_pct", whose = "to", buffer = "tcp_rmem" },
   { held = "sndbuf_pct", whose = "from", buffer = "tcp_wmem" },
}

-- @param link what it could get, bytes/s: what healthy pairs of such links reached, or what links say
-- @return { whose = node, buffer, bytes, rtt_us, rate, link, needs (bytes) } where a window holds this flow
local function window_of(with, flow, link)
   local tcp = flow.tcp
   if not tcp or not flow.one or flow.one * 1e9 > LESS * link then
      return nil
   end
   for _, kind in ipairs(KINDS) do
      local node, bytes = flow[kind.whose], flow.one * 1e9 * tcp.rtt_us / 1e6
      local buffer = with.about(node)[kind.buffer]
      if tcp[kind.held] >= HELD_PCT and buffer and bytes >= LEAST_OF_BUFFER * buffer
         and bytes <= MOST_OF_BUFFER * buffer then
         return { whose = node, buffer = kind.buffer, bytes = bytes, rtt_us = tcp.rtt_us, rate = flow.one * 1e9,
            link = link, needs = link * tcp.rtt_us / 1e6 }
      end
   end
end

-- Flows that a finding is about: a pair's, or a node's in its direction, alone where they were measured alone.
local function flows_of(with, one)
   local list = {}
   for _, flow in ipairs(with.flows) do
      local of_node = one.node and (flow.from == one.node and one.direction ~= "in"
         or flow.to == one.node and one.direction ~= "out")
      if of_node or one.from and flow.from == one.from and flow.to == one.to then
         list[#list + 1] = flow
      end
   end
   return list
end

-- The window in the middle of those that hold flows, where they hold most of them.
-- @param link_of function(flow) -> what it could get, bytes/s, or nil: not known
local function window(with, list, link_of)
   local held = {}
   for _, flow in ipairs(list) do
      local link = link_of(flow)
      held[#held + 1] = link and window_of(with, flow, link)
   end
   if #held * 2 <= #list then
      return nil
   end
   table.sort(held, function(a, b)
      return a.bytes < b.bytes
   end)
   return held[(#held + 1) // 2]
end

-- Windows that hold most pairs so far apart, of what links say: all are slow alike, and nobody stands out.
-- @return list of windows, each with `hops`, the nearest pairs' first
local function of_all(with)
   local by_hops, out = {}, {}
   for _, flow in ipairs(with.flows) do
      local hops = with.net.hops(flow.from, flow.to)
      by_hops[hops] = by_hops[hops] or {}
      table.insert(by_hops[hops], flow)
   end
   for _, hops in ipairs(sorted(by_hops)) do
      local one = window(with, by_hops[hops], function(flow)
         local from, to = with.about(flow.from).rate_gbps, with.about(flow.to).rate_gbps
         return from and to and math.min(from, to) * 1e9 / 8
      end)
      if one then
         one.hops = hops
         out[#out + 1] = one
      end
   end
   return out
end

-- How long a node had no CPU, in % of its time, and the others: in the middle of their flows.
local function waits(with, list, node)
   local own, others = {}, {}
   for _, flow in ipairs(list) do
      table.insert(own, flow.from == node and flow.from_wait or flow.to == node and flow.to_wait or nil)
   end
   for _, flow in ipairs(with.flows) do
      for side, wait in pairs({ from = flow.from_wait, to = flow.to_wait }) do
         others[#others + 1] = flow[side] ~= node and wait or nil
      end
   end
   return statistics.median(own), statistics.median(others)
end

-- A host whose process has no CPU (other work, a quota) sends and receives less whatever its NIC: where that is a good
-- part of what is missing.
local function busy(with, list, one)
   local own, others = waits(with, list, one.node)
   local more = own and others and (own - others) / 100
   if more and more >= LEAST_WAIT and more >= (1 - one.share) / 3 then
      return own, others
   end
end

local function again(list)
   local values = {}
   for i, flow in ipairs(list) do
      values[i] = flow.tcp and flow.tcp.again_pct or 0
   end
   local median = statistics.median(values)
   return median and median >= AGAIN_PCT and median or nil
end

local SLOW = { nic = true, host = true, route = true }

--- Adds to findings what explains them, in place: `window` (who is held by one becomes kind "window"), `wait_pct`,
-- `peers_wait_pct` = of its time in which a node had no CPU (it becomes kind "busy"), `again_pct` = bytes that TCP sent
-- again, `unlike` = list of texts on the node's links, `lone` = true: it is alone at its leaf, whose uplink it may be.
-- @param answer from session.run, with net and about (see run.run); gets `unlike`, of inventory.unlike, and `windows`
--   that hold most pairs: list of windows, with `hops`
function explain.all(answer)
   local net, about = answer.net, answer.about
   local with = { net = net, usual = answer.found.near.one, flows = answer.flows, about = function(node)
      return about[net.names[node]] or {}
   end }
   answer.unlike = inventory.unlike(net.names, about)
   answer.windows = of_all(with)
   local function usual(flow)
      return with.usual * samples.nominal(net, flow) * 1e9
   end
   for _, one in ipairs(answer.findings) do
      local list = SLOW[one.kind] and flows_of(with, one) or {}
      one.window, one.again_pct = window(with, list, usual), one.again_pct or again(list)
      if one.node and list[1] then
         one.wait_pct, one.peers_wait_pct = busy(with, list, one)
      end
      one.lone = one.kind == "nic" and net.known and #net.leaves[net.leaf[one.node]].members == 1 or nil
      one.kind = one.wait_pct and "busy" or one.window and "window" or one.kind
      for _, odd in ipairs(one.node and list[1] and answer.unlike or {}) do
         for _, name in ipairs(odd.nodes) do
            if name == net.names[one.node] then
               one.unlike = one.unlike or {}
               table.insert(one.unlike, odd.text)
            end
         end
      end
   end
end

return explain
