--- What a run says of each of its nodes: its values against limits, and the findings that concern it. Pure.
--
-- Limits, modes and the two runs that a fail takes are those of every check. What is more: only what was confirmed
-- as the node's own NIC, port or cable fails it. An uplink, a route, a host that is slow only while others are at work
-- are somebody's to look at, and no node is taken out of service for them.
local statistics = require("syscheck.lib.statistics")
local verdict = require("syscheck.verdict.rating")
local words = require("syscheck.fabric.words")

local rating = {}

--- What a baseline is of: links of one rate, so many switches apart.
-- @param rate 10^9 bit/s, or nil
-- @param hops 1 within a leaf, 2 or more across
function rating.class(rate, hops)
   return ("fabric-%sg-%dhop"):format(rate and ("%.4g"):format(rate) or "?", hops)
end

local LEAST_AT_LEAF = 3 -- nodes, of which one has two partners there
local AS_FAST = 0.95
local MOST_FINDINGS = 16 -- of a node

-- The ways that a node is rated in, as nodes.ASPECTS has them.
local WAYS = { "out", "in" }

-- How far the partners are that a node is compared by, and what a healthy pair so far apart reaches, GB/s.
local function reference_of(answer, node)
   local net, found = answer.net, answer.found
   local alone, least = #net.leaves[net.leaf[node]].members == 1, nil
   for class in pairs(found.reference) do
      local hops = tonumber(class:match("%d+$"))
      if (hops > 1 or not alone) and (not least or hops < least) then
         least = hops
      end
   end
   for _, kind in ipairs(least and { "within", "all", "across" } or {}) do
      local of = found.reference[("%s %d"):format(kind, least)]
      if of and of.one then
         return least, of.one * (net.rate[node] or 1)
      end
   end
end

