--- Why was a job slow: every explanation weighed against every other. Pure; docs/decisions.md (Why) has the
-- statistics and the reasons.
--
-- A row is what one node went through in one run: { run, node, class, elapsed_s, cores, <name of
-- fields.JOB> = value ..., checks (see checks.lua), others = list of job IDs, gone (true: no record of the job came
-- from the node, which was checked as it began) }; absent is not known.
local candidates = require("syscheck.questions.why.candidates")
local causes = require("syscheck.questions.why.causes")
local checks = require("syscheck.questions.why.checks")
local conditions = require("syscheck.questions.why.conditions")
local expected = require("syscheck.questions.why.expected")
local explained = require("syscheck.questions.why.explained")
local neighbours = require("syscheck.questions.why.neighbours")
local odds = require("syscheck.questions.why.odds")
local weights = require("syscheck.questions.why.weights")
local without = require("syscheck.questions.why.without")

local why = {}

--- What is said.
why.MIN_LIKE = expected.MIN
why.SLOW = 1.05 -- of what was expected: less is not called slow, whatever its p
why.ALPHA = 0.05 -- p of the time up to which a job is called slow
why.PERHAPS = 0.25 -- and perhaps slow
why.NAMED = 0.5 -- probability from which an explanation is named
why.ODD = odds.rarity(0.1) -- what evidence is worth from which it is odd: what is worth less is told of no node
why.NORMAL = 1.1 -- like runs up to here, of what was expected, are the measure for conditions

local CLOSE_LOOKS = 8 -- explanations whose history is read
local ACCOUNTS = 0.5 -- of what was lost
local HARMED = 3 -- a job that was not slow is told of what cost others time, too
local ASKED = 0.5 -- of runs that did not feel their node's trouble, so many are asked about as of those that did
local KEEP = 10 -- explanations in an answer
local SHOWN = 0.001 -- of those without evidence

--- Is it slow?
-- @param elapsed seconds, or nil
-- @param e from expected.of, or nil
-- @param count like runs there are, where e is nil
-- @return { count, wanted, without (a node that none of these was on, or nil), others (how many were), median_s, low,
--   high, ratio, p, as_long (how many of them), verdict, lost_s, seen_from (a ratio that would be called slow), slope,
--   front, troubled (like runs that are left out, as nodes had trouble; or nil), modes, usual (true: one of two usual
--   times, the slower) }; verdict "slow", "perhaps", "no", "unknown"
function why.slow(elapsed, e, count)
   local out = { count = count, wanted = why.MIN_LIKE, verdict = "unknown" }
   if not e then
      return out
   end
   out.median_s, out.low, out.high, out.slope = e.median_s, e.low, e.high, e.slope
   out.front, out.modes = e.front, e.front and 1 or #e.modes
   out.count, out.troubled = e.count, e.troubled
   if not elapsed then
      return out -- no begin snapshot on any node
   end
   local y = math.log(elapsed)
   out.ratio, out.p = elapsed / e.median_s, expected.tail(e, y)
   out.as_long = expected.as_long(e, y)
   out.lost_s = math.max(0, elapsed - e.median_s)
   out.seen_from = math.max(why.SLOW, math.exp(expected.quantile(e, why.ALPHA)) / e.median_s)
   -- A kind's slower mode is no slowness: it is a restart, another input.
   out.usual = out.ratio >= why.SLOW and expected.above_mode(e, y) < math.log(why.SLOW)
   out.verdict = (out.usual or out.ratio < why.SLOW or out.p > why.PERHAPS) and "no" or out.p <= why.ALPHA and "slow"
      or "perhaps"
   return out
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

--- A bad check farther from the job than a good one, or far alone, where nothing else speaks for an explanation.
function why.odd_check(h)
   for _, e in ipairs(h.best and { h.best } or h.evidence) do
      if e.odd then
         return e
      end
   end
end

--- How likely an explanation is without what all share, as storage of a job of one node may be: that is no node's.
function why.of_node(h)
   return h.probability * (1 - (h.of_all or 0) / math.max(h.weight, 1e-300))
end

