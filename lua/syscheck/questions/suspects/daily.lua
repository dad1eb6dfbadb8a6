--- What was lost in the same hours of many days: by some runs, and by all others. Days are compared, as what a day has
-- in common, a storm on a file system, is one event. Pure.
local stats = require("syscheck.questions.why.stats")

local daily = {}

local HOURS = 2 -- of a bin
local BIN_S, PER_DAY = HOURS * 3600, 24 // HOURS
local LONG = 3 -- bins of the hours that are looked at: afternoons are hot for six hours
local MIN_DAYS = 10 -- with runs in these hours, to know how days differ

daily.MIN_RUNS = 30 -- there in these hours, there in others, elsewhere in these, and elsewhere in others
daily.PER_DAY = PER_DAY -- hours that are looked at, named by their first bin from 0 on

--- The bin of a time in epoch seconds.
function daily.bin(time_s)
   return math.floor(time_s / BIN_S)
end

--- Begin and end of hours, as hours of the day in UTC.
function daily.hours(first)
   return { first * HOURS, (first + LONG) * HOURS % 24 }
end

--- Whether a bin is in the hours that begin with the `first` of a day's bins, and of which day these are.
function daily.place(bin, first)
   return (bin - first) % PER_DAY < LONG, (bin - first) // PER_DAY
end

local function add(days, at, n, sum)
   local day = days[at] or { n = 0, sum = 0 }
   days[at] = day
   day.n, day.sum = day.n + n, day.sum + sum
end

-- By day what runs lost in these hours, and in the others until they begin again: two tables of { n, sum }.
local function by_day(bins, first)
   local out = { {}, {} }
   for bin, one in pairs(bins) do
      local is, at = daily.place(bin, first)
      add(out[is and 1 or 2], at, one.n, one.sum)
   end
   return out
end

-- Mean of what runs lost, how many there are, on how many days, and the mean's variance. What a day has in common, a
-- storm on a file system, is one event: days are compared, and one with most of the runs with the others alone (the
-- jackknife); days of unequal size are as many as n^2 / sum n^2 equal ones (Kish 1965).
-- @param own what is not to count of them, or nil
local function mean_of(days, own)
   local n, sum, squares, rest = 0, 0, 0, {}
   for at, day in pairs(days) do
      local mine = own and own[at] or { n = 0, sum = 0 }
      if day.n > mine.n then
         local one = { n = day.n - mine.n, sum = day.sum - mine.sum }
         rest[#rest + 1] = one
         n, sum, squares = n + one.n, sum + one.sum, squares + one.n ^ 2
      end
   end
   local out = { n = n, mean = sum / n, days = n > 0 and n ^ 2 // squares or 0, variance = 0 }
   for _, day in ipairs(out.days > 1 and rest or {}) do
      out.variance = out.variance + ((day.sum - day.n * out.mean) / (n - day.n)) ^ 2
   end
   return out
end

--- @param list of { bin, x = what was lost }
-- @return by first bin of the hours, and whether a run was in these (1) or not (2), and day: { n, sum }
function daily.of(list)
   local bins, out = {}, {}
   for _, one in ipairs(list) do
      add(bins, one.bin, 1, one.x)
   end
   for first = 0, PER_DAY - 1 do
      out[first] = by_day(bins, first)
   end
   return out
end

--- How much more some runs lose in these hours than is usual: they at other hours, others in these, and both together.
-- @param own of daily.of
-- @param all the same of all runs
-- @return { first, more, usual, t, p (of Student's t over days) }; nil: it is not known
function daily.compare(own, all, first)
   local mine, theirs = own[first], all[first]
   local there, other = mean_of(mine[1]), mean_of(mine[2])
   local elsewhere, rest = mean_of(theirs[1], mine[1]), mean_of(theirs[2], mine[2])
   if math.min(there.n, other.n, elsewhere.n, rest.n) < daily.MIN_RUNS
      or math.min(there.days, other.days, elsewhere.days) < MIN_DAYS then
      return nil
   end
   local usual = math.max(other.mean, elsewhere.mean, other.mean + elsewhere.mean - rest.mean)
   local more, variance = there.mean - usual, there.variance + other.variance + elsewhere.variance
   local t = variance > 0 and more / math.sqrt(variance) or 0
   return { first = first, more = more, usual = usual, t = t, p = stats.student(t, there.days - 1) }
end

return daily
