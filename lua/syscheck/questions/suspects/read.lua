--- What logic.lua weighs, read from the store: one kind of job at a time.
local checks = require("syscheck.questions.suspects.checks")
local classes = require("syscheck.questions.why.classes")
local conditions = require("syscheck.questions.suspects.conditions")
local expected = require("syscheck.questions.why.expected")
local hostlist = require("syscheck.lib.hostlist")
local hours = require("syscheck.questions.suspects.hours")
local odds = require("syscheck.questions.why.odds")
local racks = require("syscheck.questions.suspects.racks")
local statistics = require("syscheck.lib.statistics")
local suspects = require("syscheck.questions.suspects.logic")
local times = require("syscheck.questions.why.times")
local uplinks = require("syscheck.questions.suspects.uplinks")
local why = require("syscheck.questions.why.logic")
local why_read = require("syscheck.questions.why.read")
local words = require("syscheck.questions.why.words")

local data = {}

local MIN_RUNS = 4 -- of a kind, to know what they take
-- Standard errors of a difference of medians from which it is one.
local SURE, MEDIAN_SE, LEAST_SD = 2, 1.25, 0.02
local BLOCK = 40 -- runs of a kind, in order of time, that are each other's like runs
local SEEN = 0.5 -- mean probability of a cause in these from which it is a suspect's that no counter showed
local CLEAR = racks.CLEAR
local LOOKED = 5 -- slow runs of a suspect that are looked at for its condition
local SHOWN = 2 -- of these, least that show it: what one does `why` may be wrong in
local CERTAIN = LOOKED * math.log(20) -- log of its odds from which these need not show it: 20 for each
local MOST_LOOKED = 1000 -- of all suspects: 0.1 s of CPU each

local RUNS = [[SELECT r.user, r.name, r.nodes, r.cluster, r.id, r.begin_s, r.seen, r.job_id, r.elapsed_s FROM run r
   WHERE r.begin_s >= ? AND r.user IS NOT NULL AND r.name IS NOT NULL AND r.nodes IS NOT NULL
   ORDER BY r.user, r.name, r.nodes, r.cluster, r.begin_s]]
local NODES = "SELECT j.run, j.node, j.class FROM job_node j WHERE j.key >= ? ORDER BY j.key"

-- What a run of a kind was expected to take, and took.
-- @param e of expected.of, for a run that began at middle_s
-- @return e, y, ratio of a run
local function time_of(run, e, middle_s)
   local y = math.log(run.elapsed_s) - e.slope * (run.begin_s - middle_s) / 86400
   return e, y, math.exp(y) / e.median_s
end

