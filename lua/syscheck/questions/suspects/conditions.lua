--- What nodes went through in runs that may have cost those time, read from the store in one pass.
local causes = require("syscheck.questions.why.causes")
local odds = require("syscheck.questions.why.odds")
local racks = require("syscheck.questions.suspects.racks")
local rows = require("syscheck.questions.why.rows")
local sorted = require("syscheck.lib.sorted")
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")
local suspects = require("syscheck.questions.suspects.logic")

local conditions = {}

local SHARE = 0.02 -- of a run's time that a condition may have cost, to be looked at
local SAMPLE = 20000 -- rows that say what is usual
local MOST_CORES = 1024
local OPEN_S = 900 -- epilogs of a run come within so long; what comes later is compared with its class alone
local LEAST_PEERS = 3
local LEAST_OF_KIND = 8 -- rows of a kind of job, to know what it does to a node
local LEAST_OF_NODE = 8 -- rows of a node, to know how hot it is
local SCATTERS = 2 -- of what a kind of job does to nodes, from which a number is more than that
local OWN_SDS = 2 -- spreads between nodes of a class up to which a node's own heat is usual
local LEAST_ROWS = 50 -- of other nodes of the class, to know how often it has a condition; else of all classes
local MOST_SHARE = 0.95
local PRIOR = 0.01 -- how often a node has a trouble of one kind for a while

-- What a job brings about itself, on all of its nodes; but what a node is set to.
local JOBS = { daemon = true, storage = true, shortage = true, quota = true, memory = true, clock = true }

-- What the nodes of a rack get together; a disk, or too little memory, is one node's, or the job's.
local RACKS = { clock = true, daemon = true, link = true, memory = true }

