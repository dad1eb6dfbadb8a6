--- What of a learned baseline may take the place of the one in use. Pure.
local baseline = require("syscheck.verdict.baseline")
local cpus = require("syscheck.verdict.cpus")
local metrics = require("syscheck.catalogue.metrics")
local sorted = require("syscheck.lib.sorted")

local choose = {}

-- More nodes than this share that are not like the others: two populations, and which of
-- them is healthy, no statistic can tell.
local MAX_DROPPED = 0.25
local MAX_NAMES = 12 -- of nodes in a line
-- Of fewer nodes than baseline.MIN_NODES: healthy ones are not so far apart, and no majority says which is which.
local MAX_APART_PCT = 10

--- "1 node", "3 nodes"
function choose.nodes(n)
   return ("%d node%s"):format(n, n == 1 and "" or "s")
end

local function list_of(names)
   local more = #names > MAX_NAMES and (" and %d more"):format(#names - MAX_NAMES) or ""
   return table.concat(names, ", ", 1, math.min(#names, MAX_NAMES)) .. more
end

-- Whether the verdict takes what is learned for no limit, --force or not.
local function rates_nothing(c, m)
   return not m.static and c.tolerance_pct > 100 * baseline.MAX_TOLERANCE
end

-- Why a metric of a class teaches nothing, or nil.
-- @param measured CPUs of the class' checks
local function doubt(c, m, measured)
   if c.n < baseline.MIN_CHECKS then
      return ("%s, %d checks; want %d checks"):format(choose.nodes(c.nodes), c.n, baseline.MIN_CHECKS)
   elseif c.nodes < baseline.MIN_NODES and (c.dropped or 0) > 0 then
      return ("%s without %d unlike the others; want %d"):format(choose.nodes(c.nodes), c.dropped, baseline.MIN_NODES)
   elseif not m.static and (c.outermost_pct or 0) > MAX_APART_PCT then
      return ("%s differ by %.0f %%: which of them is healthy, so few do not say"):format(choose.nodes(c.nodes),
         c.outermost_pct)
   elseif (c.dropped or 0) > MAX_DROPPED * (c.nodes + (c.dropped or 0)) then
      return ("%d of %d nodes are not like the others: %s"):format(c.dropped, c.nodes + c.dropped, list_of(c.unlike))
   elseif not m.static and c.group then
      return ("%d of %d nodes are alike, %.0f %% %s the others: other hardware, or one fault? %s"):format(
         #c.group.names, c.group.of, math.abs(c.group.pct), c.group.pct < 0 and "below" or "above",
         list_of(c.group.names))
   elseif c.split then
      return ("two populations: %d of %d nodes are %.0f %% below the others; the smaller one: %s"):format(c.split.nodes,
         c.nodes, c.split.apart_pct, list_of(c.split.names))
   elseif not measured.jobs then
      return cpus.why(measured)
   elseif rates_nothing(c, m) then
      return ("its spread supports a tolerance of %.0f %% only; was something else running?"):format(c.tolerance_pct)
   end
end

local function box_words(box_s)
   return box_s > 0 and ("in a time box of %g s"):format(box_s) or "in a time box that the record does not say"
end

-- Whether two medians of a metric are of the same time box; older ones do not say it.
local function same_box(a, b)
   return not a.box_s or not b.box_s or a.box_s == b.box_s
end

-- By which share of the old one a median is worse; below 0 it is better.
local function dip(m, old, new)
   return (m.better == "higher" and old - new or new - old) / old
end

--- Medians that are worse than the baseline in use by more than baseline.MAX_DIP. They
-- are compared with its `reference`, the best since the last --force: five steps of 4 %
-- are 20 %.
-- @return list of { class, name, text }
function choose.dips(old, new)
   local list = {}
   for _, class in ipairs(sorted(new.classes)) do
      local before = old.classes[class]
      for _, name in ipairs(before and cpus.alike(before, new.classes[class]) and sorted(new.classes[class].metrics)
         or {}) do
         local m, b, c = metrics.BY_NAME[name], before.metrics[name], new.classes[class].metrics[name]
         if m and b and m.kernel and not m.static and same_box(b, c) then
            local reference = b.reference or b.median
            local worse = dip(m, reference, c.median)
            if worse > baseline.MAX_DIP then
               list[#list + 1] = { class = class, name = name,
                  text = ("median %s, was %s: %.1f %% worse"):format(metrics.show(m, c.median),
                     metrics.show(m, reference, true), 100 * worse) }
            end
         end
      end
   end
   return list
end

--- Keeps the best median since the last --force as the one that later ones are compared with.
function choose.set_references(old, new, forced)
   for class, c in pairs(new.classes) do
      for name, b in pairs(c.metrics) do
         local m = metrics.BY_NAME[name]
         local before = old and old.classes[class] and cpus.alike(old.classes[class], c)
            and old.classes[class].metrics[name]
         local reference = before and not forced and same_box(before, b) and (before.reference or before.median)
         b.reference = reference and m and m.kernel and dip(m, reference, b.median) > 0 and reference or nil
      end
   end
end

-- What the records did not show keeps what was known of it.
local function keep_old(old, new, say)
   for class, before in pairs(old and old.v == baseline.VERSION and old.classes or {}) do
      local c = new.classes[class]
      if not c then
         new.classes[class] = before
         say(class, nil, "no checks now, kept from the baseline before")
      elseif not cpus.alike(before, c) then
         say(class, nil, ("learned on %s, the baseline before was of %s: not compared"):format(
            cpus.words(cpus.of_class(c)), cpus.words(cpus.of_class(before))))
      else
         for name, b in pairs(before.metrics) do
            if not c.metrics[name] then
               c.metrics[name] = b
               c.forced = c.forced or before.forced
            end
         end
      end
   end
end

-- The class that a class of few nodes may have been before it lost a DIMM or a core, whether that has enough checks or
-- not; learned as it is now, the fault would be what is right for it.
local function was(known, class)
   local others = { classes = {} }
   for name, c in pairs(known) do
      others.classes[name] = name ~= class and c or nil
   end
   local near, close, above = baseline.class_for(others, class)
   return close and above and near or nil
end

--- Chooses what may be used.
-- @param learned from learn.from; changed
-- @param old baseline in use, or nil
-- @param force take what `doubt` rejects, and record it
-- @return baseline, or nil when it may not be used; list of remarks, one line each
function choose.from(learned, old, force)
   local remarks, usable, known = {}, 0, {}
   for _, from in ipairs({ old or { classes = {} }, learned }) do
      for class, c in pairs(from.classes) do
         known[class] = c
      end
   end
   local function say(class, name, text)
      remarks[#remarks + 1] = ("class %s%s: %s"):format(class, name and ", " .. name or "", text)
   end
   for _, class in ipairs(sorted(learned.classes)) do
      local c = learned.classes[class]
      local measured = c.cpus
      -- Never mixed: what was measured on other CPUs is another quantity.
      for _, other in ipairs(c.others) do
         say(class, nil, ("%d checks of %d nodes left out: measured on %s, learned on %s"):format(other.checks,
            other.nodes, cpus.words(other.cpus), cpus.words(measured)))
      end
      c.others, c.cpus = nil, cpus.kept(measured)
      for _, name in ipairs(sorted(c.metrics)) do
         local metric, m = c.metrics[name], metrics.BY_NAME[name]
         local why = doubt(metric, m, measured)
         for _, other in ipairs(metric.boxes or {}) do
            say(class, name, ("%d checks left out: measured %s, learned %s"):format(other.checks,
               box_words(other.box_s), box_words(metric.box_s or 0)))
         end
         metric.unlike, metric.group, metric.boxes, metric.outermost_pct = nil, nil, nil, nil
         if metric.split then
            metric.split.names = nil
         end
         if why then
            local none = rates_nothing(metric, m) and ("above %.0f %% it rates nothing"):format(
               100 * baseline.MAX_TOLERANCE)
            say(class, name, ("%s (%s)"):format(why, force and (none and "forced; " .. none or "forced")
               or "or --force" .. (none and "; " .. none or "")))
            c.forced = force or nil
            c.metrics[name] = force and c.metrics[name] or nil
         end
      end
   end
   for _, class in ipairs(sorted(learned.classes)) do
      local c = learned.classes[class]
      local whole = not c.forced and c.nodes < baseline.MIN_NODES and next(c.metrics) and was(known, class)
      if whole then
         say(class, nil, ("%s that may have lost parts of %s%s"):format(choose.nodes(c.nodes), whole,
            force and " (forced)" or " (or --force)"))
         c.forced, c.metrics = force or nil, force and c.metrics or {}
      end
      usable = usable + (next(c.metrics) and 1 or 0)
   end
   for _, class in ipairs(sorted(learned.classes)) do
      if not next(learned.classes[class].metrics) then
         learned.classes[class] = nil
         local near = baseline.class_for(learned, class)
         if near then
            say(class, nil, "left out: its nodes are rated as " .. near)
         end
      end
   end
   local dips = old and choose.dips(old, learned) or {}
   for _, d in ipairs(dips) do
      say(d.class, d.name, d.text .. (force and " (forced)" or " (or --force)"))
      learned.classes[d.class].forced = learned.classes[d.class].forced or force or nil
   end
   if usable == 0 or (#dips > 0 and not force) then
      return nil, remarks
   end
   choose.set_references(old, learned, force)
   keep_old(old, learned, say)
   return learned, remarks
end

return choose
