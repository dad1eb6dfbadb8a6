--- Checks of nodes: which are made when, and what they find. Pure.
local rng = require("world.rng")
local site = require("world.site")

local checks = {}

-- Days between two measurements of a node, by the site's habit; nil: only where users ask.
local EVERY = { each = 1, daily = 1, weekly = 7, rare = 14 }

-- Causes that hold on a node at a time.
local function active(s, node, at)
   local list = {}
   for _, spans in ipairs({ node.spans, s.everywhere }) do
      for i = 1, #spans do
         local span = spans[i]
         if span.from > at then
            break
         elseif span.to > at and span.cause.check then
            list[#list + 1] = span
         end
      end
   end
   return list
end

-- What causes make of a check's values, and whether one is beyond the check's own error.
local function disturb(s, node, at, v, class)
   for _, span in ipairs(active(s, node, at)) do
      local c, st = span.cause.check, span.strength
      local function scale(name, power)
         local f = c[name] and 1 + (c[name] - 1) * math.min(1.3, st) or 1
         v[name] = v[name] * math.max(0.1, f) ^ (power or 1)
         return math.abs(f - 1)
      end
      local most = math.max(scale("triad"), scale("gflops"), scale("best"), scale("latency"))
      local noise = (c.noise or 0) * st + (c.one and (c.noise_max or 0) * st / class.cores or 0)
      v.noise = v.noise + noise
      v.noise_max = v.noise_max + (c.noise_max or 0) * st
      local seen = most > 2.5 * class.error or noise > 2 * class.noise or (c.noise_max or 0) * st > 3
      if seen then
         local shown = s.shown[span.cause] or {}
         s.shown[span.cause] = shown
         shown[#shown + 1] = { node = node.i, at = at }
      end
   end
end

local function metric(name, value, median, limit, worse)
   local bad = value < limit == (worse == "<") and value ~= limit
   return { name = name, status = bad and "fail" or "pass", value = value, limit = limit, op = worse,
      source = median, mode = bad and "observe" or nil }
end

local function round(x, digits)
   local f = 10 ^ digits
   return math.floor(x * f + 0.5) / f
end

-- The kernels' values at a level.
local function measure(s, r, node, at, level)
   local class, p = node.class, s.p
   local e = class.error
   local v = { triad = class.triad * node.triad, gflops = class.gflops / node.speed, best = class.triad * class.best
      * node.triad, latency = class.latency * (2 - node.triad), noise = class.noise * node.noise, noise_max = 0 }
   disturb(s, node, at, v, class)
   if r:chance(p.disturbed) then -- something ran beside it, for its seconds
      v.triad, v.gflops, v.best = v.triad * r:uniform(0.55, 0.96), v.gflops * r:uniform(0.6, 0.97),
         v.best * r:uniform(0.7, 1)
      v.noise, v.noise_max = v.noise + r:log(0.5, 20), v.noise_max + r:log(5, 80)
   end
   local function err(x)
      return 1 + x * e * r:normal()
   end
   v.noise = v.noise * r:spread(0.3)
   v.noise_max = v.noise * r:uniform(1.5, 6) + v.noise_max * r:uniform(0.7, 1)
   local list, source = {}, ("class %s, median %%.4g"):format(class.name)
   local function add(name, value, median, digits, worse)
      local limit = median * (1 + (worse == "<" and -1 or 1) * p.enforce_limit)
      list[#list + 1] = metric(name, round(value, digits), source:format(median), round(limit, digits), worse)
   end
   add("triad_gbs", v.triad * err(0.7), class.triad, 2, "<")
   add("gflops", v.gflops * err(1), class.gflops, 1, "<")
   list[#list + 1] = { name = "noise_pct", status = "unrated", value = round(v.noise, 3) }
   if level == "full" then
      add("latency_ns", v.latency * err(0.6), class.latency, 1, ">")
      list[#list].mode = nil
      list[#list].status = list[#list].status == "fail" and "warn" or "pass"
      list[#list + 1] = { name = "best_gbs", status = "unrated", value = round(v.best * err(0.7), 2) }
   end
   local runs = { { kernel = "noise", attempt = 1, state = "ok", seconds = 0.5, box_s = 0.5, result = {
      noise_pct = round(v.noise, 3), noise_pct_max = round(math.min(100, v.noise_max), 3),
      worst_cpu = r:int(0, class.cpus - 1) } } }
   return list, runs
end

local RANK = { fail = 4, warn = 3, pass = 2, unrated = 1 }

--- A check's record without what every record has.
local function body(s, r, node, at, level, trigger, asked)
   local kernels = level == "quick" or level == "full"
   local metrics, runs = {}, nil
   if kernels then
      metrics, runs = measure(s, r, node, at, level)
   end
   if node.class.has.throttle then
      local n = 0
      for _, span in ipairs(node.spans) do
         if span.cause.event_s and span.from < at and span.to > at and r:chance(0.3) then
            n = n + r:int(1, 40)
         end
      end
      metrics[#metrics + 1] = { name = "throttle_events", status = n > 0 and "warn" or "pass", value = n, limit = 0,
         op = ">", source = "policy" }
   end
   local gib = node.class.memory_gib
   metrics[#metrics + 1] = { name = "memory_gib", status = "pass", value = gib, limit = gib, op = "=",
      source = "class " .. node.class.name }
   local status = "unrated"
   for _, m in ipairs(metrics) do
      status = RANK[m.status] > RANK[status] and m.status or status
   end
   local bad = status == "fail"
   return { kind = "check", id = r:hex(32), at = at, trigger = trigger, level = level, asked = asked, status = status,
      text = bad and "slower than its class" or "as its class", reason = bad and "slower than its class" or nil,
      metrics = metrics, runs = runs, action = bad and "observed" or "none", kernel_s = kernels and 3.5 or 0,
      box_s = kernels and 3.5 or 0, duration_s = round(kernels and r:uniform(3.6, 4.5) or r:log(0.01, 0.2), 3) }
end

-- What is measured before a run on a node: by habit, as long not done, or as its user asks.
local function level_of(s, r, run, due)
   local p = s.p
   if not run.partition.shared then
      if run.asks == nil then
         run.asks = r:chance(p.asked) and (r:chance(p.full) and "full" or "quick") or false
      end
      if run.asks then
         return run.asks, run.asks
      elseif p.checks == "each" or due and not p.health then
         return r:chance(p.full * 0.3) and "full" or "quick", "none"
      end
   end
   return p.passive and "passive" or nil, "none"
end

--- Makes all checks. Those before runs are in run.checks, by node; returns the others, list of bodies
-- with `node`.
function checks.make(s)
   local all = {}
   local every = EVERY[s.p.checks] * site.DAY
   s.shown = {}
   for _, node in ipairs(s.nodes) do
      local r = rng.new(s.seed, "checks" .. node.name)
      local free, last = 0, -r:uniform(0, every)
      local function idle(to)
         while s.p.health and math.max(free, last + every) < to do
            local at = math.max(free, last + every) + r:uniform(0, 600)
            if at >= to - 60 then
               break
            end
            local check = body(s, r, node, at, r:chance(s.p.full) and "full" or "quick", "health", "none")
            check.node, last = node, at
            all[#all + 1] = check
         end
      end
      for _, run in ipairs(node.runs) do
         idle(run.begin)
         local level, asked = level_of(s, r, run, last + every < run.begin)
         run.checks = run.checks or {}
         if level then
            run.checks[node.i] = body(s, r, node, run.begin - 4, level, "prolog", asked)
            last = level ~= "passive" and run.begin or last
         end
         free = math.max(free, run.begin + run.seconds + 30)
      end
      idle(s.days * site.DAY)
   end
   return all
end

--- Whether a check shows a cause near a run, on one of its nodes.
function checks.shows(s, cause, nodes, from, to)
   for _, shown in ipairs(s.shown[cause] or {}) do
      if shown.at > from - 3 * site.DAY and shown.at < to + 3 * site.DAY then
         for _, n in ipairs(nodes) do
            if n == shown.node then
               return true
            end
         end
      end
   end
   return false
end

return checks
