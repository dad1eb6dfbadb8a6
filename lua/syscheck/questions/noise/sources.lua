--- Which periodic sources a class has, on which of its nodes, and whether they are in phase. Pure.
--
-- A source is <frequency, length, jitter, which cores> (Ferreira, Bridges and Brightwell 2008): components of equal
-- period and length on several nodes are one.
local hostlist = require("syscheck.lib.hostlist")
local statistics = require("syscheck.lib.statistics")

local sources = {}

local SAME_PERIOD, SAME_LENGTH = 0.01, 0.25
local LEAST_PCT = 0.001 -- of the cores' time: below is nobody's trouble
local PHASE_LEAST = 5 -- nodes
local PHASE_P = 0.001 -- of all that is tried of one source
local MOST_BEAT_S = 1e12 -- of the epoch
local ROUND = 2e-3 -- as near is a period that is a round number, as wall-clock timers have
local DRIFT = 0.05 -- of a period: as much phases may be off between the first and the last beat
local MOST_EVERY, REGULAR, RARE, MOST_FIRST = 512, 0.8, 0.25, 4

local function close(a, b, part)
   return math.abs(a - b) <= part * math.max(a, b)
end

-- Parts of a list, each of values as near to its least; in each its order is kept.
-- @return list of lists, each with median = of its values
local function runs(list, name, part)
   local values, least, out = {}, {}, {}
   for i = 1, #list do
      values[i] = list[i].component[name]
   end
   table.sort(values)
   local from = 1
   for i = 1, #values do
      if i == #values or not close(values[from], values[i + 1], part) then
         least[#least + 1] = values[from]
         out[#out + 1] = { median = statistics.median_sorted(table.move(values, from, i, 1, {})) }
         from = i + 1
      end
   end
   for i = 1, #list do
      local one = list[i]
      local value, low, high = one.component[name], 1, #least + 1
      while high - low > 1 do
         local middle = (low + high) // 2
         if value < least[middle] then
            high = middle
         else
            low = middle
         end
      end
      local run = out[low]
      run[#run + 1] = one
   end
   return out
end

-- The nodes of a list that is in their order, each once.
local function names_of(list)
   local names, last = {}, nil
   for i = 1, #list do
      if list[i].node ~= last then
         last = list[i].node
         names[#names + 1] = last.name
      end
   end
   return names
end

-- The name that most give it.
local function name_of(list)
   local counts, best = {}, nil
   for i = 1, #list do
      local name = list[i].component.source
      if name then
         counts[name] = (counts[name] or 0) + 1
         local is_more = not best or counts[name] > counts[best] or counts[name] == counts[best] and name < best
         best = is_more and name or best
      end
   end
   return best
end

-- The last number in a node's name.
local function number_of(name)
   return tonumber(name:match("(%d+)%D*$"))
end

--- Numbers of all nodes.
-- @return { name = number }; nil where one has none
function sources.places(all)
   local out = {}
   for _, name in ipairs(all) do
      out[name] = number_of(name)
      if not out[name] then
         return nil
      end
   end
   return out
end

--- Whether nodes stand at regular positions among others: in each 32 the same few.
-- @param names of the nodes
-- @param all names of all
-- @param places of sources.places(all); nil: not looked for yet
-- @return { every = 32, first = list of numbers below it }; nil where they do not
function sources.regular(names, all, places)
   if places == nil then
      places = sources.places(all)
   end
   if not places then
      return nil
   end
   local is_one, own = {}, {}
   for i, name in ipairs(names) do
      is_one[name], own[i] = true, places[name]
   end
   -- Too many residues already: it is not that.
   local function may_be(every)
      local seen, count = {}, 0
      for _, at in ipairs(own) do
         if not seen[at % every] then
            seen[at % every], count = true, count + 1
            if count > math.min(MOST_FIRST, RARE * every) then
               return false
            end
         end
      end
      return true
   end
   for every = 2, #names >= 3 and math.min(MOST_EVERY, #all // 2) or 1 do
      local has, of = {}, {}
      for _, name in ipairs(may_be(every) and all or {}) do
         local r = places[name] % every
         of[r], has[r] = (of[r] or 0) + 1, (has[r] or 0) + (is_one[name] and 1 or 0)
      end
      local first, covered, complete = {}, 0, true
      for r, count in pairs(has) do
         if count > 0 and of[r] >= 2 then
            first[#first + 1] = r
            covered = covered + count
            complete = complete and count >= REGULAR * of[r]
         end
      end
      -- Three in a row of all are an accident of few.
      if complete and covered == #names and #first <= math.min(MOST_FIRST, RARE * every) then
         table.sort(first)
         return { every = every, first = first }
      end
   end
end

-- P that n uniform phases are as near to each other, by the Rayleigh test; Zar 1999's form for any n.
local function rayleigh(phases)
   local n, c, s = #phases, 0, 0
   for i = 1, n do
      local angle = 2 * math.pi * phases[i]
      c, s = c + math.cos(angle), s + math.sin(angle)
   end
   local r2 = c * c + s * s
   return math.min(1, math.exp(math.sqrt(math.max(0, 1 + 4 * n + 4 * (n * n - r2))) - (1 + 2 * n)))
end

-- The nearest number with one or two digits that count, or nil.
local function round_near(ms)
   local unit = 10 ^ (math.floor(math.log(ms, 10)) - 1)
   local near = math.floor(ms / unit + 0.5) * unit
   return close(ms, near, ROUND) and near or nil
end

--- Whether a source beats on all of its nodes at the same time of the wall clock. Nodes are checked at different times
-- and no clock of theirs is the same: where the period is not a round number, only beats near each other tell.
-- @param list of { component = { beat = text of epoch seconds, period_ms } }
-- @param ms median of the periods
-- @return P of the test; nil where it cannot be asked
function sources.in_phase(list, ms)
   local beats, spread, first, last = {}, 0, math.huge, 0
   for i = 1, #list do
      local component = list[i].component
      local text = component.beat
      local beat = text and text:find("^%d+%.%d+$") and tonumber(text)
      if beat and beat < MOST_BEAT_S then
         beats[#beats + 1] = beat
         first, last = beat < first and beat or first, beat > last and beat or last
      end
      spread = spread + math.abs(component.period_ms - ms) / #list
   end
   if #beats < PHASE_LEAST then
      return nil
   end
   local tried, least = 0, 1
   local function try(period_s)
      local phases = {}
      for i = 1, #beats do
         phases[i] = (beats[i] - first) / period_s % 1
      end
      tried, least = tried + 1, math.min(least, rayleigh(phases))
   end
   local near = round_near(ms)
   if near then
      try(near / 1000)
   end
   -- The median's error, and what comes of it over so many beats.
   if (last - first) / (ms / 1000) * (spread / math.sqrt(#list) / ms) < DRIFT then
      try(ms / 1000)
   end
   return tried > 0 and math.min(1, tried * least) or nil
end

--- Sources of a class.
-- @param nodes list of { name, checks = list of { of = of delays.of }, newest first }
-- @return list of { period_ms, duration_us, name = process or interrupt, nil: not known, nodes = list of { node,
--   component, index = among its components }, names, lost_pct = mean over all nodes, regular = of
--   sources.regular, phase_p, in_phase }, that which takes most first; whether all nodes' traces were searched to
--   their end
function sources.of(nodes)
   local list, names, by_name, complete = {}, {}, {}, true
   for i, node in ipairs(nodes) do
      names[i], by_name[node.name] = node.name, node
   end
   -- In their order from here on: nothing else is sorted by name.
   hostlist.sort(names)
   for _, name in ipairs(names) do
      local node = by_name[name]
      local of = node.checks[1].of
      complete = complete and of.complete
      for k, component in ipairs(of.components) do
         if component.lost_pct >= LEAST_PCT then
            list[#list + 1] = { node = node, component = component, index = k }
         end
      end
   end
   local out, places = {}, sources.places(names) or false
   for _, of_period in ipairs(runs(list, "period_ms", SAME_PERIOD)) do
      for _, one in ipairs(runs(of_period, "duration_us", SAME_LENGTH)) do
         local members, periods, lost = names_of(one), {}, 0
         for i, member in ipairs(one) do
            periods[i], lost = member.component.period_ms, lost + member.component.lost_pct
         end
         local period_ms = statistics.median(periods)
         local p = sources.in_phase(one, period_ms)
         out[#out + 1] = { period_ms = period_ms, duration_us = one.median,
            name = name_of(one), nodes = one, names = members, lost_pct = lost / #nodes,
            regular = #members < #names and sources.regular(members, names, places) or nil,
            phase_p = p, in_phase = p and p < PHASE_P }
      end
   end
   table.sort(out, function(a, b)
      if a.lost_pct ~= b.lost_pct then
         return a.lost_pct > b.lost_pct
      end
      return a.period_ms < b.period_ms
   end)
   return out, complete
end

return sources
