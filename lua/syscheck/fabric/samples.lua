--- What was measured, as flows from one node to another, in shares of what a healthy pair reaches. Pure.
local statistics = require("syscheck.lib.statistics")

local samples = {}

--- What a flow of a kind is compared with: all that load the network alike.
local function class_of(net, round, a, b)
   return ("%s %d"):format(round.kind, net.hops(a, b))
end

--- Flows of rounds.
-- @param net from net.new
-- @param rounds list of { kind, pairs }
-- @param results what measuring them gave: for each round a list in the order of its pairs: { lat_us, ab_gbs, ba_gbs,
--   both_ab_gbs, both_ba_gbs, ab_tcp, ba_tcp, error, wrong }; a value may be absent
-- @return { flows = list of { from, to, round, phase = 1 or 2 in which it was alone in its
--   direction, class, one, both: GB/s or nil, tcp = of one, from_wait, to_wait: see step.measure },
--   latencies = list of { a, b, hops, us },
--   silent = list of { a, b, round, error }, wrong = list of
--   { a, b, text }: what came was not what was sent }
function samples.of(net, rounds, results)
   local out = { flows = {}, latencies = {}, silent = {}, wrong = {} }
   for r, round in ipairs(rounds) do
      for k, p in ipairs(round.pairs) do
         local got, a, b = (results[r] or {})[k], p[1], p[2]
         if not got or got.error then
            table.insert(out.silent, { a = a, b = b, round = r, error = got and got.error or "no answer" })
         end
         if got and got.wrong then
            table.insert(out.wrong, { a = a, b = b, text = got.wrong })
         end
         if got then
            local class = class_of(net, round, a, b)
            if got.ab_gbs or got.both_ab_gbs then
               table.insert(out.flows, { from = a, to = b, round = r, class = class, phase = 1, one = got.ab_gbs,
                  both = got.both_ab_gbs, tcp = got.ab_tcp, from_wait = got.a_wait_pct, to_wait = got.b_wait_pct })
            end
            if got.ba_gbs or got.both_ba_gbs then
               table.insert(out.flows, { from = b, to = a, round = r, class = class, phase = 2, one = got.ba_gbs,
                  both = got.both_ba_gbs, tcp = got.ba_tcp, from_wait = got.b_wait_pct, to_wait = got.a_wait_pct })
            end
            if got.lat_us then
               table.insert(out.latencies, { a = a, b = b, hops = net.hops(a, b), us = got.lat_us })
            end
         end
      end
   end
   return out
end

--- What the pair's links are made for: the slower one's. Without rates all are alike.
function samples.nominal(net, flow)
   local from, to = net.rate[flow.from], net.rate[flow.to]
   return from and to and math.min(from, to) or 1
end

-- A healthy flow's rate over its nominal one, where many are not: of each node the best of its flows (one of them was
-- with a healthy node), of these the median. A little high, as the best of several is; see the second pass.
local function first_guess(list)
   local best = {}
   for _, one in ipairs(list) do
      for _, node in ipairs({ one.flow.from, one.flow.to }) do
         best[node] = math.max(best[node] or 0, one.value)
      end
   end
   local values = {}
   for _, value in pairs(best) do
      values[#values + 1] = value
   end
   return statistics.median(values)
end

--- Makes `one` and `both` of flows shares of what a healthy pair of their class reaches, in place: one_share,
-- both_share.
-- @param is_bad function(node) -> true for nodes that say nothing of healthy ones; nil in the first pass
-- @return { class = { one, both: a healthy flow's rate over its nominal one } }
function samples.normalise(net, flows, is_bad)
   local values, reference = {}, {}
   for _, flow in ipairs(flows) do
      for _, mode in ipairs({ "one", "both" }) do
         if flow[mode] then
            values[flow.class] = values[flow.class] or { one = {}, both = {} }
            table.insert(values[flow.class][mode], { flow = flow, value = flow[mode] / samples.nominal(net, flow) })
         end
      end
   end
   for class, of in pairs(values) do
      reference[class] = {}
      for mode, list in pairs(of) do
         local healthy = {}
         for _, one in ipairs(is_bad and list or {}) do
            if not is_bad(one.flow.from) and not is_bad(one.flow.to) then
               healthy[#healthy + 1] = one.value
            end
         end
         reference[class][mode] = #healthy > 0 and statistics.median(healthy) or first_guess(list)
      end
   end
   for _, flow in ipairs(flows) do
      for _, mode in ipairs({ "one", "both" }) do
         local of = reference[flow.class] and reference[flow.class][mode]
         flow[mode .. "_share"] = flow[mode] and of and of > 0 and flow[mode] / samples.nominal(net, flow) / of or nil
      end
   end
   return reference
end

return samples
