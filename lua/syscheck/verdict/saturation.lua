--- Whether a job waits for memory: what it moved, by the ruler of the node's own triad (verdict/ruler.lua), and what
-- that many cores can move, by the curve of the kernel `scaling`. Pure.
--
-- Only the curve's form counts: B(k) = the ruler's peak * triad(k) / the curve's best, so that both rates are of one
-- counter. Never a guess: what is not known has a reason in place of numbers.
local statistics = require("syscheck.lib.statistics")
local values = require("syscheck.verdict.detail.values")

local saturation = {}

--- Of what its cores can move: from here on a job waits for memory.
saturation.FULL = 0.8

--- Bins of a sampled job: shares of the node's peak, of 5 % each; what is beyond is in the last.
saturation.BINS = 20

-- Starting and ending a job moves memory, too.
local LEAST_S = 10
-- More than memory can move, with room for a triad that is not the fastest there is: then the counter is wrong.
local MOST = 1.25
-- Of the time: it is one that waits for memory.
local MOSTLY = 0.5
-- One domain at its limit, and the median of the others idle.
local IDLE = 0.3
-- So much of what moves is another NUMA node's: its data is in the wrong places.
saturation.REMOTE_PCT = 30
-- Of a node's cores, so that all its domains have some at work.
local MANY = 0.75
-- A remote share of next to nothing slows nothing.
local REMOTE_USED = 0.3

-- Of a node; more is damage.
local MOST_THREADS = 65536

local number, list = values.number, values.list

