--- Files that all nodes write and read at the same time: who is slow, alone or only with the others, or a whole leaf.
-- Pure but for the measuring.
--
-- As with the network nobody is named before he is measured again: all nodes twice, then each suspect with one good
-- node while all others rest, twice; who is not slow then with all at work, twice more, as on shared servers somebody
-- is always unlucky. A node reads what its neighbour wrote, which its own cache does not have.
local hostlist = require("syscheck.lib.hostlist")
local statistics = require("syscheck.lib.statistics")

local storage = {}

--- Seconds of writing, and of reading, in a round.
storage.SECONDS = 5
--- MB that a node writes at most in a round.
storage.MB = 1024

local TOLERANCE = 0.2 -- of what peers reach: a shared file system's rates scatter by a tenth
local SIGMAS = 4
--- Seconds that a slow node takes more than its peers for the same bytes: less is a hiccup, however short the files.
storage.LOST_S = 0.1
local LEAST = 3 -- nodes: of two nobody can be blamed
local ALONE = 4 -- suspects that are measured alone, the worst first: a round takes ten seconds
local LEAF_LEAST = 3 -- nodes of a leaf, and leaves
local ANSWER_S = 130 -- beyond writing and reading: kernels/fabric/storage.c

local WAYS = { "write", "read" }

local function round_of(kind, groups)
   return { kind = kind, groups = groups, seconds = 2 * storage.SECONDS + ANSWER_S }
end

-- Nodes that said what they could not, in one of the rounds: node -> text.
local function errors_of(net, rounds)
   local out = {}
   for node, name in ipairs(net.names) do
      for _, results in ipairs(rounds) do
         out[node] = out[node] or results[name] and results[name].error
      end
   end
   return out
end

