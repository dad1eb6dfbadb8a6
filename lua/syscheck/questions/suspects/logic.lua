--- Nodes that cost their jobs time for a while. Pure; docs/decisions.md (Suspects) has the reasons.
--
-- A hypothesis is a node, a rack or a leaf's uplinks, and a condition: { node, or rack (of racks.of), or uplink (of
-- uplinks.of), group (of causes.GROUPS), events =
-- list of { run, share (of its time that the condition may have cost), seen (of suspects.seen), fits (of odds.levels)
-- } in order of time, one for each run under it; worth = function(from, to, chosen) -> log of the odds for the
-- condition of these events to be its own (chosen: as the best of all spells), and of what harm may add to that at
-- most }. A run is { begin_s, e, y, ratio, fits (for any loss), of = by node or rack the last four again, where their
-- own runs may have raised what was expected, ... }, one table for all its nodes.
local odds = require("syscheck.questions.why.odds")
local sorted = require("syscheck.lib.sorted")

local suspects = {}

suspects.MIN_SLOW = 5 -- runs of a spell that speak for it
local MIN_BY_IT = suspects.MIN_SLOW - 0.5 -- how many it slowed: some were slow for reasons of their own
suspects.SLOW = 1.1 -- of what was expected: what the text calls slow
suspects.NEED = 0.8 -- probability from which a node is listed: what is wrong there costs a drain
local NEED = math.log(suspects.NEED / (1 - suspects.NEED))
-- What a bad node costs a run that feels it.
local MOST, WIDE = 0.6, 12
-- What share of the runs under a condition that does harm feel it.
local FELT = { 0.1, 0.3, 0.5, 0.7, 0.9 }
local FELT_USUAL = 0.6
local LEAST = -1.5 -- what a run says against a node at most: one may not have felt it for its own reasons
local SPEAKS = 0.5 -- score from which a run speaks for a bad node
local SHARES = math.log(4) -- odds that a node of a rack that has a trouble shares in it
-- Share of another node's condition from which two are alike: of the same group, of another.
local ALIKE, ALIKE_OTHER = 0.5, 2
-- Log of the odds of harm in runs that nobody explains, from which these acquit: of many runs it is hardly less, as a
-- condition that few runs feel may have been felt by none of them.
local ACQUITS = math.log(1 / 4)
-- Share of its runs in which a node had as much as its rack, from which it may share in the rack's trouble unseen.
local RACK_ALIKE = 0.5
local UNRECORDED = 0.0005 -- how often a node has a trouble for a while that no counter shows

--- A run as one of its nodes, or a rack, is judged by it.
-- @return table with e, y, ratio, fits
function suspects.seen(run, by)
   return run.of and run.of[by] or run
end

--- Order of runs in time.
function suspects.earlier(a, b)
   return a.begin_s < b.begin_s or a.begin_s == b.begin_s and a.key < b.key
end

--- How much more likely a run's time is, had it lost any share of its time.
-- @param e of expected.of
-- @param y log of its time
-- @param own of odds.own_of_level, or nil
function suspects.fits(e, y, own)
   return odds.levels(e, y, MOST, WIDE, 1, own)
end

local function score(fit, felt)
   return math.max(LEAST, math.log(1 - felt + felt * fit))
end

-- What a run's time still says of a node when another one, that is found already, explains it. If that one slowed the
-- run, its time says nothing of the others; if not, it says nothing for them: it is counted once. Where the found one
-- had no more of the same condition, or what this one had may have cost twice as much and its other runs do not acquit
-- it, nobody can tell the two apart: both are to be looked at.
local function left(fit, h, event, by)
   local alike = by and by.share and event.share
      and event.share >= (by.group == h.group and ALIKE or h.acquitted and math.huge or ALIKE_OTHER) * by.share
   if not by or by.fit <= 1 or alike then
      return fit
   end
   local felt = FELT_USUAL * by.fit
   return ((1 - FELT_USUAL) * math.min(1, fit) + felt) / (1 - FELT_USUAL + felt)
