--- Jobs on one node that slow each other: by memory bandwidth, by a disk, and where jobs are not
-- confined to their CPUs by those. Pure.
local neighbours = {}

local ENOUGH = 0.85 -- of a node's bandwidth; beyond, all wait for memory
local MOST = 2.5

-- What a job asks for, as shares of the node.
local function demand(k, what)
   if what == "memory" then
      return k.bandwidth
   elseif what == "disk" then
      return k.w.disk + (k.own_io and k.own_io.where == "disk" and k.own_io.busy or 0)
   end
   return k.threads or k.cores
end

-- How much longer a job takes among others for what they all ask of one thing.
local function dilation(s, k, what, sum)
   if what == "memory" then
      return 1 + k.w.memory * math.max(0, sum / ENOUGH - 1)
   elseif what == "disk" then
      return 1 + k.w.disk * math.max(0, sum - demand(k, what) - 0.2) * 4
   end
   return s.p.confined and 1 or math.max(1, sum)
end

local WHATS = { "memory", "disk", "cpu" }

-- The time that a run has with the same others, from one coming or going to the next.
local function segment(s, run, present, wall, into)
   local product, parts = 1, {}
   for _, what in ipairs(WHATS) do
      local own = demand(run.kind, what)
      local sum = own
      for _, other in ipairs(present) do
         sum = sum + demand(other.kind, what)
      end
      local factor = sum > own and dilation(s, run.kind, what, sum) or 1
      if factor > 1 then
         product = product * factor
         parts[#parts + 1] = { what = what, weight = math.log(factor), others = sum - own }
      end
   end
   product = math.min(product, MOST)
   local total = 0
   for _, part in ipairs(parts) do
      total = total + part.weight
   end
   for _, part in ipairs(parts) do
      for _, other in ipairs(present) do
         local lost = wall * (product - 1) * part.weight / total * demand(other.kind, part.what) / part.others
         local key = part.what .. other.id
         if not into[key] then
            into[key] = { what = part.what, run = other, lost = 0 }
            into[#into + 1] = into[key]
         end
         into[key].lost = into[key].lost + lost
      end
   end
   return wall * (product - 1)
end

local function of_run(s, run, all)
   local from, to = run.begin, run.begin + run.seconds
   local others, times = {}, { to }
   for _, other in ipairs(all) do
      if other ~= run and other.begin < to and other.begin + other.seconds > from then
         others[#others + 1] = other
         times[#times + 1] = math.max(from, other.begin)
         times[#times + 1] = math.min(to, other.begin + other.seconds)
      end
   end
   table.sort(times)
   local at, lost, list = from, 0, {}
   for _, t in ipairs(times) do
      if t > at then
         local present = {}
         for _, other in ipairs(others) do
            if other.begin <= at and other.begin + other.seconds > at then
               present[#present + 1] = other
            end
         end
         lost = lost + (#present > 0 and segment(s, run, present, t - at, list) or 0)
         at = t
      end
   end
   return lost, list
end

--- Makes runs on shared nodes as long as they are with their neighbours. A run gets `neighbours`,
-- list of { what = memory|disk|cpu, run, lost = seconds }, and `others`, the runs it met.
function neighbours.meet(s)
   for _, node in ipairs(s.nodes) do
      if node.shared then
         local more = {}
         for i, run in ipairs(node.runs) do
            more[i], run.neighbours = of_run(s, run, node.runs)
         end
         for i, run in ipairs(node.runs) do
            run.by_neighbours = more[i]
            run.seconds = run.seconds + more[i]
         end
         for _, run in ipairs(node.runs) do
            run.others = {}
            local to = run.begin + run.seconds
            for _, other in ipairs(node.runs) do
               if other ~= run and other.begin < to and other.begin + other.seconds > run.begin then
                  run.others[#run.others + 1] = other
               end
            end
         end
      end
   end
end

return neighbours