local function key_of(h)
   if h.where == "several" then
      local nodes = table.move(h.nodes, 1, #h.nodes, 1, {})
      table.sort(nodes)
      return table.concat(nodes, " ")
   end
   return h.where == "nobody" and h.group or h.where == "all" and "all" or h.node
end

-- Weight of that an explanation harms others, and this run did not feel it.
local function unfelt(h)
   return ASKED * h.weight * (h.unfelt or 0)
end

-- Which explanation is named: where the shares of one node add up first, then what of it.
local function choose(out, state)
   local of = {}
   for _, h in ipairs(out.explanations) do
      local key = key_of(h)
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
   local slow = out.slow
   if best and best.first.e then
      slow = why.slow(state.elapsed, best.first.e)
      slow.others = state.count - slow.count
      slow.set = best.first.set and best.first.best.item.label
      local node = best.first.node or best.first.nodes and best.first.nodes[1] or state.rows[1].node
      slow.without = not slow.set and node or nil
   end
   local top = best and best.first
   if best and best.share >= why.NAMED and top.where ~= "nobody" and (not slow.ratio or slow.ratio >= why.SLOW) then
      out.slow = slow
      -- That others were slow by it says more of this one than its own time does, if that is longer at all.
      out.slow.verdict = slow.verdict == "no" and slow.ratio >= why.SLOW and "perhaps" or slow.verdict
      best.first.named, best.first.together = true, odds.sure(best.share)
      for _, h in ipairs(out.explanations) do
         h.probability = h.probability * (of[key_of(h)] == best and best.first.together / best.share
            or (1 - best.first.together) / math.max(1e-12, 1 - best.share))
      end
      return best.first
   end
end

-- What a job had that was not slow, and that harmed others.
-- @param sum of all weights
local function beside(list, sum)
   for _, h in ipairs(list) do
      local harmed = (h.felt or 1) >= HARMED and h.best and h.where ~= "all" and h.group ~= "neighbour"
      local share = (h.weight + unfelt(h)) / sum
      if harmed and share >= why.NAMED then
         h.together = odds.sure(share)
         return h
      end
   end
end

local function state_of(input)
   local state = { rows = input.rows, row_of = {}, like = {}, others = {}, checks = input.checks or {}, nodes = {},
      jobs = {}, parts = {}, metrics = {}, job_metrics = {}, looked = 0, begin_s = input.begin_s or 0,
      elapsed = input.elapsed_s, e = input.e, y = input.elapsed_s and math.log(input.elapsed_s),
      history = input.history, meanwhile = input.meanwhile, leaf = input.leaf, on = input.on, low = input.low,
      without = input.without, e_of = {}, set = {}, typical = {}, all_like = input.like or {},
      count = input.count or #(input.like or {}) }
   for _, row in ipairs(state.rows) do
      state.row_of[row.node] = row
   end
   if not state.y then
      state.e = nil
   end
   -- Without like runs its time says nothing; what other runs lost may.
   state.e = state.e or expected.NONE
   for _, run in ipairs(state.all_like) do
      -- Conditions under which the job ran as fast as ever are the measure.
      run.usual = not input.e or (run.elapsed_s or 0) <= why.NORMAL * input.e.median_s
      state.like[#state.like + 1] = run.usual and run.rows or nil
   end
   for _, run in ipairs(input.others or {}) do
      state.others[#state.others + 1] = run.rows
   end
   return state
end

-- Those whose history is read: the likeliest that can account for half of what was lost, then others.
local function to_look_at(list, slow)
   local lost, out, rest = 1 - 1 / math.max(1, slow.ratio or 1), {}, {}
   for _, h in ipairs(list) do
      local item = h.best and h.best.item
      local accounts = item and h.most * item.range.beyond * (item.more or 1) >= ACCOUNTS * lost
      table.insert(accounts and out or rest, h)
   end
   table.move(rest, 1, #rest, #out + 1, out)
   return table.move(out, 1, math.min(CLOSE_LOOKS, #out), 1, {})
end

-- Where a node was in many of the like runs it may have slowed them, too: then those without it are what its job should
-- have taken.
local function add_own_times(state, list)
   local nodes = {}
   for i = 1, math.min(CLOSE_LOOKS, #list) do
      nodes[list[i].node] = true
   end
   for _, row in ipairs(#state.rows <= CLOSE_LOOKS and state.rows or {}) do
      nodes[row.node] = true
   end
   for node in pairs(nodes) do
      state.e_of[node] = without.node(state, node)
   end
   for _, h in ipairs(list) do
      if state.e_of[h.node] then
         candidates.weigh(state, h)
      end
   end
end

--- @param input { rows; begin_s; elapsed_s; e = of expected.of or nil; count = like runs; like = list of { rows (with
--   begin_s, key), elapsed_s }; others = list of { rows }: runs of anybody on nodes of the same class; checks =
--   { [class] = { [name] = list of { node, value } } }; history = function(node) -> its other runs, list of { row,
--   days, e, y, alone }; meanwhile = function() -> runs of that time, list of { row, e, y, both (share of its time that
--   it ran beside the job), like (a row of each of its like runs) }; on = function(node) -> function(like run) ->
--   whether it was on it; low = function(name, value) -> the same of runs of which a node was set to no more than that;
--   without = function(such a function, key of a run or nil: the job) -> of expected.of by those of which it is false,
--   nil: the others make no difference; leaf = function(node) -> its leaf switch or nil }
-- @return { elapsed_s; slow = see why.slow; explanations = list, the likeliest first, of { where = "node", "only" (it
--   has no peers), "several", "all" or "nobody"; node, nodes, group, probability, rarity, fit, harm, runs (others
--   under the condition), most, named, evidence }; named = the one, or nil; beside = of a job that was
--   not slow the one that others were slowed by, or nil; work = what the job did more of; looked }
function why.analyse(input)
   local state = state_of(input)
   for _, item in ipairs(causes.JOB) do
      conditions.of_job(state, item)
   end
   for _, item in ipairs(causes.MEASURED) do
      checks.of(state, item)
   end
   local out = { elapsed_s = state.elapsed, looked = state.looked }
   out.slow = why.slow(state.elapsed, input.e, state.count)
   local list = candidates.nodes(state)
   by_weight(list)
   add_own_times(state, list)
   local others_of = explained.of(list, state.row_of)
   explained.carry(list, others_of)
   by_weight(list)
   local looked = {}
   local function look_at(node)
      if not looked[node] then
         looked[node] = candidates.unrecorded(state, node)
         list[#list + 1] = looked[node]
      end
      return looked[node].slow
   end
   for _, h in ipairs(state.history and to_look_at(list, out.slow) or {}) do
      local slow = look_at(h.node)
      if h.best then
         weights.add_harm(h, state, slow)
         weights.add_hidden(h, looked[h.node])
      end
   end
   for _, row in ipairs(state.history and #state.rows <= CLOSE_LOOKS and state.rows or {}) do
      look_at(row.node)
   end
   for _, h in ipairs(list) do
      weights.drop_weak(h, looked[h.node] and looked[h.node].slow or 1)
   end
   weights.temper(list)
   explained.carry_harm(list, others_of)
   local several, grouped = candidates.parts(state, list)
   table.move(several, 1, #several, #list + 1, list)
   for _, h in ipairs(candidates.several(state, list, grouped)) do
      list[#list + 1] = h
   end
   candidates.add_shared(state, list)
   neighbours.split(state, list)
   local of_all = candidates.all(state)
   table.move(of_all, 1, #of_all, #list + 1, list)
   local no_one
   no_one, out.work = candidates.nobody(state)
   table.move(no_one, 1, #no_one, #list + 1, list)
   -- Who slows other runs need not have slowed this one.
   for _, h in ipairs(list) do
      no_one[1].weight = no_one[1].weight + unfelt(h)
   end
   local sum = 0
   for _, h in ipairs(list) do
      sum = sum + h.weight
   end
   by_weight(list)
   out.explanations = {}
   for _, h in ipairs(list) do
      h.probability = h.weight / sum
      -- What has no evidence is worth no place that one with it could have.
      local shows = h.best and h.best.strength >= why.ODD or h.probability >= SHOWN or input.keep or why.odd_check(h)
      if #out.explanations < (input.keep or KEEP) and shows then
         table.insert(out.explanations, h)
      end
   end
   out.named = choose(out, state)
   out.beside = not out.named and out.slow.verdict == "no" and beside(out.explanations, sum) or nil
   local like, other, done = flat(state.like), flat(state.others), {}
   for _, h in ipairs(out.explanations) do
      h.gone = h.node and state.row_of[h.node].gone
      for _, e in ipairs(done[h.evidence] and {} or h.evidence) do
         conditions.describe(e, state, like, other)
      end
      done[h.evidence] = true
   end
   return out
end

return why
