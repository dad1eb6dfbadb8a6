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
local COUNTED = 0.03 -- p on one node up to which corrected errors explain what checks found
local EVIDENCE = math.exp(-1) -- p up to which a value is evidence of its condition: beyond, odds.rarity is 1
local ALIKE = 0.3 -- values whose fit is less than such a share of the best one's do not speak for the same loss
local AS_MUCH = 0.8 -- of what dgemm lost, on logarithms, in what stops all cores
local SAME, OTHER = 0.5, 2 -- a run is under the same condition with such a share of it, and up to so much more
local GUESSED = 0.2 -- that an event costs item.more times what it is taken to
local LINK_ALONE = 0.1 -- how often a job of one node feels a bad link
local SLOW_RUNS = 3 -- least that these have to say for what a node's checks, or few events, hardly say
local ALL_SAY = 1e9 -- what other runs of a node say at most, before weights.temper
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

-- Trouble of one kind shows in another's numbers, too: other work takes CPU and memory from a check's kernels, a low
-- clock lowers memory's bandwidth, what pages for want of memory does I/O, storage is mostly across the link, and
-- corrected errors interrupt: how often their number need not say (a storm is silenced: the kernel then polls, and the
-- firmware logs only some).
-- What explains more of what is odd is the likelier.
local EXPLAINS = { daemon = { "clock", "memory" }, clock = { "memory" }, shortage = { "storage" }, link = { "storage" },
   memory = { "daemon", "clock" } }

-- How rare what is counted is on one node: one that its checks point to is not chosen of all of the job's.
local function p_counted(h)
   local least = 1
   for _, e in ipairs(h.evidence) do
      if not e.check and e.cost_s > 0 then
         least = math.min(least, e.p_own or 1)
      end
   end
   return least
end

local function most_of(h)
   local most = 0
   for _, e in ipairs(h.evidence) do
      most = e.shows and math.max(most, e.likely or math.min(1, e.most * e.item.range.beyond)) or most
   end
   return most
end

-- Whether checks of a node that measured noise found any: what interrupts shows there; nil: none measured it.
-- @param work what speaks for other work on it, or nil
local function noisy(work)
   local known
   for _, e in ipairs(work and work.evidence or {}) do
      if e.check then
         known = known or e.shows and not e.weak
      end
   end
   return known
end

-- How much lower a rate was in the nearest check, on logarithms; 0: no check shows that it was.
local function lower(h, name)
   for _, e in ipairs(h.evidence) do
      if e.check and e.shows and e.item.name == name then
         local one = e.before and (not e.after or e.before.days <= e.after.days) and e.before or e.after
         return math.log(e.class / one.value)
      end
   end
   return 0
end

local function job_shows(h)
   for _, e in ipairs(h.evidence) do
      if e.shows and not e.check then
         return true
      end
   end
   return false
end

-- What stops all cores, as firmware does that handles errors, takes as much from a triad as from dgemm; a low clock
-- takes little from a triad, which waits for memory.
-- @param row of the node: where errors are counted their number says it, and where the job was throttled, or held at a
--   low limit, that is it
local function stops_cores(memory, clock, row)
   local dgemm, counted = lower(clock, "gflops"), (row.memory_corrected or -1) >= 0
   return dgemm > 0 and lower(memory, "triad_gbs") >= AS_MUCH * dgemm and not counted and not job_shows(clock)
end

-- What may have cost a hundredth does not take a third from a check's rate; of corrected errors nobody knows. What
-- they, and other work, interrupt is noise: where checks measured that and found none it was not them.
-- @param work what speaks for other work on the node, or nil
-- @param row of the node
local function explains(h, other, work, row)
   if not (h.best and other and other.best) or h.best.weak and h.group ~= "memory" or other.best.weak then
      return false
   elseif h.group == "shortage" then
      return h.pages and h.fit >= ALIKE * other.fit
   elseif h.group == "link" then
      -- Waiting does not say for which storage; one of several nodes is slow to exchange, too.
      local item = other.best.item
      return not h.best.check and h.best.p <= COUNTED and not other.best.check and not item.own
         and (item.kind == "latency" or h.where ~= "only")
   elseif h.group ~= "clock" and noisy(work) == false then
      return false
   elseif h.group == "memory" then
      local unfelt = work and work.best and work.best.unfelt
      return other.best.check and (unfelt and not h.best.weak or p_counted(h) <= COUNTED
         or other.group == "clock" and stops_cores(h, other, row))
   end
   return other.best.check and most_of(h) >= ALIKE * most_of(other)
      and not (h.group == "clock" and stops_cores(other, h, row))
