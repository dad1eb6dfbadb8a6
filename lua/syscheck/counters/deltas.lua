--- What changed from one snapshot of the counters to a later one. Pure.
--
-- Only within one boot, and never negative. Only what both snapshots hold has a delta: a
-- CPU, a disk, a port that came or went takes its own share away and no other's.
local link = require("syscheck.counters.link")

local deltas = {}

local WRAP = 1 << 32

-- More than any package draws, in watts.
local MAX_PACKAGE_W = 1000

local MAX_ERRORS = 64

--- The name of a key without its unit: "package_count:0" -> "package_count".
function deltas.name_of(key)
   return key:match("^[^:]*")
end

-- What went back (a driver reset, iowait's own jitter) tells nothing.
local function plain(before, now)
   return math.max(now - before, 0)
end

-- Counters that somebody may clear: what they show has come since then.
local function cleared(before, now)
   return now < before and now or now - before
end

-- How the counters of a source grow: function(before, now, key, span), span from
-- span_of. They return nil where it cannot be told.
local GROWTH = {
   -- The kernel prints busy_ms in 32 bits (block/genhd.c, jiffies_to_msecs): a small step
   -- modulo 2^32.
   disk = function(before, now, key)
      local step = now - before
      if step < 0 and key:find("^busy_ms:") and before < WRAP and step + WRAP < WRAP // 2 then
         return step + WRAP
      end
      return math.max(step, 0)
   end,
   -- ibclearerrors. A counter that was stuck at its largest value says no more.
   link = function(before, now, key)
      local counter = link.COUNTERS[key:match("[^/]*$")]
      if counter and before == counter.limit and now == before then
         return nil
      end
      return cleared(before, now)
   end,
   -- lctl set_param llite.*.stats=clear
   lustre = cleared,
   -- EDAC's reset_counters
   memory_errors = cleared,
   -- A superblock counts from its mount on: one that was mounted in between (automounted
   -- home directories) did all it counts since the earlier snapshot.
   nfs = function(before, now, key, span)
      local age = span.known and span.ages[key:match(":(.*)$")]
      if type(age) == "number" and age < span.seconds + (now < before and 1 or -1) then
         return now
      end
      return plain(before, now)
   end,
   -- RAPL's 32 bits of 61 uJ are full after 262 kJ, a quarter of an hour at 300 W: a step
   -- is known only where the counter cannot have come round a second time.
   energy = function(before, now, key, span)
      local range = tonumber(key:match("/([%d.]+)$"))
      if not range or span.seconds * MAX_PACKAGE_W >= range then
         return nil
      end
      local step = now < before and now - before + range or now - before
      return step >= 0 and math.floor(step * 1000 + 0.5) / 1000 or nil
   end,
}

-- The time between two snapshots, and the ages of what the later one saw mounted. The
-- wall clock, which may be set, only where the earlier one has no other.
local function span_of(from, to)
   local a, b = from.uptime_s, to.uptime_s
   if type(a) ~= "number" or type(b) ~= "number" then
      a, b = from.time, to.time
   end
   local known = type(a) == "number" and type(b) == "number" and b >= a
   return { seconds = known and b - a or math.huge, known = known, ages = type(to.ages) == "table" and to.ages or {} }
end

-- A mount that the earlier snapshot does not have, and that is younger than it.
local function is_new_mount(source, key, span)
   local age = source == "nfs" and span.known and span.ages[key:match(":(.*)$")]
   return type(age) == "number" and age <= span.seconds + 1
end

--- What happened from one snapshot to a later one.
-- @return { source = { name = number } }; or nil and why
function deltas.delta(from, to)
   if from.boot_id ~= to.boot_id then
      return nil, "the node rebooted in between"
   end
   if type(from.sources) ~= "table" then
      return nil, "the earlier snapshot is damaged"
   end
   local delta, span = {}, span_of(from, to)
   for source, now in pairs(to.sources) do
      local before, growth = from.sources[source], GROWTH[source] or plain
      before = type(before) == "table" and before or {}
      local sum = {}
      for key, value in pairs(now) do
         local step
         if type(before[key]) == "number" then
            step = growth(before[key], value, key, span)
         elseif before[key] == nil and is_new_mount(source, key, span) then
            step = value
         end
         if step then
            local name = deltas.name_of(key)
            sum[name] = (sum[name] or 0) + step
         end
      end
      delta[source] = next(sum) and sum or nil
   end
   return delta
end

local function section(snapshot, name)
   return type(snapshot.sources) == "table" and type(snapshot.sources[name]) == "table" and snapshot.sources[name] or {}
end

-- Ports of the links.
local function link_errors(from, to, add)
   local before = section(from, "link")
   for key, now in pairs(section(to, "link")) do
      local name, port = key:match("^(%a+):(.*)/[^/]*$")
      if name and type(before[key]) == "number" then
         add("link", port, name, GROWTH.link(before[key], now, key))
      end
   end
end

-- Modules; what a controller counted and no module is the controller's own. A snapshot
-- holds only modules that had errors: one that is missing in the earlier had none.
local function memory_errors(from, to, add)
   local before, now = section(from, "memory_errors"), section(to, "memory_errors")
   local before_blamed = type(from.blamed) == "table" and from.blamed
   local rest = {}
   for key, value in pairs(now) do
      rest[key] = type(before[key]) == "number" and cleared(before[key], value) or nil
   end
   for key, value in pairs(before_blamed and to.blamed or {}) do
      local name, unit, mc = key:match("^(%a+):((mc%d+)/.*)$")
      local whole = name and name .. ":" .. mc
      if rest[whole] then
         local had = before_blamed[key]
         local grown = cleared(type(had) == "number" and had or 0, value)
         add("dimm", unit, name, grown)
         rest[whole] = rest[whole] - grown
      end
   end
   for key, value in pairs(rest) do
      add("controller", key:match(":(.*)$"), key:match("^%a+"), value)
   end
end

--- Which module, which port had errors.
-- @return list of { kind = dimm|controller|link, unit, corrected, uncorrected, errors,
--   downed } with what grew, most first, at most 64; nil for none
function deltas.errors(from, to)
   local list, by_unit = {}, {}
   local function add(kind, unit, name, n)
      if n and n > 0 then
         local key = kind .. " " .. unit
         if not by_unit[key] then
            by_unit[key] = { total = 0, entry = { kind = kind, unit = unit } }
            list[#list + 1] = by_unit[key]
         end
         local one = by_unit[key]
         one.total = one.total + n
         one.entry[name] = (one.entry[name] or 0) + n
      end
   end
   if from.boot_id == to.boot_id then
      memory_errors(from, to, add)
      link_errors(from, to, add)
   end
   table.sort(list, function(a, b)
      if a.total ~= b.total then
         return a.total > b.total
      end
      return a.entry.kind .. a.entry.unit < b.entry.kind .. b.entry.unit
   end)
   local out = {}
   for i = 1, math.min(#list, MAX_ERRORS) do
      out[i] = list[i].entry
   end
   return #out > 0 and out or nil
end

return deltas
