--- What lies between leaf switches: runs on several of them that were slow where those within one were not. Nothing
-- that a node records shows it, and each of the leaf's nodes has too little of it. Pure.
local hostlist = require("syscheck.lib.hostlist")
local sorted = require("syscheck.lib.sorted")
local suspects = require("syscheck.questions.suspects.logic")

local uplinks = {}

--- What is wrong, in a list of causes.
uplinks.CAUSE = "what its uplinks carry"

-- How often a leaf's uplinks carry too little for a while: ten times as often as a node has a trouble that nothing
-- shows, as several jobs that each could have had them are enough.
local PRIOR = 0.005
local LEAST = 2 -- members; of one it is its own link
-- Runs that begin so much before or after one say how usual it was to be slow then.
local AROUND_S = 6 * 3600
local USUAL = 20 -- runs that what is usual at any time counts for, beside these
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
local function divide(nodes, by_node, of)
   local touched = {}
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
      for _, leaf in ipairs(t.known and t or {}) do
         table.insert(t[2] and leaf.runs or leaf.within, run)
      end
   end
end

--- Leaf switches whose nodes had runs with others.
-- @param nodes list of { id, cluster, leaf = name or nil }
-- @param by_node by node: its runs
-- @return list of { leaf, members = list of ids, runs = those that left it, within }, runs in order of time
function uplinks.of(nodes, by_node)
   local by, of = leaves_of(nodes)
   divide(nodes, by_node, of)
   local out = {}
   for _, key in ipairs(sorted(by)) do
      local one = by[key]
      table.sort(one.runs, suspects.earlier)
      table.sort(one.within, suspects.earlier)
      out[#out + 1] = #one.members >= LEAST and one.runs[1] and one or nil
   end
   return out
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
local function counted(list)
   local out = { runs = list, slow = { [0] = 0 } }
   for i, run in ipairs(list) do
      out.slow[i] = out.slow[i - 1] + (run.slow and 1 or 0)
   end
   return out
end

local function between(of, from_s, to_s)
   local from, to = first_from(of.runs, from_s), first_from(of.runs, to_s) - 1
   return to - from + 1, of.slow[math.max(to, from - 1)] - of.slow[from - 1]
end

-- How likely other runs of that time were slow, beyond what is usual: then it is not this leaf's.
local function elsewhere(run, all, own, usual)
   local n, slow = between(all, run.begin_s - AROUND_S, run.begin_s + AROUND_S)
   local own_n, own_slow = between(own, run.begin_s - AROUND_S, run.begin_s + AROUND_S)
   n, slow = n - own_n, slow - own_slow
   return math.max(0, (slow + USUAL * usual) / (n + USUAL) - usual)
end

local function worth()
   return math.log(PRIOR), math.huge
end

--- Hypotheses of suspects.find.
-- @param leaves of uplinks.of
-- @param all runs that are compared
function uplinks.hypotheses(leaves, all)
   table.sort(all, suspects.earlier)
   local everybody = counted(all)
   local usual = #all > 0 and everybody.slow[#all] / #all or 0
   local out = {}
   for i, leaf in ipairs(leaves) do
      local own, events = counted(leaf.runs), {}
      for k, run in ipairs(leaf.runs) do
         local one = suspects.seen(run, leaf)
         local q, fits = elsewhere(run, everybody, own, usual), {}
         local most = math.max(table.unpack(one.fits))
         for level, fit in ipairs(one.fits) do
            fits[level] = fit / (1 + q * math.max(0, most - 1))
         end
         events[k] = { run = run, seen = one, fits = fits }
      end
      out[i] = { uplink = leaf, group = "uplink", events = events, worth = worth }
   end
   return out
end

--- Runs within a suspect's leaf between its first and last slow run: how many, and how many of them were slow.
function uplinks.within(one)
   return between(counted(one.uplink.within), one.from_s, one.to_s + 1)
end

--- Whether those within the leaf were slow much seldomer: else it is not what lies between leaves.
-- @param one with within and within_slow, as within gives them
function uplinks.is_between(one)
   return one.within == 0 or one.within_slow / one.within <= WITHIN * #one.slow / one.runs
end

--- "35 of 70 runs that left leaf5 (n[73-90]) were slow, 2 of 32 within it".
-- @param one as it was described
-- @param safe function(text) -> what may be shown
function uplinks.text(one, safe)
   return ("%d of %d runs that left %s (%s) were slow, %d of %d within it"):format(#one.slow, one.runs, safe(one.name),
      safe(hostlist.fold(one.members)), one.within_slow, one.within)
end

return uplinks
