--- One trouble shows in another's numbers, too: which explanation of a node explains what others of it rest on. Pure.
local odds = require("syscheck.questions.why.odds")
local weights = require("syscheck.questions.why.weights")

local explained = {}

local COUNTED = 0.03 -- p on one node up to which corrected errors explain what checks found
local ALIKE = 0.3 -- share of what an explanation may have cost that one that explains it may have cost at least
local TRIAD_MORE, TRIAD_LEAST = 1.5, 0.05 -- times dgemm's loss, of which errors of checks are less than so much
local AS_MUCH = 0.8 -- of what dgemm lost, on logarithms, in what stops all cores

-- Trouble of one kind shows in another's numbers, too: other work takes CPU and memory from a check's kernels, a low
-- clock lowers memory's bandwidth, what pages for want of memory does I/O, storage is mostly across the link, and
-- corrected errors interrupt: how often their number need not say (a storm is silenced: the kernel then polls, and the
-- firmware logs only some).
-- What explains more of what is odd is the likelier.
local EXPLAINS = { daemon = { "clock", "memory" }, clock = { "memory" }, shortage = { "storage" }, link = { "storage" },
   memory = { "daemon", "clock" } }

-- How rare what is counted is on one node: one that its checks point to is not chosen of all of the job's.
local function p_counted(h)
   local least = 1
   for _, e in ipairs(h.evidence) do
      if not e.check and e.cost_s > 0 then
         least = math.min(least, e.p_own or 1)
      end
   end
   return least
end

local function most_of(h)
   local most = 0
   for _, e in ipairs(h.evidence) do
      most = e.shows and math.max(most, e.likely or math.min(1, e.most * e.item.range.beyond)) or most
   end
   return most
end

-- Whether checks of a node that measured noise found any: what interrupts shows there; nil: none measured it.
-- @param work what speaks for other work on it, or nil
local function noisy(work)
   local known
   for _, e in ipairs(work and work.evidence or {}) do
      if e.check then
         known = known or e.shows and not e.weak
      end
   end
   return known
end

-- What the nearest check measured, and its class; nil: it shows nothing odd.
local function nearest(h, name)
   for _, e in ipairs(h.evidence) do
      if e.check and e.shows and e.item.name == name then
         local one = e.before and (not e.after or e.before.days <= e.after.days) and e.before or e.after
         return one.value, e.class
      end
   end
end

-- How much lower a rate was, on logarithms; 0: no check shows that it was.
local function lower(h, name)
   local value, class = nearest(h, name)
   return value and math.log(class / value) or 0
end

-- What stops all cores takes from dgemm such a share of its time as it shows as noise, and no more.
local function takes(noise, clock)
   local value, class = nearest(noise, "noise_pct")
   return value ~= nil and (value - class) / 100 >= ALIKE * (1 - math.exp(-lower(clock, "gflops")))
end

local function job_shows(h)
   for _, e in ipairs(h.evidence) do
      if e.shows and not e.check then
         return true
      end
   end
   return false
end

-- What stops all cores, as firmware does that handles errors, takes as much from a triad as from dgemm; a low clock
-- takes little from a triad, which waits for memory.
-- @param row of the node: where errors are counted their number says it, and where the job was throttled, or held at a
--   low limit, that is it
local function stops_cores(memory, clock, row)
   local dgemm, counted = lower(clock, "gflops"), (row.memory_corrected or -1) >= 0
   return dgemm > 0 and lower(memory, "triad_gbs") >= AS_MUCH * dgemm and not counted and not job_shows(clock)
end

-- A low clock takes no more from a triad than from dgemm.
local function no_clock(memory, clock)
   local dgemm
   for _, e in ipairs(clock.evidence) do
      dgemm = dgemm or e.check and e.item.name == "gflops" and lower(clock, "gflops")
   end
   return dgemm and lower(memory, "triad_gbs") > TRIAD_MORE * math.max(TRIAD_LEAST, dgemm)
end

