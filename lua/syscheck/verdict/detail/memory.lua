--- Details of memory: stream, numa, scaling. Pure. See verdict/detail.lua for the form of a section.
local printable = require("syscheck.lib.printable")
local statistics = require("syscheck.lib.statistics")
local values = require("syscheck.verdict.detail.values")

local memory = {}

local number, list, show, whole = values.number, values.list, values.show, values.whole

local MOST_ROWS = 8 -- of what a table would have a row for each: beyond, the slowest and the median
local SLOWEST = 4
local MOST_COLUMNS = 16 -- NUMA nodes whose matrix is still read as one
local UNSTEADY_PCT = 10
local EVEN_PCT = 95 -- of the median: what healthy nodes of a machine stay above

-- A row for each; of many the slowest and the median.
-- @param add function(item, name or nil)
local function some(all, get, add)
   local sorted = table.move(all, 1, #all, 1, {})
   table.sort(sorted, function(a, b)
      return get(a) < get(b)
   end)
   if #all <= MOST_ROWS then
      for _, one in ipairs(all) do
         add(one)
      end
      return
   end
   for i = 1, SLOWEST do
      add(sorted[i])
   end
   add(sorted[(#sorted + 1) // 2], "median")
end

function memory.stream(r)
   local triad = number(r.triad_gbs)
   if not triad then
      return nil
   end
   local section = { title = "Memory bandwidth, all cores (stream)",
      ("copy %s, scale %s, add %s, triad %s GB/s; arrays of 3 x %s MB, last-level caches %s MB."):format(
         show(r.copy_gbs), show(r.scale_gbs), show(r.add_gbs), show(triad), show(r.array_mb), show(r.llc_mb)) }
   local spread = number(r.triad_spread_pct)
   if spread and spread >= UNSTEADY_PCT then
      section[#section + 1] = ("Not steady: moments of 20 ms differ by %.0f %% (10th to 90th percentile)."):format(
         spread)
   end
   local counted, ratio = number(r.traffic_gbs), number(r.traffic_ratio)
   if counted and ratio then
      section[#section + 1] = ("The machine's counter (%s) says %s GB/s of triads, %s times what they move."):format(
         r.traffic_source == "resctrl" and "resctrl" or "?", show(counted), show(ratio))
   elseif type(r.traffic_error) == "string" then
      section[#section + 1] = ("The machine's counter of memory traffic: %s."):format(
         printable.safe(r.traffic_error, 100))
   end
   local nodes = list(r.numa, "node", "triad_gbs")
   if #nodes > 1 then
      local function rate(one)
         return one.triad_gbs
      end
      local low, high = values.extremes(nodes, rate)
      local rows = { { "NUMA_NODE", "CORES", "TRIAD_GB/s", "" } }
      some(nodes, rate, function(one, name)
         rows[#rows + 1] = { name or whole(one.node), name and "-" or whole(one.cores), show(one.triad_gbs),
            { bar = one.triad_gbs / math.max(nodes[high].triad_gbs, 1e-9) } }
      end)
      section[#section + 1] = { rows = rows }
      local rates = {}
      for i, one in ipairs(nodes) do
         rates[i] = one.triad_gbs
      end
      local median = statistics.median(rates)
      local of_median = 100 * nodes[low].triad_gbs / median
      section[#section + 1] = of_median < EVEN_PCT and { style = "warn",
         text = ("NUMA node %s has %.0f %% of the median: a DIMM is missing or slow, or others were at work there.")
            :format(whole(nodes[low].node), of_median) } or "Even: no NUMA node is more than 5 % below the median."
   end
   return section
end

--- L1 to memory, as the first core sees it.
function memory.caches(r)
   local levels = list(r.cache_latency, "level", "kib", "ns")
   local rows = { { "LEVEL", "SIZE", "LATENCY_ns", "" } }
   local steps = {}
   for i, one in ipairs(levels) do
      steps[i] = { "L" .. whole(one.level), one.kib >= 1024 and show(one.kib / 1024) .. " MiB" or
         whole(one.kib) .. " KiB", one.ns }
   end
   -- The first core is on the first node.
   local own = list(r.latency, "from", "to", "ns")[1]
   if own and own.from == own.to then
      steps[#steps + 1] = { "memory", "-", own.ns }
   end
   if #levels == 0 or not steps[2] then
      return nil
   end
   local most = 1e-9
   for _, step in ipairs(steps) do
      most = math.max(most, step[3])
   end
   for _, step in ipairs(steps) do
      rows[#rows + 1] = { step[1], step[2], show(step[3]), { bar = step[3] / most } }
   end
   return { title = "Latency by working set", { rows = rows } }
end

-- @return { [from] = { [to] = value } }, ids of both, ascending
local function matrix(cells, key)
   local at, from, to, seen = {}, {}, {}, {}
   for _, one in ipairs(cells) do
      if not at[one.from] then
         at[one.from] = {}
         from[#from + 1] = one.from
      end
      if not seen[one.to] then
         seen[one.to] = true
         to[#to + 1] = one.to
      end
      at[one.from][one.to] = one[key]
   end
   table.sort(from)
   table.sort(to)
   return at, from, to
end

local function full_rows(title, at, from, to)
   local rows = { { title } }
   for _, t in ipairs(to) do
      table.insert(rows[1], whole(t))
   end
   for _, f in ipairs(from) do
      local row = { "node " .. whole(f) }
      for _, t in ipairs(to) do
         row[#row + 1] = { text = show(at[f][t]), style = f == t and "strong" or nil }
      end
      rows[#rows + 1] = row
   end
   return rows
end

-- Of each node its own memory, and the best and worst of the others'.
-- @param worse function(a, b) -> whether a is worse than b
local function short_rows(title, at, from, to, worse)
   local rows = { { title, "OWN", "BEST_OTHER", "WORST_OTHER", "OF_NODE" } }
   for _, f in ipairs(from) do
      local best, worst
      for _, t in ipairs(to) do
         local value = t ~= f and at[f][t]
         if value then
            best = (not best or worse(best, value)) and value or best
            worst = (not worst or worse(value, at[f][worst])) and t or worst
         end
      end
      rows[#rows + 1] = { "node " .. whole(f), show(at[f][f]), show(best), show(worst and at[f][worst]), whole(worst) }
   end
   return rows
end

local function larger(a, b)
   return a > b
end

local function smaller(a, b)
   return a < b
end

local function add_matrix(section, title, cells, key, worse)
   local at, from, to = matrix(cells, key)
   local short = short_rows(title, at, from, to, worse)
   section[#section + 1] = #to <= MOST_COLUMNS and { rows = full_rows(title, at, from, to), narrow = short }
      or { rows = short }
   return at, from
end

-- Whose own memory is farther than the others' own: "" where all are alike.
local function odd_one(at, from)
   local own, ids = {}, {}
   for _, f in ipairs(from) do
      if at[f][f] then
         own[#own + 1] = at[f][f]
         ids[#ids + 1] = f
      end
   end
   local median = statistics.median(own)
   local _, high = values.extremes(own, function(v)
      return v
   end)
   return median and own[2] and own[high] > 100 / EVEN_PCT * median and { style = "warn",
      text = ("NUMA node %s to its own memory: %.0f %% more than the median."):format(whole(ids[high]),
         100 * (own[high] / median - 1)) } or nil
end

function memory.numa(r)
   local latency, bandwidth = list(r.latency, "from", "to", "ns"), list(r.bandwidth, "from", "to", "gbs")
   if not latency[1] then
      return nil
   end
   local section = { title = "NUMA (cores of the row's node, memory of the column's)" }
   if not latency[2] then
      section.title = "NUMA"
      section[1] = ("One node: memory latency %s ns%s."):format(show(latency[1].ns),
         bandwidth[1] and (", bandwidth %s GB/s"):format(show(bandwidth[1].gbs)) or "")
      return section
   end
   local at, from = add_matrix(section, "LATENCY_ns", latency, "ns", larger)
   if bandwidth[1] then
      add_matrix(section, "BANDWIDTH_GB/s", bandwidth, "gbs", smaller)
   end
   section[#section + 1] = odd_one(at, from)
   local factor = number(r.numa_factor)
   section[#section + 1] = factor and ("Memory of another node takes up to %.2f times as long (NUMA factor): "
      .. "ranks and threads have to be bound."):format(factor) or nil
   local out = {}
   for _, id in ipairs(type(r.left_out) == "table" and r.left_out or {}) do
      out[#out + 1] = number(id) and whole(id) or nil
   end
   section[#section + 1] = out[1] and ("Left out, as less than 128 MiB is free there: node %s."):format(
      table.concat(out, ", ")) or nil
   return section
end

function memory.scaling(r)
   local curve, spread = list(r.compact, "threads", "triad_gbs"), list(r.spread, "threads", "triad_gbs")
   local last = curve[#curve]
   if not last then
      return nil
   end
   local of_spread, most = {}, 1e-9
   for _, one in ipairs(spread) do
      of_spread[one.threads] = one.triad_gbs
      most = math.max(most, one.triad_gbs)
   end
   for _, one in ipairs(curve) do
      most = math.max(most, one.triad_gbs)
   end
   local knee = number(r.knee_threads)
   local shown = knee and knee < last.threads and knee or nil
   local rows = { spread[1] and { "THREADS", "FILLED_GB/s", "SPREAD_GB/s", "" } or { "THREADS", "TRIAD_GB/s", "" } }
   for _, one in ipairs(curve) do
      local row = { whole(one.threads), show(one.triad_gbs) }
      row[#row + 1] = spread[1] and show(of_spread[one.threads]) or nil
      row[#row + 1] = { bar = one.triad_gbs / most, after = one.threads == shown and " knee" or nil }
      rows[#rows + 1] = row
   end
   local section = { title = "Memory bandwidth over threads (scaling)", { rows = rows } }
   if spread[1] then
      section[#section + 1] = "Filled: one NUMA node after the other; spread: one core of each in turn. Bars: filled."
   end
   if knee and number(r.best_gbs) then
      section[#section + 1] = (shown and "Knee at %s of %s threads: 90 %% of the best, %s GB/s."
         or "No knee: 90 %% of the best takes %s of %s threads; the best is %s GB/s."):format(whole(knee),
         whole(last.threads), show(r.best_gbs))
   end
   if number(r.knee_spread_threads) then
      section[#section + 1] = ("Spread over the nodes, %s threads do."):format(whole(r.knee_spread_threads))
   end
   if spread[1] and number(r.node_saturated_threads) and number(r.node_best_gbs) then
      section[#section + 1] = ("%s threads saturate the first NUMA node (95 %% of %s GB/s)."):format(
         whole(r.node_saturated_threads), show(r.node_best_gbs))
   end
   return section
end

return memory