end

-- The part of a list with the largest sum (Kadane).
local function spell(scores)
   local best, sum, from = nil, 0, 1
   for i, one in ipairs(scores) do
      if sum <= 0 then
         sum, from = 0, i
      end
      sum = sum + one
      if not best or sum > best.score then
         best = { score = sum, from = from, to = i }
      end
   end
   return best
end

--- How much more likely a run's time is with the loss that fits it best.
-- @param fits of suspects.fits
function suspects.most_of(fits)
   return math.max(table.unpack(fits))
end

-- Log of the mean likelihood over what it costs and over shares of runs that feel it.
local function harm(h, from, to, explained)
   local logs, most, sum = {}, -math.huge, 0
   for level = 1, odds.LEVELS + 1 do
      for _, felt in ipairs(FELT) do
         local of = 0
         for k = from, to do
            local one = h.events[k]
            of = of + math.log(1 - felt + felt * left(one.fits[level], h, one, explained[one.run]))
         end
         logs[#logs + 1] = of
         most = math.max(most, of)
      end
   end
   for _, one in ipairs(logs) do
      sum = sum + math.exp(one - most)
   end
   return most + math.log(sum / #logs)
end

-- Whether the runs that nobody explains yet say that it does no harm.
local function acquitted(h, explained)
   local rest = {}
   for _, one in ipairs(h.events) do
      local by = explained[one.run]
      rest[#rest + 1] = (not by or by.fit <= 1) and one or nil
   end
   return rest[1] ~= nil and harm({ events = rest }, 1, #rest, {}) < ACQUITS
end

-- Log of the odds for a hypothesis, by its best spell. Of n events each may begin one: what is chosen of so many is
-- worth the less (Karlin and Altschul 1990: the best sum reaches s by chance with probability n exp(-s) at most).
local function weigh(h, explained)
   local best
   -- Asked only of what may have cost more than what explains it: of times alone nobody knows that.
   h.acquitted = h.events[1] and h.events[1].share and next(explained) ~= nil and acquitted(h, explained)
   for level = 1, odds.LEVELS + 1 do
      local scores = {}
      for i, one in ipairs(h.events) do
         scores[i] = score(left(one.fits[level], h, one, explained[one.run]), FELT_USUAL)
      end
      local one = spell(scores)
      best = one and (not best or one.score > best.score) and one or best
   end
   if not best then
      return nil
   end
   -- All the time, or a spell.
   local n = #h.events
   local whole = { from = 1, to = n }
   for _, one in ipairs({ best, whole }) do
      local there, most = h.worth(one.from, one.to, one == best)
      one.harm = harm(h, one.from, one.to, explained) - math.log(one == best and 2 * n or 2)
      one.weight = there + math.min(one.harm, most)
   end
   best = best.weight >= whole.weight and best or whole
   return best
end

-- A hypothesis of a node's times alone: something that no counter shows.
local function unrecorded_of(node, runs)
   local events = {}
   for i, run in ipairs(runs) do
      local one = suspects.seen(run, node)
      events[i] = { run = run, seen = one, fits = one.fits }
   end
   return { node = node, group = "unrecorded", events = events, worth = function()
      return math.log(UNRECORDED), math.huge
   end }
end

--- Of the log of the odds.
function suspects.probability(log_odds)
   return 1 / (1 + math.exp(-log_odds))
end

-- What a hypothesis is where it is true; nil: too few slow runs are by it.
local function describe(h, best, explained)
   local ratios, slow, runs, by_it = {}, {}, {}, 0
   for i = best.from, best.to do
      local one = h.events[i]
      local ratio = one.seen.ratio
      ratios[#ratios + 1] = ratio
      runs[#runs + 1] = setmetatable({ ratio = ratio }, { __index = one.run })
      local fit = left(suspects.most_of(one.fits), h, one, explained[one.run])
      if ratio >= suspects.SLOW and score(fit, FELT_USUAL) > SPEAKS then
         slow[#slow + 1] = setmetatable({ ratio = ratio, fit = fit }, { __index = one.run })
         by_it = by_it + FELT_USUAL * fit / (1 - FELT_USUAL + FELT_USUAL * fit)
      end
   end
   if by_it < MIN_BY_IT then
      return nil
   end
   table.sort(ratios)
   return { node = h.node, uplink = h.uplink, group = h.group, runs = #ratios, slow = slow, spell = runs,
      from_s = slow[1].begin_s, to_s = slow[#slow].begin_s, probability = suspects.probability(best.weight),
      weight = best.weight, cost = ratios[(#ratios + 1) // 2] }
end

local function explain(h, best, runs, explained)
   local function by(run, fit, event)
      if fit > (explained[run] and explained[run].fit or 1) then
         explained[run] = { fit = fit, group = event and h.group, share = event and event.share }
      end
   end
   for i = best.from, best.to do
      by(h.events[i].run, suspects.most_of(h.events[i].fits), h.events[i])
   end
   local from, to = h.events[best.from].run.begin_s, h.events[best.to].run.begin_s
   for _, run in ipairs(runs) do
      if run.begin_s >= from and run.begin_s <= to and not explained[run] then
         by(run, suspects.most_of(suspects.seen(run, h.node).fits))
      end
   end
end

-- A rack's nodes that were slow under its condition themselves, each as it is in that time: as likely as both that the
-- rack has a trouble and that the node, by its own runs, shares in it. Where it had as much as the rack its runs are
-- compared with those of other racks, too: what was expected of them without this node the rack's others have raised.
-- @return list of { h, best, found, alike = whether it mostly had as much as the rack, weak = it had, and is likelier
--   than not to share in it, but no suspect by that }
local function slow_of(rack, best, state)
   local of_run, out, clear = {}, {}, 0
   for i = best.from, best.to do
      of_run[rack.events[i].run] = rack.events[i]
   end
   for _, node in ipairs(rack.rack.members) do
      local own = not state.taken[node] and state.of[node] and state.of[node][rack.group]
      local h, alike = { node = node, group = rack.group, events = {} }, 0
      for _, one in ipairs(own and own.events or {}) do
         local its = of_run[one.run]
         local as = its and one.share >= ALIKE * its.share and its or one
         h.events[#h.events + 1] = its and { run = one.run, share = one.share, seen = as.seen, fits = as.fits }
         alike = alike + (as == its and 1 or 0)
      end
      local all = { from = 1, to = #h.events }
      if #h.events >= suspects.MIN_SLOW then
         local p = suspects.probability(best.weight)
            * suspects.probability(SHARES + harm(h, 1, all.to, state.explained))
         all.weight = math.min(best.weight, math.log(p / (1 - p)))
         local one, is_alike = describe(h, all, state.explained), alike >= RACK_ALIKE * #h.events
         if one and (all.weight >= NEED or is_alike and all.weight >= 0) then
            out[#out + 1] = { h, all, one, alike = is_alike, weak = all.weight < NEED }
            clear = clear + (all.weight >= NEED and 1 or 0)
         end
      end
   end
   -- One alone stands for itself.
   return clear > 1 and out or {}
end

local function found_of(h, best, state)
   if h.rack then
      return slow_of(h, best, state)
   end
   local one = describe(h, best, state.explained)
   return one and { { h, best, one } } or {}
end

-- What is said of a rack's other nodes, where some of those found of it are suspects themselves, or none.
local function said_of_rack(rack, found, all, state)
   local clear, known = {}, setmetatable({}, { __index = state.taken })
   for _, one in ipairs(found) do
      clear[#clear + 1] = not one.weak and one[3] or nil
   end
   for _, one in ipairs(all) do
      known[one[1].node] = true
   end
   return state.confirm_rack(clear, rack.members, known)
end

-- Those that are suspects; nil: enough. Where the clearest runs of a rack's nodes show its trouble, taken together and
-- without those that one of them explains by itself, the others share in it that had as much.
local function confirmed(h, found, state)
   local all, rest = {}, {}
   for _, one in ipairs(found) do
      local is = not one.weak and state.confirm(one[3], state.explained)
      if is == nil then
         return nil
      end
      table.insert(is and all or one.alike and rest or {}, one)
   end
   local as = rest[1] and said_of_rack(h.rack, found, all, state)
   for _, one in ipairs(as and rest or {}) do
      -- What its own runs are to `why` is to be told of it.
      if one.weak and state.confirm(one[3], state.explained) == nil then
         return nil
      end
      one[3].as = as
      all[#all + 1] = one
   end
   return all
end

-- Takes the likeliest of a list again and again: it explains its slow runs, and the others are weighed without.
local function take(list, of, state)
   local weighed = {}
   for i, h in ipairs(list) do
      weighed[i] = weigh(h, state.explained) or { weight = -math.huge }
   end
   while true do
      local at
      for i, one in ipairs(weighed) do
         if not (list[i].node and state.taken[list[i].node]) and one.weight >= NEED and (not at
            or one.weight > weighed[at].weight
            or one.weight == weighed[at].weight and one.harm > weighed[at].harm) then
            at = i
         end
      end
      if not at then
         return
      end
      local h = list[at]
      -- What was found since may explain of it.
      local again = weigh(h, state.explained)
      local still = again.weight >= weighed[at].weight
      weighed[at] = still and { weight = -math.huge } or again
      local all = confirmed(h, still and found_of(h, again, state) or {}, state)
      if not all then
         return
      end
      for _, one in ipairs(all) do
         if one[1].node then
            state.taken[one[1].node] = true
         end
         table.insert(state.found, one[3])
      end
      -- After all of them: a rack's nodes have had the same in the same runs.
      for _, one in ipairs(all) do
         explain(one[1], one[2], of[one[1].node] or {}, state.explained)
      end
   end
end

--- Nodes, and leaves' uplinks, with a spell of slow runs that chance does not explain. What is recorded explains before
-- what is not: a node that often ran beside two bad ones has the slow runs of both.
-- @param list of hypotheses
-- @param of by node: its runs in order of time
-- @param last what is weighed when all that is recorded has explained its runs: { hours = function(explained: set of
--   runs) -> list of hours.find, uplinks = function(explained) -> hypotheses of uplinks, weighed beside nodes of which
--   nothing is recorded }
-- @param confirm function(one of what is returned, explained) -> whether it is a suspect; who is none explains no run.
--   nil: enough
-- @param confirm_rack function(list of such, members, known = set of nodes that are suspects themselves) -> what is
--   said of a rack's other nodes, nil: it has no trouble of its own
-- @return list of { node, uplink or rack (of hours.find, with what else that says), group, runs (of its spell under the
--   condition), spell = list of them in order of time, slow = list of those that speak for it, with fit (how much more
--   likely their times are with it), as = of confirm_rack where it shares its rack's trouble, or nil, from_s, to_s
--   (begin of the first and last of these), probability, cost (median ratio of the spell's runs) }, the likeliest first
function suspects.find(list, of, last, confirm, confirm_rack)
   local state = { confirm = confirm, confirm_rack = confirm_rack, explained = {}, found = {}, taken = {}, of = {} }
   for _, h in ipairs(list) do
      if h.node then
         state.of[h.node] = state.of[h.node] or {}
         state.of[h.node][h.group] = state.of[h.node][h.group] or h
      end
   end
   take(list, of, state)
   for _, one in ipairs(last.hours(state.explained)) do
      if confirm(one, state.explained) then
         table.insert(state.found, one)
         explain(one, { from = 1, to = #one.events }, {}, state.explained)
      end
   end
   local unrecorded = last.uplinks(state.explained)
   for _, node in ipairs(sorted(of)) do
      unrecorded[#unrecorded + 1] = unrecorded_of(node, of[node])
   end
   take(unrecorded, of, state)
   table.sort(state.found, function(a, b)
      return a.weight > b.weight or a.weight == b.weight and (a.node or 0) < (b.node or 0)
   end)
   return state.found
end

return suspects