-- What may have cost a hundredth does not take a third from a check's rate; of corrected errors nobody knows. What
-- they, and other work, interrupt is noise: where checks measured that and found none it was not them.
-- @param work what speaks for other work on the node, or nil
-- @param row of the node
local function explains(h, other, work, row)
   if not (h.best and other and other.best) or h.best.weak and h.group ~= "memory" or other.best.weak then
      return false
   elseif h.group == "shortage" then
      return h.pages and h.fit >= ALIKE * other.fit
   elseif h.group == "link" then
      -- Waiting does not say for which storage; one of several nodes is slow to exchange, too.
      local item = other.best.item
      return not h.best.check and h.best.p <= COUNTED and not other.best.check and not item.own
         and (item.kind == "latency" or h.where ~= "only")
   elseif h.group ~= "clock" and noisy(work) == false then
      return false
   elseif h.group == "memory" then
      local unfelt = work and work.best and work.best.unfelt and (other.group ~= "clock" or takes(work, other))
      return other.best.check and (unfelt and not h.best.weak or p_counted(h) <= COUNTED
         or other.group == "clock" and stops_cores(h, other, row))
   end
   return other.best.check and most_of(h) >= ALIKE * most_of(other)
      and not (h.group == "clock" and (stops_cores(other, h, row) or no_clock(other, h)))
end

--- @param row_of the job's rows by node
-- @return function(h) -> list of the explanations of its node that it explains, too
function explained.of(list, row_of)
   local of = {}
   for _, h in ipairs(list) do
      of[h.group .. " " .. tostring(h.node)] = h
   end
   return function(h)
      local out, work = {}, of["daemon " .. tostring(h.node)]
      for _, group in ipairs(EXPLAINS[h.group] or {}) do
         local other = of[group .. " " .. tostring(h.node)]
         out[#out + 1] = explains(h, other, work, row_of[h.node]) and other or nil
      end
      return out
   end
end

--- What explains more is the likelier.
-- @param others_of of explained.of
function explained.carry(list, others_of)
   local worth, own, by = {}, {}, {}
   for _, h in ipairs(list) do
      own[h] = weights.there(h)
      for _, other in ipairs(others_of(h)) do
         by[other] = (by[other] or 0) + own[h]
      end
   end
   for i, h in ipairs(list) do
      worth[i] = 1
      for _, other in ipairs(others_of(h)) do
         -- What else explains it, and is there by what it shows itself, takes its share.
         local odd = other.best.check and other.checked or other.rarity
         worth[i] = worth[i] * math.max(1, odd / (1 + odd * (by[other] - own[h])))
      end
   end
   for i, h in ipairs(list) do
      for _, other in ipairs(others_of(h)) do
         h.fit = math.max(h.fit, other.fit)
      end
      if h.group == "memory" and worth[i] > 1 then
         worth[i] = worth[i] * math.max(1, odds.rarity(p_counted(h)) / odds.rarity(h.p or 1))
      end
      h.rarity, h.carries = h.rarity * worth[i], worth[i] > 1
   end
   -- One of them is there, and explains what the others have: the likelier, not both.
   local there, rivals = {}, {}
   for _, h in ipairs(list) do
      there[h], rivals[h] = weights.there(h), 0
   end
   for _, h in ipairs(list) do
      for _, other in ipairs(others_of(h)) do
         rivals[h], rivals[other] = math.max(rivals[h], there[other]), math.max(rivals[other], there[h])
      end
   end
   for _, h in ipairs(list) do
      h.weight = there[h] / (1 + there[h] + rivals[h]) * h.fit
   end
end

--- What others' runs say of what it explains they say of it.
function explained.carry_harm(list, others_of)
   for _, h in ipairs(list) do
      for _, other in ipairs(others_of(h)) do
         if h.harm and (other.harm or 0) > h.harm then
            h.weight, h.harm, h.runs = h.weight * other.harm / h.harm, other.harm, other.runs
            h.felt = math.max(h.felt or 1, other.felt or 1)
         end
      end
   end
end

return explained
