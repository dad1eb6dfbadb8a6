--- What a job did more of than like runs: never blamed, said where nothing else explains. Pure.
--
-- More work shows in all that a job does much of. What it does little of (a log, the traffic of a client that has
-- nothing to do) follows the clock: it grows with a job's time, whatever the reason. CPU time does, too, as who waits
-- for a slow node spins.
local causes = require("syscheck.questions.why.causes")
local expected = require("syscheck.questions.why.expected")

local work = {}

local MIN_LIKE = expected.MIN
local SMALL = 0.05 -- a stream with less than such a share of the largest says nothing
local MORE = 3 -- how much likelier more work is than the same, to be believed
-- P that a stream has so much more for no reason; with more work, that it stays as it is, that it grows as the time
-- does, else that it grows by half to twice of that (on logarithms).
local ANYHOW, ANYHOW_WIDE, STAYS, LINEAR, LEAST, MOST = 0.03, 3, 0.25, 0.4, 0.5, 2

-- Mean over a run's nodes: often one of them writes for all.
local function mean(rows, name)
   local sum, n = 0, 0
   for _, row in ipairs(rows) do
      if type(row[name]) == "number" then
         sum, n = sum + row[name], n + 1
      end
   end
   return n > 0 and sum / n or nil
end

-- A stream's amounts in like runs, as expected.of has them.
local function usual(state, field)
   local list = {}
   for _, rows in ipairs(state.like) do
      local v = mean(rows, field.name)
      list[#list + 1] = v and v > 0 and { begin_s = rows.begin_s or state.begin_s, elapsed_s = v } or nil
   end
   return #list >= MIN_LIKE and expected.of(list, state.begin_s) or nil
end

-- Those that say something: { field, own (the job's, not its nodes'), amount, e }.
local function streams(state)
   local list, largest, own = {}, 0, false
   for _, field in ipairs(causes.WORK) do
      local now = mean(state.rows, field.name)
      local e = now and now > 0 and usual(state, field)
      if e then
         list[#list + 1] = { field = field, own = field.path[1] == "cgroup", amount = now, e = e }
         own = own or list[#list].own
         largest = math.max(largest, e.median_s, now)
      end
   end
   local out = {}
   for _, one in ipairs(list) do
      -- What a node counts is its jobs' together.
      local mine = one.own or not own and not (state.rows[1] and state.rows[1].others)
      out[#out + 1] = mine and math.max(one.amount, one.e.median_s) >= SMALL * largest and one or nil
   end
   return out
end

-- How much better more work explains an amount than the same work.
-- @param longer log of the job's time to what was expected
local function factor(one, longer)
   local y, clock = math.log(one.amount), one.field.work
   local same, linear = expected.density(one.e, y, 0), expected.density(one.e, y, longer)
   local more = (expected.tail(one.e, y - MOST * longer) - expected.tail(one.e, y - LEAST * longer))
      / ((MOST - LEAST) * longer)
   return (STAYS * same + LINEAR * linear + (1 - STAYS - LINEAR) * more)
      / ((1 - clock - ANYHOW) * same + clock * linear + ANYHOW / ANYHOW_WIDE)
end

--- @param state { rows, like = list of rows of like runs, each list with begin_s; begin_s; e; y }
-- @return list of { name, label, ratio (to what was expected), p, factor }, what grew most surely first; how much
--   likelier the amounts are with more work than without (1: not known)
function work.more(state)
   local out, sum = {}, 1
   local longer = state.e.median_s and state.y and state.y - math.log(state.e.median_s)
   for _, one in ipairs(streams(state)) do
      local bf = longer and longer > 0 and factor(one, longer) or 1
      sum = sum * bf
      out[#out + 1] = { name = one.field.name, label = one.field.label, ratio = one.amount / one.e.median_s,
         p = expected.tail(one.e, math.log(one.amount)), factor = bf }
   end
   table.sort(out, function(a, b)
      if a.p ~= b.p then
         return a.p < b.p
      end
      return a.name < b.name
   end)
   return out, sum
end

--- Whether a job did more than its like runs, and is not as likely to have done the same.
-- @param state as of work.more
function work.did_more(state)
   return select(2, work.more(state)) >= MORE
end

--- Whether most of some runs did.
-- @param runs list of { rows, begin_s, elapsed_s }
-- @param like list of rows of like runs, each list with begin_s
-- @param e_of function(run) -> of expected.of: what it should have taken
function work.most_did_more(runs, like, e_of)
   local count = 0
   for _, run in ipairs(runs) do
      local more = work.did_more({ rows = run.rows, like = like, begin_s = run.begin_s, e = e_of(run),
         y = math.log(run.elapsed_s) })
      count = count + (more and 1 or 0)
   end
   return 2 * count > #runs
end

return work
