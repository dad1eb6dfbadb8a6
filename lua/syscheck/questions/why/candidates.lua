--- Explanations beside those of one node's numbers: a node whose jobs were slow, several nodes, all, more work, chance.
-- Pure.
local causes = require("syscheck.questions.why.causes")
local checks = require("syscheck.questions.why.checks")
local conditions = require("syscheck.questions.why.conditions")
local odds = require("syscheck.questions.why.odds")
local stats = require("syscheck.questions.why.stats")
local weights = require("syscheck.questions.why.weights")
local without = require("syscheck.questions.why.without")
local work = require("syscheck.questions.why.work")

local candidates = {}

-- How often a node-hour has a trouble that slows a job by 5 % and more, and a slow job another reason.
local PRIOR = { clock = 0.004, daemon = 0.004, storage = 0.004, memory = 0.003, link = 0.003, shortage = 0.002,
   quota = 0.003, neighbour = 0.02 }
local NODES_MOST = 0.05 -- of any node of a job
local ALL, ALL_STORAGE, INPUT = 0.002, 0.01, 0.03
local SEVERAL = 0.1 -- of troubles of a node, so many are its neighbours', too
local NOTHING = 0.8 -- that nobody is to blame, of a job that somebody asks about
local NODE = 0.0003 -- a node is slow by something that is not recorded
local SLOW_NODE = weights.SLOW_NODE
local SEVERAL_P = 0.05
local READS = { name = "disk_read_bytes", kind = "count" }
local READ_MORE, READ_LEAST = 3, 1e6 -- times what is usual, and bytes a second, that a node that pages reads
local ALIKE = 0.5 -- share of a condition from which another node has the same
local ALONE = 0.2 -- of what speaks for one of several that have the same, what speaks for it alone
local LOOKED = 4 -- of several nodes whose other runs are looked at
local PLACES = 3 -- least runs, and like runs of each, to know a place among them
-- A condition that all would have had: of other runs so many feel it, and have more of it than LIKE like runs of
-- theirs. That they did not says so much at most: of several nodes that all have it less, as those runs may use another
-- file system, while on one node there is its own storage, or another job there.
local FEEL, LIKE, ACQUITS, ACQUITS_ALL = 0.6, 9, 0.05, 0.5

