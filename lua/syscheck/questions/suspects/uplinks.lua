--- What lies between leaf switches: runs on several of them that were slow where those within one were not. Nothing
-- that a node records shows it, and each of the leaf's nodes has too little of it. Pure.
local hostlist = require("syscheck.lib.hostlist")
local sorted = require("syscheck.lib.sorted")
local statistics = require("syscheck.lib.statistics")
local suspects = require("syscheck.questions.suspects.logic")

local uplinks = {}

--- What is wrong, in a list of causes.
uplinks.CAUSE = "slow to and from other leaves"

-- How often a leaf's uplinks carry too little for a while: ten times as often as a node has a trouble that nothing
-- shows, as several jobs that each could have had them are enough.
local PRIOR = 0.005
local LEAST = 2 -- members; of one it is its own link
-- Runs between other leaves that begin so much before or after one say how usual it was to be slow then.
local AROUND_S = 6 * 3600
local USUAL = 20 -- runs that what is usual for them at any time counts for, beside these; of fewer it is not known
local LEAST_RUNS = 5 -- that left another leaf, to know what is usual there
local MOST_LEAVES = 16 -- a run on more says little of one
local WITHIN = 0.5 -- of runs within the leaf so much of the share of slow ones, at most

-- Leaves by cluster and name, each with its members; leaf of each node.
local function leaves_of(nodes)
   local by, of = {}, {}
   for _, node in ipairs(nodes) do
      local key = node.leaf and ("%s %s"):format(node.cluster, node.leaf)
      if key then
         by[key] = by[key] or { leaf = node.leaf, members = {}, runs = {}, within = {} }
         table.insert(by[key].members, node.id)
         of[node.id] = by[key]
      end
   end
   return by, of
end

-- Into each leaf the runs that left it, and those within it. A run with a node whose leaf nobody knows is neither.
-- @return by run that left one: list of its leaves
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
-- @param nodes list of { id, cluster, leaf = name or nil }
-- @param by_node by node: its runs
-- @return list of { leaf, members = list of ids, runs = those that left it, within }, runs in order of time; by run
--   that left one a list of its leaves
function uplinks.of(nodes, by_node)
   local by, of = leaves_of(nodes)
   local leaves_of_run = divide(nodes, by_node, of)
   local out = {}
   for _, key in ipairs(sorted(by)) do
      local one = by[key]
      table.sort(one.runs, suspects.earlier)
      table.sort(one.within, suspects.earlier)
      out[#out + 1] = #one.members >= LEAST and one.runs[1] and one or nil
   end
   return out, leaves_of_run
end

-- The first of a list that began at a time, or later.
local function first_from(list, at)
   local low, high = 1, #list + 1
   while low < high do
      local middle = (low + high) // 2
      if list[middle].begin_s < at then
         low = middle + 1
      else
         high = middle
      end
   end
   return low
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
   local from, to = first_from(of.runs, from_s), first_from(of.runs, to_s) - 1
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
      local most = math.max(table.unpack(one.fits))
      for level, fit in ipairs(one.fits) do
         fits[level] = fit / (1 + chance * math.max(0, most - 1))
      end
      out[k] = { run = run, seen = one, fits = fits }
   end
   return out
end

--- Hypotheses of suspects.find.
-- @param leaves, leaves_of_run of uplinks.of
-- @param all list of the runs that are compared
-- @param explained set of those that are explained already
function uplinks.hypotheses(leaves, leaves_of_run, all, explained)
   local across, out, count = {}, {}, 0
   local function is_slow(run)
      return run.slow and not explained[run]
   end
   for _, run in ipairs(all) do
      across[#across + 1] = leaves_of_run[run] and run or nil
      count = count + (is_slow(run) and 1 or 0)
   end
   table.sort(across, suspects.earlier)
   local everybody, by = counted(across, is_slow), count_all(leaves_of_run, is_slow)
   for i, leaf in ipairs(leaves) do
      out[i] = { uplink = leaf, group = "uplink", worth = worth, events = events_of(leaf, everybody, is_slow,
         usual_elsewhere(leaf, leaves, by), count / math.max(1, #all)) }
   end
   return out
end

--- Runs within a suspect's leaf between its first and last slow run: how many, and how many of them were slow.
function uplinks.within(one)
   return between(counted(one.uplink.within, function(run)
      return run.slow
   end), one.from_s, one.to_s + 1)
end

--- Whether those within the leaf were slow much seldomer: else it is not what lies between leaves.
-- @param one with within and within_slow, as within gives them
function uplinks.is_between(one)
   return one.within == 0 or one.within_slow / one.within <= WITHIN * #one.slow / one.runs
end

--- "35 of 70 runs that left leaf switch leaf5 (n[73-90]) were slow, 2 of 32 within it".
-- @param one as it was described
-- @param safe function(text) -> what may be shown
function uplinks.text(one, safe)
   return ("%d of %d runs that left leaf switch %s (%s) were slow, %d of %d within it"):format(#one.slow, one.runs,
      safe(one.name), safe(hostlist.fold(one.members)), one.within_slow, one.within)
end

return uplinks
