--- Whether a node was bad when a job ran, by its checks before and after. Pure.
--
-- A node is good or bad by so much, changes now and then, and is seen through each check's own error: a hidden
-- Markov chain of two states (Rabiner 1989), so that a check counts the less the longer it was before or after.
local causes = require("syscheck.questions.why.causes")
local odds = require("syscheck.questions.why.odds")
local statistics = require("syscheck.lib.statistics")

local checks = {}

--- Spread of a share of what peers do, on its scale: a median of five pairs at 3 % run noise scatters by 1.6 %.
checks.USUAL_SD = 0.02

local BAD = 0.01 -- share of nodes that are bad in one metric
local BREAKS, REPAIRED = 0.001, 0.1 -- a day: a bad spell lasts ten days
-- Of bad, above the usual on the metric's scale. A rate has lost 96 % at 3.2; noise of a node with hundreds of cores,
-- which usually have next to none, may be several hundred times that.
local LEVELS = { 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2 }
local SHARE_LEVELS = { 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 7 }
local LEAST_SD = { rate = 0.01, duration = 0.02, share = 0.15 }
local DISTURBED, WIDE = 0.02, 0.4 -- checks that say nothing, and the density of their values
local LEVEL_SD = 0.25 -- a bad node's values differ by so much of the level
local MANY = 300 -- checks of a class, of which a node is not left out
local MIN_CLASS = 8 -- checks of other nodes, to know what is usual
-- Throttling and the like come under a job's load only: a check that is good says that much and no more.
local ACQUITS = 0.5
local MOSTLY_QUIET = 4 -- least quiet checks of a node that has noisy spells, and more than one
local SPELL = 0.5 -- least of the nearest check's, on a share's scale, of what is as bad
local ODD, FAR_DAYS = 4, 2 -- standard deviations from which a check is bad by itself; how far alone it says little
local UNFELT = 0.3 -- of what other work took of a core in checks, less than so much was a job's waiting for it
local BUSY = 0.8 -- of the cores a job had in use
-- Of other work that checks find, so much lets a job's tasks wait for no CPU, and slows it all the same: where it had
-- all CPUs in use, and where some were idle, which other work then takes, or nobody counted that.
checks.UNFELT_BUSY = 0.2
local UNFELT_IDLE = 0.45
local SHOWS, SHOWS_BAD = 3, 1 -- least Bayes factor of what is evidence; where the nearest check is bad by itself

-- Student's t, 4 degrees of freedom: errors have tails.
local function density(x, sd)
   local t = x / sd
   return 0.375 / sd * (1 + t * t / 4) ^ -2.5
end

