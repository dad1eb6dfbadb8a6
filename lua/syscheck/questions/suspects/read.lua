--- What logic.lua counts, read from the store in bounded memory: one kind of job at a time.
local suspects = require("syscheck.questions.suspects.logic")
local why = require("syscheck.questions.why.logic")
local why_read = require("syscheck.questions.why.read")

local data = {}

local MOST_SLOW = 5000 -- slow runs that are looked at: the newest
local SAMPLE = 20000 -- runs whose nodes are counted; of more, a share stands for all
local MOST_ALIKE = 100000 -- of one kind
local LOOKED = 3 -- slow runs of a suspect that are looked at for its condition: the newest

-- In the order of the index of like runs.
local RUNS = [[SELECT r.user, r.name, r.nodes, r.cluster, r.id, r.begin_s, r.seen, r.job_id, r.elapsed_s
   FROM run r WHERE r.begin_s >= ? AND r.user IS NOT NULL AND r.name IS NOT NULL AND r.nodes IS NOT NULL
   ORDER BY r.user, r.name, r.nodes, r.cluster]]
local COUNT = "SELECT count(*) FROM run r WHERE r.begin_s >= ?"
local NODES = "SELECT j.run, j.node FROM job_node j WHERE j.run"

-- Ends a kind of job: which runs were slow, and the chances of those that are sampled.
local function finish(store, found, state)
   local kind = {}
   if #found >= suspects.MIN_RUNS then
      why_read.add_elapsed(store, found)
   end
   for _, run in ipairs(found) do
      kind[#kind + 1] = run.elapsed_s and run
   end
   local slow, share = suspects.slow(kind)
   if #kind < suspects.MIN_RUNS then
      return
   end
   state.kinds = state.kinds + 1
   state.compared = state.compared + #kind
   table.move(slow, 1, #slow, #state.slow + 1, state.slow)
   for _, run in ipairs(kind) do
      -- Ids are given in order of arrival, which has nothing to do with slowness.
      if run.key % state.every == 0 then
         state.sample[#state.sample + 1] = run.key
         state.chance[run.key] = share
      end
   end
end

--- @param since epoch seconds
-- @return slow, exposure (see suspects.find), { runs, compared = how many of them, kinds, slow = how many
--   were slow, looked = how many of these, nodes }
function data.read(store, since)
   local total = store:row(COUNT, since)[1] or 0
   local state = { kinds = 0, compared = 0, slow = {}, sample = {}, chance = {},
      every = math.max(1, math.ceil(total / SAMPLE)) }
   local kind, of = {}, nil
   for t in store:rows(RUNS, since) do
      local now = ("%s %s %s %s"):format(t[1], t[2], t[3], t[4])
      if now ~= of then
         finish(store, kind, state)
         kind, of = {}, now
      end
      if #kind < MOST_ALIKE then
         kind[#kind + 1] = { key = t[5], begin_s = t[6], seen = t[7], job_id = t[8], elapsed_s = t[9] }
      end
   end
   finish(store, kind, state)
   local totals = { compared = state.compared, kinds = state.kinds, slow = #state.slow, runs = total }
   table.sort(state.slow, function(a, b)
      return a.begin_s > b.begin_s
   end)
   for i = #state.slow, MOST_SLOW + 1, -1 do
      state.slow[i] = nil
   end
   totals.looked = #state.slow
   -- Where only the newest slow runs are looked at, as many fewer are expected.
   local weight = state.every * (totals.slow > 0 and totals.looked / totals.slow or 1)
   local keys, by_key, exposure = {}, {}, {}
   for i, run in ipairs(state.slow) do
      keys[i], by_key[run.key], run.nodes = run.key, run, {}
   end
   why_read.each_of(store, NODES, keys, function(t)
      table.insert(by_key[t[1]].nodes, t[2])
   end)
   why_read.each_of(store, NODES, state.sample, function(t)
      local e = exposure[t[2]] or { runs = 0, expected = 0 }
      exposure[t[2]] = e
      e.runs, e.expected = e.runs + state.every, e.expected + weight * state.chance[t[1]]
   end)
   totals.nodes = 0
   for _ in pairs(exposure) do
      totals.nodes = totals.nodes + 1
   end
   return state.slow, exposure, totals
end

local RUN = [[SELECT r.id, r.begin_s, r.end_s, r.seen, r.nodes FROM run r WHERE r.id = ?]]

--- Fills in the condition of a suspect that most of its slow runs show, how many were looked at, and
-- its name.
-- @param one of suspects.find
function data.describe(store, one)
   local by_group, best = {}, nil
   one.looked = 0
   for i = 1, math.min(LOOKED, #one.slow) do
      local t = store:row(RUN, one.slow[i].key)
      local input = why_read.read(store, { key = t[1], begin_s = t[2], end_s = t[3], seen = t[4], nodes = t[5] })
      one.looked = one.looked + 1
      for _, c in ipairs(why.analyse(input).conditions) do
         if c.node == one.node and c.out_of_line then
            local b = by_group[c.group] or { group = c.group, runs = 0, first = c, nodes = #input.rows }
            by_group[c.group] = b
            b.runs = b.runs + 1
            if not best or b.runs > best.runs or (b.runs == best.runs and c.p < best.first.p) then
               best = b
            end
         end
      end
   end
   one.condition = best
   local t = store:row("SELECT n.name FROM node n WHERE n.id = ?", one.node)
   one.name = t and t[1] or ("%d"):format(one.node)
end

return data
