--- What lies between leaf switches: runs on several of them that were slow where those within one were not. Nothing
-- that a node records shows it, and each of the leaf's nodes has too little of it. Pure.
local hostlist = require("syscheck.lib.hostlist")
local sorted = require("syscheck.lib.sorted")
local statistics = require("syscheck.lib.statistics")
local suspects = require("syscheck.questions.suspects.logic")

local uplinks = {}

--- What is wrong, in a list of causes.
uplinks.CAUSE = "slow to and from other leaves"
--- What to do.
uplinks.HINT = "No node of a leaf switch is to blame: look at its uplinks, or measure (syscheck fabric)"

-- How often a leaf's uplinks carry too little for a while: ten times as often as a node has a trouble that nothing
-- shows, as several jobs that each could have had them are enough.
local PRIOR = 0.005
local LEAST = 2 -- members; of one it is its own link
-- Runs between other leaves that begin so much before or after one say how usual it was to be slow then.
local AROUND_S = 6 * 3600
local USUAL = 20 -- runs that what is usual for them at any time counts for, beside these; of fewer it is not known
local LEAST_RUNS = 5 -- that left another leaf, to know what is usual there
local MOST_LEAVES = 16 -- a run on more says little of one
-- A suspect's runs within the leaf, and between others, are slow so much seldomer; those without some of its nodes,
-- which may be bad themselves, are not.
local ALIKE = 0.5
local FEW_NODES, LEAST_REST = 2, 3
local SURE = 3.5 -- standard errors by which its runs rank over those between others: it is one of many leaves and times

-- Leaves by cluster and name, each with its members; leaf of each node.
local function leaves_of(nodes)
   local by, of = {}, {}
   for _, node in ipairs(nodes) do
      local key = node.leaf and ("%s %s"):format(node.cluster, node.leaf)
      if key then
         by[key] = by[key] or { leaf = node.leaf, members = {}, names = {}, runs = {}, within = {} }
         table.insert(by[key].members, node.id)
         table.insert(by[key].names, node.name)
         of[node.id] = by[key]
      end
   end
   return by, of
end

