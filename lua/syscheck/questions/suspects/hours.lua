--- Racks whose jobs are slow in the same hours of many days, as heat and power follow the day: whatever was recorded of
-- it, and though one day, or one node, shows too little. What is usual there at other hours, and elsewhere in these, is
-- not the rack's. Pure.
local daily = require("syscheck.questions.suspects.daily")
local racks = require("syscheck.questions.suspects.racks")
local sorted = require("syscheck.lib.sorted")
local statistics = require("syscheck.lib.statistics")
local suspects = require("syscheck.questions.suspects.logic")

local hours = {}

--- What is wrong, in a list of causes.
hours.CAUSE = "slow in the same hours"
--- What to do.
hours.HINT = "A rack that is slow in the same hours: look at its cooling and power, and at whatever else its nodes "
   .. "share, before any one of them"

local MIN_WIDTH = 12 -- fewer nodes share a chassis, which knows no hours
local SHRINK = 4 -- runs that what all kinds lose counts for, beside a kind's own
local OF_RACK = 0.5 -- share of its nodes that makes a run the rack's
local PRIOR = 0.02 -- how often a site has one
local ALIKE = 0.5 -- of what its runs lose more, that they lose without its worst user or its two worst nodes, too
local FEW_NODES = 2
local MOVED = math.log(20) -- log of the odds from which a rack's end is another node than names make of it

-- How much a run says that it lost time: the probability, at even odds before.
local function lost(run)
   local fit = suspects.most_of(run.fits)
   return fit / (1 + fit)
end