end

--- @param row_of the job's rows by node
-- @return function(h) -> list of the explanations of its node that it explains, too
function weights.explained(list, row_of)
   local of = {}
   for _, h in ipairs(list) do
      of[h.group .. " " .. tostring(h.node)] = h
   end
   return function(h)
      local out, work = {}, of["daemon " .. tostring(h.node)]
      for _, group in ipairs(EXPLAINS[h.group] or {}) do
         local other = of[group .. " " .. tostring(h.node)]
         out[#out + 1] = explains(h, other, work, row_of[h.node]) and other or nil
      end
      return out
   end
end

--- What explains more is the likelier.
-- @param explained of weights.explained
function weights.carry(list, explained)
   local worth = {}
   for i, h in ipairs(list) do
      worth[i] = 1
      for _, other in ipairs(explained(h)) do
         worth[i] = worth[i] * math.max(1, other.best.check and other.checked or other.rarity)
      end
   end
   for i, h in ipairs(list) do
      for _, other in ipairs(explained(h)) do
         h.fit = math.max(h.fit, other.fit)
      end
      if h.group == "memory" and worth[i] > 1 then
         worth[i] = worth[i] * math.max(1, odds.rarity(p_counted(h)) / odds.rarity(h.p or 1))
      end
      h.rarity, h.carries = h.rarity * worth[i], worth[i] > 1
   end
   -- One of them is there, and explains what the others have: the likelier, not both.
   local there, rivals = {}, {}
   for _, h in ipairs(list) do
      there[h], rivals[h] = weights.there(h), 0
   end
   for _, h in ipairs(list) do
      for _, other in ipairs(explained(h)) do
         rivals[h], rivals[other] = math.max(rivals[h], there[other]), math.max(rivals[other], there[h])
      end
   end
   for _, h in ipairs(list) do
      h.weight = there[h] / (1 + there[h] + rivals[h]) * h.fit
   end
end

--- What others' runs say of what it explains they say of it.
function weights.carry_harm(list, explained)
   for _, h in ipairs(list) do
      for _, other in ipairs(explained(h)) do
         if h.harm and (other.harm or 0) > h.harm then
            h.weight, h.harm, h.runs = h.weight * other.harm / h.harm, other.harm, other.runs
            h.felt = math.max(h.felt or 1, other.felt or 1)
         end
      end
   end
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

--- Did other runs under the same condition lose time?
-- @param share function(run) -> what it may have lost to it, as a share; nil: not known
-- @param most what this may be worth: where most runs have as much of it, that they were slow says something of the
--   node and nothing of this, unless they are compared with runs without
-- @param says of odds.harm
-- @return h.runs, h.harm, h.felt and h.usually filled in
function weights.add_runs(h, state, runs, share, most, says)
   local fits, slower, range = {}, {}, h.best.item.range
   local function levels(e, y, lost, own)
      return odds.levels(e, y, math.min(1, (h.more or 1) * lost), range.wide, range.beyond, own)
   end
   for _, one in ipairs(runs) do
      local lost = one.e and share(one)
      if lost and lost >= SAME * h.most then
         -- Those of its kind may all have been set so.
         local e = h.set and state.without(h.set.has, one.key) or one.e
         fits[#fits + 1] = levels(e, one.y, math.min(lost, OTHER * h.most), odds.own_of(one.seen, e))
         slower[#slower + 1] = one.y - math.log(e.median_s)
      end
   end
   h.runs, h.harm, h.unfelt = #fits, 1, 0
   if #fits > 0 then
      h.harm, h.unfelt = odds.harm(fits, levels(h.e or state.e, state.y, h.most), says)
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
-- @param slow what speaks for that the node was slow then
function weights.add_hidden(h, slow)
   local hidden = HIDDEN * slow * math.min(1, h.harm)
   if hidden > h.harm then
      h.weight, h.harm = h.weight * hidden / h.harm, hidden
   end
end

return weights
