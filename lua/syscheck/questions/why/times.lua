--- How long runs took and should have taken, read from the store: each kind of job (same cluster, user,
-- name and node count) once.
local expected = require("syscheck.questions.why.expected")
local fields = require("syscheck.catalogue.fields")
local rows = require("syscheck.questions.why.rows")
local statistics = require("syscheck.lib.statistics")
local store_runs = require("syscheck.store.runs")

local times = {}
times.__index = times

local EACH = 20 -- like runs before and after, the nearest
local OF_ONE = 16 -- nodes of a run whose times are read, where the run does not hold its own
local NEAR = 12 -- runs of a kind so many apart have the same like runs
local WITHOUT = 0.15 -- share of a kind's runs that one node's are to be, to count
local SLOWER = 0.03 -- on logarithms

local KIND = "SELECT r.user, r.name, r.nodes, r.cluster, r.begin_s, r.elapsed_s, r.seen FROM run r WHERE r.id = ?"
local LIKE = "SELECT r.id, r.seen, r.begin_s, r.elapsed_s FROM run r WHERE r.user = ? AND r.name = ? AND r.nodes = ? "
   .. "AND r.cluster = ? AND r.id "
local OLDER = LIKE .. "< ? ORDER BY r.id DESC LIMIT " .. EACH
local NEWER = LIKE .. "> ? ORDER BY r.id LIMIT " .. EACH
local TIMES = "SELECT j.run, j.elapsed_s FROM job_node j WHERE j.run"
local SHARE_OF_TIMES = TIMES .. " = ? AND (j.key & 1023) < ?"

function times.new(store)
   return setmetatable({ store = store, kinds = {}, runs = {}, troubled = {}, own_name = times.own_name(store) }, times)
end

--- What the store calls the name of syscheck's own jobs, which are no kind of like runs; nil where it has none.
function times.own_name(store)
   local row = store:row("SELECT w.id FROM word w WHERE w.text = ?", fields.OWN_JOB)
   return row and row[1]
end

