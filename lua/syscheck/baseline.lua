--- The class baseline: what the fleet's nodes of one hardware class measure.
--
-- A file of JSON: { v = 1, time, classes = { CLASS = { METRIC = { median, mad_pct,
-- n, nodes } } } }. mad_pct is the median absolute deviation in % of the median,
-- scaled to a standard deviation.
local json = require("cjson.safe").new()
local files = require("syscheck.files")
local metrics = require("syscheck.metrics")

json.decode_invalid_numbers(false)

local baseline = {}

baseline.VERSION = 1
-- Fewer nodes or checks than these teach nothing that a drain may rest on.
baseline.MIN_NODES = 5
baseline.MIN_CHECKS = 20

-- MAD to standard deviation for a normal distribution (1 / Phi^-1(3/4)).
local MAD_SCALE = 1.4826
-- A limit closer than this many standard deviations fails healthy nodes.
local SPREADS = 4

local function median(sorted)
   local n = #sorted
   local mid = (n + 1) // 2
   return n % 2 == 1 and sorted[mid] or (sorted[mid] + sorted[mid + 1]) / 2
end

--- Median and scaled MAD (in % of the median) of values.
-- @param values non-empty list of numbers
function baseline.statistics(values)
   local sorted = table.move(values, 1, #values, 1, {})
   table.sort(sorted)
   local m = median(sorted)
   local off = {}
   for i, v in ipairs(sorted) do
      off[i] = math.abs(v - m)
   end
   table.sort(off)
   return m, m ~= 0 and 100 * MAD_SCALE * median(off) / math.abs(m) or 0
end

--- Learns from check records. Every node speaks with one value, its own median,
-- so that a node with many jobs does not outvote the others.
-- @param records iterator of decoded records
-- @return { v, time, classes }
function baseline.learn(records)
   local seen = {} -- class -> metric -> node -> values
   local ids = {}
   for record in records do
      if record.kind == "check" and type(record.class) == "string" and not ids[record.id] then
         ids[record.id] = true
         for _, run in ipairs(type(record.runs) == "table" and record.runs or {}) do
            for _, m in ipairs(metrics.LIST) do
               local value = run.state == "ok" and run.kernel == m.kernel and type(run.result) == "table"
                  and run.result[m.name]
               if type(value) == "number" and value > 0 then
                  local class = seen[record.class] or {}
                  seen[record.class] = class
                  class[m.name] = class[m.name] or {}
                  local node = class[m.name][record.node] or {}
                  class[m.name][record.node] = node
                  node[#node + 1] = value
               end
            end
         end
      end
   end
   local classes = {}
   for class, by_metric in pairs(seen) do
      classes[class] = {}
      for name, by_node in pairs(by_metric) do
         local medians, n = {}, 0
         local spreads = {}
         for _, values in pairs(by_node) do
            local m, spread = baseline.statistics(values)
            medians[#medians + 1] = m
            spreads[#spreads + 1] = spread
            n = n + #values
         end
         local m, between = baseline.statistics(medians)
         -- One check is one run on one node: both spreads are in it.
         local within = baseline.statistics(spreads)
         classes[class][name] = {
            median = m,
            mad_pct = math.sqrt(between ^ 2 + within ^ 2),
            n = n,
            nodes = #medians,
         }
      end
   end
   return { v = baseline.VERSION, time = os.date("!%Y-%m-%dT%H:%M:%SZ"), classes = classes }
end

local function positive(v)
   return type(v) == "number" and v == v and v > 0 and v < math.huge
end

--- Reads a baseline file.
-- @return baseline; or nil and why ("absent" in the third value when there is none)
function baseline.read(path)
   local text, err = files.read(path, 16777216)
   if not text then
      return nil, err, "absent"
   end
   local value
   value, err = json.decode(text)
   if type(value) ~= "table" then
      return nil, ("%s: %s"):format(path, err or "not a JSON object")
   end
   if value.v ~= baseline.VERSION then
      return nil, ("%s: version %s, this syscheck reads %d"):format(path, tostring(value.v), baseline.VERSION)
   end
   for class, by_metric in pairs(type(value.classes) == "table" and value.classes or { ["?"] = false }) do
      for name, b in pairs(type(by_metric) == "table" and by_metric or { ["?"] = false }) do
         if type(b) ~= "table" or not positive(b.median) or not (b.mad_pct == 0 or positive(b.mad_pct)) then
            return nil, ("%s: class %s, %s: wants median > 0 and mad_pct >= 0"):format(path, tostring(class),
               tostring(name))
         end
      end
   end
   return value
end

--- The limit that the baseline sets.
-- @param b { median, mad_pct } of the class and metric
-- @param metric from metrics.LIST
-- @param tolerance share of the median, e.g. 0.10; widened to what the spread allows
-- @return the limit, in the metric's unit
function baseline.limit(b, metric, tolerance)
   local room = math.max(tolerance, SPREADS * b.mad_pct / 100)
   if metric.better == "higher" then
      return math.max(0, b.median * (1 - room))
   end
   return b.median * (1 + room)
end

return baseline
