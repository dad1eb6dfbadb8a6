--- What was really the matter: the answers' measure. Pure.
local checks = require("world.checks")
local counters = require("world.counters")
local rng = require("world.rng")
local site = require("world.site")

local truth = {}

local NEARBY = 15 * site.DAY

local function kind_of(cause)
   return cause.hidden and "secret" or cause.kind
end

local function names_of(s, nodes)
   local list = {}
   for i, n in ipairs(nodes) do
      list[i] = s.nodes[n].name
   end
   return list
end

-- Nodes of a run on which a cause held meanwhile.
local function nodes_of(s, run, cause)
   local list = {}
   for _, n in ipairs(run.nodes) do
      for _, span in ipairs(s.nodes[n].spans) do
         if span.from >= run.begin + run.seconds then
            break
         elseif span.cause == cause and span.to > run.begin then
            list[#list + 1] = n
            break
         end
      end
   end
   return list
end

local SHOWN_BY = { memory = { "traffic" }, disk = { "disk" }, cpu = { "sched", "pressure" } }

-- What neighbours took, a cause for each thing that ran short.
local function add_neighbours(s, run, list)
   local by_what = {}
   for _, one in ipairs(run.neighbours or {}) do
      local cause = by_what[one.what]
      if not cause then
         cause = { group = "neighbour", kind = "neighbour_" .. one.what, nodes = names_of(s, run.nodes), unit = "job",
            lost = 0, jobs = {}, trace = false }
         by_what[one.what], list[#list + 1] = cause, cause
         for _, source in ipairs(SHOWN_BY[one.what]) do
            cause.trace = cause.trace or s.nodes[run.nodes[1]].class.has[source]
         end
      end
      cause.lost = cause.lost + one.lost
      cause.jobs[#cause.jobs + 1] = { id = one.run.id, lost = one.lost }
   end
   for _, cause in pairs(by_what) do
      table.sort(cause.jobs, function(a, b) return a.lost > b.lost or a.lost == b.lost and a.id < b.id end)
      for i, job in ipairs(cause.jobs) do
         cause.jobs[i] = job.id
      end
   end
end

-- Whether a cause left anything in a run's records or, near it, its nodes' checks.
local function left_trace(s, run, cause)
   return run.traced[cause] or checks.shows(s, cause, run.nodes, run.begin, run.begin + run.seconds)
end

local function causes_of(s, run)
   local list = {}
   for cause, lost in pairs(run.lost) do
      local nodes = nodes_of(s, run, cause)
      list[#list + 1] = { group = cause.group, also = cause.also, kind = kind_of(cause), unit = cause.unit, lost = lost,
         nodes = cause.nodes and names_of(s, nodes) or "all", id = cause.id,
         trace = left_trace(s, run, cause) }
   end
   add_neighbours(s, run, list)
   local total, out = run.seconds - run.clean, {}
   for _, cause in ipairs(list) do
      cause.share, cause.lost = cause.lost / total, nil
      out[#out + 1] = cause.share >= 0.03 and cause or nil
   end
   table.sort(out, function(a, b)
      return a.share > b.share or a.share == b.share and a.kind < b.kind
   end)
   return out
end

local function traits_of(s, run)
   local t = { shared = run.partition.shared, harmless = false, hot_rack = false }
   for _, n in ipairs(run.nodes) do
      t.harmless = t.harmless or counters.harmless(s.nodes[n], run.begin)
      for _, span in ipairs(s.nodes[n].spans) do
         if span.from >= run.begin + run.seconds then
            break
         elseif span.to > run.begin and span.cause.hot and not span.cause.harmful then
            t.hot_rack = true
         end
      end
   end
   return t
end

local function key_of(run)
   return ("%s\0%s\0%d"):format(run.kind.user, run.name, run.kind.size)
end

-- Begins of the runs of each user, name and node count, in order.
local function index(runs)
   local by_key = {}
   for _, run in ipairs(runs) do
      if not run.attempt and run.recorded > 0 then
         local key = key_of(run)
         by_key[key] = by_key[key] or {}
         table.insert(by_key[key], run.begin)
      end
   end
   return by_key
end

local function like(by_key, run)
   local n = -1
   for _, begin in ipairs(by_key[key_of(run)]) do
      n = n + (math.abs(begin - run.begin) <= NEARBY and 1 or 0)
   end
   return n
end

local function case_of(s, run, by_key)
   local k = run.kind
   local slowdown = run.seconds / run.clean
   return { id = run.id, slowdown = slowdown, size = k.size, causes = slowdown >= 1.05 and causes_of(s, run) or {},
      kind = slowdown < 1.05 and (run.why or "none") or nil, like = like(by_key, run), tight = k.tight,
      traits = traits_of(s, run), begin = site.EPOCH + math.floor(run.begin), seconds = run.seconds, why = run.why }
end

-- As many that nothing slowed: a third of them any, a third took long by themselves, a third has
-- something that looks guilty.
local function innocent(s, runs, n)
   local r = rng.new(s.seed, "innocent")
   local any, long, traits = {}, {}, {}
   for _, run in ipairs(runs) do
      any[#any + 1] = run
      if run.why then
         long[#long + 1] = run
      end
      local t = traits_of(s, run)
      if t.harmless or t.hot_rack or t.shared then
         traits[#traits + 1] = run
      end
   end
   local out, taken = {}, {}
   local function take(list, most)
      for _, run in ipairs(r:sample(list, #list)) do
         if #out >= most then
            break
         elseif not taken[run] then
            taken[run], out[#out + 1] = true, run
         end
      end
   end
   take(long, n // 3)
   take(traits, 2 * n // 3)
   take(any, n)
   return out
end

-- Nodes, and how many jobs each slowed by a tenth, in how many of these that left a trace, and by 3 % and more, by each
-- of its causes.
local function suspects_of(s, runs)
   local slowed_by, traced_by, cost_by, list = {}, {}, {}, {}
   local function count(by, cause, nodes)
      by[cause] = by[cause] or {}
      for _, n in ipairs(nodes) do
         by[cause][n] = (by[cause][n] or 0) + 1
      end
   end
   for _, run in ipairs(runs) do
      for _, cause in ipairs(s.causes) do
         local lost = cause.nodes and run.lost[cause] or 0
         local nodes = lost >= 0.03 * run.clean and nodes_of(s, run, cause)
         if nodes then
            count(cost_by, cause, nodes)
         end
         if nodes and lost >= 0.1 * run.clean then
            count(slowed_by, cause, nodes)
            count(traced_by, cause, left_trace(s, run, cause) and nodes or {})
         end
      end
   end
   for _, cause in ipairs(s.causes) do
      for _, n in ipairs(cause.nodes or {}) do
         local cost = cost_by[cause] and cost_by[cause][n]
         local slowed = slowed_by[cause] and slowed_by[cause][n] or 0
         if cost then
            list[#list + 1] = { node = s.nodes[n].name, group = cause.group, also = cause.also, kind = kind_of(cause),
               unit = cause.unit, slowed = slowed, traced = slowed > 0 and traced_by[cause][n] or 0, cost = cost,
               from = site.EPOCH + math.floor(cause.spans[1].from),
               to = site.EPOCH + math.floor(cause.spans[#cause.spans].to) }
         end
      end
   end
   table.sort(list, function(a, b)
      if a.slowed ~= b.slowed then
         return a.slowed > b.slowed
      end
      return a.node .. a.kind < b.node .. b.kind
   end)
   return list
end

--- @return { leaf, cases, suspects, jobs }, see world.build
function truth.of(s, runs)
   local out = { leaf = {}, cases = {}, jobs = 0 }
   for _, node in ipairs(s.nodes) do
      out.leaf[node.name] = "leaf" .. node.leaf
   end
   local whole, slow, good = {}, {}, {}
   for _, run in ipairs(runs) do
      if not run.attempt then
         out.jobs = out.jobs + 1
      end
      if not run.attempt and not run.failed and run.recorded > 0 then
         whole[#whole + 1] = run
         local slowdown = run.seconds / run.clean
         if slowdown >= 1.05 then
            slow[#slow + 1] = run
         elseif slowdown < 1.005 then
            good[#good + 1] = run
         end
      end
   end
   local by_key = index(runs)
   for _, list in ipairs({ slow, innocent(s, good, #slow) }) do
      for _, run in ipairs(list) do
         out.cases[#out.cases + 1] = case_of(s, run, by_key)
      end
   end
   out.suspects = suspects_of(s, whole)
   return out
end

return truth