local LOOKED_AT = {}
for _, item in ipairs(causes.JOB) do
   LOOKED_AT[#LOOKED_AT + 1] = not item.shared and not item.made and item or nil
end

-- Whether it is more of a job's doing than a class's: how hot a node is, how much it throttles, and how long tasks wait
-- for a CPU, as they do where a job has more of them than CPUs.
local function is_of_kind(item)
   return item.group == "clock" and item.kind ~= "rate" or item.group == "daemon"
end

-- @param scatter how much each of the lists scatters: filled in; or nil
local function medians(lists, least, scatter)
   for key, list in pairs(lists) do
      local median, sd
      if #list >= least and scatter then
         median, sd = statistics.robust(list)
         scatter[key] = sd
      elseif #list >= least then
         median = statistics.median(list)
      end
      lists[key] = median
   end
end

local function put(lists, key, x)
   lists[key] = lists[key] or {}
   table.insert(lists[key], x)
end

local function kind_of(run, class)
   return ("%d %d"):format(run.kind, class)
end

-- How much hotter nodes are than others with the same jobs: each has its own place and heat sink.
-- @param seen list of { x, kind (key of kinds), node, class }
-- @param kinds medians by kind and class
-- @return by node, scaled: as far as nodes of its class differ, as more than that is no node's usual; by class how much
--   a node's readings scatter
local function own_heat(seen, kinds)
   local of, class_of, in_class = {}, {}, {}
   for _, one in ipairs(seen) do
      if kinds[one.kind] then
         put(of, one.node, one.x - kinds[one.kind])
         class_of[one.node] = one.class
      end
   end
   medians(of, LEAST_OF_NODE)
   for node, x in pairs(of) do
      put(in_class, class_of[node], x)
   end
   local most, rest = {}, {}
   for class, list in pairs(in_class) do
      local median, sd = statistics.robust(list)
      most[class] = median + OWN_SDS * sd
   end
   for node, x in pairs(of) do
      of[node] = math.min(x, most[class_of[node]])
   end
   for _, one in ipairs(seen) do
      if kinds[one.kind] and of[one.node] then
         put(rest, one.class, one.x - kinds[one.kind] - of[one.node])
      end
   end
   for class, list in pairs(rest) do
      rest[class] = select(2, statistics.robust(list))
   end
   return of, rest
end

-- What is usual, from a sample of the rows.
-- @return function(item's place in LOOKED_AT, row, run) -> the number's median, scaled: of its class or, where that is
--   more, of the run's kind on that class (of heat on that node); nil where there is none, or the row has no more by
--   chance; whether the kind's is known; and by item the least of these
local function usual_of(reader, since, count, by_key)
   local share = math.max(1, math.ceil(1024 * SAMPLE / math.max(1, count)))
   local classes_of, kinds_of, scatters, least, seen, heat, rest = {}, {}, {}, {}, {}, nil, nil
   for i in ipairs(LOOKED_AT) do
      classes_of[i], kinds_of[i], scatters[i] = {}, {}, {}
   end
   for row in reader:each("j.key >= ? AND (j.key & 1023) < ?", math.tointeger(since) << 30, share) do
      local run, class = by_key[row.run], row.class or 0
      for i, item in ipairs(LOOKED_AT) do
         local x = causes.of_row(item, row)
         if x and item.kind ~= "temperature" then
            put(classes_of[i], class, x)
         elseif x and run then
            seen[#seen + 1] = { x = x, kind = kind_of(run, class), node = row.node, class = class }
         end
         if x and run and is_of_kind(item) then
            put(kinds_of[i], kind_of(run, class), x)
         end
      end
   end
   for i, item in ipairs(LOOKED_AT) do
      medians(classes_of[i], 1)
      medians(kinds_of[i], LEAST_OF_KIND, scatters[i])
      if item.kind == "temperature" then
         heat, rest = own_heat(seen, kinds_of[i])
      end
      -- Of what a kind does only heat has no class's.
      for _, x in pairs(item.kind == "temperature" and kinds_of[i] or classes_of[i]) do
         least[i] = math.min(least[i] or math.huge, x)
      end
   end
   return function(i, row, run)
      local class, key = classes_of[i][row.class or 0], kind_of(run, row.class or 0)
      local kind = kinds_of[i][key]
      local level, scatter
      if LOOKED_AT[i].kind == "temperature" then
         level, scatter = kind and kind + (heat[row.node] or 0), rest[row.class or 0]
      else
         level, scatter = class and math.max(class, kind or class), scatters[i][key]
      end
      local x = level and scatter and causes.of_row(LOOKED_AT[i], row)
      return not (x and x - level < SCATTERS * scatter) and level or nil, kind ~= nil
   end, least
end

-- Rows that may hold a condition, as SQL: all that do, and not many that do not.
local function filter(least)
   local terms = {}
   for i, item in ipairs(LOOKED_AT) do
      if least[i] and item.kind == "rate" then
         terms[#terms + 1] = ("j.%s <= %.17g"):format(item.name, (1 - SHARE) * item.scale.back(least[i]))
      elseif least[i] and item.kind == "temperature" then
         terms[#terms + 1] = ("j.%s >= %.17g%s"):format(item.name, item.scale.back(least[i] - math.log(1 - SHARE)),
            #item.unless > 0 and " AND j." .. table.concat(item.unless, " IS NULL AND j.") .. " IS NULL" or "")
      elseif least[i] then
         terms[#terms + 1] = ("j.%s * %.17g >= j.elapsed_s * %.17g"):format(item.time or item.name,
            item.each_s * (item.over == "mean" and MOST_CORES or 1), SHARE)
      end
   end
   return #terms > 0 and "(" .. table.concat(terms, " OR ") .. ")" or "1 = 0"
end

-- Conditions of a run's rows beyond what is usual for their class or kind, and else for its other nodes.
local function finish(run, list, usual, add)
   for i, item in ipairs(LOOKED_AT) do
      local xs, of, known = {}, {}, not JOBS[item.group] or item.kind == "rate"
      for _, row in ipairs(list) do
         local level, of_kind = usual(i, row, run)
         local share = level and causes.share(item, row, level)
         if share and share >= SHARE then
            known = known or of_kind
            of[#of + 1], xs[#xs + 1] = { row = row, level = level }, causes.of_row(item, row)
         end
      end
      -- More than half of the nodes; whatever is not here has less.
      local middle, peers = math.max(run.seen, #list) // 2 + 1, -math.huge
      if not known and run.seen >= LEAST_PEERS and #of >= middle then
         table.sort(xs, function(a, b)
            return a > b
         end)
         peers = xs[middle]
      end
      for _, one in ipairs(of) do
         local share = causes.share(item, one.row, math.max(one.level, peers))
         if share >= SHARE then
            add(one.row.node, item, math.min(MOST_SHARE, share), run)
         end
      end
   end
end

-- All conditions, in order of time: by node and group, list of events.
local function read(store, since, by_key, rated, count)
   local reader = rows.new(store, rated)
   local usual, least = usual_of(reader, since, count, by_key)
   local of, open, first = {}, {}, nil
   local function add(node, item, share, run)
      local groups = of[node] or {}
      of[node] = groups
      racks.add(groups, item.group, run, share, item)
   end
   local function close(before)
      for key, list in pairs(open) do
         if list.at < before then
            finish(by_key[key], list, usual, add)
            open[key] = nil
         end
      end
   end
   for row in reader:each("j.key >= ? AND " .. filter(least) .. " ORDER BY j.key", math.tointeger(since) << 30) do
      if by_key[row.run] then
         local at = row.stored_s
         first = first or at
         if at - first > OPEN_S then
            close(first)
            first = at
         end
         open[row.run] = open[row.run] or {}
         open[row.run].at = at
         table.insert(open[row.run], row)
      end
   end
   close(math.huge)
   return of
end

-- How many of a sorted list are at least so large.
local function at_least(list, level)
   return #list - statistics.first_from(list, level) + 1
end

-- Which others a node, or a rack, is compared with: those of its class, or all; of a rack those of its width.
local function classes(who, class_of)
   if type(who) == "table" then
      local all = "racks of " .. who.width
      return { ("%s, %s"):format(all, class_of[who.members[1]] or 0), all }
   end
   return { class_of[who] or 0, "all" }
end

-- How many runs those have together.
local function totals_of(runs_of, class_of)
   local totals = {}
   for who, runs in pairs(runs_of) do
      for _, class in ipairs(classes(who, class_of)) do
         totals[class] = (totals[class] or 0) + #runs
      end
   end
   return totals
end

-- How often others have as much of a condition: function(who, group, own, level); and how many runs these others have:
-- function(who).
local function rates_of(of, runs_of, class_of)
   local rates, totals = {}, totals_of(runs_of, class_of)
   for who, groups in pairs(of) do
      for group, events in pairs(groups) do
         for _, class in ipairs(classes(who, class_of)) do
            local key = class .. " " .. group
            rates[key] = rates[key] or {}
            for _, one in ipairs(events) do
               table.insert(rates[key], one.share)
            end
         end
      end
   end
   for _, list in pairs(rates) do
      table.sort(list)
   end
   local function others(who)
      local class, all = table.unpack(classes(who, class_of))
      class = totals[class] - #runs_of[who] < LEAST_ROWS and all or class
      return totals[class] - #runs_of[who], class
   end
   return function(who, group, own, level)
      local count, class = others(who)
      return (at_least(rates[class .. " " .. group], level) - own + 1) / (count + 2)
   end, others
end

-- One group of conditions of a node or a rack.
-- @param rate of rates_of
local function hypothesis(who, group, events, runs, rate, own)
   table.sort(events, function(a, b)
      return suspects.earlier(a.run, b.run)
   end)
   local shares = {}
   for i, one in ipairs(events) do
      shares[i] = one.share
      local range = one.item.range
      local run, most = suspects.seen(one.run, who), one.most
      -- What a node's run says is mostly what its rack's does.
      one.seen = run
      one.fits = most and most.seen == run and most.fits
         or odds.levels(run.e, run.y, one.share, range.wide, range.beyond, own)
   end
   table.sort(shares)
   local function worth(from, to, chosen)
      local ran, first, last = 0, events[from].run.begin_s, events[to].run.begin_s
      for _, run in ipairs(runs) do
         ran = ran + (run.begin_s >= first and run.begin_s <= last and 1 or 0)
      end
      local best = 1
      for _, level in ipairs({ SHARE, shares[(#shares + 1) // 2] }) do
         local n = 0
         for i = from, to do
            n = n + (events[i].share >= level and 1 or 0)
         end
         local p = rate(who, group, at_least(shares, level), level)
         best = math.min(best, 2 * stats.binomial(n, math.max(n, ran), p))
      end
      -- Of all spells one was chosen.
      local rarity = odds.rarity(math.min(1, chosen and best * #events or best))
      local there = PRIOR * rarity
      return math.log(there / (1 + there)), 2 * math.log(rarity)
   end
   return { group = group, events = events, worth = worth }
end

--- Hypotheses of suspects.find.
-- @param by_key runs of suspects.find by their key in the store
-- @param of_node by node: its runs in order of time
-- @param all racks of racks.of, with runs
-- @param class_of by node: the class that it is compared with
-- @param rated of classes.rated_as
-- @param own of odds.own_of_level
function conditions.hypotheses(store, since, by_key, of_node, all, class_of, rated, own)
   local nodes, count = sorted(of_node), 0
   for _, node in ipairs(nodes) do
      count = count + #of_node[node]
   end
   local all_of = read(store, since, by_key, rated, count)
   local of, runs_of, list = {}, {}, {}
   -- A node whose first record has come since its runs were read has none.
   for _, node in ipairs(nodes) do
      of[node], runs_of[node] = all_of[node], of_node[node]
   end
   for _, rack in ipairs(all) do
      of[rack], runs_of[rack] = racks.conditions(rack, of, RACKS), rack.runs
   end
   local rate, others = rates_of(of, runs_of, class_of)
   local function add(who, field)
      for _, group in ipairs(sorted(of[who] or {})) do
         local one = hypothesis(who, group, of[who][group], runs_of[who], rate, own)
         one[field] = who
         list[#list + 1] = one
      end
   end
   for _, node in ipairs(nodes) do
      add(node, "node")
   end
   for _, rack in ipairs(all) do
      -- Of a rack without another to compare with nobody knows what is usual.
      if others(rack) >= LEAST_ROWS then
         add(rack, "rack")
      end
   end
   return list
end

return conditions
