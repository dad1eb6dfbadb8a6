--- The fleet as metrics for Prometheus. Pure. What is of a window of time goes down again, so it is a gauge and named
-- without _total.
local sorted = require("syscheck.lib.sorted")
local standing = require("syscheck.verdict.standing")

local logic = {}

--- Causes that a slow job may have: the groups of questions/why/causes.lua that `why` names, input (the job did
-- more), nothing that it names, and not asked for (see read.lua). Each is there, at 0, too: a series that is gone is
-- no answer.
logic.CAUSES = { "clock", "daemon", "input", "link", "memory", "neighbour", "quota", "shortage", "storage",
   "unrecorded", "unexplained", "unexamined" }

local function fleet(list)
   local count, samples = {}, {}
   for _, node in ipairs(list) do
      local of = count[node.cluster] or {}
      count[node.cluster] = of
      of[node.class] = of[node.class] or {}
      of[node.class][node.status] = (of[node.class][node.status] or 0) + 1
   end
   for _, cluster in ipairs(sorted(count)) do
      for _, class in ipairs(sorted(count[cluster])) do
         for _, status in ipairs(standing.STATUSES) do
            samples[#samples + 1] = { value = count[cluster][class][status] or 0, "class", class, "cluster", cluster,
               "status", status }
         end
      end
   end
   return samples
end

-- @param of function(run) -> what it adds
local function by_cause(answer, of)
   local sums, samples = {}, {}
   for cluster in pairs(answer.lag) do
      sums[cluster] = {}
   end
   for _, run in ipairs(answer.slow) do
      local cause = run.cause or "unexamined"
      sums[run.cluster] = sums[run.cluster] or {}
      sums[run.cluster][cause] = (sums[run.cluster][cause] or 0) + of(run)
   end
   for _, cluster in ipairs(sorted(sums)) do
      for _, cause in ipairs(logic.CAUSES) do
         samples[#samples + 1] = { value = sums[cluster][cause] or 0, "cause", cause, "cluster", cluster }
      end
   end
   return samples
end

local function by_cluster(values, others)
   local all, samples = {}, {}
   for cluster in pairs(others) do
      all[cluster] = values[cluster] or 0
   end
   for cluster, v in pairs(values) do
      all[cluster] = v
   end
   for _, cluster in ipairs(sorted(all)) do
      samples[#samples + 1] = { value = all[cluster], "cluster", cluster }
   end
   return samples
end

--- @param answer { now, since, nodes = list of { cluster, class, status }, lag, lost = { cluster = number },
--   compared = { cluster = runs with like runs }, slow = list of { cluster, lost_s (over its nodes), cause or nil } }
-- @return families for lib/prometheus.lua
function logic.families(answer)
   local function family(name, kind, help, samples)
      return { name = "syscheck_" .. name, type = kind, help = help, samples = samples }
   end
   return {
      family("fleet_nodes", "gauge", "Nodes by class and status, of those that were checked in 30 days.",
         fleet(answer.nodes)),
      family("jobs_window_seconds", "gauge", "How far back the jobs reach that are counted below.",
         { { value = answer.now - answer.since } }),
      family("compared_jobs", "gauge", "Jobs that ended in the window and have like runs.",
         by_cluster(answer.compared, answer.lag)),
      family("slow_jobs", "gauge", "Of these, slower than like runs, by what syscheck why names.",
         by_cause(answer, function()
            return 1
         end)),
      family("lost_node_seconds", "gauge", "Time beyond the usual times nodes, of the slow jobs.",
         by_cause(answer, function(run)
            return run.lost_s
         end)),
      family("ingest_lag_seconds", "gauge", "Age of the newest record in the store.", by_cluster(answer.lag, {})),
      family("records_lost_total", "counter", "Records that nodes have lost.", by_cluster(answer.lost, {})),
   }
end

return logic
