--- Puts causes into a site: on which nodes, from when to when, how strongly. Pure.
--
-- A cause:
--   kind, group, also   its name; what an answer may call it
--   nodes   list of indices; nil: everybody's (a file system)
--   spans   list of { from, to, strength, cause }, s since the world's first day
--   hit     by part of a job's time (kinds.PARTS) the factor that it takes at strength 1
--   cpu     { one = share of one core that it takes, all = share of each core }
--   missing share of the memory that jobs do not get; gain: what lacking a tenth costs
--   stall   what it adds to jobs of several nodes
--   loaded  true: only as far as the job heats the node
--   spanning true: only jobs on several leaves
--   trace(cause, c)  what counters show of it, see records.lua
--   check   what a check finds: factors triad, gflops, latency, best; noise, noise_max in % to add
local rng = require("world.rng")
local site = require("world.site")

local plant = {}

-- Of one kind of cause this many on 100 nodes in 30 days, at `often` 1.
local UNIT = 100 * 30

-- On and off for the whole time.
local function flapping(r, from, to)
   local spans, t = {}, from
   local on, off = r:log(900, 30000), r:log(1800, 60000)
   while t < to do
      local last = math.min(to, t + math.max(120, r:exp(on)))
      spans[#spans + 1] = { from = t, to = last, strength = r:uniform(0.6, 1.2) }
      t = last + r:exp(off)
   end
   return spans
end

--- One span, or some where it flaps.
function plant.spans(s, r, days, kind)
   local length = days * site.DAY
   local from = r:uniform(-0.3 * length, s.days * site.DAY - 0.2 * length)
   local to = from + length
   from = math.max(from, 0)
   if kind and kind.flaps and r:chance(s.p.flapping) then
      return flapping(r, from, to)
   elseif kind and kind.grows and r:chance(kind.grows) then
      local spans, steps = {}, 12
      for i = 1, steps do
         spans[i] = { from = from + (to - from) * (i - 1) / steps, to = from + (to - from) * i / steps,
            strength = 1.6 * i / steps }
      end
      return spans
   end
   return { { from = from, to = to, strength = 1 } }
end

--- A cause's spans among those of its nodes, or everybody's.
function plant.add(s, cause)
   cause.id = #s.causes + 1
   cause.hit = cause.hit or {}
   s.causes[cause.id] = cause
   table.sort(cause.spans, function(a, b) return a.from < b.from end)
   for _, span in ipairs(cause.spans) do
      span.cause = cause
      if not cause.nodes then
         s.everywhere[#s.everywhere + 1] = span
      end
      for _, n in ipairs(cause.nodes or {}) do
         local list = s.nodes[n].spans
         list[#list + 1] = span
      end
   end
   return cause
end

--- Nodes that a kind of cause may hit.
function plant.able(s, kind)
   local list = {}
   for _, node in ipairs(s.nodes) do
      if not kind.needs or kind.needs(node.class, node) then
         list[#list + 1] = node.i
      end
   end
   return list
end

--- Some nodes of one leaf: what half a rack gets.
function plant.part_of_leaf(s, r, able)
   local one, same = s.nodes[r:pick(able)], {}
   for _, n in ipairs(able) do
      if s.nodes[n].leaf == one.leaf and s.nodes[n].class == one.class then
         same[#same + 1] = n
      end
   end
   return r:sample(same, math.max(2, math.floor(#same * r:uniform(0.25, 0.75))))
end

--- A cause of a kind on these nodes in this time. A kind's make gives the rest.
function plant.one(s, r, name, kind, nodes, spans)
   local cause = { kind = name, group = kind.group, also = kind.also, nodes = nodes, spans = spans,
      unit = not nodes and "all" or #nodes > 1 and "part of a leaf" or "node" }
   cause.hidden = kind.hidden
   kind.make(cause, r, s, nodes and s.nodes[nodes[1]].class, nodes)
   cause.trace = kind.trace
   return plant.add(s, cause)
end

-- Strength of nodes that have the same trouble differs little, unlike that of two troubles.
local function of_nodes(s, r, name, kind, able, second)
   local p = s.p
   local many = kind.many and r:chance(p.many_nodes)
   local nodes = many and plant.part_of_leaf(s, r, able) or { r:pick(able) }
   -- What hits many is seen and repaired sooner.
   local days = math.min(s.days, r:log(0.4, 4 * p.stay) * (many and 0.3 or 1))
   local spans = plant.spans(s, r, days, kind)
   plant.one(s, r, name, kind, nodes, spans)
   if second and r:chance(p.pairs) then
      local other_name, other = second(r)
      local fits = true
      for _, n in ipairs(nodes) do
         fits = fits and (not other.needs or other.needs(s.nodes[n].class, s.nodes[n]))
      end
      if fits and other_name ~= name then
         local copies = {}
         for i, span in ipairs(spans) do
            copies[i] = { from = span.from, to = span.to, strength = r:uniform(0.7, 1.1) }
         end
         plant.one(s, r, other_name, other, nodes, copies)
      end
   end
end

--- Plants the kinds of a catalogue: list of { name, often = how many, kind }.
function plant.sow(s, list, stream)
   local p = s.p
   for i, item in ipairs(list) do
      local name, kind = item[1], item[2]
      local r = rng.new(s.seed, stream .. name)
      local able = plant.able(s, kind)
      local often = (kind.often or 1) * p.prevalence * r:log(0.35, 2.5)
      if kind.sow then
         kind.sow(s, r, name, kind, often, able)
      elseif #able > 0 then
         local function second(q)
            local other = list[q:int(1, #list)]
            if other[2].sow then
               other = list[i]
            end
            return other[1], other[2]
         end
         for _ = 1, r:poisson(often * #able * s.days / UNIT) do
            of_nodes(s, r, name, kind, able, second)
         end
      end
   end
end

--- Sorts each node's spans once all causes are planted.
function plant.seal(s)
   local function by_time(a, b)
      if a.from ~= b.from then
         return a.from < b.from
      end
      return a.cause.id < b.cause.id
   end
   for _, node in ipairs(s.nodes) do
      table.sort(node.spans, by_time)
   end
   table.sort(s.everywhere, by_time)
end

--- A change of a node's settings or parts while a cause holds, and back again.
function plant.setting(s, cause, what, name, value)
   if what == "config" and name == "clock_limit_mhz" and not s.nodes[cause.nodes[1]].class.has.clock then
      return
   end
   for _, n in ipairs(cause.nodes) do
      local node, class = s.nodes[n], s.nodes[n].class
      local spans = cause.spans
      local before
      if what == "class" then
         before = class.name
      else
         before = class[what][name]
      end
      local function put(at, v)
         local change = { at = at }
         if what == "class" then
            change.class = v
         else
            change[what] = { [name] = v == nil and false or v }
         end
         node.changes[#node.changes + 1] = change
      end
      put(spans[1].from, value)
      put(spans[#spans].to, before)
   end
end

return plant