-- Scores of a block of one kind's runs.
local function finish_block(list, state)
   list.middle_s = list[1] and list[(#list + 1) // 2].begin_s
   local e = #list >= MIN_RUNS and expected.of(list, list.middle_s, list[1].seen)
   for _, run in ipairs(e and list or {}) do
      run.e, run.y, run.ratio = time_of(run, e, list.middle_s)
      run.block = list
      state.by_key[run.key] = run
      table.insert(state.own, odds.own_fit(e, run.y))
   end
   return e
end

local function ys_of(runs)
   local out = {}
   for i, run in ipairs(runs) do
      out[i] = run.y
   end
   return out
end

-- Of the many parts that a kind's runs are divided into some are slower by chance, and what was then expected of them
-- would be too little.
local function surely_slower(mine, rest)
   local median, sd = statistics.robust(ys_of(rest))
   local se = MEDIAN_SE * math.max(LEAST_SD, sd) * math.sqrt(1 / #mine + 1 / #rest)
   return statistics.median(ys_of(mine)) - median >= SURE * se
end

-- Where a node, or a rack, was in many runs of a block, and those were slower than the others, it may have raised what
-- was expected of them: then the others say it.
local function without(who, runs, own)
   local of, is_mine = {}, {}
   for _, run in ipairs(runs) do
      of[run.block] = of[run.block] or {}
      table.insert(of[run.block], run)
      is_mine[run] = true
   end
   local function some(run)
      return is_mine[run]
   end
   for block, mine in pairs(of) do
      -- Where times have a trend nobody can tell whether a node or time made them longer.
      local rest = block[1].e.slope == 0 and times.raised_by(block, some, #mine)
      rest = rest and #rest >= MIN_RUNS and surely_slower(mine, rest) and rest
      local e = rest and expected.of(rest, block.middle_s, block[1].seen)
      for _, run in ipairs(e and e.slope == 0 and mine or {}) do
         local one = {}
         one.e, one.y, one.ratio = time_of(run, e, block.middle_s)
         one.fits = suspects.fits(e, one.y, own)
         run.of = run.of or {}
         run.of[who] = one
      end
   end
end

local function is_slow(one)
   return one.ratio >= suspects.SLOW and suspects.most_of(one.fits) > 1
end

-- What their times say, now that it is known how often runs are slow for reasons of their own.
local function rate(state)
   state.own_share = odds.own_of_level(state.own)
   for _, run in pairs(state.by_key) do
      run.fits = suspects.fits(run.e, run.y, state.own_share)
      run.slow = is_slow(run)
   end
end

local function finish(store, list, state)
   times.add_elapsed(store, list)
   local known = {}
   for _, run in ipairs(list) do
      known[#known + 1] = run.elapsed_s and run
   end
   local blocks = math.max(1, #known // BLOCK)
   local any
   for b = 1, blocks do
      local from, to = 1 + (b - 1) * #known // blocks, b * #known // blocks
      any = finish_block(table.move(known, from, to, 1, {}), state) or any
   end
   state.kinds = state.kinds + (any and 1 or 0)
   for _, run in ipairs(known) do
      run.kind = state.kinds
   end
end

-- Those that have runs.
local function nodes_of(store, by_node)
   local out = {}
   for t in store:rows("SELECT n.id, n.name, n.cluster, n.leaf FROM node n") do
      out[#out + 1] = by_node[t[1]] and { id = t[1], name = t[2], cluster = t[3], leaf = t[4] }
   end
   return out
end

--- @param since epoch seconds
-- @return hypotheses, runs by node and what comes last, as suspects.find wants them; { runs, compared = how many of
--   them have like runs, kinds, slow, nodes }
function data.read(store, since)
   local state = { kinds = 0, slow = 0, by_key = {}, own = {} }
   local kind, of, total = {}, nil, 0
   local own = times.own_name(store)
   for t in store:rows(RUNS, since) do
      local now = ("%s %s %s %s"):format(t[1], t[2], t[3], t[4])
      if now ~= of then
         finish(store, kind, state)
         kind, of = {}, now
      end
      total = total + (t[2] ~= own and 1 or 0)
      kind[#kind + 1] = t[2] ~= own and { key = t[5], begin_s = t[6], seen = t[7] or 0, job_id = t[8],
         elapsed_s = t[9], user = t[1], cluster = t[4] } or nil
   end
   finish(store, kind, state)
   rate(state)
   local by_node, class_of, nodes, rated = {}, {}, 0, classes.rated_as(store)
   for t in store:rows(NODES, math.tointeger(since) << 30) do
      local run = state.by_key[t[1]]
      if run then
         if not by_node[t[2]] then
            by_node[t[2]], nodes = {}, nodes + 1
         end
         table.insert(by_node[t[2]], run)
         class_of[t[2]] = rated(t[2], t[3])
      end
   end
   for node, runs in pairs(by_node) do
      without(node, runs, state.own_share)
      table.sort(runs, suspects.earlier)
      for _, run in ipairs(runs) do
         run.slow = run.slow or is_slow(suspects.seen(run, node))
      end
   end
   local listed = nodes_of(store, by_node)
   local all, leaves = racks.of(listed), uplinks.of(listed, by_node)
   for _, rack in ipairs(all) do
      rack.runs = racks.runs(rack, by_node)
      without(rack, rack.runs, state.own_share)
   end
   for _, leaf in ipairs(leaves) do
      without(leaf, leaf.runs, state.own_share)
      for _, run in ipairs(leaf.runs) do
         run.slow_away = run.slow_away or is_slow(suspects.seen(run, leaf))
      end
   end
   local runs = {}
   for _, run in pairs(state.by_key) do
      state.slow = state.slow + (run.slow and 1 or 0)
      runs[#runs + 1] = run
   end
   table.sort(runs, suspects.earlier)
   local list = conditions.hypotheses(store, since, state.by_key, by_node, all, class_of, rated, state.own_share)
   local checked = checks.hypotheses(store, since, by_node, rated, state.own_share)
   table.move(checked, 1, #checked, #list + 1, list)
   local function between(explained)
      return uplinks.hypotheses(leaves, state.slow / math.max(1, #state.own), explained)
   end
   local function by_hours(explained)
      return hours.find(all, by_node, runs, explained)
   end
   return list, by_node, { hours = by_hours, uplinks = between },
      { runs = total, compared = #state.own, kinds = state.kinds, slow = state.slow, nodes = nodes }
end

local RUN = [[SELECT r.id, r.begin_s, r.end_s, r.seen, r.nodes FROM run r WHERE r.id = ?]]

-- What `why` says of a run, as little as is needed of it: list of { group, node, nodes, probability, name (of the
-- number that says most), text, on (the node that this is of) }; nodes = how many the run has. Of a run that was
-- deleted meanwhile an empty list.
local function explain(store, run, job_id)
   local t, out = store:row(RUN, run), {}
   if not t then
      return out
   end
   local input, name = why_read.read(store, { key = t[1], begin_s = t[2], end_s = t[3], seen = t[4], nodes = t[5] })
   out.nodes = #input.rows
   for i, h in ipairs(why.analyse(input).explanations) do
      local e = h.best and words.main(h)
      out[i] = { group = h.group, all = h.where == "all", node = h.node, nodes = h.nodes,
         probability = why.of_node(h), name = e and e.name, text = e and words.evidence(e, "job " .. job_id),
         on = e and (h.where == "all" and ("all nodes of job %d"):format(job_id)
            or name(h.node or h.nodes and (h.best.node or h.nodes[1]))) }
   end
   return out
end

-- What `why` says of a suspect's clearest runs, of each run once.
-- @param explained of explain by run, as a rack's suspects have the same ones, and n of them; filled in
-- @return list of explain; one.looked = how many there still were
local function look(store, one, explained)
   local out = {}
   table.sort(one.slow, function(a, b)
      return a.fit > b.fit or a.fit == b.fit and a.key < b.key
   end)
   one.looked = 0
   for i = 1, math.min(LOOKED, #one.slow) do
      local run = one.slow[i].key
      if not explained[run] then
         explained[run], explained.n = explain(store, run, one.slow[i].job_id), explained.n + 1
      end
      one.looked = one.looked + (explained[run].nodes and 1 or 0)
      out[i] = explained[run]
   end
   table.sort(one.slow, function(a, b)
      return suspects.earlier(b, a)
   end)
   return out
end

-- How likely `why` takes each group, unlike a node's own, for the reason of a suspect's clearest runs: sums over these.
local function said_of(store, one, explained)
   local sums = setmetatable({}, { __index = function()
      return 0
   end })
   for _, run in ipairs(look(store, one, explained)) do
      for _, h in ipairs(run) do
         sums[h.group] = sums[h.group] + h.probability
      end
   end
   return sums
end

local function name_of(store, node)
   local t = store:row("SELECT n.name FROM node n WHERE n.id = ?", node)
   return t and t[1] or ("%d"):format(node)
end

-- A suspect that is no node: a leaf's uplinks, or a rack's hours. `why` knows neither, and says that nothing recorded
-- explains these runs, or that they did more: which many users' runs do not in the same hours.
-- @return whether it is one: another job's work or a file system's, or more work on some leaves, is not the likelier,
--   and, of uplinks, other runs say so, too
local function describe_several(store, one, explained, by_others)
   local said = said_of(store, one, explained)
   if one.uplink then
      one.name, one.members = one.uplink.leaf, one.uplink.names
      return uplinks.confirm(one, by_others) and said.unknown + said.unrecorded > said.neighbour + said.input
   end
   one.members = {}
   for i, node in ipairs(one.rack) do
      one.members[i] = name_of(store, node)
   end
   one.name = hostlist.fold(one.members)
   return said.neighbour + said.storage <= SEEN * one.looked
end

-- Fills in the condition of a suspect that explains most of its slow runs, how many were looked at, and
-- its name.
-- @param one of suspects.find
-- @param explained as of look
-- @param by_others of suspects.find: what explains runs already
-- @return whether `why` sees its condition in its clearest runs, or lists it and its odds are beyond doubt, and does
--   not take another node's trouble, another job's work, or more of its own, for it
local function describe(store, one, explained, by_others)
   if not one.node then
      return describe_several(store, one, explained, by_others)
   end
   local by_group, best, of_node, elsewhere = {}, nil, 0, 0
   local sums, its = { neighbour = 0, input = 0 }, { [one.node] = true }
   for i, run in ipairs(look(store, one, explained)) do
      for _, h in ipairs(run) do
         local is = racks.is_of(h, its)
         if is and h.group == "neighbour" or h.group == "input" then
            sums[h.group] = sums[h.group] + h.probability
         elseif is then
            of_node = of_node + h.probability
         elseif h.node or h.nodes or h.all then
            elsewhere = elsewhere + h.probability
         end
         if is and h.text then
            local b = by_group[h.group] or { group = h.group, runs = 0, told = 0, share = 0, first = h }
            by_group[h.group] = b
            b.runs, b.last = b.runs + (b.last ~= i and 1 or 0), i
            b.share = b.share + h.probability
            if h.probability >= CLEAR and b.told_at ~= i then
               b.told, b.told_at = b.told + 1, i
            end
            -- Its own numbers before those of nodes that have the same, the likeliest first.
            if not b.first.node and h.node or (not b.first.node) == (not h.node)
               and h.probability > b.first.probability then
               b.first = h
            end
            best = (not best or b.share > best.share) and b or best
         end
      end
   end
   -- Its clearest runs may show another condition than its times do, or one where those showed none.
   local own, others = by_group[one.group], math.max(sums.neighbour, sums.input)
   local shown = best and best.group ~= "neighbour" and best.share >= SEEN * one.looked and best or nil
   local clear = own and own.runs >= SHOWN and own.share > math.max(others, CLEAR * one.looked)
   local certain = own and own.runs >= SHOWN and one.weight >= CERTAIN
      and math.max(others, elsewhere) <= SEEN * one.looked
   one.condition = shown or (clear or certain) and own or nil
   local seen = one.condition ~= nil or one.group == "unrecorded" and of_node > math.max(others, CLEAR * one.looked)
   one.name = name_of(store, one.node)
   return seen
end

-- What `why` says of the clearest runs of several nodes, of each run once.
local function look_at_all(store, list, explained)
   local out, has = {}, {}
   for _, one in ipairs(list) do
      for _, run in ipairs(look(store, one, explained)) do
         out[#out + 1] = not has[run] and run.nodes and run or nil
         has[run] = true
      end
   end
   return out
end

--- Nodes that slowed their jobs.
-- @param since epoch seconds
-- @param most slow runs that are looked at, default 1000
-- @return list of suspects.find of those that `why` sees in their clearest runs, too, with name, condition, looked; of
--   a leaf's uplinks members (names of its nodes) and what uplinks.confirm adds;
--   totals as of data.read, and complete = false where not all that may be suspects were looked at
function data.find(store, since, most)
   local list, of, last, totals = data.read(store, since)
   local explained = { n = 0 }
   totals.complete = true
   local found = suspects.find(list, of, last, function(one, by_others)
      totals.complete = totals.complete and explained.n < (most or MOST_LOOKED)
      if totals.complete then
         return describe(store, one, explained, by_others)
      end
   end, function(ones, members, known)
      return racks.shown(look_at_all(store, ones, explained), ones[1].group, members, known)
   end)
   for _, one in ipairs(found) do
      one.condition = one.condition or one.as
   end
   return found, totals
end

return data
