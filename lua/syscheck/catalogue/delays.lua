--- What the noise kernel says of delays: how much later quanta of work end on a node than on a quiet one, see
-- kernels/noise/delays.h. What of it the store keeps, and is read back. Pure.
local delays = {}

--- Quanta of work that are tried, in us.
delays.WORKS = { 100, 1000, 10000, 100000 }

local WORK = {}
for _, work in ipairs(delays.WORKS) do
   WORK[work] = true
end

local MOST_KNOTS, MOST_LARGEST, MOST_COMPONENTS = 64, 64, 16
local MOST_US = 1e12
local MOST_S = 86400 -- of a window: a check is seconds long
local TEXT_BYTES = 120

local function number(value, most)
   return type(value) == "number" and value >= 0 and value <= (most or MOST_US) and value or nil
end

-- A count; nil where it is none.
local function count(value)
   return number(value, 1e6) and math.tointeger(value) or nil
end

local function text(value)
   return type(value) == "string" and value ~= "" and value:sub(1, TEXT_BYTES) or nil
end

-- Whether numbers from 0 to `most` go one way. Raises where one is none: it does not compare with a number. NaN is
-- neither more nor less.
local function goes(list, way, most)
   local last = way > 0 and 0 or most
   for i = 1, #list do
      local value = list[i]
      if not (way > 0 and value >= last and value <= most or way < 0 and value <= last and value >= 0) then
         return false
      end
      last = value
   end
   return true
end

-- A list of numbers that go one way; nil where it is none.
local function ordered(list, way, most, most_n)
   if type(list) ~= "table" or #list > most_n then
      return nil
   end
   local done, good = pcall(goes, list, way, most)
   return done and good and list or nil
end

-- One quantum's.
local function one_of(value)
   if type(value) ~= "table" or not WORK[value.work_us] then
      return nil
   end
   local above, us = ordered(value.above, -1, 1, MOST_KNOTS), ordered(value.us, 1, MOST_US, MOST_KNOTS)
   if not above or not us or #above ~= #us or #above < 2 or above[1] ~= 1 or above[#above] ~= 0 then
      return nil
   end
   return { work_us = value.work_us, window_s = number(value.window_s, MOST_S), above = above, us = us,
      largest_us = ordered(value.largest_us, -1, MOST_US, MOST_LARGEST) }
end

-- Of each quantum: one that is damaged is left out.
local function list_of(value)
   local out, seen = {}, {}
   for _, each in ipairs(type(value) == "table" and value or {}) do
      local one = one_of(each)
      if one and not seen[one.work_us] then
         seen[one.work_us], out[#out + 1] = true, one
      end
   end
   return out[1] and out or nil
end

local function component_of(value)
   local period, duration = number(value.period_ms), number(value.duration_us)
   if not period or not duration or period == 0 then
      return nil
   end
   return { period_ms = period, duration_us = duration, jitter_pct = number(value.jitter_pct),
      duration_p90_us = number(value.duration_p90_us), lost_pct = number(value.lost_pct, 100) or 0,
      count = number(value.count), cpus = text(value.cpus), source = text(value.source), beat = text(value.beat),
      without = list_of(value.without) }
end

--- @param result of the noise kernel, or what split() kept of it; anybody may have written it
-- @return { cores, noise_pct, complete (all components were found), delays = list of { work_us,
--   window_s = of begins that were tried, above = parts of the begins, from 1 to 0, us = what so many of them have more
--   of, largest_us = independent ones }, spared_cores, spared = the same without the noisiest cores, components = list
--   of { period_ms, duration_us, duration_p90_us, jitter_pct, lost_pct, count, cpus, source, beat = when, text, without
--   = delays without it } }; nil where it has no delays
function delays.of(result)
   if type(result) ~= "table" then
      return nil
   end
   local all = list_of(result.delays)
   local cores = count(result.threads or result.cores)
   if not all then
      return nil
   end
   for _, one in ipairs(all) do
      if not one.window_s or one.window_s <= 0 then
         return nil
      end
   end
   local out = { cores = cores, noise_pct = number(result.noise_pct, 100), delays = all, components = {},
      complete = (result.components_complete == nil and result.complete or result.components_complete) == true,
      spared_cores = count(result.spared_cores), spared = list_of(result.delays_spared) }
   for _, value in ipairs(type(result.components) == "table" and result.components or {}) do
      local one = #out.components < MOST_COMPONENTS and type(value) == "table" and component_of(value)
      out.components[#out.components + 1] = one or nil
   end
   return out
end

local function but(t, name)
   local out = {}
   for key, value in pairs(t) do
      if key ~= name then
         out[key] = value
      end
   end
   return out
end

--- What is always read, and what only who asks for the causes needs: it is longer.
-- @param all from of()
-- @return the same without `spared` and without components' `without`; { spared = , components = list of those, false
--   where one has none }
function delays.split(all)
   local kept, without = but(all, "spared"), { spared = all.spared, components = {} }
   kept.components = {}
   for i, component in ipairs(all.components) do
      kept.components[i], without.components[i] = but(component, "without"), component.without or false
   end
   return kept, without
end

--- Puts the second into the first again.
-- @param all of of(), of what split() kept
-- @param without decoded, of split(); anybody may have written it
function delays.join(all, without)
   local of = type(without) == "table" and without or {}
   local each = type(of.components) == "table" and of.components or {}
   all.spared = list_of(of.spared)
   for i, component in ipairs(all.components) do
      component.without = list_of(each[i])
   end
end

return delays