--- A run's time: the median of its nodes', as one late epilog is not the job. Each by its own
-- clock: from the first begin to the last end would add what clocks differ by.
-- @param list of { elapsed_s }
-- @return seconds; nil where no node knows it
function times.elapsed(list)
   local values = {}
   for _, row in ipairs(list) do
      values[#values + 1] = row.elapsed_s
   end
   return store_runs.elapsed(values)
end

--- Fills in how long runs took; of large ones a share of the nodes is read.
-- @param list of { key, seen, elapsed_s }, the last where it is known already
function times.add_elapsed(store, list)
   local by_key, small = {}, {}
   for _, run in ipairs(list) do
      if run.elapsed_s then
         run.elapsed_s = run.elapsed_s > 0 and run.elapsed_s or nil
      elseif run.seen <= OF_ONE then
         small[#small + 1], by_key[run.key] = run.key, run
      else
         local of = {}
         for t in store:rows(SHARE_OF_TIMES, run.key, math.ceil(1024 * OF_ONE / run.seen)) do
            of[#of + 1] = { elapsed_s = t[2] }
         end
         run.elapsed_s = times.elapsed(of)
      end
   end
   local of = {}
   rows.each_of(store, TIMES, small, function(t)
      of[t[1]] = of[t[1]] or {}
      table.insert(of[t[1]], { elapsed_s = t[2] })
   end)
   for key, run in pairs(by_key) do
      run.elapsed_s = times.elapsed(of[key] or {})
   end
end

-- Runs around one: list of { key, seen, begin_s, elapsed_s }.
function times:around(kind, key)
   local found = {}
   for _, text in ipairs({ OLDER, NEWER }) do
      for t in self.store:rows(text, kind[1], kind[2], kind[3], kind[4], key) do
         found[#found + 1] = { key = t[1], seen = t[2] or 0, begin_s = t[3], elapsed_s = t[4] }
      end
   end
   times.add_elapsed(self.store, found)
   return found
end

local function known(run)
   return run.elapsed_s and run.begin_s
end

--- Where some of a kind's runs are many and slower than the others, they raise what is expected of it.
-- @param runs each with y, the log of its time
-- @param some function(run) -> whether it is one of these
-- @param count how many of these there are
-- @return the others; nil: these make no difference, or too few are left
function times.raised_by(runs, some, count)
   if count == 0 or count < WITHOUT * #runs or #runs - count < expected.MIN then
      return nil
   end
   local rest, ys, others = {}, {}, {}
   for _, run in ipairs(runs) do
      if some(run) then
         ys[#ys + 1] = run.y
      else
         rest[#rest + 1], others[#others + 1] = run, run.y
      end
   end
   return statistics.median(ys) > statistics.median(others) + SLOWER and rest or nil
end

--- What a run was expected to take by those of its kind that lack something which may have slowed the others.
-- @param run of times.of
-- @param has function(like run) -> whether it has that; nil: not known
-- @return of expected.of: run.e, where it makes no difference, or too few are left
function times.without(run, has)
   if run.e.slope ~= 0 then
      return run.e -- whether that or time made them longer nobody can tell
   end
   local sure, count = {}, 0
   for _, one in ipairs(run.like) do
      local is = has(one)
      one.y = one.y or math.log(one.elapsed_s)
      sure[#sure + 1], count = is ~= nil and one or nil, count + (is and 1 or 0)
   end
   local rest = times.raised_by(sure, has, count)
   return rest and expected.of(rest, run.begin_s, run.seen) or run.e
end

-- The same of like runs that were not in trouble; e.troubled is then how many were.
local function without_troubled(run, has)
   -- One of two usual times is no trouble; nor is a trend one that only some of the runs have.
   local one_kind = run.e and (run.e.front or #run.e.modes == 1)
   local e = has and one_kind and times.without(run, has)
   if e and e ~= run.e and e.slope == 0 then
      e.troubled = 0
      for _, one in ipairs(run.like) do
         e.troubled = e.troubled + (has(one) and 1 or 0)
      end
      run.e = e
   end
end

--- Compares a run, and those of its kind that are read after it, with like runs that were not in trouble.
-- @param has of untroubled.of, or nil
function times:leave_out(run, has)
   if has then
      self.troubled[run.kind] = has
      without_troubled(run, has)
   end
end

--- Whether runs were on a node, as times.without asks it.
-- @param around of rows.runs_around
function times.on(around)
   return function(run)
      if not around.runs[run.key] and (run.begin_s < around.from_s or run.begin_s > around.to_s) then
         return nil
      end
      return around.runs[run.key] or false
   end
end

--- What a run's time was and should have been.
-- @param key of table run
-- @param near true: the like runs of one that is near will do
-- @return { kind (text, or nil: not known), begin_s, elapsed_s, like = list of { key, seen, begin_s, elapsed_s },
--   e = of expected.of or nil, y = log of elapsed_s }
function times:of(key, near)
   if self.runs[key] then
      return self.runs[key]
   end
   local t = self.store:row(KIND, key)
   local run = { key = key, begin_s = t and t[5], elapsed_s = t and t[6], seen = t and t[7] or 0, like = {} }
   self.runs[key] = run
   times.add_elapsed(self.store, { run })
   if not (t and t[1] and t[2] and t[3] and run.begin_s) or t[2] == self.own_name then
      return run
   end
   run.kind = ("%s %s %s %s"):format(t[1], t[2], t[3], t[4])
   local list
   for _, one in ipairs(near and self.kinds[run.kind] or {}) do
      list = (one.at[key] or math.maxinteger) <= NEAR and one.list or list
   end
   if not list then
      list = self:around(t, key)
      local own, at = { key = key, seen = run.seen, begin_s = run.begin_s, elapsed_s = run.elapsed_s }, { [key] = 0 }
      local older, newer = 0, 0
      for _, one in ipairs(list) do
         older, newer = older + (one.key < key and 1 or 0), newer + (one.key > key and 1 or 0)
         at[one.key] = one.key < key and older or newer
      end
      list[#list + 1] = own
      self.kinds[run.kind] = self.kinds[run.kind] or {}
      table.insert(self.kinds[run.kind], { list = list, at = at })
   end
   for _, one in ipairs(list) do
      run.like[#run.like + 1] = one.key ~= key and known(one) and one or nil
   end
   run.y = run.elapsed_s and math.log(run.elapsed_s)
   run.e = #run.like >= expected.MIN and expected.of(run.like, run.begin_s, run.seen) or nil
   without_troubled(run, self.troubled[run.kind])
   return run
end

return times
