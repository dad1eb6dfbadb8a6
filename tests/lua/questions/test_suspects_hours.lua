-- Racks whose jobs are slow in the same hours of many days.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local json = require("cjson").new()
local lu = require("luaunit")
local daily = require("syscheck.questions.suspects.daily")
local hours = require("syscheck.questions.suspects.hours")
local own_store = require("own_store")
local page = require("syscheck.questions.suspects.page")
local racks = require("syscheck.questions.suspects.racks")
local show = require("syscheck.questions.suspects.show")
local suspects_data = require("syscheck.questions.suspects.read")

local NODES, DAYS, PER_DAY = 96, 40, 24
local T = 1794700800 -- 2026-11-15T00:00:00Z

-- The same numbers between 0 and 1 for the same seed, on every machine.
local function generator(state)
   return function()
      state = (state * 1103515245 + 12345) % 2147483648
      return state / 2147483648
   end
end

-- Each hour of each day four runs of 4 nodes next to each other, somewhere, of one of eight kinds and users, 40 minutes
-- long; a tenth of all are slow by themselves, and take 1.3 times as long.
-- @param is_slow function(hour, node = first of the four, day, user, random) -> share that is
-- @param s { seed, days, users; explained = function(day) -> whether something explains a slow one; kind = function(
--   user, first) -> its kind; more = function(hour, day) -> how many times four; long_s; cluster = function(node) }
local function world(is_slow, s)
   s = s or {}
   local random = generator(s.seed or 1)
   local cluster_of = s.cluster or function() return 1 end
   local nodes, by_node, runs, explained = {}, {}, {}, {}
   for i = 1, NODES do
      nodes[i], by_node[i] = { id = i, cluster = cluster_of(i), name = ("n%d"):format(i) }, {}
   end
   local function add(day, hour)
      local first, user = 1 + math.floor(random() * (NODES - 3)), 1 + math.floor(random() * (s.users or 8))
      local slow = random() < math.max(0.1, is_slow(hour, first, day, user) or 0)
      local run = { cluster = cluster_of(first), begin_s = T + day * 86400 + hour * 3600 + 600, key = #runs + 1,
         elapsed_s = (s.long_s or 2400) * (slow and 1.3 or 1), kind = s.kind and s.kind(user, first) or user,
         user = user, fits = { 0.3, slow and 12 or 0.4 }, ratio = slow and 1.3 or 1, slow = slow, job_id = #runs + 1 }
      runs[#runs + 1] = run
      for k = first, first + 3 do
         table.insert(by_node[k], run)
      end
      explained[run] = slow and s.explained and s.explained(day) and { fit = 9 } or nil
   end
   for day = 0, (s.days or DAYS) - 1 do
      for hour = 0, PER_DAY - 1 do
         for _ = 1, 4 * (s.more and s.more(hour, day) or 1) do
            add(day, hour)
         end
      end
   end
   return hours.find(racks.of(nodes), by_node, runs, explained)
end

-- How many: the suspects themselves are too much to print.
local function count(is_slow, s)
   return #world(is_slow, s)
end

-- Whether a run has one of some nodes.
local function on(first, from, to)
   return first + 3 >= from and first <= to
end

local function is_hot(hour, first)
   return hour >= 12 and hour < 18 and on(first, 25, 48)
end

local function hot(hour, first)
   return is_hot(hour, first) and 0.6
end

TestHours = {}

function TestHours:test_a_rack_that_is_slow_each_afternoon()
   local found = world(hot)
   lu.assertEquals(#found, 1)
   local one = found[1]
   lu.assertEquals(one.hours, { 12, 18 })
   lu.assertEquals({ one.rack[1], one.rack[#one.rack] }, { 25, 48 })
   lu.assertTrue(one.probability > 0.99)
   lu.assertTrue(#one.slow / one.runs > 0.4 and one.within_slow / one.within < 0.2
      and one.others_slow / one.others < 0.2)
   for i = 2, #one.slow do
      lu.assertTrue(one.slow[i - 1].begin_s <= one.slow[i].begin_s)
   end
   lu.assertEquals({ one.from_s, one.to_s }, { one.slow[1].begin_s, one.slow[#one.slow].begin_s })
end

-- Over midnight, of the day that it began on.
function TestHours:test_nights()
   local found = world(function(hour, first)
      return (hour >= 22 or hour < 4) and on(first, 25, 48) and 0.6
   end)
   lu.assertEquals(#found, 1)
   lu.assertEquals(found[1].hours, { 22, 4 })
end

-- Names make racks of 12, 24 and 48; this one has 18.
function TestHours:test_it_ends_where_it_ends()
   local found = world(function(hour, first)
      return hour >= 12 and hour < 18 and on(first, 25, 42) and 0.7
   end)
   lu.assertEquals(#found, 1)
   lu.assertTrue(math.abs(found[1].rack[1] - 25) <= 2, found[1].rack[1])
   lu.assertTrue(math.abs(found[1].rack[#found[1].rack] - 42) <= 3, found[1].rack[#found[1].rack])
end

-- By nodes that were in few of its runs nobody can tell where.
function TestHours:test_ends_are_not_guessed()
   for seed = 2, 6 do
      local one = world(function(hour, first)
         return is_hot(hour, first) and 0.45
      end, { seed = seed })[1]
      lu.assertEquals({ one.rack[1], one.rack[#one.rack] }, { 25, 48 }, seed)
   end
end

function TestHours:test_two_racks()
   local found = world(function(hour, first)
      return hot(hour, first) or hour < 6 and on(first, 73, 96) and 0.6
   end)
   local firsts = { found[1].rack[1], found[2].rack[1] }
   table.sort(firsts)
   lu.assertEquals({ #found, firsts }, { 2, { 25, 73 } })
end

function TestHours:test_chance()
   for seed = 1, 12 do
      lu.assertEquals(count(function() end, { seed = seed }), 0, seed)
   end
end

-- A file system that is busy each afternoon; a rack that is bad at all hours, on such a site, too.
function TestHours:test_hours_that_are_slow_everywhere_and_racks_that_are_slow_always()
   lu.assertEquals(count(function(hour)
      return hour >= 12 and hour < 18 and 0.4
   end), 0)
   local function always(_, first)
      return on(first, 25, 48) and 0.4
   end
   lu.assertEquals(count(always), 0)
   lu.assertEquals(count(function(hour, first)
      return (always(hour, first) or 0) + (hour >= 12 and hour < 18 and 0.3 or 0)
   end), 0)
end

-- Ten storms are ten events, however many runs they slowed.
function TestHours:test_a_few_days_are_no_custom()
   lu.assertEquals(count(function(hour, first, day)
      return day % 4 == 3 and is_hot(hour, first) and 1
   end), 0)
   lu.assertEquals(count(function(hour, first)
      return is_hot(hour, first) and 1
   end, { days = 8 }), 0)
end

-- Whose work is larger in the afternoon does not make a rack slow; nor does one node, or two.
function TestHours:test_one_users_and_two_nodes_runs()
   lu.assertEquals(count(function(hour, first, _, user)
      return user == 3 and is_hot(hour, first) and 1
   end, { users = 3 }), 0)
   lu.assertEquals(count(hot, { users = 1 }), 0)
   lu.assertEquals(count(function(hour, first)
      return hour >= 12 and hour < 18 and (on(first, 30, 30) or on(first, 44, 44)) and 1
   end), 0)
end

-- Two days that have as many runs as all others are two events, too.
function TestHours:test_a_few_busy_days_are_no_custom()
   local function busy(day)
      return day == 7 or day == 8
   end
   lu.assertEquals(count(function(hour, first, day)
      return busy(day) and is_hot(hour, first) and 0.7
   end, { more = function(hour, day)
      return busy(day) and hour >= 12 and hour < 18 and 20 or 1
   end }), 0)
end

-- A job that is slow ends later: that it does says nothing of its hours. Three hours from 11:10 on have their middle at
-- 12:40, from 16:10 on at 17:40; a slow one's is at 18:07.
function TestHours:test_a_job_is_where_its_middle_should_have_been()
   local n = 0 -- with two nodes and more of the four
   local one = world(function(hour, first)
      local is = hour >= 11 and hour <= 16
      n = n + (is and first >= 23 and first <= 47 and 1 or 0)
      return is and on(first, 25, 48) and 0.6
   end, { long_s = 10800 })[1]
   lu.assertEquals({ one.hours, one.rack[1], one.rack[#one.rack] }, { { 12, 18 }, 25, 48 })
   lu.assertEquals(one.runs, n)
end

-- Of kinds that run on that rack alone nobody can tell its hours from their work's.
function TestHours:test_a_partition_of_its_own()
   lu.assertEquals(count(hot, { kind = function(user, first)
      return user + (on(first, 25, 48) and 100 or 0)
   end }), 0)
end

-- Another cluster has another file system, that is busy in the afternoon or not.
function TestHours:test_clusters_are_not_compared()
   local function cluster(node)
      return node <= 48 and 1 or 2
   end
   lu.assertEquals(count(function(hour, first)
      return first <= 48 and hour >= 12 and hour < 18 and 0.5
   end, { cluster = cluster }), 0)
   lu.assertEquals(count(function(hour, first)
      return hour >= 12 and hour < 18 and on(first, 25, 36) and 0.7
   end, { cluster = cluster }), 1)
end

function TestHours:test_what_is_explained_says_nothing()
   lu.assertEquals(count(hot, { explained = function()
      return true
   end }), 0)
   lu.assertEquals(count(hot, { explained = function(day)
      return day % 4 == 0
   end }), 1)
end

TestDaily = {}

-- What some runs and all lost between 12:00 and 18:00: of each day { runs, what each lost }; others, and they at other
-- hours, nothing.
local function compare(days)
   local own, all = {}, {}
   for day, one in ipairs(days) do
      for hour = 0, 23, 2 do
         local is = hour >= 12 and hour < 18
         for _ = 1, is and one[1] or 2 do
            own[#own + 1] = { bin = daily.bin(T + day * 86400 + hour * 3600), x = is and one[2] or 0 }
            all[#all + 1] = own[#own]
            all[#all + 1] = { bin = own[#own].bin, x = 0 }
         end
      end
   end
   return daily.compare(daily.of(own), daily.of(all), 6)
end

-- Student's t of the jackknife: of the means without each of the days.
function TestDaily:test_a_day_with_many_runs_is_compared_with_the_others()
   local days, n, sum = {}, 0, 0
   for day = 1, 30 do
      days[day] = { day % 10 == 0 and 40 or 10, day % 10 == 0 and 0.6 or day % 3 * 0.1 }
      n, sum = n + days[day][1], sum + days[day][1] * days[day][2]
   end
   local squares = 0
   for _, day in ipairs(days) do
      squares = squares + ((sum - day[1] * day[2]) / (n - day[1]) - sum / n) ^ 2
   end
   local one = compare(days)
   lu.assertAlmostEquals(one.more, sum / n, 1e-12)
   lu.assertAlmostEquals(one.t, sum / n / math.sqrt(squares), 1e-9)
end

-- However many there are: 30 days of which two have most of the runs are not ten.
function TestDaily:test_few_days_are_not_known()
   local days = {}
   for day = 1, 30 do
      days[day] = { day % 15 == 0 and 400 or 10, 0.1 * (day % 3) }
   end
   lu.assertNil(compare(days))
   days[15], days[30] = { 20, 0 }, { 20, 0 }
   lu.assertNotNil(compare(days))
end

TestHoursRead = { setUp = own_store.setUp, tearDown = own_store.tearDown }

-- As world, in a store: 48 nodes, two runs of 4 nodes an hour; those that are slow took 1.4 times as long.
-- @param more what else a record has, of (slow, begin)
local function write(is_slow, more)
   local random, rows, id = generator(7), {}, 0
   for day = 0, 19 do
      for hour = 0, 23 do
         for part = 0, 1 do
            local first, user = 1 + 24 * part + math.floor(random() * 21), 1 + math.floor(random() * 4)
            local slow = random() < math.max(0.05, is_slow(hour, first) or 0)
            id = id + 1
            for node = first, first + 3 do
               local r = { kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
                  time = T + day * 86400 + hour * 3600 + 3000,
                  elapsed_s = (slow and 1.4 or 1) * (1800 + 40 * random()),
                  job = { id = id, user = "u" .. user, name = "x", nodes = 4 } }
               for name, value in pairs(more and more(slow) or {}) do
                  r[name] = value
               end
               rows[#rows + 1] = own_store.record(r)
            end
         end
      end
   end
   own_store.write(rows)
end

local function found()
   local list, totals = suspects_data.find(own_store.db, 0)
   list.since, list.totals, list.to, list.made = T, totals, T + 21 * 86400, "now"
   return list
end

local function hot_second(hour, first)
   return hour >= 12 and hour < 18 and first >= 25 and 0.7
end

function TestHoursRead:test_is_said_as_one()
   write(hot_second)
   local list = found()
   lu.assertEquals(own_store.names(list), { "n[25-48]" })
   lu.assertEquals({ #list[1].members, list[1].hours }, { 24, { 12, 18 } })
   local text = show.table(list)
   lu.assertStrContains(text, "slow in the same hours")
   lu.assertStrContains(text, "A rack that is slow in the same hours: look at its cooling")
   lu.assertNotStrContains(text, "leaf switch")
   local what = "%d+ of %d+ runs on n%[25%-48%] between 12:00 and 18:00 UTC were slow, %d+ of %d+ there at other "
      .. "hours, %d+ of %d+ elsewhere in these hours"
   lu.assertStrMatches(text, ".*" .. what .. ".*")
   local one = json.decode(show.json(list)).suspects[1]
   lu.assertEquals({ one.node, one.leaf, #one.nodes, one.hours, one.slow }, { nil, nil, 24, { 12, 18 }, #list[1].slow })
   lu.assertEquals({ one.within.runs, one.others.slow }, { list[1].within, list[1].others_slow })
   lu.assertStrMatches(show.csv(list):match("\r\n(.-)\r\n"), ",.*,hours,,,\"" .. what .. "\",,n%[25%-48%]")
   lu.assertEquals(one.cause, "hours")
   lu.assertStrContains(page(list), "slow in the same hours: ")
   lu.assertStrContains(page(list), "look at its cooling")
end

-- What `why` sees in its runs is no rack's: a file system that these jobs are slow on.
function TestHoursRead:test_storage_that_its_jobs_share()
   write(hot_second, function(slow)
      return { delta = { nfs = { ops = 10000, op_ms = slow and 500000 or 10000, bytes = 1000000 } } }
   end)
   for _, one in ipairs(found()) do
      lu.assertNotEquals(one.group, "hours")
   end
end

function TestHoursRead:test_nobody()
   write(function() end)
   lu.assertEquals(own_store.names(found()), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
