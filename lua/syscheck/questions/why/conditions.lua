--- Conditions of a job's nodes: which are out of line, how surely, and what time they may
-- have cost. Pure. Rows are those of logic.lua.
--
-- state: rows (of the job), elapsed (its time), like (rows of each normal like run), others
-- (rows of each other run), checks (by class and metric); filled are nodes and jobs (what was
-- found of single nodes, of all together), metrics, job_metrics (how many of each group were
-- looked at; that a metric has n nodes is in its p) and looked (how many values).
local causes = require("syscheck.questions.why.causes")
local parts = require("syscheck.questions.why.parts")
local reference = require("syscheck.questions.why.reference")
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")

local conditions = {}

local CANDIDATES = 12 -- nodes looked at closely per metric
local SUMS = { time = true, count = true, traffic = true }
local ALL_BUT = 8 -- one of so many may be without what all have
local MANY_BUT = 32 -- one of so many, and of fewer one, may have idled: all had it then
local ALL_BUT_WORK = 4 -- of what depends on how much of the job's work a node did, less than one of so many
-- So much of what the median is beyond the usual, on a metric's scale; of what depends on a node's work.
local ALL_HAVE, ALL_HAVE_WORK = 0.25, 0.1
local CLASS_NODES = 8 -- nodes of a class, to know what it is set to
local MIN_RUNS = 3 -- like runs, to know what is normal for a job of this kind

