--- The ruler for a job's memory traffic: what the node's own triad moved, by the same counter. So write-allocates,
-- prefetches and a constant error of the counter are in both, and cancel. Pure.
--
-- A ruler is { source, class, boot_id, time, peak_gbs (counted), ratio (counted to what STREAM counts), spread_pct,
-- caches = { [number as text] = gbs }, cores, nodes = of NUMA, or nil }. A curve is { class, time, compact, spread,
-- ... }, as catalogue/beside.lua keeps it: lists of { threads, triad_gbs }.
local lazy = require("syscheck.lib.lazy")
local beside = lazy.require("syscheck.catalogue.beside")
local values = require("syscheck.verdict.detail.values")

local ruler = {}

--- Name of the node's state.
ruler.FILE = "ruler.json"

-- Triad counts 24 bytes an element. With stores past the caches that is what moves; with write-allocate it is 32,
-- and a counter that sees each line twice says 64. Outside of that it counts something else.
local LEAST_RATIO, MOST_RATIO = 0.9, 2.7
-- The same triads, five times: what differs by more is no ruler.
local MOST_SPREAD_PCT = 5

local number = values.number

-- { [cache] = gbs } of the kernel's list; nil for anything else.
local function caches_of(list)
   local out = {}
   for _, one in ipairs(values.list(list, "cache", "gbs")) do
      out[("%.0f"):format(one.cache)] = one.gbs
   end
   return next(out) and out or nil
end

--- From what the kernel `stream` printed.
-- @param r its object
-- @param disturbed true: others used the node meanwhile
-- @return ruler without class, boot_id and time; or nil and why there is none; nil alone where nothing was read
function ruler.of(r, disturbed)
   if type(r.traffic_error) == "string" then
      return nil, r.traffic_error
   end
   local peak, ratio, spread = number(r.traffic_gbs), number(r.traffic_ratio), number(r.traffic_ratio_spread_pct)
   local caches = caches_of(r.traffic)
   if r.traffic_source == nil then
      return nil
   elseif not (peak and peak > 0 and ratio and spread and caches and type(r.traffic_source) == "string") then
      return nil, "the counter did not count"
   elseif ratio < LEAST_RATIO or ratio > MOST_RATIO then
      return nil, ("the counter counts %.2f times what a triad moves"):format(ratio)
   elseif spread > MOST_SPREAD_PCT then
      return nil, ("the counter is not steady: it differs by %.0f %% between like triads"):format(spread)
   elseif disturbed then
      return nil, "others used the node meanwhile"
   end
   return { source = r.traffic_source, peak_gbs = peak, ratio = ratio, spread_pct = spread, caches = caches,
      cores = number(r.threads), nodes = #values.list(r.numa, "node") > 0 and #values.list(r.numa, "node") or nil }
end

-- Of each kernel the last good measurement.
local function last_of(runs, kernel)
   local found
   for _, one in ipairs(runs) do
      found = one.kernel == kernel and one.state == "ok" and type(one.result) == "table" and one or found
   end
   return found
end

--- What a check taught.
-- @param runs of check.run
-- @return ruler or nil, why not (where a counter was read), curve or nil
function ruler.taught(runs)
   local stream, scaling = last_of(runs, "stream"), last_of(runs, "scaling")
   local one, why
   if stream then
      one, why = ruler.of(stream.result, stream.others ~= nil)
   end
   return one, why, scaling and not scaling.others and beside.memory({ scaling = scaling.result }).scaling
      or nil
end

--- What a node keeps after a check.
-- @param kept { ruler, curve, why } as before, or nil
-- @param at { class, boot_id, time } of now
-- @return the same to keep; nil where there is nothing new
function ruler.keep(kept, runs, at)
   local one, why, curve = ruler.taught(runs)
   if not one and not why and not curve then
      return nil
   end
   kept = type(kept) == "table" and kept or {}
   local function dated(value)
      for key, text in pairs(value and at or {}) do
         value[key] = text
      end
      return value
   end
   -- What could not be measured now is no reason to trust less what could before, in this boot.
   local before = type(kept.ruler) == "table" and kept.ruler.boot_id == at.boot_id and kept.ruler or nil
   return { ruler = dated(one) or before, why = not one and why or nil,
      curve = dated(curve) or type(kept.curve) == "table" and kept.curve or nil }
end

--- The ruler that a node keeps, if it is of this boot; nil: none, or samples would have no scale.
-- @param kept of ruler.keep; anybody may have written it
function ruler.of_boot(kept, boot_id)
   local one = type(kept) == "table" and type(kept.ruler) == "table" and kept.ruler or {}
   return one.boot_id == boot_id and type(one.peak_gbs) == "number" and one.peak_gbs > 0 and one or nil
end

--- The same for a check's record; nil where no counter was read.
function ruler.recorded(runs)
   local one, why = ruler.taught(runs)
   if not one then
      return why and { unknown = why } or nil
   end
   local caches = {}
   for id, gbs in pairs(one.caches) do
      caches[#caches + 1] = { cache = math.tointeger(tonumber(id)), gbs = gbs }
   end
   table.sort(caches, function(a, b)
      return a.cache < b.cache
   end)
   return { source = one.source, peak_gbs = one.peak_gbs, ratio = one.ratio, spread_pct = one.spread_pct,
      caches = caches }
end

return ruler