-- Into each leaf the runs that left it, and those within it. A run with a node whose leaf nobody knows is neither.
-- @return by run that left one: list, and set, of its leaves
local function divide(nodes, by_node, of)
   local touched, out = {}, {}
   for _, node in ipairs(nodes) do
      for _, run in ipairs(by_node[node.id] or {}) do
         local t = touched[run] or { known = true }
         touched[run], t.known = t, t.known and of[node.id] ~= nil
         if t.known and not t[of[node.id]] then
            t[of[node.id]] = true
            t[#t + 1] = of[node.id]
         end
      end
   end
   for run, t in pairs(touched) do
      out[run] = t.known and t[2] and t or nil
      for _, leaf in ipairs(t.known and t or {}) do
         table.insert(t[2] and leaf.runs or leaf.within, run)
      end
   end
   return out
end

--- Leaf switches whose nodes had runs with others.
-- @param nodes list of { id, name, cluster, leaf = name or nil }
-- @param by_node by node: its runs
-- @return list of { leaf, members = list of ids, names = theirs, as people count, runs = those that left it,
--   within (both in order of time), net }; net, the same of all: { by_node, leaves_of_run = by run that left one a list
--   and set of its leaves, across = list of these runs }
function uplinks.of(nodes, by_node)
   local by, of = leaves_of(nodes)
   local net, out = { by_node = by_node, leaves_of_run = divide(nodes, by_node, of), across = {} }, {}
   for run in pairs(net.leaves_of_run) do
      table.insert(net.across, run)
   end
   table.sort(net.across, suspects.earlier)
   for _, key in ipairs(sorted(by)) do
      local one = by[key]
      one.net = net
      hostlist.sort(one.names)
      table.sort(one.runs, suspects.earlier)
      table.sort(one.within, suspects.earlier)
      out[#out + 1] = #one.members >= LEAST and one.runs[1] and one or nil
   end
   return out
end

--- Whether a run was slow, by the others of its kind or, as read.lua knows, by those that did not leave its leaf.
function uplinks.is_slow(run)
   return run.slow or run.slow_away or false
end

-- Of runs in order of time the places of the first and last that began from one time on and before another.
local function places(list, from_s, to_s)
   return statistics.first_from(list, from_s, "begin_s"), statistics.first_from(list, to_s, "begin_s") - 1
end

-- Runs that began in order, and how many of the first n were slow.
local function counted(list, is_slow)
   local out = { runs = list, slow = { [0] = 0 } }
   for i, run in ipairs(list) do
      out.slow[i] = out.slow[i - 1] + (is_slow(run) and 1 or 0)
   end
   return out
end

local function between(of, from_s, to_s)
   local from, to = places(of.runs, from_s, to_s)
   return to - from + 1, of.slow[math.max(to, from - 1)] - of.slow[from - 1]
end

-- How many runs of a time were on several other leaves, and how many of these were slow.
local function elsewhere(everybody, own, from_s, to_s)
   local n, slow = between(everybody, from_s, to_s)
   local own_n, own_slow = between(own, from_s, to_s)
   return n - own_n, slow - own_slow
end

local function worth()
   return math.log(PRIOR), math.huge
end

-- Runs that left each leaf, and slow ones of them; of these, with each other leaf.
local function count_all(leaves_of_run, is_slow)
   local by = {}
   for run, list in pairs(leaves_of_run) do
      local slow = is_slow(run) and 1 or 0
      for _, leaf in ipairs(#list <= MOST_LEAVES and list or {}) do
         local one = by[leaf] or { n = 0, slow = 0, with = {} }
         by[leaf] = one
         one.n, one.slow = one.n + 1, one.slow + slow
         for _, other in ipairs(list) do
            local both = one.with[other] or { n = 0, slow = 0 }
            one.with[other] = both
            both.n, both.slow = both.n + 1, both.slow + slow
         end
      end
   end
   return by
end

-- Which share of the runs that left another leaf, and were not on this one, was slow: in the middle of these leaves, as
-- some of them may be bad themselves. nil: there are too few
local function usual_elsewhere(leaf, leaves, by)
   local shares, n = {}, 0
   for _, other in ipairs(leaves) do
      local all, both = other ~= leaf and by[other], by[leaf] and by[leaf].with[other] or { n = 0, slow = 0 }
      if all and all.n - both.n >= LEAST_RUNS then
         shares[#shares + 1] = (all.slow - both.slow) / (all.n - both.n)
         n = n + all.n - both.n
      end
   end
   return n >= USUAL and statistics.median(shares) or nil
end

-- A leaf's runs, each with what its time says. What runs between other leaves had as often, always or then, is not this
-- one's: runs on several leaves may be slower than others for where they are, and hours are slow for all.
-- @param usual share of all runs that were slow, whatever they were on: their fits know of it
local function events_of(leaf, everybody, is_slow, there, usual)
   local own, out = counted(leaf.runs, is_slow), {}
   for k, run in ipairs(there and leaf.runs or {}) do
      local n, slow = elsewhere(everybody, own, run.begin_s - AROUND_S, run.begin_s + AROUND_S)
      local chance = math.max(0, (slow + USUAL * there) / (n + USUAL) - usual)
      local one, fits = suspects.seen(run, leaf), {}
      local most = suspects.most_of(one.fits)
      for level, fit in ipairs(one.fits) do
         fits[level] = fit / (1 + chance * math.max(0, most - 1))
      end
      out[k] = { run = run, seen = one, fits = fits }
   end
   return out
end

--- Hypotheses of suspects.find.
-- @param leaves of uplinks.of
-- @param usual share of all runs that were slow
-- @param explained set of runs that are explained already
function uplinks.hypotheses(leaves, usual, explained)
   local net, out = leaves[1] and leaves[1].net, {}
   local function is_slow(run)
      return uplinks.is_slow(run) and not explained[run]
   end
   local everybody = net and counted(net.across, is_slow)
   local by = net and count_all(net.leaves_of_run, is_slow)
   for i, leaf in ipairs(leaves) do
      out[i] = { uplink = leaf, group = "uplink", worth = worth, events = events_of(leaf, everybody, is_slow,
         usual_elsewhere(leaf, leaves, by), usual) }
   end
   return out
end

-- Runs that began between a suspect's first and last slow one.
local function during(list, one)
   local from, to = places(list, one.from_s, one.to_s + 1)
   return table.move(list, from, to, 1, {})
end

-- What a run took, of what was expected: most, of what its leaves say.
local function ratio_of(run, net)
   local most = run.ratio
   for _, leaf in ipairs(net.leaves_of_run[run] or {}) do
      most = math.max(most, suspects.seen(run, leaf).ratio)
   end
   return most
end

-- Of some runs those of a suspect's time, and kinds where given: what they took, and how many of them were slow.
local function taken(list, one, kinds, is_wanted)
   local ratios, slow = {}, 0
   for _, run in ipairs(during(list, one)) do
      if (not kinds or kinds[run.kind or 0]) and (not is_wanted or is_wanted(run)) then
         ratios[#ratios + 1] = ratio_of(run, one.uplink.net)
         slow = slow + (uplinks.is_slow(run) and 1 or 0)
      end
   end
   return ratios, slow
end

-- By how many standard errors the first of two lists ranks over the second (Wilcoxon 1945, Mann and Whitney 1947).
local function ranks_over(first, second)
   local all, sum, from = {}, 0, 1
   for i, list in ipairs({ first, second }) do
      for _, x in ipairs(list) do
         all[#all + 1] = { x = x, is = i == 1 }
      end
   end
   table.sort(all, function(a, b)
      return a.x < b.x
   end)
   while from <= #all do
      local to = from
      while all[to + 1] and all[to + 1].x == all[from].x do
         to = to + 1
      end
      for k = from, to do
         sum = sum + (all[k].is and (from + to) / 2 or 0)
      end
      from = to + 1
   end
   local n, m = #first, #second
   return (sum - n * (n + m + 1) / 2) / math.sqrt(n * m * (n + m + 1) / 12)
end

-- The member with most of some slow runs.
local function busiest(leaf, slow)
   local at, most = nil, 0
   for _, node in ipairs(leaf.members) do
      local n = 0
      for _, run in ipairs(leaf.net.by_node[node] or {}) do
         n = n + (slow[run] and 1 or 0)
      end
      at, most = n > most and node or at, math.max(n, most)
   end
   return at
end

-- Runs without the two nodes that have most of the slow ones: are they still slow, or was it these?
local function is_of_all(one)
   local leaf, rest, all, all_slow = one.uplink, {}, during(one.uplink.runs, one), 0
   for _, run in ipairs(all) do
      rest[run] = uplinks.is_slow(run)
      all_slow = all_slow + (rest[run] and 1 or 0)
   end
   for _ = 1, FEW_NODES do
      for _, run in ipairs(leaf.net.by_node[busiest(leaf, rest)] or {}) do
         rest[run] = nil
      end
   end
   local n, slow = 0, 0
   for _, is in pairs(rest) do
      n, slow = n + 1, slow + (is and 1 or 0)
   end
   return n >= LEAST_REST and slow / n >= ALIKE * all_slow / #all
end

--- Adds to a suspect within and within_slow, others and others_slow: runs within the leaf, and between others, of the
-- kinds of its slow runs (within, of all kinds, where these left it always), between the first and last of these.
-- @param explained by run: what explains it; who is explained by others says nothing
-- @return whether it is what lies between this leaf and others: those runs were slow much seldomer, what left the leaf
--   took longer than what left others, and was slow without two of its nodes, too
function uplinks.confirm(one, explained)
   local kinds, leaf = {}, one.uplink
   for _, run in ipairs(one.slow) do
      kinds[run.kind or 0] = true
   end
   local within, others
   within, one.within_slow = taken(leaf.within, one, kinds)
   if #within < LEAST_RUNS then
      within, one.within_slow = taken(leaf.within, one)
   end
   others, one.others_slow = taken(leaf.net.across, one, kinds, function(run)
      return not leaf.net.leaves_of_run[run][leaf] and not explained[run]
   end)
   one.within, one.others = #within, #others
   local function is_less(n, slow)
      return n >= LEAST_RUNS and (slow + 0.5) / (n + 1) <= ALIKE * #one.slow / one.runs
   end
   return is_less(one.within, one.within_slow) and is_less(one.others, one.others_slow)
      and ranks_over(taken(leaf.runs, one, kinds), others) >= SURE and is_of_all(one)
end

--- "35 of 70 runs that left leaf switch leaf5 (n[73-90]) were slow, 2 of 32 within it, 9 of 210 between others".
-- @param one as it was described
-- @param safe function(text) -> what may be shown
function uplinks.text(one, safe)
   return ("%d of %d runs that left leaf switch %s (%s) were slow, %d of %d within it, %d of %d between others"):format(
      #one.slow, one.runs, safe(one.name), safe(hostlist.fold(one.members)), one.within_slow, one.within,
      one.others_slow, one.others)
end

return uplinks