-- Whether a node that is short of memory reads back what it had to give up: from swap, or files that were in the page
-- cache, so that more is read from its disks. Slow storage, too, makes tasks free memory, as dirty pages pile up, but
-- nothing is read for that.
local function pages(state, h)
   for _, e in ipairs(h.evidence) do
      if e.item.name == "swapped_in" and e.p and e.p <= SEVERAL_P then
         return true
      end
   end
   local own, others = {}, {}
   for _, row in ipairs(state.rows) do
      table.insert(row.node == h.node and own or others, row)
   end
   for _, rows in ipairs(state.like) do
      table.move(rows, 1, #rows, #others + 1, others)
   end
   local reads, usual = conditions.typical(READS, own, 1), conditions.typical(READS, others, 1)
   return reads ~= nil and usual ~= nil and reads > READ_MORE * math.max(READ_LEAST, usual)
end

--- What a node's numbers say, by what its job should have taken (state.e_of, where that is not the same as for others).
function candidates.weigh(state, h)
   h.prior, h.e = PRIOR[h.group] or ALL, state.e_of[h.node]
   h.any_of = math.min(NODES_MOST / h.prior, #state.rows)
   for _, e in ipairs(h.e and h.evidence or {}) do
      if e.check then
         checks.fit(e, function(_, lost)
            return odds.fit(h.e, state.y, lost, e.item.range.wide, e.item.range.beyond)
         end)
      end
   end
   weights.weigh(h, state, state.metrics)
   h.pages = h.group == "shortage" and h.best ~= nil and pages(state, h)
end

--- Those of each node's numbers.
function candidates.nodes(state)
   local list = weights.grouped(state.nodes)
   for _, h in ipairs(list) do
      candidates.weigh(state, h)
   end
   return list
end

--- A node whose jobs were slow around this one, whatever it is.
-- @return an explanation: harm by those of these jobs in which no events were counted, alone by those of them that
--   had a shared node for themselves, slow by all
function candidates.unrecorded(state, node)
   local list, best, log = {}, 0, 0
   for _, one in ipairs(state.history(node)) do
      list[#list + 1] = one.e and one or nil
   end
   table.sort(list, function(a, b)
      return math.abs(a.days) < math.abs(b.days)
   end)
   local runs, rest, most, alone, most_alone, recorded = 0, 0, 0, 0, 0, weights.recorded(state, node)
   for i, one in ipairs(list) do
      local says = weights.of_time(one)
      local left = says > 0 and recorded(one) and 0 or says
      log, rest, alone = log + says, rest + left, alone + (one.alone and left or 0)
      if log > best then
         best, runs = log, i
      end
      most, most_alone = math.max(most, rest), math.max(most_alone, alone)
   end
   local slow, harm = math.exp(best) / math.max(1, #list), math.exp(most) / math.max(1, #list)
   local e = state.e_of[node]
   local fit = odds.fit(e or state.e, state.y, SLOW_NODE.most, SLOW_NODE.wide, 1)
   return { e = e, where = #state.rows > 1 and "node" or "only", node = node, group = "unrecorded", evidence = {},
      prior = NODE, rarity = 1, fit = fit, harm = harm, alone = math.exp(most_alone) / math.max(1, #list), slow = slow,
      runs = runs, most = SLOW_NODE.most, unfelt = (1 / SLOW_NODE.felt - 1) / math.max(1e-30, fit),
      weight = NODE * fit * harm }
end

-- The leaf switch that nodes have in common, or nil; of how many nodes of the job they are: that leaf's, or all.
local function leaf_of(state, nodes)
   local of = state.leaf and state.leaf(nodes[1])
   for _, node in ipairs(nodes) do
      of = of and state.leaf(node) == of and of or nil
   end
   local count = 0
   for _, row in ipairs(of and state.rows or {}) do
      count = count + (state.leaf(row.node) == of and 1 or 0)
   end
   return of, of and count or #state.rows
end

-- Other runs on several nodes, each once.
local function runs_on(state, nodes)
   local seen, out = {}, {}
   for i = 1, math.min(LOOKED, #nodes) do
      for _, one in ipairs(state.history(nodes[i])) do
         local key = one.key or one
         if not seen[key] then
            seen[key], out[#out + 1] = true, one
         end
      end
   end
   return out
end

-- What other runs of the others say at most: of one without such runs, nobody knows that they would say less.
local function harm_of_others(members, one)
   local most = 0
   for _, other in ipairs(members) do
      most = math.max(most, other ~= one and ((other.runs or 0) == 0 and math.huge or other.harm) or 0)
   end
   return #members > 1 and most or math.huge
end

-- A share of what each node's own explanation weighs is that of all of them; they are one, however sure each is. Less
-- of one whose own other runs say more than those of any other.
local function gather(h, members, share)
   local most = h.fit * (h.harm or 1)
   for _, one in ipairs(members) do
      local its = share * math.min(1, harm_of_others(members, one) / math.max(1, one.harm or 1))
      h.weight, one.weight = h.weight + its * one.weight, (1 - its) * one.weight
      most = math.max(most, one.fit * (one.harm or 1))
   end
   h.weight = math.min(h.weight, most)
end

-- Whether other runs of its node had as much, without harm.
local function is_acquitted(h)
   return (h.runs or 0) > 0 and h.harm < 1
end

-- Nodes of a part but those whose other runs acquit them of it, where that leaves several.
local function not_acquitted(list, group, nodes)
   local acquitted, out = {}, {}
   for _, one in ipairs(list) do
      local counted = one.group == group and one.best and not one.best.check
      acquitted[one.node] = acquitted[one.node] or counted and is_acquitted(one)
   end
   for _, node in ipairs(nodes) do
      out[#out + 1] = not acquitted[node] and node or nil
   end
   return #out > 1 and out or nodes
end

--- A part of the job's nodes with more of something than such a job is used to.
-- @return list; by group, whether there is one
function candidates.parts(state, list)
   local by, out = {}, {}
   for _, e in ipairs(state.parts) do
      e.set = without.setting(state, e)
      e.e = e.set and e.set.e or state.e_of[e.nodes[1]]
      e.fit = odds.fit(e.e or state.e, state.y, e.most, e.item.range.wide, e.item.range.beyond)
      e.shows, e.strength, e.cost_s = e.p <= SEVERAL_P or e.set ~= nil, odds.rarity(e.p), e.most * e.elapsed_s
      e.name, e.label, e.unit = e.item.name, e.item.label, e.item.unit
      e.nodes = not_acquitted(list, e.item.group, e.nodes)
      local h = by[e.item.group]
      if e.shows and (not h or e.strength * e.fit > h.best.strength * h.best.fit) then
         by[e.item.group] = { where = "several", group = e.item.group, best = e, evidence = { e } }
      end
   end
   for group, h in pairs(by) do
      local e = h.best
      h.nodes, h.p, h.rarity, h.fit, h.most = e.nodes, e.p, odds.rarity(e.p), e.fit, e.most
      h.set, h.e = e.set, e.e
      h.leaf, h.of = leaf_of(state, e.nodes)
      h.direct = weights.direct(e)
      h.prior = SEVERAL * math.min(NODES_MOST, (PRIOR[group] or ALL) * #state.rows)
      local there = weights.there(h)
      h.weight = there / (1 + there) * h.fit
      if state.history then
         weights.add_runs(h, state, runs_on(state, e.nodes), function(one)
            return weights.share_of(h, one.row, {})
         end, h.rarity ^ 2)
      end
      -- What one of them has the others have, too: of a counter, or of what they are set to.
      local members = {}
      for _, one in ipairs(list) do
         local same = one.group == group and one.best and not one.best.check and one.best.item.kind == e.item.kind
         for _, node in ipairs(same and h.nodes or {}) do
            members[#members + 1] = one.node == node and one or nil
         end
      end
      gather(h, members, 1 - ALONE)
      out[#out + 1] = h
   end
   return out, by
end

-- Of many nodes with the same not all are looked at closely.
-- @param closely explanations of those that are
local function add_alike(state, nodes, h, closely)
   local known = {}
   for _, one in ipairs(closely) do
      known[one.node] = true
   end
   for _, row in ipairs(h.best.check and {} or state.rows) do
      local share = not known[row.node] and weights.share_of(h, row)
      nodes[#nodes + 1] = share and share >= ALIKE * h.most and row.node or nil
   end
end

--- Several nodes with the same trouble at once that each stand out: a leaf's, a class's, or just these.
-- @param done by group: those that are found already
function candidates.several(state, list, done)
   local groups, out = {}, {}
   for _, h in ipairs(list) do
      if h.where == "node" and not done[h.group] and h.p and h.p / #state.rows <= SEVERAL_P and h.best then
         groups[h.group] = groups[h.group] or {}
         table.insert(groups[h.group], h)
      end
   end
   for group, of_group in pairs(groups) do
      local first, members, nodes = of_group[1], {}, {}
      for _, h in ipairs(of_group) do
         first = h.weight > first.weight and h or first
      end
      for _, h in ipairs(of_group) do
         -- What may have cost much less, or much more, is not the same trouble, nor is what another number says.
         local share = first.best.check and h.most or weights.share_of(first, state.row_of[h.node])
         local alike = share and math.min(share, first.most) >= ALIKE * math.max(share, first.most)
         -- Nor is what its other runs had without harm.
         if h == first or alike and not is_acquitted(h) then
            members[#members + 1], nodes[#nodes + 1] = h, h.node
         end
      end
      if #members >= 2 then
         add_alike(state, nodes, first, of_group)
         local leaf, of = leaf_of(state, nodes)
         -- The least likely of so many, from whichever on.
         local each = 0
         for _, h in ipairs(members) do
            each = math.max(each, h.p / #state.rows)
         end
         local p = math.min(1, #members * stats.binomial(#members, math.max(of, #members), each))
         -- That one of them is odd is likely or not as for it alone, and that the others are, too, besides.
         local besides = SEVERAL * odds.rarity(p)
         local all = { where = "several", nodes = nodes, leaf = leaf, of = of, group = group, evidence = first.evidence,
            best = first.best, most = first.most, fit = first.fit, p = p, rarity = odds.rarity(p), prior = SEVERAL,
            harm = first.harm, felt = first.felt, more = first.more, weight = 0 }
         -- Then each of them is an explanation of its own the less.
         gather(all, members, besides / (1 + besides))
         out[#out + 1] = all
      end
   end
   return out
end

-- P that what ran then had as much of a condition for its kind as it had (its place among its like runs: uniform, were
-- nothing wrong; the mean of several is nearly normal). And how much likelier these places are if all had it.
local function p_meanwhile(state, item)
   local sum, n, ratio = 0, 0, 1
   for _, one in ipairs(state.meanwhile()) do
      local x, above, of = causes.of_row(item, one.row), 0.5, 0
      for _, row in ipairs(x and one.like or {}) do
         local y = causes.of_row(item, row)
         of = of + (y and 1 or 0)
         above = above + (y and (y > x and 1 or y == x and 0.5 or 0) or 0)
      end
      if of >= PLACES then
         local place, feels = above / (of + 1), FEEL * one.both
         sum, n, ratio = sum + place, n + 1, ratio * (1 - feels + feels * (LIKE + 1) * (1 - place) ^ LIKE)
      end
   end
   if n >= PLACES then
      return stats.student((0.5 - sum / n) * math.sqrt(12 * n), 1e6), ratio
   end
end

-- What ran then and had as much of it: was it slow, too? And had it more of it than its kind?
-- @param least what acquits it says so much at most
local function add_meanwhile(h, state, least)
   h.meanwhile = true
   local ps, likeliest = {}, 0
   for _, e in ipairs(h.evidence) do
      local p, ratio
      if e.shows then
         p, ratio = p_meanwhile(state, e.item)
      end
      if p then
         ps[#ps + 1], likeliest = p, math.max(likeliest, ratio)
      end
   end
   if #ps > 0 then
      h.p_meanwhile = stats.together(ps, #ps)
      h.rarity = h.rarity * math.max(least, odds.rarity(h.p_meanwhile) * math.min(1, likeliest))
   end
   local there = weights.there(h)
   h.weight = there / (1 + there) * h.fit
   weights.add_runs(h, state, state.meanwhile(), function(one)
      return weights.share_of(h, one.row, h.best.item.kind == "temperature" and one.like or {})
   end, h.rarity ^ 2)
end

-- Where each of its nodes may have slowed its like runs, what the job should have taken by those without one.
local function own_of_all(state)
   for _, row in ipairs(state.rows) do
      if not state.e_of[row.node] then
         return nil
      end
   end
   return state.rows[1] and state.e_of[state.rows[1].node]
end

--- All nodes together, or nearly all.
function candidates.all(state)
   local list, own = weights.grouped(state.jobs), own_of_all(state)
   for _, h in ipairs(list) do
      h.e = own
      h.prior = h.group == "storage" and ALL_STORAGE or ALL
      weights.weigh(h, state, state.job_metrics)
      if h.best then
         add_meanwhile(h, state, ACQUITS_ALL)
         if h.best.nodes then
            h.where, h.nodes = "several", h.best.nodes
            h.leaf, h.of = leaf_of(state, h.nodes)
         end
      end
   end
   return list
end

--- A job of one node cannot tell slow storage of its own from what all share; others that ran then may.
function candidates.add_shared(state, list)
   for _, h in ipairs(list) do
      if h.where == "only" and h.group == "storage" and h.best and not h.best.item.own then
         local all = setmetatable({ prior = ALL_STORAGE }, { __index = h })
         add_meanwhile(all, state, ACQUITS)
         -- One of the two is there.
         local own, shared = weights.there(h), weights.there(all)
         local both = 1 + own + shared
         h.of_all = all.weight * (1 + shared) / both
         h.weight, h.p_meanwhile = h.weight * (1 + own) / both + h.of_all, all.p_meanwhile
      end
   end
end

--- Explanations that are no node's.
function candidates.nobody(state)
   local fit = odds.fit(state.e, state.y, odds.OWN_MOST, odds.OWN_WIDE, 1)
   local list = { { where = "nobody", group = "nothing", weight = NOTHING, evidence = {} },
      { where = "nobody", group = "unknown", weight = NOTHING * odds.OWN * fit, fit = fit, evidence = {} } }
   local did, factor = work.more(state)
   local first = did[1]
   if first and first.ratio > 1 then
      local most = math.min(0.9, 1 - 1 / first.ratio)
      local input = odds.fit(state.e, state.y, most, 10, 1.2)
      list[3] = { where = "nobody", group = "input", weight = INPUT * factor * input, fit = input,
         rarity = factor, evidence = {}, work = first }
   end
   return list, did
end

return candidates