-- Median over all nodes of what they send and receive, of what was taken for usual: where one node says more than it
-- gets, all others look slow.
local function middles(answer)
   local out = {}
   for _, way in ipairs(WAYS) do
      local values = {}
      for _, share in pairs(answer.found.nodes.told[way]) do
         values[#values + 1] = share
      end
      local middle = statistics.median(values)
      out[way] = middle and middle > 0 and middle or 1
   end
   return out
end

-- Values of a node: in all rounds, and where it was found slow alone, those. Rates are its share of a healthy pair's:
-- nothing is in them of what it had with a bad partner.
-- @return results of the first and of the second measurement, as verdict.rate takes them
local function values_of(answer, with, node, hops, usual, nic)
   local found = answer.found
   local first, second = {}, {}
   local function put(name, value, again)
      first[name] = value and { value = value } or nil
      second[name] = again and { value = again } or first[name]
   end
   for _, way in ipairs(WAYS) do
      local share = found.nodes.told[way][node]
      local again = nic and (nic.direction == way or nic.direction == "both") and nic.shares[way] or nil
      share, again = share and share / with.middle[way], again and again / with.middle[way]
      put(("fabric_%s_ratio"):format(way), share, again)
      -- Paced senders send in bursts: their rate is another quantity.
      if share and not answer.share then
         put(("fabric_%s_gbs"):format(way), share * usual, again and again * usual)
      end
   end
   local mu = found.latency.mu[hops]
   put("fabric_lat_us", mu and mu + (found.latency.added[node] or 0))
   return first, second
end

-- The worse of its two shares.
local function least_of(results)
   local least = 1
   for _, way in ipairs(WAYS) do
      local one = results[("fabric_%s_ratio"):format(way)]
      least = math.min(least, one and one.value or 1)
   end
   return least
end

-- Names of the metrics that are beyond a limit.
local function beyond_of(rated)
   local names = {}
   for _, r in ipairs(rated.metrics) do
      names[#names + 1] = (r.status == "warn" or r.status == "fail") and r.name or nil
   end
   return table.concat(names, " ")
end

-- Whose NIC a finding is for sure: of one of three at a leaf that is known, as else the uplink is in all that was
-- measured, with links as fast as most nodes', and not as slow as many others'.
local function is_sure(answer, with, node)
   local net, alike = answer.net, answer.found.alike
   local own = (answer.about[net.names[node]] or {}).rate_gbps
   return net.known and #net.leaves[net.leaf[node]].members >= LEAST_AT_LEAF
      and not (own and with.rate and own < AS_FAST * with.rate)
      and not (alike and alike[node] < AS_FAST * (net.rate[node] or 1))
end

-- In which directions of a node its own NIC was found slow: only these values fail it.
local function may_fail(name, nic)
   local way = name:match("^fabric_(%l+)_")
   return nic and (way == "out" or way == "in") and (nic.direction == way or nic.direction == "both")
end

local function limits_of(p, class, learned, nic, sure)
   local limits = verdict.limits(p, class, learned)
   for name, list in pairs(limits) do
      for _, limit in ipairs(list) do
         limit.action = sure and may_fail(name, nic) and limit.action or "warn"
      end
   end
   return limits
end

-- Nodes that were suspected and, measured again, were like the others.
local function cleared(answer)
   local of = {}
   for _, one in ipairs(answer.found.list) do
      of[one.node or 0] = one.kind == "node" and one.tried or of[one.node or 0]
   end
   for _, one in ipairs(answer.findings) do
      of[one.node or 0] = nil
   end
   return of
end

-- node -> names of those that it was measured with.
local function partners_of(answer)
   local of, seen = {}, {}
   for _, part in ipairs({ answer, answer.again or nil }) do
      for r, round in ipairs(part.rounds) do
         for k, p in ipairs(round.pairs) do
            for side, node in ipairs(part.results[r][k].error and {} or p) do
               local other = p[3 - side]
               of[node], seen[node] = of[node] or {}, seen[node] or {}
               if not seen[node][other] then
                  seen[node][other] = true
                  table.insert(of[node], answer.net.names[other])
               end
            end
         end
      end
   end
   return of
end

-- What is said of a leaf concerns each of its nodes.
local function concerns(net, one, node)
   return one.node == node or one.from == node or one.to == node or one.leaf and one.leaf == net.leaf[node]
end

local function finding_of(net, one, node)
   return { kind = one.kind, direction = one.direction, share = one.share, us = one.us,
      leaf = one.leaf and net.leaves[one.leaf].name, from = one.from and net.names[one.from],
      to = one.to and net.names[one.to], dir = one.dir, own = one.node == node or nil, text = words.of(net, one) }
end

local function rate(answer, with, node, p, learned)
   local net, name = answer.net, answer.net.names[node]
   local about, nic, silent = answer.about[name] or {}, nil, nil
   local out = { node = name, leaf = net.known and net.leaf[node] and net.leaves[net.leaf[node]].name or nil,
      boot_id = about.boot_id, io = answer.io and not answer.io.error and answer.io.dir or nil,
      findings = {}, runs = {}, partners = with.partners[node],
      uplinks = net.known and #net.leaves > 2 and net.leaf[node]
         and answer.found.leaves.scores.up[net.leaf[node]] ~= nil or nil,
      switch = net.known and #net.leaves > 1 and net.leaf[node]
         and #net.leaves[net.leaf[node]].members >= LEAST_AT_LEAF or nil,
      shard = answer.shard, between = answer.across,
      alltoall = net.known and answer.patterns and answer.patterns.leaves[net.leaf[node]] ~= nil or nil }
   for _, one in ipairs(answer.findings) do
      if one.kind ~= "collision" and #out.findings < MOST_FINDINGS and concerns(net, one, node) then
         table.insert(out.findings, finding_of(net, one, node))
         nic = one.kind == "nic" and one or nic
         silent = one.kind == "silent" and words.of(net, one) or silent
      end
   end
   local told, hops, usual = answer.found.nodes.told, nil, nil
   if told.out[node] or told["in"][node] then
      hops, usual = reference_of(answer, node)
   end
   out.class = rating.class(about.rate_gbps, hops or 1)
   if answer.across then
      -- One node of a leaf cannot load its uplink, nor is what it gets its own.
      out.uplinks, out.shard, usual = nil, nil, nil
   end
   if not usual then
      out.metrics, out.least, out.status, out.text = {}, 1, "unknown",
         silent or answer.across and "measured for what is between leaves only"
         or #net.names == 2 and "of two nodes nobody can be compared"
         or with.partners[node] and "measured only with nodes that are bad, or were suspected"
         or "no pair of it could be measured"
      return out
   end
   local limits = limits_of(p, out.class, learned, nic, is_sure(answer, with, node))
   local first, second = values_of(answer, with, node, hops, usual, nic)
   local rated, before = verdict.rate(second, limits), verdict.rate(first, limits)
   for i, r in ipairs(rated.metrics) do
      if r.status == "fail" and before.metrics[i].status ~= "fail" then
         r.status = "warn"
      end
      -- One run's value, which did not show again.
      if with.cleared[node] and r.status == "warn" and r.name ~= "fabric_lat_us" then
         r.status = "unrated"
      end
      if nic and may_fail(r.name, nic) and (r.status == "fail" or r.status == "warn") then
         r.text = words.of(net, nic)
      end
   end
   verdict.settle(rated, {}) -- its status, of what its metrics are now
   out.least, out.beyond = least_of(second), beyond_of(rated)
   out.enforced = verdict.set_modes(rated, p, out.class)
   out.metrics, out.status = rated.metrics, rated.status
   out.text = (answer.rail and not nic and ("rail %d: "):format(answer.rail) or "") .. verdict.sentence(rated)
   out.reason = rated.status == "fail" and verdict.reason(rated) or nil
   for attempt, results in ipairs({ first, nic and second }) do
      local result = {}
      for metric, one in pairs(results) do
         result[metric] = one.value
      end
      out.runs[attempt] = { kernel = "fabric", attempt = attempt, state = "ok", result = result }
   end
   for _, one in ipairs(out.findings) do
      if (one.own or one.kind == "corrupt") and (out.status == "pass" or out.status == "unrated") then
         out.status, out.text = "warn", one.text
      end
   end
   return out
end

--- Rates every node of a run.
-- @param answer from run.run; `about` = { node's name = { boot_id, rate_gbps } }, `share` = senders were paced
-- @param p policy
-- @param learned baseline, or nil
-- @return list of { node, leaf, class, boot_id, status, text, reason (of a fail), metrics, runs as of a check;
--   partners = names of those it was measured with; uplinks, switch, alltoall = true: its leaf's was compared with
--   others'; shard = its number, where there are several, between = true: measured for what is between them;
--   io = directory in which files were written and read; least = of its shares, at most 1, beyond = names of metrics
--   beyond a limit, enforced = true: may leave service, findings = list of { kind, direction, share, us, leaf, from,
--   to, dir, own = true where it is the node that is at fault, text } }
function rating.of(answer, p, learned)
   local with, out, rates = { middle = middles(answer), partners = partners_of(answer), cleared = cleared(answer) },
      {}, {}
   for _, about in pairs(answer.about) do
      rates[#rates + 1] = about.rate_gbps
   end
   with.rate = statistics.median(rates)
   for node in ipairs(answer.net.names) do
      out[node] = rate(answer, with, node, p, learned)
   end
   return out
end

return rating