-- Usual value and spread of a class on a metric's scale, without one node.
local function usual_of(state, item, class, node, cores)
   if item.usual then
      return causes.scaled(item, item.usual, {}), checks.USUAL_SD
   end
   local key = item.name .. " " .. class
   state.usual = state.usual or {}
   local list = state.usual[key]
   if not list then
      list = {}
      for _, one in ipairs(state.checks[class] and state.checks[class][item.name] or {}) do
         local x = causes.scaled(item, one.value, { cores = cores or 1 })
         list[#list + 1] = x and { x = x, node = one.node } or nil
      end
      state.usual[key] = list
   end
   -- Of so many one node's are next to nothing.
   if list.sd or #list >= MANY then
      if not list.sd then
         local all = {}
         for i, one in ipairs(list) do
            all[i] = one.x
         end
         list.median, list.sd = statistics.robust(all)
         list.sd = math.max(list.sd, LEAST_SD[item.kind] or 0.01)
      end
      return list.median, list.sd
   end
   local values = {}
   for _, one in ipairs(list) do
      values[#values + 1] = one.node ~= node and one.x or nil
   end
   if #values < MIN_CLASS then
      return nil
   end
   local median, sd = statistics.robust(values)
   return median, math.max(sd, LEAST_SD[item.kind] or 0.01)
end

local function levels_of(item)
   return item.kind == "share" and SHARE_LEVELS or LEVELS
end

-- One step of the chain over so many days.
local function step(bad, days)
   local rate = BREAKS + REPAIRED
   local still = math.exp(-rate * days)
   local rest = BREAKS / rate
   return rest + (bad - rest) * still
end

-- P(bad) from one side: list of { x, days } from the farthest to the nearest check.
local function filtered(list, level, sd)
   local bad, last = BAD, nil
   for _, one in ipairs(list) do
      if last then
         bad = step(bad, last - one.days)
      end
      last = one.days
      local good = (1 - DISTURBED) * density(one.x, sd) + DISTURBED * WIDE
      local wide = math.sqrt(sd * sd + (LEVEL_SD * level) ^ 2)
      local ill = (1 - DISTURBED) * density(one.x - level, wide) + DISTURBED * WIDE
      bad = bad * ill / (bad * ill + (1 - bad) * good)
   end
   return last and step(bad, last) or BAD
end

-- Whether a check is bad by itself.
local function is_bad(one, sd)
   return one.x > math.max(LEVELS[1], ODD * sd)
end

-- The second least of a node's checks: one may have been disturbed.
local function second_least(sides)
   local all = { math.huge, math.huge }
   for _, list in pairs(sides) do
      for _, one in ipairs(list) do
         all[#all + 1] = one.x
      end
   end
   table.sort(all)
   return all[2]
end

-- The last checks of one side, if they are a spell of bad ones that the node has not always; else the nearest.
-- @param other of the other side
local function spell_of(list, other, sd, quiet)
   local n = #list
   if n == 0 then
      return list
   end
   local from, bad = n, SPELL * list[n].x
   while from > 1 and list[from - 1].x >= bad do
      from = from - 1
   end
   local beyond = #other -- what follows on the other side is the same spell
   while beyond > 0 and other[beyond].x >= bad do
      beyond = beyond - 1
   end
   local rest, alike = from - 1 + beyond, 0 -- of the rest, that are as bad: of another spell
   for i = 1, rest do
      alike = alike + ((i < from and list[i] or other[i - from + 1]).x >= bad and 1 or 0)
   end
   local mostly = alike == 0 or rest - alike >= math.max(MOSTLY_QUIET, alike)
   local spell = is_bad(list[n], sd) and quiet < bad and mostly
   return table.move(list, spell and from or n, n, 1, {})
end

-- The checks of each side that count: of what the system takes each node has its own share, without being bad, so that
-- many checks of a node say no more of it than one does.
local function counting(item, sides, sd)
   if item.kind ~= "share" then
      return sides.before, sides.after
   end
   local quiet = second_least(sides)
   return spell_of(sides.before, sides.after, sd, quiet), spell_of(sides.after, sides.before, sd, quiet)
end

-- How much likelier bad at such a level is than before any check was seen.
local function factor(before, after, level, sd)
   local a, b = filtered(before, level, sd), filtered(after, level, sd)
   -- Both sides have the prior in them.
   return (a / (1 - a)) * (b / (1 - b)) / (BAD / (1 - BAD)) ^ 2
end

-- odds.fit of a level: the same for all nodes of a class.
local function fits_of(state, item, usual, i, lost)
   local key = ("%s %d %.17g"):format(item.name, i, usual)
   state.fits = state.fits or {}
   state.fits[key] = state.fits[key] or odds.fit(state.e, state.y, lost, item.range.wide, item.range.beyond)
   return state.fits[key]
end

--- How well what a check shows explains a run's time, over how bad the node may have been.
-- @param e evidence of a check: fit, most, likeliest (level) and likely (what that costs, whatever this run took)
--   are filled in
-- @param fit function(level's number, share of the time that it costs) -> of odds.fit
function checks.fit(e, fit)
   local sum, fits, best, likeliest = 0, 0, nil, 0
   for i, level in ipairs(e.levels) do
      local one = fit(i, level.lost)
      sum, fits = sum + level.bf, fits + level.bf * one
      if level.bf > likeliest then
         likeliest, e.likely, e.likeliest = level.bf, level.lost, i
      end
      if not best or level.bf * one > best then
         best, e.most = level.bf * one, level.lost
      end
   end
   e.fit = fits / sum
end

-- @return the nearest check; whether it is bad by itself; days
local function nearest(list, sd)
   local one = list[#list]
   return one and { value = one.value, days = one.days }, one and is_bad(one, sd),
      one and one.days or FAR_DAYS
end

-- @param least from which a check is bad
-- @return function(days after the job; negative: before it) -> whether the check that is nearest to that time is bad
local function bad_at(sides, least)
   return function(days)
      local bad, distance = false, math.huge
      for sign, list in pairs({ [-1] = sides.before, [1] = sides.after }) do
         for _, one in ipairs(list) do
            local far = math.abs(sign * one.days - days)
            if far < distance or far == distance and one.x < least then
               bad, distance = one.x >= least, far
            end
         end
      end
      return bad
   end
end

local function known(v)
   return v ~= nil and v >= 0
end

-- What tasks waited on all CPUs together, as a share of the time.
local function on_all(row)
   return known(row.sched_wait_ms) and (row.elapsed_s or 0) > 0 and row.sched_wait_ms / 1000 / row.elapsed_s or nil
end

-- Most that other work can have cost a job on a node, as a share of its time: who shares a CPU with it makes a task
-- wait, and where tasks wait for each other what waits on one CPU after the other, and more than on the job's other
-- nodes, adds up (by PSI, where nothing else counts it, all CPUs' may have been one's). nil where nothing counts that.
local function waited(state, row)
   local elapsed_s, cores = row.elapsed_s or 0, row.cores or 1
   local by_worst = known(row.sched_wait_worst_ms)
   if elapsed_s <= 0 or cores < 2 or not (by_worst or known(row.cpu_some_us)) then
      return nil
   end
   local others = {}
   for _, one in ipairs(state.rows) do
      others[#others + 1] = one ~= row and on_all(one) or nil
   end
   local most = math.min(1, (on_all(row) or 0) - (statistics.median(others) or 0))
   for _, item in ipairs(causes.JOB) do
      local one = item.group == "daemon" and (item.over ~= "mean" or not by_worst)
         and causes.share(item, row, -math.huge)
      most = math.max(most, one and one * item.range.beyond or 0)
   end
   return most
end

-- Whether the job is known to have had the node's CPUs in use.
local function was_busy(row)
   return known(row.cg_cpu_us) and row.cg_cpu_us >= BUSY * (row.cores or 1) * (row.elapsed_s or 0) * 1e6
end

-- The mean share of a core's time that checks most likely lost, beyond the usual (SCALES.share).
local function taken(e, usual, cores)
   return (math.exp(usual + SHARE_LEVELS[e.likeliest]) - math.exp(usual)) / (cores or 1)
end

--- Looks at one metric of the nodes' checks around the job.
-- @param state { rows, each with checks = list of { when = "before" or "after", days, <name> = value }, the
--   farthest first; checks = { [class] = { [name] = list of { node, value } } }; e, y = see odds.fit; nodes (filled) }
-- @param item of causes.CHECK or causes.FABRIC
function checks.of(state, item)
   for _, row in ipairs(state.rows) do
      local sides, usual, sd = { before = {}, after = {} }, nil, nil
      if row.class and row.checks and row.checks[1] then
         usual, sd = usual_of(state, item, row.class, row.node, row.cores)
      end
      for _, check in ipairs(usual and row.checks or {}) do
         local x = causes.scaled(item, check[item.name], { cores = row.cores or 1 })
         if x then
            table.insert(sides[check.when], { x = x - usual, days = check.days, value = check[item.name] })
         end
      end
      if sides.before[1] or sides.after[1] then
         state.looked = state.looked + #sides.before + #sides.after
         local before, bad_before, days_before = nearest(sides.before, sd)
         local after, bad_after, days_after = nearest(sides.after, sd)
         local odd = item.kind ~= "share" and (bad_before and not bad_after and days_before > days_after
            or bad_after and not bad_before and days_after > days_before)
         local e = { where = #state.rows > 1 and "node" or "only", node = row.node, item = item, check = true,
            levels = {}, before = before, after = after, odd = odd or nil,
            class = item.scale.back(usual, row.cores or 1) }
         local first, last = counting(item, sides, sd)
         local levels, sum = levels_of(item), 0
         for i, level in ipairs(levels) do
            e.levels[i] = { bf = factor(first, last, level, sd),
               lost = math.min(0.95, item.scale.lost(usual, level)) }
            sum = sum + e.levels[i].bf
         end
         checks.fit(e, function(i, lost)
            return fits_of(state, item, usual, i, lost)
         end)
         e.bad_at = bad_at(sides, SPELL * levels[e.likeliest or 1])
         local bf, bad = sum / #levels, bad_before or bad_after
         e.bf, e.weak = math.max(ACQUITS, bf), bad and bf < SHOWS and bf >= SHOWS_BAD
         e.shows = bf >= SHOWS or e.weak
         if e.shows and item.group == "daemon" then
            e.unfelt = (waited(state, row) or math.huge) < UNFELT * taken(e, usual, row.cores)
               and (was_busy(row) and checks.UNFELT_BUSY or UNFELT_IDLE) or nil
         end
         state.nodes[#state.nodes + 1] = e
      end
   end
end

return checks
