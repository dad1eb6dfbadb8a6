--- Why was a job slow: every explanation weighed against every other. Pure; docs/decisions.md (Why) has the
-- statistics and the reasons.
--
-- A row is what one node went through in one run: { run, node, class, elapsed_s, cores, <name of
-- fields.JOB> = value ..., checks (see checks.lua), others = list of job IDs }; absent is not known.
local causes = require("syscheck.questions.why.causes")
local checks = require("syscheck.questions.why.checks")
local conditions = require("syscheck.questions.why.conditions")
local expected = require("syscheck.questions.why.expected")
local odds = require("syscheck.questions.why.odds")
local stats = require("syscheck.questions.why.stats")
local work = require("syscheck.questions.why.work")

local why = {}

--- What is said.
why.MIN_LIKE = expected.MIN
why.SLOW = 1.05 -- of what was expected: less is not called slow, whatever its p
why.ALPHA = 0.05 -- p of the time up to which a job is called slow
why.PERHAPS = 0.25 -- and perhaps slow
why.NAMED = 0.5 -- probability from which an explanation is named
why.SURE = 0.9 -- and from which without "probably"
why.NORMAL = 1.1 -- like runs up to here, of what was expected, are the measure for conditions

-- How often a node-hour has a trouble that slows a job by 5 % and more, and a slow job another reason.
local PRIOR = { clock = 0.004, daemon = 0.004, storage = 0.004, memory = 0.003, link = 0.003, shortage = 0.002,
   quota = 0.003, neighbour = 0.02 }
local NODES_MOST = 0.05 -- of all nodes of a job together
local ALL, ALL_STORAGE, INPUT = 0.002, 0.01, 0.03
local SEVERAL = 0.1 -- of troubles of a node, so many are its neighbours', too
local NOTHING = 0.8 -- that nobody is to blame, of a job that somebody asks about
local EVIDENCE = 0.1 -- p up to which a value is evidence of its condition
local CLOSE_LOOKS = 6 -- explanations whose history is read
local SAME, OTHER = 0.5, 2 -- a run is under the same condition with such a share of it, and up to so much more
local SEVERAL_P = 0.05
local ALIKE = 0.3 -- values whose fit is less than such a share of the best one's do not speak for the same loss
local NODE = 0.0003 -- a node is slow by something that is not recorded
local SLOW_NODE = { most = 0.6, wide = 12, felt = 0.6, says = 1000 }
local HARMED = 3 -- a job that was not slow is told of what cost others time, too
local PLACES = 3 -- least runs, and like runs of each, to know a place among them
local ACQUITS = 0.5 -- a condition that all would have had, and had not
local KEEP = 10 -- explanations in an answer

--- Is it slow?
-- @param elapsed seconds, or nil
-- @param e from expected.of, or nil
-- @param count like runs there are
-- @return { count, wanted, median_s, low, high, ratio, p, verdict, lost_s, seen_from (a ratio that would be called
--   slow), slope, modes }; verdict "slow", "perhaps", "no", "unknown"
function why.slow(elapsed, e, count)
   local out = { count = count, wanted = why.MIN_LIKE, verdict = "unknown" }
   if not e then
      return out
   end
   out.median_s, out.low, out.high, out.slope, out.modes = e.median_s, e.low, e.high, e.slope, #e.modes
   if not elapsed then
      return out -- no begin snapshot on any node
   end
   local y = math.log(elapsed)
   out.ratio, out.p = elapsed / e.median_s, expected.tail(e, y)
   out.lost_s = math.max(0, elapsed - e.median_s)
   out.seen_from = math.max(why.SLOW, math.exp(expected.quantile(e, why.ALPHA)) / e.median_s)
   out.verdict = (out.ratio < why.SLOW or out.p > why.PERHAPS) and "no" or out.p <= why.ALPHA and "slow" or "perhaps"
   return out
end

