--- Where and when jobs run. Pure.
local effect = require("world.effect")
local rng = require("world.rng")
local site = require("world.site")

local schedule = {}

local FIRST_ID = 1000000

-- Binary heap of { at, order }.
local function before(a, b)
   return a.at < b.at or a.at == b.at and a.order < b.order
end

local function push(heap, item)
   local i = #heap + 1
   while i > 1 and before(item, heap[i // 2]) do
      heap[i], i = heap[i // 2], i // 2
   end
   heap[i] = item
end

local function pop(heap)
   local top, last = heap[1], table.remove(heap)
   local n, i = #heap, 1
   while n > 0 do
      local child = 2 * i
      if child < n and before(heap[child + 1], heap[child]) then
         child = child + 1
      end
      if child > n or not before(heap[child], last) then
         heap[i] = last
         break
      end
      heap[i], i = heap[child], child
   end
   return top
end

-- Whole nodes: the first free ones from the front or from anywhere.
local function whole(s, r, k, at)
   local part = k.partition
   if k.cross then
      part = r:pick(s.partitions)
      if part.shared or #part.nodes < k.size then
         part = k.partition
      end
   end
   local nodes, n = {}, #part.nodes
   local start = r:chance(s.p.first_fit) and 0 or r:int(0, n - 1)
   for i = 0, n - 1 do
      local node = part.nodes[(start + i) % n + 1]
      if s.nodes[node].free <= at then
         nodes[#nodes + 1] = node
         if #nodes == k.size then
            table.sort(nodes)
            return nodes, part
         end
      end
   end
end

-- Some cores of a node that others use, too: Slurm packs, not always.
local function some_cores(s, r, k, at)
   local best, most = nil, -1
   local cores = math.max(k.cores, 1 / k.partition.class.cores)
   for _, n in ipairs(k.partition.nodes) do
      local node, used = s.nodes[n], 0
      for i = #node.running, 1, -1 do
         if node.running[i].till <= at then
            table.remove(node.running, i)
         else
            used = used + node.running[i].cores
         end
      end
      local worth = used + r:float() * 0.7
      if used + cores <= 1.0001 and worth > most and #node.running < 60 then
         best, most = n, worth
      end
   end
   return best and { best }, k.partition
end

local function leaves(s, nodes)
   local n, last = 0, nil
   for _, i in ipairs(nodes) do
      n, last = n + (s.nodes[i].leaf ~= last and 1 or 0), s.nodes[i].leaf
   end
   return n
end

--- What a run would take with nothing planted; why it is unlike others is noted in the run.
local function clean_seconds(s, r, k, run, at)
   local t = k.seconds * r:spread(k.sigma)
   if k.mode and r:chance(k.mode.share) then
      t, run.why = t * k.mode.ratio, "mode"
   end
   if k.tail and r:chance(k.tail.p) then
      t, run.why = t * (1 + r:exp(k.tail.scale)), "tail"
   end
   if k.trend then
      t = t * math.exp(k.trend * (at / site.DAY - s.days / 2))
   end
   if k.step and at / site.DAY > k.step.at then
      t = t * k.step.ratio
   end
   run.work = 1
   if r:chance(k.input) then
      run.work, run.why = r:uniform(1.25, 4), "input"
      t = t * run.work
   end
   run.mix = r:spread(k.mix)
   t = t * (1 + (k.w.lustre + k.w.nfs + k.w.disk) * (run.mix - 1))
   local slowest, mean = 0, 0
   for _, n in ipairs(run.nodes) do
      slowest, mean = math.max(slowest, s.nodes[n].speed), mean + s.nodes[n].speed / #run.nodes
   end
   t = t * (k.coupling * slowest + (1 - k.coupling) * mean)
   return math.max(20, t * (k.by_class and k.by_class[run.partition.class] or 1))
end

local function occupy(s, run, k)
   for _, n in ipairs(run.nodes) do
      local node = s.nodes[n]
      if k.shared then
         -- Its neighbours may make it longer: so much later are its cores given away.
         node.running[#node.running + 1] = { till = run.begin + 1.6 * run.seconds + 60,
            cores = math.max(k.cores, 1 / node.class.cores) }
      else
         node.free = run.begin + run.seconds + 20
      end
      node.runs[#node.runs + 1] = run
   end
end

local function start(s, r, job, nodes, part)
   local k = job.kind
   local run = { id = job.id, kind = k, order = job.order, begin = job.at, nodes = nodes, partition = part,
      restart = job.attempts, leaves = leaves(s, nodes), name = job.name, task = job.task, array = job.array }
   run.clean = clean_seconds(s, r, k, run, job.at)
   run.seconds, run.lost = effect.run(s, rng.new(s.seed, "felt" .. job.id), run)
   return run
end

-- A run that ends before its time: another one of the job follows, or none.
local function cut(run, share)
   run.seconds, run.clean, run.cut = run.seconds * share, run.clean * share, true
   return run
end

--- Runs all jobs. @return list of runs by time of begin, requeued ones' first runs too (`attempt`)
function schedule.run(s, submissions)
   local r = rng.new(s.seed, "schedule")
   local heap, runs, id, dropped = {}, {}, FIRST_ID, 0
   for _, node in ipairs(s.nodes) do
      node.free, node.running, node.runs = 0, {}, {}
   end
   for _, one in ipairs(submissions) do
      local k = one.kind
      id = id + r:int(1, 3)
      k.first = k.first or id
      k.count = (k.count or 0) + 1
      push(heap, { at = one.at, order = id, id = id, kind = k, tries = 0, attempts = 0,
         task = k.array and k.count or nil, array = k.array and k.first or nil,
         name = k.numbered and ("%s_%04d"):format(k.name, k.count) or k.name })
   end
   while #heap > 0 do
      local job = pop(heap)
      local k = job.kind
      local nodes, part = (k.shared and some_cores or whole)(s, r, k, job.at)
      if nodes then
         local run = start(s, r, job, nodes, part)
         runs[#runs + 1] = run
         if job.attempts == 0 and not k.shared and r:chance(s.p.requeue) then
            cut(run, r:uniform(0.02, 0.6)).attempt = true
            job.attempts, job.at = 1, run.begin + run.seconds + r:uniform(45, 900)
            -- What its epilog says comes when the next run is under way.
            run.late = r:chance(0.4) and r:uniform(60, 400) or nil
            run.next = job
            push(heap, job)
         elseif r:chance(s.p.fail) then
            cut(run, r:uniform(0.02, 0.97)).failed = true
         end
         job.run = run
         occupy(s, run, k)
      elseif job.tries < 300 and job.at < s.days * site.DAY then
         job.tries, job.at = job.tries + 1, job.at + r:uniform(300, 6000)
         push(heap, job)
      else
         dropped = dropped + 1
      end
   end
   return runs, dropped
end

return schedule