-- Runs that nothing explains yet, each with what it lost beyond its kind's mean, and the bin of time in which its
-- middle should have been: whether it was slow decides nothing of that.
local function excess_of(runs, explained)
   local kinds, list, sum = {}, {}, 0
   for _, run in ipairs(runs) do
      if not explained[run] then
         local one = { run = run, bin = daily.bin(run.begin_s + run.elapsed_s / run.ratio / 2), x = lost(run) }
         local kind = kinds[run.kind] or { n = 0, sum = 0 }
         kinds[run.kind] = kind
         kind.n, kind.sum, sum = kind.n + 1, kind.sum + one.x, sum + one.x
         list[#list + 1] = one
      end
   end
   for _, one in ipairs(list) do
      local kind = kinds[one.run.kind]
      one.x = one.x - (kind.sum + SHRINK * sum / #list) / (kind.n + SHRINK)
   end
   return list
end

-- Runs of which these nodes are half or more.
-- @param of by node: list of excess_of's
local function runs_of(members, of)
   local count, out = {}, {}
   for _, node in ipairs(members) do
      for _, one in ipairs(of[node] or {}) do
         count[one] = (count[one] or 0) + 1
         if count[one] == math.ceil(OF_RACK * #one.members) then
            out[#out + 1] = one
         end
      end
   end
   return out
end

-- Where a rack's end is, looked for outwards and inwards: at `at`, unless runs of the nodes between say otherwise by
-- far. Outwards those in which the rack has a part, too, do not count.
-- @param step outwards
local function end_of(rack, at, step, best, site, is_its)
   local most, found, reach = MOVED, at, #rack.members // 2
   local function look(from, by, sign, found_at)
      local sum = 0
      for k = from, from + by * (reach - 1), by do
         for _, one in ipairs(site.of[rack.row[k]] or {}) do
            if daily.place(one.bin, best.first) and not (sign > 0 and is_its[one]) then
               -- Of a run with many nodes each says a part.
               local says = (one.x - best.usual - best.more / 2) * best.more / site.variance
               sum = sum + sign * says / #one.members
            end
         end
         most, found = math.max(most, sum), sum > most and k + found_at or found
      end
   end
   look(at + step, step, 1, 0)
   look(at, -step, -1, -step)
   return math.max(1, math.min(#rack.row, found))
end

-- The nodes next to each other that lose more in these hours: a rack's, and where it really begins and ends.
local function part_of(rack, best, site)
   local is_its = {}
   for _, node in ipairs(rack.members) do
      for _, one in ipairs(site.of[node] or {}) do
         is_its[one] = true
      end
   end
   return table.move(rack.row, end_of(rack, rack.from, -1, best, site, is_its),
      end_of(rack, rack.to, 1, best, site, is_its), 1, {})
end

local function set_of(list)
   local set = {}
   for _, one in ipairs(list) do
      set[one] = true
   end
   return set
end

-- What some runs lose more than is usual, together.
local function sum_of(list, usual)
   local sum = 0
   for _, one in ipairs(list) do
      sum = sum + one.x - usual
   end
   return sum
end

-- Runs of a list, by each value that a function has of them: lists of these, in order.
local function grouped(list, values_of)
   local by, out = {}, {}
   for _, one in ipairs(list) do
      for _, value in ipairs(values_of(one)) do
         if not by[value] then
            by[value] = {}
            out[#out + 1] = by[value]
         end
         table.insert(by[value], one)
      end
   end
   return out
end

-- The rest of some runs, without those of the value that loses most.
-- @param values_of as of grouped
local function without_worst(list, values_of, usual)
   local worst, most, rest = {}, -math.huge, {}
   for _, group in ipairs(grouped(list, values_of)) do
      local sum = sum_of(group, usual)
      worst, most = sum > most and group or worst, math.max(most, sum)
   end
   local is_worst = set_of(worst)
   for _, one in ipairs(list) do
      rest[#rest + 1] = not is_worst[one] and one or nil
   end
   return rest
end

-- What runs lose more than others of the same kinds elsewhere in these hours: what a kind's users do more of by day
-- they do wherever they are. Kinds count as the variance of a difference of two means has it.
-- @return mean, or nil: too few are of kinds that ran elsewhere, too
local function more_than_elsewhere(inside, others)
   local kinds, n, sum, weight = {}, 0, 0, 0
   for where, list in ipairs({ inside, others }) do
      for _, one in ipairs(list) do
         local kind = kinds[one.run.kind] or { { n = 0, sum = 0 }, { n = 0, sum = 0 } }
         kinds[one.run.kind] = kind
         kind[where].n, kind[where].sum = kind[where].n + 1, kind[where].sum + one.x
      end
   end
   for _, kind in pairs(kinds) do
      local a, b = kind[1], kind[2]
      if a.n > 0 and b.n > 0 then
         local w = a.n * b.n / (a.n + b.n)
         n, weight, sum = n + a.n, weight + w, sum + w * (a.sum / a.n - b.sum / b.n)
      end
   end
   return n >= daily.MIN_RUNS and sum / weight or nil
end

-- Whether it is the rack's: its runs lose as much without the user, and without the two nodes, of whom they lose most,
-- and as much more than the same kinds elsewhere.
-- @param parts of divide
local function is_of_all(parts, best)
   local function still(rest)
      return sum_of(rest, best.usual) >= ALIKE * best.more * math.max(1, #rest)
   end
   local rest = parts.inside
   for _ = 1, FEW_NODES do
      rest = without_worst(rest, function(one)
         return one.members
      end, best.usual)
   end
   local without_user = without_worst(parts.inside, function(one)
      return { one.run.user }
   end, best.usual)
   local same = more_than_elsewhere(parts.inside, parts.others)
   return still(rest) and still(without_user) and same ~= nil and same >= ALIKE * best.more
end

-- A rack's own runs in its hours (in order of time) and in others, and other nodes' in these.
local function divide(own, first, site)
   local is_own, parts = set_of(own), { inside = {}, within = {}, others = {} }
   for _, one in ipairs(own) do
      table.insert(daily.place(one.bin, first) and parts.inside or parts.within, one)
   end
   for _, one in ipairs(site.list) do
      parts.others[#parts.others + 1] = not is_own[one] and daily.place(one.bin, first) and one or nil
   end
   table.sort(parts.inside, function(a, b)
      return suspects.earlier(a.run, b.run)
   end)
   return parts
end

local function count_slow(list)
   local n = 0
   for _, one in ipairs(list) do
      n = n + (one.run.slow and 1 or 0)
   end
   return n
end

-- A suspect as suspects.find has them.
-- @param parts of divide
local function describe(members, parts, best)
   local slow, spell, ratios, events = {}, {}, {}, {}
   for i, one in ipairs(parts.inside) do
      events[i] = { run = one.run, fits = one.run.fits }
      spell[i] = setmetatable({ fit = suspects.most_of(one.run.fits) }, { __index = one.run })
      ratios[i] = one.run.ratio
      slow[#slow + 1] = one.run.slow and spell[i] or nil
   end
   if #slow < suspects.MIN_SLOW then
      return nil
   end
   return { rack = members, group = "hours", events = events, runs = #spell, slow = slow, spell = spell,
      hours = daily.hours(best.first), cost = statistics.median(ratios),
      within = #parts.within, within_slow = count_slow(parts.within),
      others = #parts.others, others_slow = count_slow(parts.others),
      weight = best.weight, probability = best.probability, from_s = slow[1].begin_s, to_s = slow[#slow].begin_s }
end

-- The hours in which a rack's runs lose most, of all its hours; nil: none do. Counts in site.tests what was looked at.
local function best_of(own, site)
   local days, best = daily.of(own), nil
   for first = 0, daily.PER_DAY - 1 do
      local one = daily.compare(days, site.days, first)
      site.tests = site.tests + (one and 1 or 0)
      best = one and one.more > 0 and (not best or one.t > best.t) and one or best
   end
   return best
end

-- Of so many racks and hours chance makes tests * p look like that.
local function is_likely(one, tests)
   one.weight = math.log(PRIOR) - math.log(math.max(1e-300, one.p * tests))
   one.probability = suspects.probability(one.weight)
   return one.probability >= suspects.NEED
end

-- The part of a rack that is slow in its hours, as find returns it, or nil.
local function judge(rack, best, site)
   local members = part_of(rack, best, site)
   local own = runs_of(members, site.of)
   local again = #members >= racks.LEAST and daily.compare(daily.of(own), site.days, best.first)
   if not again or not is_likely(again, site.tests) then
      return nil
   end
   local parts = divide(own, best.first, site)
   return is_of_all(parts, again) and describe(members, parts, again) or nil
end

-- @return { list = runs that nothing explains, with what they lost, and their members; of = by node the same; days of
--   daily.of; variance of what was lost; tests = 0 }
local function read(by_node, runs, explained)
   local site, by_run, squares = { list = excess_of(runs, explained), of = {}, tests = 0 }, {}, 0
   for _, one in ipairs(site.list) do
      by_run[one.run], one.members, squares = one, {}, squares + one.x ^ 2
   end
   site.days, site.variance = daily.of(site.list), squares / math.max(1, #site.list)
   for _, node in ipairs(sorted(by_node)) do
      site.of[node] = {}
      for _, run in ipairs(by_node[node]) do
         local one = by_run[run]
         table.insert(one and site.of[node] or {}, one)
         table.insert(one and one.members or {}, node)
      end
   end
   return site
end

-- Of one cluster: others have other file systems, users and weather.
local function find_in(list, by_node, runs, explained)
   local site, candidates = read(by_node, runs, explained), {}
   for i, rack in ipairs(list) do
      local best = rack.width >= MIN_WIDTH and best_of(runs_of(rack.members, site.of), site)
      candidates[#candidates + 1] = best and { rack = rack, best = best, at = i } or nil
   end
   table.sort(candidates, function(a, b)
      return a.best.t > b.best.t or a.best.t == b.best.t and a.at < b.at
   end)
   local found, taken = {}, {}
   for _, c in ipairs(candidates) do
      local one = is_likely(c.best, site.tests) and judge(c.rack, c.best, site) or nil
      local is_new = one ~= nil
      for _, node in ipairs(one and one.rack or {}) do
         is_new = is_new and not taken[node]
      end
      found[#found + 1] = is_new and one or nil
      for _, node in ipairs(is_new and one.rack or {}) do
         taken[node] = true
      end
   end
   return found
end

-- Those of a list by their cluster.
local function by_cluster(list)
   local out = {}
   for _, one in ipairs(list) do
      out[one.cluster] = out[one.cluster] or {}
      table.insert(out[one.cluster], one)
   end
   return out
end

--- Racks that are slow in the same hours.
-- @param list of racks.of
-- @param by_node by node: its runs
-- @param runs all of these, in order of time: { cluster, begin_s, elapsed_s, fits, ratio, slow, kind, user, ... }
-- @param explained set of runs that are explained already
-- @return list as suspects.find has it, no node in two of them; each with rack (list of nodes) instead of node, events
--   (of a hypothesis), hours (begin and end, hours of the day in UTC), runs and slow of these, within and within_slow,
--   its runs in other hours and how many were slow, others and others_slow, those of the cluster's other nodes in these
function hours.find(list, by_node, runs, explained)
   local found, of, racks_of = {}, by_cluster(runs), by_cluster(list)
   for _, cluster in ipairs(sorted(racks_of)) do
      for _, one in ipairs(find_in(racks_of[cluster], by_node, of[cluster] or {}, explained)) do
         found[#found + 1] = one
      end
   end
   return found
end

--- "391 of 1458 runs on n[1-48] between 12:00 and 18:00 UTC were slow, 674 of 4235 there at other hours, 159 of 1043
-- elsewhere in these hours".
-- @param one as it was described
-- @param safe function(text) -> what may be shown
function hours.text(one, safe)
   return ("%d of %d runs on %s between %02d:00 and %02d:00 UTC were slow, %d of %d there at other hours, %d of %d "
      .. "elsewhere in these hours"):format(#one.slow, one.runs, safe(one.name), one.hours[1], one.hours[2],
      one.within_slow, one.within, one.others_slow, one.others)
end

return hours
