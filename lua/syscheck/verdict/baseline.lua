--- The class baseline: what the fleet's nodes of one hardware class measure and have.
-- docs/records.md has the format; learning.lua makes one. Pure.
local cpus = require("syscheck.verdict.cpus")
local metrics = require("syscheck.catalogue.metrics")
local spread = require("syscheck.verdict.spread")

local baseline = {}

baseline.VERSION = 2
-- From fewer checks than these nothing is learned: a drain may follow from it. Fewer nodes widen the tolerance, which
-- is never below FEW_TOLERANCE_PCT then: see spread.tolerance_of_few.
baseline.MIN_NODES = 5
baseline.MIN_CHECKS = 20
baseline.FEW_TOLERANCE_PCT = 9
-- Share by which a median may be worse than the one before it, without --force.
baseline.MAX_DIP = 0.05

baseline.MAX_VALUE = 1e15 -- as the policy's limits
--- A node that is 30 % slow has to be found: a limit that would let it pass is none.
baseline.MAX_TOLERANCE = 0.30
-- A node that has lost more than this is another machine: that is reported, and it is not failed
-- by what the class measures.
local MAX_LOSS = 0.25
-- Settings in which a node may drift from its class, in the order in which they are reported.
baseline.SETTINGS = { "bios", "microcode", "kernel", "governor", "smt", "thp" }

--- The parts of a class name: "epyc-9654-2s192c-768g".
-- @return { model, packages, cores, memory_gib }, 0 and "?" absent; or nil
function baseline.parse_class(class)
   if type(class) ~= "string" or #class > 128 or class:find("[^%w+?._-]") then
      return nil
   end
   local model, packages, cores, gib = class:match("^(.+)%-(%d+)s(%d+)c%-([%d?]+)g$")
   if not model then
      return nil
   end
   local function known(text)
      local n = math.tointeger(tonumber(text))
      return n and n > 0 and n <= baseline.MAX_VALUE and n or nil
   end
   return { model = model, packages = known(packages), cores = known(cores), memory_gib = known(gib) }
end

--- Whether a class is one of links, of `syscheck fabric`: "fabric-200g-1hop".
function baseline.is_of_links(class)
   return type(class) == "string" and #class <= 64 and class:find("^fabric%-[%d.e+?]+g%-%d+hop$") ~= nil
end

-- A finite number in (0, most]; NaN compares false.
local function positive(v, most)
   return type(v) == "number" and v > 0 and v <= (most or baseline.MAX_VALUE)
end

local function percent(v)
   return v == 0 or positive(v, 100)
end

local function count(v)
   return positive(v) and v % 1 == 0
end

-- What is wrong with one metric of a class, or nil.
local function wrong_metric(b, v, forced)
   if type(b) ~= "table" or not positive(b.median) or not percent(b.mad_pct)
      or not (b.box_s == nil or positive(b.box_s)) then
      return "wants median > 0, mad_pct from 0 to 100, box_s > 0"
   elseif v == 1 then
      return nil
   elseif not percent(b.tolerance_pct) or not count(b.nodes) or not count(b.n)
      or not (b.reference == nil or positive(b.reference)) then
      return "wants tolerance_pct from 0 to 100, nodes and n from 1, reference > 0"
   elseif not forced and b.n < baseline.MIN_CHECKS then
      return ("%d checks, and not forced; wants %d"):format(b.n, baseline.MIN_CHECKS)
   elseif not forced and b.nodes < baseline.MIN_NODES and b.tolerance_pct < baseline.FEW_TOLERANCE_PCT then
      return ("of %d nodes and not forced: wants tolerance_pct from %d"):format(b.nodes, baseline.FEW_TOLERANCE_PCT)
   end
end

local function wrong_class(c)
   for _, part in ipairs({ "metrics", "expect", "config" }) do
      if type(c[part]) ~= "table" then
         return part .. " is not a table"
      end
   end
   if c.nodes ~= nil and not count(c.nodes) then
      return "nodes is not a number from 1"
   end
   local err = cpus.wrong(c.cpus)
   if err then
      return err
   end
   for name, value in pairs(c.expect) do
      if not positive(value) then
         return ("expect.%s: wants a number > 0"):format(tostring(name))
      end
   end
   for name, value in pairs(c.config) do
      if type(value) ~= "string" and type(value) ~= "number" then
         return ("config.%s: wants a text or a number"):format(tostring(name))
      end
   end
end

-- v 1 had the metrics right below the class.
local function from_v1(value)
   local classes = {}
   for class, by_metric in pairs(value.classes) do
      classes[class] = { metrics = by_metric, expect = {}, config = {} }
   end
   value.classes = classes
end

