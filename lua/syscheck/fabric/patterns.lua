--- What nodes do all at once, as applications do: all-to-all in groups, and an allreduce. Pure.
--
-- Packed: in groups of one leaf's nodes, all leaves at work; nothing but the leaf's switch is in the way. Striped: in
-- groups of as many nodes of as many leaves, so that a leaf has few of them at work. Who gets less packed than striped
-- is at a switch that cannot carry what its ports together could. Pairs do not show that: what is between leaves is as
-- slow then. Where all leaves are alike, switches are made so, and none is named.
local parts = require("syscheck.lib.parts")
local statistics = require("syscheck.lib.statistics")

local patterns = {}

local GROUP = 16 -- nodes: what the kernel takes
local LEAST = 3 -- in a group: of two there is a pair only
--- Packed over striped, from here on down.
patterns.OVERLOADED = 0.7

local STEADY = 0.75 -- of a switch's two ratios, the lower one over the higher
local UNLIKE = 0.75 -- of what leaves have in the middle: a type of switch that blocks by design is no fault of one
local ALIKE = 0.75 -- of the usual group's size
local TIMES = 2 -- each, in turn: a leaf is named that is low in all of them

-- Who takes part. One who is named himself would make a whole group slow. But who is slow only while others are at work
-- may be so for the leaf: if most of its nodes are, or its uplink is, too.
-- @return list of lists of nodes, in the order of net.leaves
local function taking_part(net, findings)
   local out, loaded, suspect = {}, {}, {}
   for _, one in ipairs(findings) do
      if one.kind == "uplink_lost" then
         suspect[one.leaf] = true
      elseif one.node and one.kind == "host" and one.how == "loaded" then
         local leaf = net.leaf[one.node]
         loaded[leaf] = (loaded[leaf] or 0) + 1
      elseif one.node then
         out[one.node] = true
      end
   end
   for _, one in ipairs(findings) do
      local leaf = one.how == "loaded" and net.leaf[one.node]
      if leaf and not suspect[leaf] and 2 * loaded[leaf] <= #net.leaves[leaf].members then
         out[one.node] = true
      end
   end
   local leaves = {}
   for l, leaf in ipairs(net.leaves) do
      leaves[l] = {}
      for _, node in ipairs(leaf.members) do
         table.insert(leaves[l], not out[node] and node or nil)
      end
   end
   return leaves
end

