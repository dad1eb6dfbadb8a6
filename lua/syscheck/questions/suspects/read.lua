--- What logic.lua weighs, read from the store: one kind of job at a time.
local checks = require("syscheck.questions.suspects.checks")
local conditions = require("syscheck.questions.suspects.conditions")
local expected = require("syscheck.questions.why.expected")
local odds = require("syscheck.questions.why.odds")
local suspects = require("syscheck.questions.suspects.logic")
local times = require("syscheck.questions.why.times")
local why = require("syscheck.questions.why.logic")
local why_read = require("syscheck.questions.why.read")

local data = {}

local MIN_RUNS = 4 -- of a kind, to know what they take
local BLOCK = 40 -- runs of a kind, in order of time, that are each other's like runs
local SEEN = 0.5 -- mean probability of a cause in these from which it is a suspect's that no counter showed
local CLEAR = 0.25 -- mean probability of its condition in these from which `why` sees it
local LOOKED = 5 -- slow runs of a suspect that are looked at for its condition

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
   local e = #list >= MIN_RUNS and expected.of(list, list.middle_s)
   for _, run in ipairs(e and list or {}) do
      run.e, run.y, run.ratio = time_of(run, e, list.middle_s)
      run.block = list
      state.by_key[run.key] = run
      table.insert(state.own, odds.own_fit(e, run.y))
   end
   return e
end

-- Where a node was in many runs of a block, and those were slower than the others, it may have raised what was expected
-- of them: then the others say it.
local function without(node, runs, own)
   local of = {}
   for _, run in ipairs(runs) do
      of[run.block] = of[run.block] or {}
      table.insert(of[run.block], run)
   end
   for block, mine in pairs(of) do
      if #mine >= times.WITHOUT * #block and #block - #mine >= MIN_RUNS then
         local is_mine, rest, ys, others = {}, {}, {}, {}
         for _, run in ipairs(mine) do
            is_mine[run], ys[#ys + 1] = true, run.y
         end
         for _, run in ipairs(block) do
            if not is_mine[run] then
               rest[#rest + 1], others[#others + 1] = run, run.y
            end
         end
         if times.raised(ys, others) then
            local e = expected.of(rest, block.middle_s)
            for _, run in ipairs(mine) do
               local one = {}
               one.e, one.y, one.ratio = time_of(run, e, block.middle_s)
               one.fits = suspects.fits(e, one.y, own)
               run.of = run.of or {}
               run.of[node] = one
               run.slow = run.slow or one.ratio >= suspects.SLOW and math.max(table.unpack(one.fits)) > 1
            end
         end
      end
   end
end

-- What their times say, now that it is known how often runs are slow for reasons of their own.
local function rate(state)
   state.own_share = odds.own_of_level(state.own)
   for _, run in pairs(state.by_key) do
      run.fits = suspects.fits(run.e, run.y, state.own_share)
      run.slow = run.ratio >= suspects.SLOW and math.max(table.unpack(run.fits)) > 1
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
end

--- @param since epoch seconds
-- @return by node what suspects.find wants; { runs, compared = how many of them have like runs, kinds, slow, nodes }
function data.read(store, since)
   local state = { kinds = 0, slow = 0, by_key = {}, own = {} }
   local kind, of, total = {}, nil, 0
   for t in store:rows(RUNS, since) do
      local now = ("%s %s %s %s"):format(t[1], t[2], t[3], t[4])
      if now ~= of then
         finish(store, kind, state)
         kind, of = {}, now
      end
      total = total + 1
      kind[#kind + 1] = { key = t[5], begin_s = t[6], seen = t[7] or 0, job_id = t[8], elapsed_s = t[9] }
   end
   finish(store, kind, state)
   rate(state)
   local by_node, class_of, nodes = {}, {}, 0
   for t in store:rows(NODES, math.tointeger(since) << 30) do
      local run = state.by_key[t[1]]
      if run then
         if not by_node[t[2]] then
            by_node[t[2]], nodes = {}, nodes + 1
         end
         table.insert(by_node[t[2]], run)
         class_of[t[2]] = t[3]
      end
   end
   for node, runs in pairs(by_node) do
      without(node, runs, state.own_share)
      table.sort(runs, function(a, b)
         return a.begin_s < b.begin_s or a.begin_s == b.begin_s and a.key < b.key
      end)
   end
   for _, run in pairs(state.by_key) do
      state.slow = state.slow + (run.slow and 1 or 0)
   end
   local list = conditions.hypotheses(store, since, state.by_key, by_node, class_of, state.own_share)
   local checked = checks.hypotheses(store, since, by_node, state.own_share)
   table.move(checked, 1, #checked, #list + 1, list)
   return list, by_node, { runs = total, compared = #state.own, kinds = state.kinds, slow = state.slow, nodes = nodes }
end

local RUN = [[SELECT r.id, r.begin_s, r.end_s, r.seen, r.nodes FROM run r WHERE r.id = ?]]

-- Fills in the condition of a suspect that explains most of its slow runs, how many were looked at, and
-- its name.
-- @param one of suspects.find
-- @return whether `why` sees its condition in its clearest runs, and does not take another job's work for it
local function describe(store, one)
   local by_group, best = {}, nil
   one.looked = 0
   table.sort(one.slow, function(a, b)
      return a.ratio > b.ratio
   end)
   for i = 1, math.min(LOOKED, #one.slow) do
      local t = store:row(RUN, one.slow[i].key)
      -- One that was deleted meanwhile is none.
      local input = t and why_read.read(store, { key = t[1], begin_s = t[2], end_s = t[3], seen = t[4], nodes = t[5] })
      one.looked = one.looked + (t and 1 or 0)
      for _, h in ipairs(input and why.analyse(input).explanations or {}) do
         if h.node == one.node and h.best then
            local b = by_group[h.group] or { group = h.group, runs = 0, share = 0, first = h, nodes = #input.rows }
            by_group[h.group] = b
            b.runs, b.share = b.runs + 1, b.share + h.probability
            best = (not best or b.share > best.share) and b or best
         end
      end
   end
   -- What no counter shows in its times may be what they show in its clearest runs.
   local shown = one.group == "unrecorded" and best and best.share >= SEEN * one.looked and best or nil
   one.condition = by_group[one.group] or shown
   local own, neighbour = by_group[one.group], by_group.neighbour and by_group.neighbour.share or 0
   local seen = own and own.share > math.max(neighbour, CLEAR * one.looked)
      or one.group == "unrecorded" and neighbour < 0.5 * one.looked
   table.sort(one.slow, function(a, b)
      return a.begin_s > b.begin_s
   end)
   local t = store:row("SELECT n.name FROM node n WHERE n.id = ?", one.node)
   one.name = t and t[1] or ("%d"):format(one.node)
   return seen
end

--- @param list of suspects.find
-- @return those that `why` sees in their clearest runs, too, with name, condition, looked
function data.described(store, list)
   local out = {}
   for _, one in ipairs(list) do
      out[#out + 1] = describe(store, one) and one or nil
   end
   return out
end

return data