--- What a node's cores can move, as shares of its best, of both curves the better: it is for a bound.
-- @param curve of ruler.keep
-- @return list of { threads, share }, ascending in both; nil where there is none
function saturation.shape(curve)
   if type(curve) ~= "table" then
      return nil
   end
   local at, counts, best = {}, {}, 0
   for _, name in ipairs({ "compact", "spread" }) do
      for _, one in ipairs(list(curve[name], "threads", "triad_gbs")) do
         if one.threads >= 1 and one.threads <= MOST_THREADS and one.triad_gbs > 0 then
            counts[#counts + 1] = not at[one.threads] and one.threads or nil
            at[one.threads] = math.max(at[one.threads] or 0, one.triad_gbs)
            best = math.max(best, one.triad_gbs)
         end
      end
   end
   table.sort(counts)
   local out, most = {}, 0
   for i, threads in ipairs(counts) do
      most = math.max(most, at[threads] / best)
      out[i] = { threads = threads, share = most }
   end
   return out[1] and out or nil
end

--- Share of its best that so many cores move.
function saturation.share(shape, cores)
   local before = { threads = 0, share = 0 }
   for _, one in ipairs(shape) do
      if cores <= one.threads then
         return before.share + (one.share - before.share) * (cores - before.threads) / (one.threads - before.threads)
      end
      before = one
   end
   return before.share
end

--- The fewest cores that can move a share of the best: a lower bound, as a triad does no work.
function saturation.cores_for(shape, share)
   local last = shape[#shape]
   for cores = 1, last.threads do
      if saturation.share(shape, cores) >= share - 1e-9 then
         return cores
      end
   end
   return last.threads
end

--- The bin of a share of the peak.
function saturation.bin(share)
   return math.max(1, math.min(saturation.BINS, math.floor(share * saturation.BINS) + 1))
end

-- Time of a histogram from a share on: its bin's part counts.
local function time_from(bins, from)
   local sum, all = 0, 0
   for i = 1, saturation.BINS do
      local n = bins[i]
      local low, width = (i - 1) / saturation.BINS, 1 / saturation.BINS
      local part = math.max(0, math.min(1, (low + width - from) / width))
      -- The last bin has no upper end.
      part = i == saturation.BINS and part > 0 and 1 or part
      sum, all = sum + n * part, all + n
   end
   return all > 0 and sum / all or nil
end

-- Mean share in the bins from a share on, by their middles.
local function mean_from(bins, from)
   local sum, all = 0, 0
   for i = 1, saturation.BINS do
      if i / saturation.BINS > from then
         sum, all = sum + bins[i] * (i - 0.5) / saturation.BINS, all + bins[i]
      end
   end
   return all > 0 and sum / all or nil
end

-- Upper end of the bin below which so much of the time was.
local function quantile(bins, share)
   local all, sum = 0, 0
   for i = 1, saturation.BINS do
      all = all + bins[i]
   end
   for i = 1, saturation.BINS do
      sum = sum + bins[i]
      if sum >= share * all then
         return i / saturation.BINS
      end
   end
end

-- A histogram that can be one, or nil.
local function bins_of(samples)
   local bins, all = {}, 0
   for i = 1, saturation.BINS do
      local n = type(samples) == "table" and type(samples.bins) == "table" and number(samples.bins[i])
      if not n or n < 0 then
         return nil
      end
      bins[i], all = n, all + n
   end
   return all > 0 and bins or nil
end

-- No record holds what is no number.
local function round(value, digits)
   local scale = 10 ^ digits
   return number(value and value * scale) and math.floor(value * scale + 0.5) / scale
end

-- Each domain's share of its own peak, ascending, whosever traffic that is: who waits for it waits for all; none where
-- a NUMA node has several caches: one of them alone moves more than its part of what all do, and a single core nearly
-- all of that. And the remote share of the job's own in %, nil where not all tell.
local function domains_of(o, ruler)
   local shares, bytes, own = {}, 0, 0
   for cache, one in pairs(o.caches) do
      local all = o.all and o.all[cache] or one
      shares[#shares + 1] = all.bytes / o.seconds * 1e-9 / math.max(ruler.caches[cache], 1e-9)
      bytes, own = bytes + one.bytes, own and one.local_bytes and own + one.local_bytes
   end
   table.sort(shares)
   local nodes = number(ruler.nodes)
   return nodes and #shares > nodes and {} or shares, own and bytes > 0 and math.max(0, 100 * (1 - own / bytes)) or nil
end

-- Why there is no verdict; nil: there can be one.
local function why_not(o, ruler)
   if not o.caches then
      return o.why or "no counter of memory traffic could be read"
   elseif not o.seconds or o.seconds < LEAST_S then
      return ("the job ran for less than %d s"):format(LEAST_S)
   elseif not o.own then
      return "other jobs may have run on the node"
   elseif type(ruler) ~= "table" or not number(ruler.peak_gbs) or type(ruler.caches) ~= "table" then
      return o.no_ruler and "the counter was no ruler at the last check: " .. o.no_ruler
         or "no check in this boot has measured what the counter counts of a triad"
   elseif ruler.boot_id ~= o.boot_id or o.source and ruler.source ~= o.source then
      return "no check in this boot has measured what the counter counts of a triad"
   elseif ruler.class ~= o.class then
      return "the node has become another since its check"
   end
   for cache in pairs(ruler.caches) do
      if not o.caches[cache] then
         return "fewer memory domains count than at the check: CPUs went offline"
      end
   end
   for cache in pairs(o.caches) do
      if not number(ruler.caches[cache]) then
         return "more memory domains count than at the check: CPUs came online"
      end
   end
   return nil
end

--- Of one node of a job.
-- @param o { caches = { [number as text] = { bytes, local_bytes } } of memory_traffic.by_cache, or nil and `why`;
--   all = the same with other jobs', where these have a part of the node, too; seconds = that it took; own = true:
--   nobody else's traffic is in it; cores = of the job here, by its CPU time, nil: all; given = those that it was
--   given, likewise; ruler, curve, no_ruler = of ruler.keep (`why`); class, boot_id; samples = { bins = shares of the
--   peak, seconds } or nil; elapsed_s = of the job; source }
-- @return { mem_gbs_mean, mem_gbs_p95, peak_gbs, used_pct, saturated_pct, saturated_at_pct, worst_domain_pct,
--   domain_imbalance, remote_pct, cores, cores_needed, gain_pct, source, covered_pct }; or { unknown = why }
function saturation.of(o)
   local ruler = o.ruler
   local why = why_not(o, ruler)
   if why then
      return { unknown = why }
   end
   local bytes = 0
   for _, one in pairs(o.caches) do
      bytes = bytes + one.bytes
   end
   local rate = bytes / o.seconds * 1e-9
   local u = rate / ruler.peak_gbs
   if u > MOST then
      return { unknown = ("%.0f GB/s were counted, memory moves %.0f"):format(rate, ruler.peak_gbs) }
   end
   local shape = type(o.curve) == "table" and o.curve.class == o.class and saturation.shape(o.curve) or nil
   local all = number(ruler.cores) or shape and shape[#shape].threads
   local cores = math.min(o.cores or all or math.huge, all or math.huge)
   local given = math.min(o.given or all or math.huge, all or math.huge)
   local bins = bins_of(o.samples)
   -- So few cannot have moved it: of some step the CPU time is not known.
   if shape and u > MOST * saturation.share(shape, cores) then
      cores = given
   end
   -- A mean of cores is not how many were at work in a moment: it bounds the mean of the rate, and no sample. That it
   -- waited is known where samples say so by all cores that it could have used, or else the mean.
   local fewer = bins and shape and cores < given
   if fewer and (u < saturation.FULL * saturation.share(shape, cores)
      or time_from(bins, saturation.FULL * saturation.share(shape, given)) >= MOSTLY) then
      cores, fewer = given, false
   end
   -- What these cores can move, of the peak; not known of a part of them without a curve.
   local limit = shape and saturation.share(shape, cores) or (cores == all or not o.cores) and 1 or nil
   local shares, remote_pct = domains_of(o, ruler)
   local worst = table.remove(shares)
   -- Of the others: of two sockets the other one. A part of the cores may well be all of one domain's.
   local median = worst and cores >= MANY * (all or cores) and statistics.median_sorted(shares) or nil
   local out = { source = o.source or ruler.source, mem_gbs_mean = round(rate, 2), peak_gbs = round(ruler.peak_gbs, 2),
      used_pct = limit and round(100 * u / limit, 1), cores = cores < math.huge and cores or nil,
      worst_domain_pct = round(worst and 100 * worst, 1),
      domain_imbalance = median and round(worst > median and (worst - median) / worst or 0, 3) or nil,
      remote_pct = round(remote_pct, 1),
      covered_pct = round(o.elapsed_s and math.min(100, 100 * o.seconds / math.max(o.elapsed_s, 1e-9)) or nil, 1) }
   if bins then
      out.mem_gbs_p95 = round(quantile(bins, 0.95) * ruler.peak_gbs, 2)
      local from = limit and not fewer and saturation.FULL * limit or nil
      out.saturated_pct = from and round(100 * time_from(bins, from), 1)
      out.saturated_at_pct = from and (out.saturated_pct or 0) > 0
         and round(math.min(100, 100 * mean_from(bins, from) / limit), 1) or nil
      out.covered_pct = round(o.elapsed_s and math.min(100, 100 * (number(o.samples.seconds) or 0)
         / math.max(o.elapsed_s, 1e-9)) or nil, 1)
   end
   if shape then
      -- Of what it moved while it waited, where that is known.
      local moved = out.saturated_at_pct and out.saturated_pct >= 100 * MOSTLY and out.saturated_at_pct / 100 * limit
         or u
      out.cores_needed = math.min(cores, saturation.cores_for(shape, math.min(moved, limit)))
      out.gain_pct = round(100 * (1 / limit - 1), 1)
   end
   return out
end

--- Whether one domain is at its limit while the others idle. Each L3 counts what its own cores move, from wherever that
-- comes, so by resctrl these are the cores at work; a memory controller counts what lies in its memory.
function saturation.is_one_sided(one)
   local worst, imbalance = number(one.worst_domain_pct), number(one.domain_imbalance)
   return worst ~= nil and imbalance ~= nil and worst >= 100 * saturation.FULL and worst * (1 - imbalance) < 100 * IDLE
end

--- What a node's numbers say: "saturated" (it waits for memory), "first touch" (its memory is in the wrong places),
-- "one domain" (that one waits, as its cores are there, or those at work), "partly", "free" (it does not); nil:
-- not known.
-- @param one of saturation.of, or of the store
function saturation.state(one)
   local used, time = number(one.used_pct), number(one.saturated_pct)
   local worst = number(one.worst_domain_pct)
   if used and (number(one.remote_pct) or 0) > saturation.REMOTE_PCT and used >= 100 * REMOTE_USED then
      return "first touch"
   elseif one.source == "perf" and saturation.is_one_sided(one) then
      return "first touch"
   elseif worst and worst >= 100 * saturation.FULL and (used or 0) < 100 * saturation.FULL then
      return "one domain"
   elseif not used then
      return nil
   elseif time and time >= 100 * MOSTLY or not time and used >= 100 * saturation.FULL then
      return "saturated"
   elseif time and time >= 10 then
      return "partly"
   elseif time or used < 50 then
      return "free"
   end
   return nil
end

return saturation
