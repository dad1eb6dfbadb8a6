--- What causes do to a run: how much each dilates a node's time, how nodes wait for each other, and
-- which cause has which part of the time lost. Pure.
local kinds = require("world.kinds")

local effect = {}

local MOST = 5 -- no cause makes a job slower than this; its user would have cancelled it

local ALL = { clock = 1, memory = 1, net = 1, lustre = 1, nfs = 1, disk = 1 }
local NO_IO = { clock = 1, memory = 1, net = 1, lustre = 0, nfs = 0, disk = 0 }

--- Which parts of a job's time its node at a place has: with one rank that reads and writes, the
-- other nodes have no I/O.
function effect.role(k, place)
   return k.rank0 and place > 1 and NO_IO or ALL
end

--- How much of its heat a job brings to a node, 0 to 1.
function effect.heats(k)
   -- On a shared node others heat it, too.
   local load = k.shared and 0.55 or k.power * k.cores + (k.avx and 0.3 or 0)
   return math.max(0, math.min(1, (load - 0.35) / 0.35))
end

-- Share of a core's time lost -> of the node's: a job whose ranks wait for each other has the
-- speed of its slowest core.
local function cpu_loss(k, class, list)
   local one, all = 0, 0
   for i = 1, #list do
      local cpu, s = list[i].cause.cpu, list[i].s
      if cpu and cpu.one then
         -- Two that want a core share it; a hypervisor asks nobody.
         local a = cpu.held and math.min(0.9, cpu.one * s) or math.min(0.5, cpu.one * s)
         if k.cores < 0.95 then
            a = a * (cpu.held and k.cores or 0.04)
         elseif not k.pinned and not cpu.held then
            a = a * 0.4 -- the kernel moves threads away
         end
         one = one + a
      end
      if cpu and cpu.all then
         all = all + cpu.all * s * (cpu.quiet and 1 or k.cores < 0.95 and 0.3 + 0.7 * k.cores or 1)
      end
   end
   local mean = one / math.max(1, class.cores * k.cores) + all
   return math.min(0.8, k.coupling * (one + all) + (1 - k.coupling) * mean)
end

--- How much longer a job takes on a node.
-- @param list of { cause, s = strength felt, is = its strength }
-- @return 1 or more
function effect.node(k, class, role, list)
   local time, heats = 1, effect.heats(k)
   for p = 1, #kinds.PARTS do
      local part, factor = kinds.PARTS[p], 1
      for i = 1, #list do
         local cause = list[i].cause
         local hit = cause.hit[part]
         if hit then
            local felt = list[i].s * (cause.loaded and heats or 1)
            if cause.packages and part == "clock" then -- the other packages' cores are not slower
               felt = felt * (k.coupling + (1 - k.coupling) * cause.packages / class.packages)
            end
            factor = factor * (1 + (hit - 1) * felt)
         end
      end
      time = time + k.w[part] * role[part] * (factor - 1)
   end
   time = time / (1 - cpu_loss(k, class, list))
   for i = 1, #list do
      local cause, s = list[i].cause, list[i].s
      if cause.missing then
         -- What is missing is so much for all; how a job takes it differs.
         local is = list[i].is or s
         local lacking = math.max(0, k.memory + cause.missing * is - 1)
         time = time * (1 + cause.gain * 10 * lacking * s / is)
      end
      if cause.stall and k.size > 1 then
         time = time * (1 + cause.stall * s)
      end
   end
   return math.min(MOST, time)
end