-- Where somebody did not come to an end, and nobody says what he could not: why nothing can be said; nil: all did.
local function stopped_of(net, group, rounds)
   local silent, stopped = {}, nil
   for _, node in ipairs(group) do
      for _, results in ipairs(rounds) do
         local got = results[net.names[node]]
         if not got then
            silent[#silent + 1] = net.names[node]
            break
         end
         stopped = stopped or not (got.write_gbs and got.read_gbs or got.wrong) and (got.stopped or "no rate") or nil
      end
   end
   return silent[1] and ("no answer from %s"):format(hostlist.fold(silent)) or stopped
      and ("some node did not go on: %s"):format(stopped) or nil
end

-- Node -> its rate one way, in GB/s; and these as a list.
local function rates_of(net, results, way)
   local of, list = {}, {}
   for node, name in ipairs(net.names) do
      of[node] = results[name] and results[name][way .. "_gbs"]
      list[#list + 1] = of[node]
   end
   return of, list
end

-- A node's rate over the usual one; 1 where what it took longer is too short to tell.
local function share_of(got, rate, usual)
   local lost = (got.written or math.huge) / 1e9 * (1 / rate - 1 / usual)
   return lost < storage.LOST_S and math.max(1, rate / usual) or rate / usual
end

-- Node -> rate over the median of all, for one way; and how much these scatter.
local function shares_of(net, results, way)
   local of, list = rates_of(net, results, way)
   local middle, sigma = statistics.robust(list)
   for node, value in pairs(of) do
      of[node] = share_of(results[net.names[node]], value, middle)
   end
   return of, sigma and sigma / middle or 0
end

-- Who is low in both rounds: list of { node, write, read = the higher share of the two, where low }, worst first.
local function low_nodes(net, rounds)
   local of, limit = {}, {}
   for _, way in ipairs(WAYS) do
      local first, sigma = shares_of(net, rounds[1], way)
      local second, again = shares_of(net, rounds[2], way)
      limit[way] = 1 - math.max(TOLERANCE, SIGMAS * math.min(sigma, again))
      for node, share in pairs(first) do
         local most = second[node] and math.max(share, second[node])
         if most and most < limit[way] then
            of[node] = of[node] or { node = node }
            of[node][way] = most
         end
      end
   end
   local list = {}
   for _, one in pairs(of) do
      one.least = math.min(one.write or 1, one.read or 1)
      list[#list + 1] = one
   end
   table.sort(list, function(a, b)
      return a.least < b.least or a.least == b.least and a.node < b.node
   end)
   return list, limit
end

local function way_of(one)
   return one.write and one.read and "both" or one.write and "write" or "read"
end

-- Leaves of which nearly all nodes are low, where most leaves are not.
local function low_leaves(net, list)
   local n, least, of, bad = {}, {}, {}, 0
   for _, one in ipairs(list) do
      local leaf = net.leaf[one.node]
      n[leaf], least[leaf] = (n[leaf] or 0) + 1, least[leaf] or {}
      table.insert(least[leaf], one.least)
   end
   for l, leaf in ipairs(net.known and net.leaves or {}) do
      if #leaf.members >= LEAF_LEAST and (n[l] or 0) > 0.8 * #leaf.members then
         of[l], bad = statistics.median(least[l]), bad + 1
      end
   end
   return #net.leaves >= LEAF_LEAST and 2 * bad < #net.leaves and of or {}
end

-- Two good nodes for each suspect, of its leaf as far as there are some; others for the next one.
-- @param could results in which all who can have a place
local function controls_of(net, list, could)
   local bad, out, good = {}, {}, {}
   for _, one in ipairs(list) do
      bad[one.node] = true
   end
   for node in ipairs(net.names) do
      good[#good + 1] = not bad[node] and could[net.names[node]] and node or nil
   end
   for k, one in ipairs(list) do
      local near, far = {}, {}
      for i = 1, #good do
         local node = good[(i + k - 2) % #good + 1]
         table.insert(net.leaf[node] == net.leaf[one.node] and near or far, node)
      end
      table.move(far, 1, #far, #near + 1, near)
      out[k] = { near[1], near[2] or near[1] }
   end
   return out
end

-- Beside a good node, both times: { write, read = the higher share of the two, where it is low }; nil: not measured.
local function alone_of(net, one, controls, results, limit)
   local out = { node = one.node }
   for _, way in ipairs(WAYS) do
      local most = 0
      for i, control in ipairs(controls) do
         local own, other = results[i][net.names[one.node]], results[i][net.names[control]]
         local rate, usual = own and own[way .. "_gbs"], other and other[way .. "_gbs"]
         if not (rate and usual) then
            return nil
         end
         most = math.max(most, share_of(own, rate, usual))
      end
      out[way] = one[way] and most < limit[way] and most or nil
   end
   return out
end

-- Suspects alone, each twice: findings of those that are slow then, too; list of those that are not.
local function alone(net, measure, list, controls, limit)
   local rounds, findings, left = {}, {}, {}
   for k, one in ipairs(list) do
      for i, control in ipairs(controls[k]) do
         rounds[2 * (k - 1) + i] = round_of("files", { { one.node, control } })
      end
   end
   local results = #rounds > 0 and measure(rounds) or {}
   for k, one in ipairs(list) do
      local of = { results[2 * k - 1] or {}, results[2 * k] or {} }
      local got = alone_of(net, one, controls[k], of, limit)
      if got and (got.write or got.read) then
         findings[#findings + 1] = { kind = "io", node = one.node, direction = way_of(got), how = "alone",
            share = math.min(got.write or 1, got.read or 1) }
      else
         left[#left + 1] = one
      end
   end
   return findings, left
end

-- Suspects and leaves with all at work, twice more: who meets a busy server twice, by chance, does not four times.
local function loaded(net, measure, group, list, leaves)
   local results = measure({ round_of("files", { group }), round_of("files", { group }) })
   local low, findings, of, left = results and low_nodes(net, results) or {}, {}, {}, 0
   local again = low_leaves(net, low)
   for _, one in ipairs(low) do
      of[one.node] = one
   end
   for l in ipairs(net.leaves) do
      if leaves[l] and again[l] then
         findings[#findings + 1] = { kind = "io_leaf", leaf = l, share = math.max(leaves[l], again[l]) }
      elseif leaves[l] then
         left = left + 1
      end
   end
   for _, one in ipairs(list) do
      local second, both = of[one.node] or {}, {}
      for _, way in ipairs(WAYS) do
         both[way] = one[way] and second[way] and math.max(one[way], second[way]) or nil
      end
      if both.write or both.read then
         findings[#findings + 1] = { kind = "io", node = one.node, direction = way_of(both), how = "loaded",
            share = math.min(both.write or 1, both.read or 1) }
      else
         left = left + 1
      end
   end
   return findings, left
end

-- Medians of a node and sums of all, of a round: { write_gbs, read_gbs, write_all_gbs, read_all_gbs }.
local function sums(net, results)
   local out = {}
   for _, way in ipairs(WAYS) do
      local _, list = rates_of(net, results, way)
      out[way .. "_gbs"] = statistics.median(list)
      for _, value in ipairs(list) do
         out[way .. "_all_gbs"] = (out[way .. "_all_gbs"] or 0) + value
      end
   end
   return out
end

local function everybody(net)
   local all = {}
   for node in ipairs(net.names) do
      all[node] = node
   end
   return all
end

-- Texts that are the same are one: { text = list of nodes }, in the order of their first node.
local function by_text(net, errors)
   local list, of = {}, {}
   for node = 1, #net.names do
      local text = errors[node]
      if text then
         if not of[text] then
            of[text] = { text = text, nodes = {} }
            list[#list + 1] = of[text]
         end
         table.insert(of[text].nodes, net.names[node])
      end
   end
   return list
end

-- Files of their own, all nodes, twice. Where some cannot and most can, without these.
local function own_files(net, measure, out)
   local all, left = everybody(net), {}
   local rounds = { round_of("files", { all }), round_of("files", { all }) }
   local results, err = measure(rounds)
   if not results then
      return nil, err
   end
   local errors = errors_of(net, results)
   for _, node in ipairs(all) do
      left[#left + 1] = not errors[node] and node or nil
   end
   out.errors = by_text(net, errors)
   if #left < #all then
      if 2 * #left <= #all or #left < 2 then
         return nil, out.errors[1].text
      end
      rounds = { round_of("files", { left }), round_of("files", { left }) }
      results, err = measure(rounds)
      if not results then
         return nil, err
      elseif next(errors_of(net, results)) then
         return nil, out.errors[1].text -- others cannot now: it was nobody's own
      end
      for node in ipairs(net.names) do
         table.insert(out.findings, errors[node] and { kind = "io_error", node = node, why = errors[node] } or nil)
      end
   end
   return results, stopped_of(net, left, results)
end

local function corrupt(net, out, results)
   for node, name in ipairs(net.names) do
      for _, of in ipairs(results) do
         if of[name] and of[name].wrong then
            table.insert(out.findings, { kind = "io_corrupt", node = node, why = of[name].wrong })
            break
         end
      end
   end
end

local function find(net, measure, results, out)
   local list, limit = low_nodes(net, results)
   local leaves, single, group = low_leaves(net, list), {}, {}
   if #net.names < LEAST then
      return
   end
   for _, one in ipairs(list) do
      -- Half of all are no few that are unlike the others.
      if not leaves[net.leaf[one.node]] and #single < ALONE and 2 * #list < #net.names then
         single[#single + 1] = one
      elseif not leaves[net.leaf[one.node]] then
         out.unconfirmed = out.unconfirmed + 1
      end
   end
   for node, name in ipairs(net.names) do
      group[#group + 1] = results[1][name] and node or nil
   end
   local function add(findings)
      table.move(findings, 1, #findings, #out.findings + 1, out.findings)
   end
   local slow, left = alone(net, measure, single, controls_of(net, list, results[1]), limit)
   add(slow)
   if #left > 0 or next(leaves) then
      local found, unconfirmed = loaded(net, measure, group, left, leaves)
      add(found)
      out.unconfirmed = out.unconfirmed + unconfirmed
   end
end

--- @param net from net.new
-- @param measure function(rounds) -> results of step.measure
-- @return { own, shared = { write_gbs, read_gbs (of a node, median), write_all_gbs, read_all_gbs (sums) }, filesystem,
--   direct = past the page cache, bytes = that a node wrote at most in a round, nodes = list of { node, write_gbs,
--   read_gbs, shared_write_gbs, shared_read_gbs }, findings = list of { kind = "io", "io_leaf", "io_error" or
--   "io_corrupt", node or leaf, direction = "write", "read" or "both", how = "alone" or "loaded", share, why },
--   unconfirmed, errors = list of { text, nodes }: what nodes could not; error = why nothing or not all was measured }
function storage.run(net, measure)
   local out = { own = {}, shared = {}, nodes = {}, findings = {}, unconfirmed = 0, errors = {} }
   local results, err = own_files(net, measure, out)
   corrupt(net, out, results or {})
   if not results or err then
      out.error = err
      return out
   end
   out.own = sums(net, results[1])
   find(net, measure, results, out)
   local shared
   if #out.errors == 0 then
      local one
      one, err = measure({ round_of("file", { everybody(net) }) })
      shared = one and one[1]
      out.shared = shared and sums(net, shared) or {}
      local failed = shared and by_text(net, errors_of(net, one))[1]
      local why = not shared and err or failed and failed.text or stopped_of(net, everybody(net), one)
      out.error = why and "one file for all: " .. why or nil
      corrupt(net, out, { shared or {} })
   end
   for node, name in ipairs(net.names) do
      local own, both = results[1][name] or {}, (shared or {})[name] or {}
      out.filesystem, out.direct = out.filesystem or own.filesystem, out.direct or own.direct
      out.bytes = math.max(out.bytes or 0, own.written or 0)
      out.nodes[node] = { node = node, write_gbs = own.write_gbs, read_gbs = own.read_gbs,
         shared_write_gbs = both.write_gbs, shared_read_gbs = both.read_gbs }
   end
   return out
end

return storage