-- Scaled values of a metric in a run: list of { x, node, row }, and sorted numbers. How hot a node is is its class's:
-- of the one that most are of.
local function scaled(item, rows)
   local list, sorted = {}, {}
   local class = item.kind == "temperature" and causes.main_class(rows)
   for _, row in ipairs(rows) do
      local x = causes.of_row(item, row)
      if x and (not class or (row.class or 0) == class) then
         list[#list + 1] = { x = x, node = row.node, row = row }
         sorted[#sorted + 1] = x
      end
   end
   table.sort(sorted)
   return list, sorted
end

--- Counts a metric that was looked at.
function conditions.looked_at(metrics, item)
   metrics[item.group] = (metrics[item.group] or 0) + 1
end

-- Adds to `pool` how far each node of a run is from the median of its peers.
-- @return the one that is farthest
local function add_residuals(pool, list, sorted)
   local top
   for _, one in ipairs(sorted[2] and list or {}) do
      local new = { x = one.x - statistics.median_without(sorted, one.x), node = one.node }
      pool[#pool + 1] = new
      top = (not top or new.x > top.x) and new or top
   end
   return top
end

-- Adds a row's events and time to `sum`, of its node and in all.
local function expose(sum, item, rows)
   for _, row in ipairs(rows) do
      local v, t = row[item.name], row.elapsed_s
      if type(v) == "number" and v >= 0 and type(t) == "number" and t > 0 then
         local one = sum.of[row.node] or { events = 0, time = 0 }
         sum.of[row.node] = one
         one.events, one.time = one.events + v, one.time + t
         sum.events, sum.time = sum.events + v, sum.time + t
      end
   end
end

-- Events and time of each node, and in all, in the job's rows and all others'.
local function exposure(state, item)
   local sum = { events = 0, time = 0, of = {} }
   for _, runs in ipairs({ { state.rows }, state.like, state.others }) do
      for _, rows in ipairs(runs) do
         expose(sum, item, rows)
      end
   end
   return sum
end

-- P of a node's events, were they as frequent everywhere (exact).
local function p_of_events(sum, item, row)
   local own = sum.of[row.node]
   local rest = sum.time - own.time
   return rest > 0 and stats.counts(row[item.name], row.elapsed_s, sum.events - own.events, rest) or 1
end

-- How far nodes are from the median of their peers.
-- @param runs of the like runs: list of { list, sorted } as of scaled
-- @return { pool = reference: in all runs; tops = reference: the worst node of each like run, or nil; sampled = how
--   many times more nodes this job has than those runs' rows }
local function against_peers(state, item, own, own_sorted, runs)
   local pool, tops, like_rows = {}, {}, 0
   for _, run in ipairs(runs) do
      local top = add_residuals(pool, run.list, run.sorted)
      tops[#tops + 1] = top
      like_rows = like_rows + (top and #run.list or 0)
   end
   add_residuals(pool, own, own_sorted)
   for _, rows in ipairs(state.others) do
      add_residuals(pool, scaled(item, rows))
   end
   -- Of large like runs a share of the nodes is read: their worst is not the worst of all.
   return { pool = reference.of(pool), tops = #tops >= MIN_RUNS and reference.of(tops) or nil,
      sampled = like_rows > 0 and math.max(1, #own * #tops / like_rows) or 1 }
end

-- The same of a node without peers: how far levels are from the usual one.
local function against_usual(levels, usual)
   local pool = {}
   for i, one in ipairs(levels) do
      pool[i] = { x = one.x - usual, node = one.node }
   end
   return { pool = reference.of(pool) }
end

-- What the job's like runs, and anybody's runs, show of a metric.
-- @return { nodes = function() -> as of against_peers, which is most of the work; usual = level in like runs or nil;
--   levels = of their nodes, medians = of each like run }
local function background(state, item, own, own_sorted)
   local levels, medians, runs = {}, {}, {}
   for _, rows in ipairs(state.like) do
      local list, sorted = scaled(item, rows)
      if sorted[1] then
         runs[#runs + 1] = { list = list, sorted = sorted }
         table.move(list, 1, #list, #levels + 1, levels)
         medians[#medians + 1] = statistics.median_sorted(sorted)
      end
   end
   if #own == 1 and not levels[1] then
      for _, rows in ipairs(state.others) do
         local list = scaled(item, rows)
         table.move(list, 1, #list, #levels + 1, levels)
      end
   end
   local usual = levels[1] and statistics.median_sorted(reference.numbers(levels)) or nil
   if #own == 1 then
      -- A node without peers: the level itself, in like runs on other nodes; without those, in any.
      local others = {}
      for _, one in ipairs(levels) do
         others[#others + 1] = one.node ~= own[1].node and one or nil
      end
      usual = #others >= MIN_RUNS and statistics.median_sorted(reference.numbers(others)) or usual
   end
   local back, nodes = { usual = usual, levels = levels, medians = medians }, nil
   function back.nodes()
      nodes = nodes or (#own > 1 and against_peers(state, item, own, own_sorted, runs) or against_usual(levels, usual))
      return nodes
   end
   return back
end

-- What nodes are set to (rates) is their class's to say: where half of a job's nodes have less, or this node is in most
-- like runs, its peers and those say nothing. One value of each node.
-- @return function(class) -> { pool = reference, usual }, or nil; whether nodes of a class differ in it at all
local function by_class(state, item)
   local lists = { state.rows }
   table.move(state.like, 1, #state.like, #lists + 1, lists)
   table.move(state.others, 1, #state.others, #lists + 1, lists)
   local of, known, differ = reference.by_class(item, lists), {}, false
   for _, list in pairs(of) do
      for _, one in ipairs(list) do
         differ = differ or one.x ~= list[1].x
      end
   end
   return function(class)
      class = class or 0
      local list = of[class]
      if #list <= CLASS_NODES then
         return nil
      end
      if not known[class] then
         local usual = statistics.median_sorted(reference.numbers(list))
         for _, one in ipairs(list) do
            one.x = one.x - usual
         end
         known[class] = { pool = reference.of(list), usual = usual }
      end
      return known[class]
   end, differ
end

-- @param class_of of by_class, for rates
local function add_nodes(state, item, own, own_sorted, back, class_of)
   for _, one in ipairs(own) do
      -- Out of line is what exceeds both its peers and what this job is used to.
      local peers = #own > 1 and statistics.median_without(own_sorted, one.x) or -math.huge
      one.usual = math.max(peers, back.usual or -math.huge)
      one.of = one.x <= one.usual and class_of and class_of(one.row.class) or nil
      one.usual = one.of and one.of.usual or one.usual
      one.over = one.x - one.usual
   end
   table.sort(own, function(a, b)
      return a.over > b.over
   end)
   local sum = item.kind == "count" and own[1].over > 0 and exposure(state, item)
   for i = 1, math.min(CANDIDATES, #own) do
      local one = own[i]
      if one.over <= 0 or one.over == math.huge then
         break
      end
      local prior, value = item.scale.prior, one.row[item.name]
      -- Anybody's nodes: any of this job's n could have been the one.
      local p, n = reference.p(one.over, (one.of or back.nodes()).pool, one.node, prior)
      local p_own = sum and math.max(p, p_of_events(sum, item, one.row)) or p
      p = #own * p_own
      -- Like runs: the worst node of this against the worst node of each.
      local p_like, runs
      local tops = not one.of and back.nodes().tops
      if tops then
         p_like, runs = reference.p(one.over, tops, one.node, prior)
         p_like = math.min(1, p_like * back.nodes().sampled)
         p_like = runs >= MIN_RUNS and p_like or nil
      end
      state.nodes[#state.nodes + 1] = { where = #own > 1 and "node" or "only", node = one.node, row = one.row,
         item = item, value = value, elapsed_s = one.row.elapsed_s, compared = n, p_like = p_like,
         times = math.exp(one.over), p_own = p_own,
         p = p_like and stats.together({ p, p_like }, 2) or math.min(1, p),
         cost_s = item.scale.cost(item, value, one.usual, one.row), usual = one.usual }
   end
end

-- All nodes together, against like runs; of what each has for itself those that have it.
-- @return p of their median, or nil; true: all have it
local function add_job(state, item, own, own_sorted, back)
   if #own_sorted < 2 or 2 * #own_sorted < #state.rows or #back.medians < MIN_RUNS then
      return
   end
   conditions.looked_at(state.job_metrics, item)
   state.looked = state.looked + 1
   local level, usual = statistics.median_sorted(own_sorted), statistics.robust(back.medians)
   local function p_median()
      local list = {}
      for i, x in ipairs(back.medians) do
         list[i] = { x = x - usual, node = i }
      end
      return reference.p(level - usual, reference.of(list), nil, item.scale.prior)
   end
   -- What a part of the nodes has is looked at apart, but of sums over operations; one of two or three stands out.
   local apart, n = parts.may_be(item), #own_sorted
   local least = own_sorted[apart and n // ALL_BUT + 1 or math.ceil(n / ALL_BUT_WORK)]
   local function had(share)
      return usual + share * (level - usual)
   end
   if least <= had((apart or n < ALL_BUT_WORK) and ALL_HAVE or ALL_HAVE_WORK) then
      return apart and p_median() or nil
   end
   local nodes = {}
   for _, one in ipairs(item.group ~= "storage" and own or {}) do
      nodes[#nodes + 1] = one.x > had(ALL_HAVE) and one.node or nil
   end
   local idle = n < ALL_BUT and 0 or math.max(1, n // MANY_BUT)
   nodes = #nodes > 0 and n - #nodes > idle and nodes or nil
   local p, value = p_median(), conditions.typical(item, state.rows, state.elapsed)
   local row = { elapsed_s = state.elapsed, cores = state.rows[1].cores,
      class_memory_gib = conditions.typical({ name = "class_memory_gib" }, state.rows, state.elapsed) }
   if item.time then
      row[item.time] = conditions.typical({ name = item.time, kind = "time" }, state.rows, state.elapsed)
   end
   state.jobs[#state.jobs + 1] = { where = "all", nodes = nodes, item = item, value = value,
      elapsed_s = state.elapsed, p = p, compared = #back.medians, times = math.exp(level - usual), usual = usual,
      cost_s = item.scale.cost(item, value, usual, row) }
   return p, true
end

-- Whether it happened in a run. @return bool; whether the run has the metric
local function happened(item, rows)
   local has = false
   for _, row in ipairs(rows) do
      local v = row[item.name]
      if type(v) == "number" then
         has = true
         if v > 0 or item.kind == "rate" then
            return true, true
         end
      end
   end
   return false, has
end

-- The same of like runs and others'. @return bool; how many like runs have the metric
local function happened_elsewhere(state, item)
   local any, runs = false, 0
   for _, rows in ipairs(state.like) do
      local yes, has = happened(item, rows)
      any, runs = any or yes, runs + (has and 1 or 0)
   end
   for _, rows in ipairs(state.others) do
      any = any or happened(item, rows)
   end
   return any, runs
end

--- Looks at one metric of the job's rows.
-- @param item of causes.JOB
function conditions.of_job(state, item)
   local rows = state.rows
   if item.shared then
      rows = {}
      for _, row in ipairs(state.rows) do
         rows[#rows + 1] = row.others and row or nil
      end
   end
   local own, own_sorted = scaled(item, rows)
   if not own[1] then
      return
   elseif happened(item, state.rows) then
      local class_of, differ
      if item.kind == "rate" then
         class_of, differ = by_class(state, item)
         if not differ then
            return -- nothing can be found, see below
         end
      end
      conditions.looked_at(state.metrics, item)
      state.looked = state.looked + #own
      local back = background(state, item, own, own_sorted)
      add_nodes(state, item, own, own_sorted, back, class_of)
      local p_median, all = add_job(state, item, own, own_sorted, back)
      if #back.medians >= MIN_RUNS then
         parts.add(state, item, rows, { usual = back.usual, levels = back.levels, p_median = p_median,
            all = all and #own - #own // ALL_BUT })
      end
      return
   end
   -- Where it happened nowhere nothing can be found, and it is not counted as a look (Tarone).
   -- Where it only did not happen in this job, it could have: that is a look.
   local any, runs = happened_elsewhere(state, item)
   if any then
      conditions.looked_at(state.metrics, item)
      state.looked = state.looked + #own
      if #own > 1 and runs >= MIN_RUNS then
         conditions.looked_at(state.job_metrics, item)
         state.looked = state.looked + 1
      end
   end
end

--- Median and most of a metric in rows, for people: times, events and bytes as of `elapsed` seconds.
-- @param without node that is left out
function conditions.typical(item, rows, elapsed, without)
   local values = {}
   for _, row in ipairs(rows) do
      local v, t = row[item.name], row.elapsed_s
      local usable = type(v) == "number" and v < math.huge and (v > 0 or item.kind ~= "latency")
         and not causes.known_better(item, row)
      if row.node ~= without and usable and type(t) == "number" and t > 0 then
         values[#values + 1] = SUMS[item.kind] and v * elapsed / t or v
      end
   end
   table.sort(values)
   return statistics.median_sorted(values), values[#values]
end

--- Medians that a reader compares an evidence's value with.
-- @param e evidence, filled in
-- @param like, other rows of like runs, of anybody's
function conditions.describe(e, state, like, other)
   if e.item.source ~= "job" then
      return
   elseif e.item.kind == "size" and e.row then
      e.class, e.row = e.row.class_memory_gib, nil -- a job may have nodes of several classes
      return
   end
   if e.where == "node" then
      e.peers, e.peers_most = conditions.typical(e.item, state.rows, e.elapsed_s, e.node)
   end
   -- The same for all nodes; of a second, of what grows with time.
   local known = state.typical
   known[e.item] = known[e.item] or { (conditions.typical(e.item, like, 1)) }
   e.like = known[e.item][1] and known[e.item][1] * (SUMS[e.item.kind] and e.elapsed_s or 1)
   e.class = conditions.typical(e.item, other, e.elapsed_s, e.node)
   e.row = nil
   if e.item.each_s then
      -- On its scale a multiple of next to nothing is small; people want the plain one.
      local usual = e.peers or e.like or e.class
      e.times = usual and usual > 0 and e.value / usual or nil
   end
end

return conditions