local function wrong(value, v)
   for class, c in pairs(value.classes) do
      if type(class) ~= "string" or #class > 128 or class:find("[^%w+?._-]") then
         return "a class has a name that no class has"
      end
      local err = type(c) ~= "table" and "not a table" or wrong_class(c)
      if err then
         return ("class %s: %s"):format(class, err)
      end
      for name, b in pairs(c.metrics) do
         err = wrong_metric(b, v, c.forced == true)
         if err then
            return ("class %s, %s: %s"):format(class, tostring(name), err)
         end
      end
   end
end

--- Checks a decoded baseline; one of v 1 becomes what v 2 is.
-- @return baseline; or nil and why
function baseline.accept(value)
   if type(value) ~= "table" then
      return nil, "not a JSON object"
   elseif value.v ~= baseline.VERSION and value.v ~= 1 then
      return nil, ("version %s, this syscheck reads 1 and %d"):format(tostring(math.tointeger(value.v) or value.v),
         baseline.VERSION)
   elseif type(value.classes) ~= "table" then
      return nil, "has no classes"
   end
   if value.v == 1 then
      from_v1(value)
   end
   local err = wrong(value, value.v)
   return not err and value or nil, err
end

--- The limit that the baseline sets.
-- @param b { median, tolerance_pct (v 1: mad_pct) } of the class and metric
-- @param metric from metrics.LIST
-- @param tolerance share of the median, e.g. 0.10; widened to what the spread allows
-- @param box_s time box of what is to be rated, or nil: whatever it was
-- @return the limit, in the metric's unit; or nil and why there is none
function baseline.limit(b, metric, tolerance, box_s)
   if box_s and b.box_s and box_s ~= b.box_s then
      return nil, ("its class was measured in a time box of %g s, this in %g s"):format(b.box_s, box_s)
   end
   local supported = (b.tolerance_pct or spread.OLD_FACTOR * b.mad_pct) / 100
   local room = math.max(tolerance, supported)
   if room > baseline.MAX_TOLERANCE then
      return nil, ("%s a tolerance of %.0f %%, above %.0f %% a limit finds nothing"):format(
         room > supported and "the policy wants" or "its class' spread supports", 100 * room,
         100 * baseline.MAX_TOLERANCE)
   end
   if metric.better == "higher" then
      return math.max(0, b.median * (1 - room))
   end
   return b.median * (1 + room)
end

--- What a node of a class should have: by its name, and by the majority of its nodes.
-- @return { memory_gib, dimms, ... }, what is not known absent
function baseline.expected(learned, class)
   local out, named = {}, baseline.parse_class(class) or {}
   local of_class = learned.classes[class] or { expect = {} }
   for _, part in ipairs(metrics.PARTS) do
      out[part] = of_class.expect[part] or named[part]
   end
   return out
end

-- How far a class is from another of the same model, and whether it has all that the
-- node has; nil for another model, or no class.
local function distance(mine, other)
   if not other or mine.model == "unknown" or other.model ~= mine.model then
      return nil
   end
   local sum, above, close = 0, true, true
   for _, part in ipairs({ "packages", "cores", "memory_gib" }) do
      local a, b = mine[part], other[part]
      if a and b then
         sum = sum + math.abs(math.log(a / b))
         above = above and b >= a
         close = close and a >= b * (1 - MAX_LOSS) and (part ~= "packages" or a == b)
      end
   end
   return sum, above, close
end

-- The nearest class of the same model.
local function nearest(learned, class)
   local mine = baseline.parse_class(class)
   if not mine then
      return nil
   end
   local near = {}
   for name, c in pairs(learned.classes) do
      local sum, above, close = distance(mine, baseline.parse_class(name))
      if sum then
         near[#near + 1] = { name = name, above = above, close = close, sum = sum, nodes = c.nodes or 0 }
      end
   end
   table.sort(near, function(a, b)
      if a.above ~= b.above then
         return a.above
      elseif a.sum ~= b.sum then
         return a.sum < b.sum
      elseif a.nodes ~= b.nodes then
         return a.nodes > b.nodes
      end
      return a.name < b.name
   end)
   if near[1] then
      return near[1].name, near[1].close, near[1].above
   end
end

--- The class that rates a node: its own, or the nearest one of its model. A node that
-- has lost a DIMM or a core shows another class than before; what it should be is the
-- smallest known class that has all that it has left.
-- @param before what versions that told fewer classes apart called it, or nil: a baseline of theirs mixes
--   kinds of hardware, and only warns until it is learned again
-- @return class or nil; whether its measured values may fail the node; whether it has all that the node has
function baseline.class_for(learned, class, before)
   if learned.classes[class] then
      return class, true, true
   end
   local near, close, above = nearest(learned, class)
   if not near and before then
      return learned.classes[before] and before or nearest(learned, before), false, false
   end
   return near, close, above
end

return baseline
