--- What evidence is worth: an explanation's weight is its prior x rarity (how unlikely its evidence is by chance) x fit
-- (how well what it may cost explains the time that was lost) x harm (whether other runs under it were slow). Pure;
-- docs/decisions.md (Why) has the statistics and the reasons.
local causes = require("syscheck.questions.why.causes")
local odds = require("syscheck.questions.why.odds")
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")
local without = require("syscheck.questions.why.without")

local weights = {}

-- A counter of wall time says what was lost: that it was needs no rarity to be believed, that it is unusual does.
local DIRECT, DIRECT_LATENCY, DIRECT_LEAST = 10, 4, 0.05
local EVIDENCE = math.exp(-1) -- p up to which a value is evidence of its condition: beyond, odds.rarity is 1
local ALIKE = 0.3 -- values whose fit is less than such a share of the best one's do not speak for the same loss
local SAME, OTHER = 0.5, 2 -- a run is under the same condition with such a share of it, and up to so much more
local GUESSED = 0.2 -- that an event costs item.more times what it is taken to
local LINK_ALONE = 0.1 -- how often a job of one node feels a bad link
local SLOW_RUNS = 3 -- least that these have to say for what a node's checks, or few events, hardly say
local ALL_SAY = 1e9 -- what other runs of a node say at most, before weights.temper
--- What a node that is slow costs a run, and which share of its runs.
weights.SLOW_NODE = { most = 0.6, wide = 12, felt = 0.6 }
local SLOW_NODE = weights.SLOW_NODE
local RECORDED = 0.5 -- of what a run lost, from which events that it counted may have cost that
local EVENTS = {} -- that no healthy node has
for _, item in ipairs(causes.JOB) do
   EVENTS[#EVENTS + 1] = item.kind == "count" and item.rare and item or nil
end
local NEAR_DAYS = 3 -- a check's condition is taken to last so long

--- Evidence of a node and group together: list of { where, node, group, evidence }.
function weights.grouped(found)
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

--- The odds for that what an explanation is of is there, whatever it did: before its evidence, and by it.
function weights.there(h)
   return h.prior * h.rarity * h.direct
end

--- What direct evidence is worth more than rare one.
function weights.direct(e)
   if not e or e.check or e.most < DIRECT_LEAST then
      return 1
   end
   -- Longer operations cost that time, if nothing went on beside them.
   return e.item.over == "unit" and DIRECT or e.item.kind == "latency" and DIRECT_LATENCY or 1
end

-- How often the job feels such a trouble at all: one of a single node sends itself nothing.
local function felt_by(state, h)
   return h.group == "link" and #state.rows == 1 and LINK_ALONE or 1
end

--- What the evidence of one explanation is worth: rarity, fit, most (share of the time that it may have cost). What
-- fits the loss counts; that something else of the same kind is odd, too, but far too small, does not.
function weights.weigh(h, state, metrics)
   local best
   for _, e in ipairs(h.evidence) do
      if e.check then
         e.strength = e.bf
      else
         local most = e.cost_s / e.elapsed_s
         e.most = most == most and math.max(0, math.min(1, most)) or 0
         e.set = without.setting(state, e)
         e.fit = odds.fit(e.set and e.set.e or h.e or state.e, state.y, e.most, e.item.range.wide, e.item.range.beyond)
         -- Many like runs had it, and were slower: it is none the less there.
         e.shows = e.p <= EVIDENCE or e.set ~= nil
         e.strength = odds.rarity(e.p)
      end
      if e.shows and (not best or e.strength * e.fit > best.strength * best.fit) then
         best = e
      end
   end
   -- To people the time of an operation says which storage it is; waiting does not.
   h.shown = nil
   for _, e in ipairs(h.evidence) do
      if e.shows and e.item.kind == "latency" and e.fit >= ALIKE * best.fit then
         h.shown = h.shown or e
      end
   end
   -- Other work that no task waited for: a process that slept during the job, or interrupts.
   h.prior = h.prior * (best and best.unfelt or 1)
   h.best, h.rarity, h.most = best, 1, best and best.most or 0
   h.fit = best and best.fit * felt_by(state, h) or 1
   h.set = best and best.set
   h.e = h.set and h.set.e or h.e
   h.checked = 1 -- what checks say of it
   local ps, least = {}, 1
   for _, e in ipairs(h.evidence) do
      if best and e.fit >= ALIKE * best.fit then
         ps[#ps + 1] = e.p
         -- What one check measured is not independent: what is worse in two of its numbers is one finding.
         h.checked = math.max(h.checked, e.bf or 1)
      end
      least = math.min(least, e.check and e.bf or 1)
   end
   h.checked = h.checked > 1 and h.checked or least
   h.p = #ps > 0 and stats.together(ps, math.max(#ps, metrics[h.group] or 1)) or nil
   h.rarity = h.checked * (h.p and odds.rarity(h.p) or 1)
   -- A p is of the most unusual of all the job's nodes, and any of them may have a trouble; a check is of this one.
   h.prior = h.prior * ((h.p or 1) < EVIDENCE and h.any_of or 1)
   h.direct = weights.direct(best)
   table.sort(h.evidence, function(x, y)
      if x.shows ~= y.shows then
         return x.shows
      end
      return x.strength * x.fit > y.strength * y.fit
   end)
   -- Harmless oddities are as common as harmful ones: what is rare beyond doubt is there, and no more guilty.
   local there = weights.there(h)
   h.weight = there / (1 + there) * h.fit
end

--- Most a row may have lost to the condition of an explanation, as a share of its time; nil: the row does not know.
-- @param peers of another run's row: rows of its other nodes or of its like runs, or none; what they have, too, is
--   what that run does
function weights.share_of(h, row, peers)
   local e, values = h.best, {}
   for _, peer in ipairs(not e.check and peers or {}) do
      values[#values + 1] = causes.of_row(e.item, peer)
   end
   local usual = e.usual
   if peers and e.item.kind == "temperature" then
      usual = statistics.median(values) -- each kind of job heats a node in its own way
   elseif values[1] then
      usual = math.max(usual, statistics.median(values))
   end
   return not e.check and usual and causes.share(e.item, row, usual) or nil
end

-- A run of one node exchanges nothing: that it was not slow acquits no link.
local function feels(group, one)
   return group ~= "link" or (one.seen or 2) > 1
end

-- Share of its time that events of a run may have cost, on that of its nodes that counted most.
local function share_of_events(item, one)
   local most = causes.share(item, one.row, -math.huge) or 0
   for _, row in ipairs(one.peers or {}) do
      most = math.max(most, causes.share(item, row, -math.huge) or 0)
   end
   return most
end

--- What a run's time says for a node that slows six in ten of its runs by anything: as it is asked more than once it
-- is kept with the run.
-- @return odds, on logarithms
function weights.of_time(one)
   one.says = one.says or math.log(1 - SLOW_NODE.felt + SLOW_NODE.felt * odds.fit_of_many(one.e, one.y, SLOW_NODE.most,
      SLOW_NODE.wide, 1, odds.own_of(one.seen, one.e)))
   return one.says
end

--- Which of a node's other runs counted events, on any of their nodes, that may have cost what they lost, where the
-- times of all with half as many and more say that such do: then that is what slowed them, rather than what nothing
-- records, or what a check found on another day.
-- @return function(one of them, group whose events are not asked about or nil)
function weights.recorded(state, node)
   state.recorded = state.recorded or {}
   if state.recorded[node] then
      return state.recorded[node]
   end
   local of = {}
   for _, one in ipairs(state.history(node)) do
      local says = one.e and weights.of_time(one)
      for _, item in ipairs(one.e and EVENTS or {}) do
         local share = feels(item.group, one) and share_of_events(item, one) or 0
         of[item] = of[item] or {}
         table.insert(of[item], share > 0 and { share = share, says = says } or nil)
      end
   end
   local function harmful(item, share)
      local sum = 0
      for _, one in ipairs(of[item]) do
         sum = sum + (one.share >= SAME * share and one.says or 0)
      end
      return sum > 0
   end
   state.recorded[node] = function(one, group)
      local lost = 1 - math.exp(math.log(one.e.median_s) - one.y)
      for _, item in ipairs(EVENTS) do
         local share = item.group ~= group and share_of_events(item, one) or 0
         if share > 0 and item.more * share >= RECORDED * lost and harmful(item, share) then
            return true
         end
      end
      return false
   end
   return state.recorded[node]
end

--- Did other runs under the same condition lose time?
-- @param share function(run) -> what it may have lost to it, as a share; nil: not known
-- @param most what this may be worth: where most runs have as much of it, that they were slow says something of the
--   node and nothing of this, unless they are compared with runs without
-- @param says of odds.harm
-- @return h.runs, h.harm, h.felt, h.usually and h.alone (harm, by runs that had a shared node for themselves) filled in
function weights.add_runs(h, state, runs, share, most, says)
   local fits, alone, slower, range = {}, {}, {}, h.best.item.range
   local recorded = h.best.check and weights.recorded(state, h.node)
   local function levels(e, y, lost, own)
      return odds.levels(e, y, math.min(1, (h.more or 1) * lost), range.wide, range.beyond, own)
   end
   for _, one in ipairs(runs) do
      local lost = one.e and (h.where == "only" or feels(h.group, one)) and share(one)
      if lost and lost >= SAME * h.most then
         -- Those of its kind may all have been set so.
         local e = h.set and state.without(h.set.has, one.key) or one.e
         local its = levels(e, one.y, math.min(lost, OTHER * h.most), odds.own_of(one.seen, e))
         if recorded and recorded(one, h.group) then
            for i, fit in ipairs(its) do
               its[i] = math.min(1, fit)
            end
         end
         fits[#fits + 1] = its
         alone[#alone + 1] = one.alone and its or nil
         slower[#slower + 1] = one.y - math.log(e.median_s)
      end
   end
   h.runs, h.harm, h.unfelt, h.alone = #fits, 1, 0, 1
   if #fits > 0 then
      local unfelt
      local own = levels(h.e or state.e, state.y, h.most)
      h.harm, unfelt = odds.harm(fits, own, says)
      h.alone = odds.harm(alone, own)
      h.unfelt = unfelt / math.max(1e-300, h.fit)
      h.harm = math.min(h.harm, h.set and math.huge or most)
   end
   if #slower > 0 then
      table.sort(slower)
      h.usually = math.exp(slower[(#slower + 1) // 2])
   end
   h.felt, h.weight = h.harm, h.weight * h.harm
end

local function add_history(h, state, slow)
   weights.add_runs(h, state, state.history(h.node), function(one)
      return weights.share_of(h, one.row, one.peers or {})
         or h.best.check and math.abs(one.days) <= NEAR_DAYS and h.best.bad_at(one.days) and h.best.most or nil
   end, math.max(h.rarity ^ 2, slow), ALL_SAY)
end

--- Of a node: its other runs. What an event costs is a guess: where those with as many were slow, it may be more.
-- @param slow what speaks for that the node was slow then
function weights.add_harm(h, state, slow)
   local item, weight = h.best.item, h.weight
   add_history(h, state, slow)
   if item.more and h.fit > 0 then
      local range, most = item.range, math.min(1, item.more * h.most)
      local fit = GUESSED * felt_by(state, h) * odds.fit(h.e or state.e, state.y, most, range.wide, range.beyond)
      local guess = setmetatable({ more = item.more, fit = fit, weight = weight * fit / h.fit }, { __index = h })
      add_history(guess, state, slow)
      guess.unfelt = guess.unfelt * GUESSED -- it may cost so much or not, felt or not
      if guess.runs > 0 and guess.harm >= SLOW_RUNS and guess.weight > h.weight then
         for key, value in pairs(guess) do
            h[key] = value
         end
      end
   end
end

--- Where other runs say more of one of the nodes than such runs are trusted to, all that they say is scaled (on
-- logarithms): of nodes that often ran together the one that had more of the slow runs stays ahead.
function weights.temper(list)
   local most = 1
   for _, h in ipairs(list) do
      most = math.max(most, h.harm or 1)
   end
   local power = math.log(odds.RUNS_SAY) / math.log(math.max(odds.RUNS_SAY, most))
   local function tempered(harm)
      return harm and harm > 1 and harm ^ power or harm
   end
   for _, h in ipairs(power < 1 and list or {}) do
      if h.harm then
         h.weight = h.weight * (tempered(h.harm) / h.harm)
         h.harm, h.felt = tempered(h.harm), tempered(h.felt)
      end
   end
end

--- What its checks hardly say of a node, and explains nothing else, is the cause of its slow runs, or of none.
-- @param slow what speaks for that the node was slow then
function weights.drop_weak(h, slow)
   if h.best and h.best.weak and not h.carries and math.max(h.harm or 1, slow) < SLOW_RUNS then
      local there = weights.there(h)
      h.weight = math.min(h.weight, there / (1 + there))
   end
end

-- A trouble does not show in every run that it slows: of the runs that an unrecorded one would explain it explains so
-- much; of what other runs had without harm as much less as that acquits it.
local HIDDEN = 0.1

--- What a node's slow runs say of an explanation that they do not show.
-- @param node of candidates.unrecorded
function weights.add_hidden(h, node)
   local hidden = HIDDEN * node.harm * math.min(1, h.harm)
   if hidden > h.harm then
      h.weight, h.harm = h.weight * hidden / h.harm, hidden
      h.alone = math.max(h.alone, HIDDEN * node.alone)
   end
end

return weights