-- Groups of `size` nodes of as many leaves as there are, and as many such groups as leave each leaf with few nodes at
-- work. The time'th has others of a leaf's nodes, as far as it has some.
local function stripes(leaves, size, time)
   local each, list = math.ceil(size / #leaves), {} -- nodes of a leaf
   for place = 1, each do
      for _, members in ipairs(leaves) do
         list[#list + 1] = place <= #members and members[((time - 1) * each + place - 1) % #members + 1] or nil
      end
   end
   local out = {}
   for from = 1, #list - size + 1, size do
      out[#out + 1] = table.move(list, from, from + size - 1, 1, {})
   end
   return out
end

--- The rounds of a run.
-- @param findings of judge.all
-- @param alone true: no all-to-all
-- @return list of { kind = "alltoall" or "allreduce", how = "packed" or "striped", groups = list of lists of nodes },
--   each of TIMES first packed, then striped; empty where there are too few
function patterns.build(net, findings, alone)
   local leaves, all, packed, sizes = {}, {}, {}, {}
   for _, members in ipairs(taking_part(net, findings)) do
      table.move(members, 1, #members, #all + 1, all)
      if #members >= LEAST then
         leaves[#leaves + 1] = members
         for _, part in ipairs(parts(members, GROUP)) do
            packed[#packed + 1], sizes[#sizes + 1] = part, #part
         end
      end
   end
   table.sort(sizes)
   local rounds, size = {}, sizes[(#sizes + 1) // 2]
   for time = 1, not alone and size and TIMES or 0 do
      rounds[#rounds + 1] = { kind = "alltoall", how = "packed", groups = packed, size = size }
      local striped = #leaves > 1 and stripes(leaves, size, time) or {}
      rounds[#rounds + 1] = #striped > 0 and { kind = "alltoall", how = "striped", groups = striped } or nil
   end
   rounds[#rounds + 1] = #all >= LEAST and { kind = "allreduce", groups = { all } } or nil
   return rounds
end

-- Values of one field, of all nodes of some rounds.
local function values_of(results, rounds, field, is_wanted)
   local out = {}
   for r, round in ipairs(rounds) do
      if is_wanted(round) then
         for _, got in pairs(results[r]) do
            out[#out + 1] = type(got) == "table" and got[field] or nil
         end
      end
   end
   return out
end

-- Packed over striped of each leaf, in the time'th of both: the median of its nodes over all who were striped. Only of
-- leaves with groups of about the size: in smaller ones a call's start weighs more.
local function ratios(net, rounds, results, time)
   local at, seen = {}, {}
   for r, round in ipairs(rounds) do
      if round.how then
         seen[round.how] = (seen[round.how] or 0) + 1
         at[round.how] = seen[round.how] == time and r or at[round.how]
      end
   end
   local usual = at.striped and statistics.median(values_of(results, rounds, "gbs", function(round)
      return round == rounds[at.striped]
   end))
   local list, of = {}, {}
   for _, group in ipairs(usual and rounds[at.packed].groups or {}) do
      for _, node in ipairs(#group >= ALIKE * rounds[at.packed].size and group or {}) do
         local got, leaf = results[at.packed][net.names[node]], net.leaf[node]
         list[leaf] = list[leaf] or {}
         table.insert(list[leaf], got and got.gbs or nil)
      end
   end
   for leaf, values in pairs(list) do
      local middle = statistics.median(values)
      of[leaf] = middle and middle / usual
   end
   return of
end

--- What came of them.
-- @param rounds from build
-- @param results of step.measure
-- @param found from suspects.find
-- @return { packed_gbs, striped_gbs = what a node receives in an all-to-all, median; allreduce_us = of 8 bytes,
--   allreduce_steps, allreduce_least_us = of that many messages between nodes that are farthest;
--   leaves = leaf -> packed over striped, middle = of these, steady = most showed it twice;
--   errors = list of texts }, each but leaves and errors nil
--   where not measured; and list of findings { kind = "leaf_overloaded", leaf, share }
function patterns.of(net, rounds, results, found)
   local out, findings, errors = { leaves = {}, errors = {} }, {}, {}
   for _, how in ipairs({ "packed", "striped" }) do
      out[how .. "_gbs"] = statistics.median(values_of(results, rounds, "gbs", function(round)
         return round.how == how
      end))
   end
   local last = rounds[#rounds]
   local us = statistics.median(values_of(results, rounds, "us", function(round)
      return round.kind == "allreduce"
   end))
   if us then
      local steps, far = math.ceil(math.log(#last.groups[1], 2) - 1e-9), nil
      for _, one in pairs(found.latency.mu) do
         far = math.max(far or one, one)
      end
      out.allreduce_us, out.allreduce_steps, out.allreduce_least_us = us, steps, far and far * steps
   end
   local times = {}
   for time = 1, TIMES do
      times[time] = ratios(net, rounds, results, time)
   end
   local list, steady = {}, 0
   for l in ipairs(net.leaves) do
      local first, second = times[1][l], times[TIMES][l]
      out.leaves[l] = first and second and math.max(first, second)
      list[#list + 1] = out.leaves[l]
      steady = steady + (out.leaves[l] and math.min(first, second) > STEADY * out.leaves[l] and 1 or 0)
   end
   out.steady = 2 * steady > #list or nil
   -- Of two the better one.
   out.middle = #list == 2 and math.max(list[1], list[2]) or statistics.median(list)
   for l in ipairs(net.leaves) do
      local share = out.leaves[l]
      if share and share < patterns.OVERLOADED and share < UNLIKE * out.middle then
         findings[#findings + 1] = { kind = "leaf_overloaded", leaf = l, share = share }
      end
   end
   for _, text in ipairs(values_of(results, rounds, "error", function() return true end)) do
      errors[text] = true
   end
   for text in pairs(errors) do
      table.insert(out.errors, text)
   end
   table.sort(out.errors)
   return out, findings
end

--- One fault, one finding: what a leaf's switch does not carry neither its uplink does, nor any of its nodes while the
-- others are at work.
-- @param findings of judge.all
-- @param overloaded findings of patterns.of
-- @return list of all that is left
function patterns.merge(net, findings, overloaded)
   local bad, out = {}, {}
   for _, one in ipairs(overloaded) do
      bad[one.leaf] = true
   end
   for _, one in ipairs(findings) do
      local echo = one.kind == "uplink_lost" and bad[one.leaf]
         or one.kind == "host" and one.how == "loaded" and bad[net.leaf[one.node]]
      out[#out + 1] = not echo and one or nil
   end
   return table.move(overloaded, 1, #overloaded, #out + 1, out)
end

return patterns