-- Evidence of a node and group together: list of { where, node, group, evidence }.
local function grouped(found)
   local list, by = {}, {}
   for _, e in ipairs(found) do
      local key = e.item.group .. " " .. tostring(e.node)
      local h = by[key]
      if not h then
         h = { where = e.where, node = e.node, group = e.item.group, evidence = {} }
         by[key], list[#list + 1] = h, h
      end
      e.name, e.label, e.unit = e.item.name, e.item.label, e.item.unit
      table.insert(h.evidence, e)
   end
   return list
end

-- What the evidence of one explanation is worth: rarity, fit, most (share of the time that it may have cost). What
-- fits the loss counts; that something else of the same kind is odd, too, but far too small, does not.
local function weigh(h, state, metrics)
   local best
   for _, e in ipairs(h.evidence) do
      if e.check then
         e.strength = e.bf
      else
         e.most = math.max(0, math.min(1, e.cost_s / e.elapsed_s))
         e.fit = state.e and odds.fit(state.e, state.y, e.most, e.item.range.wide, e.item.range.beyond) or 1
         e.shows = e.p <= EVIDENCE
         e.strength = odds.rarity(e.p)
      end
      if e.shows and (not best or e.strength * e.fit > best.strength * best.fit) then
         best = e
      end
   end
   h.best, h.rarity, h.fit, h.most = best, 1, best and best.fit or 1, best and best.most or 0
   h.checked = 1 -- what checks say of it
   local ps = {}
   for _, e in ipairs(h.evidence) do
      if best and e.fit >= ALIKE * best.fit then
         ps[#ps + 1] = e.p
         h.checked = h.checked * (e.bf or 1)
      elseif e.check then
         h.checked = h.checked * math.min(1, e.bf)
      end
   end
   h.p = #ps > 0 and stats.together(ps, math.max(#ps, metrics[h.group] or 1)) or nil
   h.rarity = h.checked * (h.p and odds.rarity(h.p) or 1)
   table.sort(h.evidence, function(x, y)
      if x.shows ~= y.shows then
         return x.shows
      end
      return x.strength * x.fit > y.strength * y.fit
   end)
   -- Harmless oddities are as common as harmful ones: what is rare beyond doubt is there, and no more guilty.
   local there = h.prior * h.rarity
   h.weight = there / (1 + there) * h.fit
end

-- Trouble of one kind shows in another's numbers, too: other work takes CPU and memory from a check's kernels, what
-- pages for want of memory does I/O, and each corrected error interrupts its core. What explains more of what is odd is
-- the likelier.
local EXPLAINS = { daemon = { "clock", "memory" }, shortage = { "storage" }, memory = { "daemon" } }
local function explains(h, other)
   return h.best and other and other.best and (h.group == "shortage" or other.best.check)
      and not (h.group == "memory" and h.best.check)
end

-- @return function(h) -> list of the explanations of its node that it explains, too
local function by_node(list)
   local of = {}
   for _, h in ipairs(list) do
      of[h.group .. " " .. tostring(h.node)] = h
   end
   return function(h)
      local out = {}
      for _, group in ipairs(EXPLAINS[h.group] or {}) do
         local other = of[group .. " " .. tostring(h.node)]
         out[#out + 1] = explains(h, other) and other or nil
      end
      return out
   end
end

local function carry(list, explained)
   local worth = {}
   for i, h in ipairs(list) do
      worth[i] = 1
      for _, other in ipairs(explained(h)) do
         worth[i] = worth[i] * math.max(1, h.group == "shortage" and other.rarity or other.checked)
      end
   end
   for i, h in ipairs(list) do
      for _, other in ipairs(explained(h)) do
         h.fit = math.max(h.fit, other.fit)
      end
      h.rarity = h.rarity * worth[i]
      local there = h.prior * h.rarity
      h.weight = there / (1 + there) * h.fit
   end
end

-- What others' runs say of what it explains they say of it.
local function carry_harm(list, explained)
   for _, h in ipairs(list) do
      for _, other in ipairs(explained(h)) do
         if h.harm and (other.harm or 0) > h.harm then
            h.weight, h.harm, h.runs = h.weight * other.harm / h.harm, other.harm, other.runs
         end
      end
   end
end

-- Most a row may have lost to the condition of an explanation, as a share of its time; nil: the row does not know.
local function share_of(h, row)
   local e = h.best
   return not e.check and causes.share(e.item, row, e.usual) or nil
end

local NEAR_DAYS = 3 -- a check's condition is taken to last so long

-- Did other runs under the same condition lose time?
-- @param share function(run) -> what it may have lost to it, as a share; nil: not known
-- @param most what this may be worth: where most runs have as much of it, that they were slow says something of the
--   node and nothing of this
local function add_runs(h, runs, share, most)
   local fits, slower, range = {}, {}, h.best.item.range
   for _, one in ipairs(runs) do
      local lost = one.e and share(one)
      if lost and lost >= SAME * h.most then
         fits[#fits + 1] = odds.fit_of_many(one.e, one.y, math.min(lost, OTHER * h.most), range.wide,
            range.beyond)
         slower[#slower + 1] = one.y - math.log(one.e.median_s)
      end
   end
   h.runs, h.harm = #fits, #fits > 0 and math.min(odds.harm(fits), most) or 1
   if #slower > 0 then
      table.sort(slower)
      h.usually = math.exp(slower[(#slower + 1) // 2])
   end
   h.weight = h.weight * h.harm
end

-- Of a node: its other runs.
-- @param slow what speaks for that the node was slow then
local function add_harm(h, state, slow)
   add_runs(h, state.history(h.node), function(one)
      return share_of(h, one.row) or h.best.check and math.abs(one.days) <= NEAR_DAYS and h.best.most or nil
   end, math.max(h.rarity ^ 2, slow))
end

-- A node whose jobs were slow around this one, whatever it is.
local function unrecorded(state, node)
   local list, best, log = {}, 0, 0
   for _, one in ipairs(state.history(node)) do
      list[#list + 1] = one.e and one or nil
   end
   table.sort(list, function(a, b)
      return math.abs(a.days) < math.abs(b.days)
   end)
   local runs = 0
   for i, one in ipairs(list) do
      log = log + math.log(1 - SLOW_NODE.felt + SLOW_NODE.felt * odds.fit_of_many(one.e, one.y, SLOW_NODE.most,
         SLOW_NODE.wide, 1))
      if log > best then
         best, runs = log, i
      end
   end
   local harm = math.min(SLOW_NODE.says, math.exp(best) / math.max(1, #list))
   local fit = odds.fit(state.e, state.y, SLOW_NODE.most, SLOW_NODE.wide, 1)
   local prior = math.min(NODES_MOST, NODE * #state.rows)
   return { where = #state.rows > 1 and "node" or "only", node = node, group = "unrecorded", evidence = {},
      prior = prior, rarity = 1, fit = fit, harm = harm, runs = runs, most = SLOW_NODE.most,
      weight = prior * fit * harm }
end

-- Several nodes with the same trouble at once: a leaf's, a class's, or just these.
local function several(state, list)
   local groups, out = {}, {}
   for _, h in ipairs(list) do
      if h.where == "node" and h.p and h.p / #state.rows <= SEVERAL_P and h.best then
         groups[h.group] = groups[h.group] or {}
         table.insert(groups[h.group], h)
      end
   end
   local leaves = {}
   for _, row in ipairs(state.rows) do
      local leaf = state.leaf and state.leaf(row.node)
      row.leaf = leaf
      if leaf then
         leaves[leaf] = (leaves[leaf] or 0) + 1
      end
   end
   for group, members in pairs(groups) do
      if #members >= 2 then
         local nodes, of, one_leaf = {}, #state.rows, nil
         for i, h in ipairs(members) do
            nodes[i] = h.node
         end
         for _, row in ipairs(state.rows) do
            for _, node in ipairs(nodes) do
               if row.node == node then
                  one_leaf = one_leaf == nil and (row.leaf or false) or one_leaf == row.leaf and one_leaf
               end
            end
         end
         of = one_leaf and leaves[one_leaf] or of
         local first = members[1]
         for _, h in ipairs(members) do
            first = h.fit > first.fit and h or first
         end
         local p = stats.binomial(#members, math.max(of, #members), SEVERAL_P)
         -- That one of them is odd is likely or not as for it alone, and that the others are, too, besides.
         local besides = SEVERAL * odds.rarity(p)
         -- Then each of them is an explanation of its own the less.
         local share, weight = besides / (1 + besides), 0
         for _, h in ipairs(members) do
            weight, h.weight = weight + share * h.weight, (1 - share) * h.weight
         end
         out[#out + 1] = { where = "several", nodes = nodes, leaf = one_leaf or nil, of = of, group = group,
            evidence = first.evidence, best = first.best, most = first.most, fit = first.fit, p = p,
            rarity = odds.rarity(p), prior = SEVERAL, harm = first.harm, weight = weight }
      end
   end
   return out
end

-- P that what ran then had as much of a condition for its kind as it had (its place among its like runs: uniform, were
-- nothing wrong; the mean of several is nearly normal).
local function p_meanwhile(state, item)
   local sum, n = 0, 0
   for _, one in ipairs(state.meanwhile()) do
      local x, above, of = causes.scaled(item, one.row[item.name], one.row), 0.5, 0
      for _, row in ipairs(x and one.like or {}) do
         local y = causes.scaled(item, row[item.name], row)
         of = of + (y and 1 or 0)
         above = above + (y and (y > x and 1 or y == x and 0.5 or 0) or 0)
      end
      if of >= PLACES then
         sum, n = sum + above / (of + 1), n + 1
      end
   end
   return n >= PLACES and stats.student((0.5 - sum / n) * math.sqrt(12 * n), 1e6) or nil
end

-- What ran then and had as much of it: was it slow, too? And had it more of it than its kind?
local function add_meanwhile(h, state)
   local ps = {}
   for _, e in ipairs(h.evidence) do
      ps[#ps + 1] = e.shows and p_meanwhile(state, e.item) or nil
   end
   if #ps > 0 then
      h.p_meanwhile = stats.together(ps, #ps)
      h.rarity = h.rarity * math.max(ACQUITS, odds.rarity(h.p_meanwhile) * (h.p_meanwhile > 0.3 and ACQUITS or 1))
      local there = h.prior * h.rarity
      h.weight = there / (1 + there) * h.fit
   end
   add_runs(h, state.meanwhile(), function(one)
      return share_of(h, one.row)
   end, h.rarity ^ 2)
end

local function alls(state)
   local list = grouped(state.jobs)
   for _, h in ipairs(list) do
      h.prior = h.group == "storage" and ALL_STORAGE or ALL
      weigh(h, state, state.job_metrics)
      if h.best then
         add_meanwhile(h, state)
      end
   end
   return list
end

-- A job of one node cannot tell slow storage of its own from what all share; others that ran then may.
local function add_shared(state, list)
   for _, h in ipairs(list) do
      if h.where == "only" and h.group == "storage" and h.best then
         local all = setmetatable({ prior = ALL_STORAGE }, { __index = h })
         add_meanwhile(all, state)
         h.weight, h.p_meanwhile = h.weight + all.weight, all.p_meanwhile
      end
   end
end

-- Explanations that are no node's.
local function others(state)
   local fit = odds.fit(state.e, state.y, odds.OWN_MOST, odds.OWN_WIDE, 1)
   local list = { { where = "nobody", group = "nothing", weight = NOTHING, evidence = {} },
      { where = "nobody", group = "unknown", weight = NOTHING * odds.OWN * fit, fit = fit, evidence = {} } }
   local did = work.more(state)
   local first = did[1]
   if first and first.ratio > 1 then
      local most = math.min(0.9, 1 - 1 / first.ratio)
      local input = odds.fit(state.e, state.y, most, 10, 1.2)
      list[3] = { where = "nobody", group = "input", weight = INPUT * odds.rarity(first.p) * input, fit = input,
         rarity = odds.rarity(first.p), evidence = {}, work = first }
   end
   return list, did
end

-- Somebody else's job on a shared node, where the trouble may be that job's.
local NEIGHBOUR, UNSEEN = 0.6, 0.03
local SHARED = { daemon = true, storage = true, memory = true, shortage = true, clock = true }
local function split_neighbours(state, list)
   local shared = {}
   for _, row in ipairs(state.rows) do
      shared[row.node] = row.others and row.others[1] and row.others or nil
   end
   -- What it takes is not always counted (memory's bandwidth, caches).
   for node in pairs(shared) do
      local fit = odds.fit(state.e, state.y, odds.OWN_MOST, odds.OWN_WIDE, 1)
      list[#list + 1] = { where = #state.rows > 1 and "node" or "only", node = node, group = "neighbour", evidence = {},
         prior = UNSEEN, rarity = 1, fit = fit, most = odds.OWN_MOST, weight = UNSEEN / #state.rows * fit }
   end
   for i = 1, #list do
      local h = list[i]
      if h.node and h.group ~= "neighbour" and shared[h.node] and SHARED[h.group] and not (h.best and h.best.check) then
         local copy = {}
         for k, v in pairs(h) do
            copy[k] = v
         end
         copy.through, copy.group = h.group, "neighbour"
         copy.weight, h.weight = h.weight * NEIGHBOUR, h.weight * (1 - NEIGHBOUR)
         list[#list + 1] = copy
      end
   end
end

local function flat(runs)
   local out = {}
   for _, rows in ipairs(runs) do
      table.move(rows, 1, #rows, #out + 1, out)
   end
   return out
end

local function by_weight(list)
   table.sort(list, function(a, b)
      if a.weight ~= b.weight then
         return a.weight > b.weight
      end
      return tostring(a.node) .. a.group < tostring(b.node) .. b.group
   end)
end

-- Which explanation is named: where the shares of one node add up first, then what of it.
local function choose(out)
   local of = {}
   for _, h in ipairs(out.explanations) do
      local key = h.where == "nobody" and h.group or h.where == "all" and "all" or h.node
         or table.concat(h.nodes, " ")
      of[key] = of[key] or { share = 0 }
      of[key].share = of[key].share + h.probability
      of[key].first = of[key].first or h
   end
   local best
   for _, one in pairs(of) do
      if not best or one.share > best.share or (one.share == best.share and one.first.weight > best.first.weight) then
         best = one
      end
   end
   if best and best.share >= why.NAMED and best.first.where ~= "nobody"
      and (not out.slow.ratio or out.slow.ratio >= why.SLOW or (best.first.harm or 1) >= HARMED) then
      -- That others were slow by it says more of this one than its own time does.
      out.slow.verdict = out.slow.verdict == "no" and "perhaps" or out.slow.verdict
      best.first.named, best.first.together = true, best.share
      return best.first
   end
end

local function state_of(input)
   local state = { rows = input.rows, like = {}, others = {}, checks = input.checks or {}, nodes = {}, jobs = {},
      metrics = {}, job_metrics = {}, looked = 0, elapsed = input.elapsed_s, e = input.e,
      y = input.elapsed_s and math.log(input.elapsed_s), history = input.history, meanwhile = input.meanwhile,
      leaf = input.leaf }
   if not state.y then
      state.e = nil
   end
   -- Without like runs its time says nothing; what other runs lost may.
   state.e = state.e or expected.NONE
   for _, run in ipairs(input.like or {}) do
      -- Conditions under which the job ran as fast as ever are the measure.
      if not input.e or (run.elapsed_s or 0) <= why.NORMAL * input.e.median_s then
         state.like[#state.like + 1] = run.rows
      end
   end
   for _, run in ipairs(input.others or {}) do
      state.others[#state.others + 1] = run.rows
   end
   return state
end

--- @param input { rows; elapsed_s; e = of expected.of or nil; count = like runs; like = list of { rows, elapsed_s };
--   others = list of { rows }: runs of anybody on nodes of the same class; checks = { [class] = { [name] = list of
--   { node, value } } }; history = function(node) -> its other runs, list of { row, days, e, y }; meanwhile =
--   function() -> other runs of that time, list of { e, y }; leaf = function(node) -> its leaf switch or nil }
-- @return { elapsed_s; slow = see why.slow; explanations = list, the likeliest first, of { where = "node", "only" (it
--   has no peers), "several", "all" or "nobody"; node, nodes, group, probability, rarity, fit, harm, runs (others
--   under the condition), most, named, evidence }; named = the one, or nil; work = what the job did more of; looked }
function why.analyse(input)
   local state = state_of(input)
   for _, item in ipairs(causes.JOB) do
      conditions.of_job(state, item)
   end
   for _, item in ipairs(causes.CHECK) do
      checks.of(state, item)
   end
   local out = { slow = why.slow(state.elapsed, input.e, input.count or #(input.like or {})), elapsed_s = state.elapsed,
      looked = state.looked }
   local list = grouped(state.nodes)
   for _, h in ipairs(list) do
      h.prior = math.min(NODES_MOST, (PRIOR[h.group] or ALL) * #state.rows)
      weigh(h, state, state.metrics)
   end
   local explained = by_node(list)
   carry(list, explained)
   if state.e then
      by_weight(list)
      local looked = {}
      for i = 1, state.history and math.min(CLOSE_LOOKS, #list) or 0 do
         local h = list[i]
         if not looked[h.node] then
            looked[h.node] = unrecorded(state, h.node)
            list[#list + 1] = looked[h.node]
         end
         if h.best then
            add_harm(h, state, looked[h.node].harm)
         end
      end
      carry_harm(list, explained)
      for _, h in ipairs(several(state, list)) do
         list[#list + 1] = h
      end
      add_shared(state, list)
      split_neighbours(state, list)
      local of_all = alls(state)
      table.move(of_all, 1, #of_all, #list + 1, list)
      local no_one
      no_one, out.work = others(state)
      table.move(no_one, 1, #no_one, #list + 1, list)
   end
   out.work = out.work or work.more(state)
   local sum = 0
   for _, h in ipairs(list) do
      sum = sum + h.weight
   end
   for _, h in ipairs(list) do
      h.probability = state.e and h.weight / sum or nil
   end
   by_weight(list)
   out.explanations = table.move(list, 1, math.min(#list, input.keep or KEEP), 1, {})
   if state.e then
      out.named = choose(out)
   end
   local like, other, done = flat(state.like), flat(state.others), {}
   for _, h in ipairs(out.explanations) do
      for _, e in ipairs(done[h.evidence] and {} or h.evidence) do
         conditions.describe(e, state, like, other)
      end
      done[h.evidence] = true
   end
   return out
end

return why