-- Of all nodes: the slowest one where they wait for each other, else what they do together.
local function together(k, times, idle)
   local most, sum = idle > 0 and 1 or 0, idle
   for i = 1, #times do
      most = math.max(most, times[i])
      sum = sum + 1 / times[i]
   end
   return k.coupling * most + (1 - k.coupling) * (#times + idle) / sum
end

-- by_node: list of { class, role, list }; skip: set of causes that are taken away
local function job(k, by_node, n, without)
   local times = {}
   for i = 1, #by_node do
      local at, list = by_node[i], by_node[i].list
      if without then
         list = {}
         for j = 1, #at.list do
            if not without[at.list[j].cause] then
               list[#list + 1] = at.list[j]
            end
         end
      end
      times[i] = #list > 0 and effect.node(k, at.class, at.role, list) or 1
   end
   return together(k, times, n - #by_node)
end

local EXACT = 4 -- causes whose shares are Shapley's; of more only the strongest

-- Shares of the lost time: what a cause adds, averaged over all orders in which causes might come.
local function shares(k, by_node, n, list)
   local m = #list
   if m == 1 then
      return { [list[1]] = 1 }
   end
   local value = {}
   for set = 0, (1 << m) - 1 do
      local without = {}
      for i = 1, m do
         without[list[i]] = set & (1 << (i - 1)) == 0 or nil
      end
      value[set] = job(k, by_node, n, without)
   end
   local factorial = { [0] = 1, 1, 2, 6, 24 }
   local out, sum = {}, 0
   for i = 1, m do
      local bit, part = 1 << (i - 1), 0
      for set = 0, (1 << m) - 1 do
         if set & bit == 0 then
            local size = 0
            for j = 0, m - 1 do
               size = size + (set >> j & 1)
            end
            part = part + factorial[size] * factorial[m - size - 1] / factorial[m] * (value[set | bit] - value[set])
         end
      end
      out[list[i]], sum = part, sum + part
   end
   for i = 1, m do
      out[list[i]] = sum > 1e-9 and out[list[i]] / sum or 0
   end
   return out
end

--- Spans that may touch a run. @return list of { span, place, s }, and whether any
function effect.touching(s, run, from, to)
   local list = {}
   local function take(spans, place, only)
      for i = 1, #spans do
         local span = spans[i]
         if span.from >= to then
            break
         elseif span.to > from and (not span.cause.spanning or run.leaves > 1)
            and (not span.cause.applies or span.cause.applies(run, only)) then
            list[#list + 1] = { span = span, cause = span.cause, place = place }
         end
      end
   end
   for place, n in ipairs(run.nodes) do
      take(s.nodes[n].spans, place, s.nodes[n])
   end
   for place = 1, #run.nodes do
      take(s.everywhere, place, s.nodes[run.nodes[place]])
   end
   return list
end

-- Entries that hold at a time, by node; and the causes, strongest first.
local function active_at(s, run, entries, at)
   local by_place, by_node, seen, names = {}, {}, {}, {}
   for i = 1, #entries do
      local entry = entries[i]
      if entry.span.from <= at and at < entry.span.to then
         names[#names + 1] = i
         local node = by_place[entry.place]
         if not node then
            node = { class = s.nodes[run.nodes[entry.place]].class, role = effect.role(run.kind, entry.place),
               list = {} }
            by_place[entry.place], by_node[#by_node + 1] = node, node
         end
         node.list[#node.list + 1] = entry
         if not seen[entry.cause] then
            seen[entry.cause] = true
            seen[#seen + 1] = entry.cause
         end
      end
   end
   return by_node, seen, table.concat(names, ",")
end

local function strongest(k, by_node, n, list)
   if #list <= 1 then
      return list
   end
   local alone = {}
   for _, cause in ipairs(list) do
      local without = {}
      for _, other in ipairs(list) do
         without[other] = other ~= cause or nil
      end
      alone[cause] = job(k, by_node, n, without)
   end
   table.sort(list, function(a, b)
      if alone[a] ~= alone[b] then
         return alone[a] > alone[b]
      end
      return a.id < b.id
   end)
   return { table.unpack(list, 1, EXACT) }
end

--- Lets a run happen: its time with all causes, and what each took.
-- @param run { kind, nodes, begin, clean = seconds without causes, leaves }
-- @return seconds; lost = { [cause] = seconds }
function effect.run(s, r, run)
   local entries = effect.touching(s, run, run.begin, run.begin + MOST * run.clean)
   local lost = {}
   if #entries == 0 then
      return run.clean, lost
   end
   local felt, times, seen = {}, {}, {}
   for i = 1, #entries do
      local entry = entries[i]
      felt[entry.cause] = felt[entry.cause] or s.p.feel * r:spread(0.2)
      entry.is = entry.span.strength
      entry.s = entry.is * felt[entry.cause]
      for _, t in ipairs({ entry.span.from, entry.span.to }) do
         if t > run.begin and not seen[t] then
            seen[t] = true
            times[#times + 1] = t
         end
      end
   end
   table.sort(times)
   times[#times + 1] = math.huge
   local k, n, at, left, known = run.kind, #run.nodes, run.begin, run.clean, {}
   for i = 1, #times do
      local by_node, list, name = active_at(s, run, entries, at)
      local now = known[name]
      if not now then
         now = { time = job(k, by_node, n) }
         now.shares = now.time > 1 and shares(k, by_node, n, strongest(k, by_node, n, list)) or {}
         known[name] = now
      end
      local wall = math.min(times[i] - at, left * now.time)
      for cause, share in pairs(now.shares) do
         lost[cause] = (lost[cause] or 0) + wall * (1 - 1 / now.time) * share
      end
      left, at = left - wall / now.time, at + wall
      if left <= run.clean * 1e-9 then
         break
      end
   end
   return at - run.begin, lost
end

return effect
