--- What a job's nodes together say of its wait for memory, in words for its user. Pure.
local saturation = require("syscheck.verdict.saturation")
local statistics = require("syscheck.lib.statistics")

local waits = {}

local NAMES = { "mem_gbs_mean", "mem_gbs_p95", "peak_gbs", "used_pct", "saturated_pct", "saturated_at_pct",
   "worst_domain_pct", "domain_imbalance", "remote_pct", "cores", "cores_needed", "gain_pct", "covered_pct" }

-- More cores than these of the job's own: all of them are needed, as far as one can tell.
local NEARLY_ALL = 0.9
-- A gain of less is within what like runs differ by.
local GAIN_PCT = 5

-- Of what several nodes know the median; of the state that of most, where it is of more than half.
local function together(nodes)
   local out, states = {}, {}
   for _, name in ipairs(NAMES) do
      local list = {}
      for _, one in ipairs(nodes) do
         list[#list + 1] = type(one[name]) == "number" and one[name] or nil
      end
      out[name] = list[1] and statistics.median(list) or nil
   end
   for _, one in ipairs(nodes) do
      local state = saturation.state(one)
      states[#states + 1] = state
      states[state or 0] = (states[state or 0] or 0) + 1
   end
   for _, state in ipairs(states) do
      out.state = states[state] * 2 > #nodes and state or out.state
   end
   return out
end

--- Of all nodes of a run.
-- @param nodes list of what saturation.of says of each
-- @return { state, nodes = how many know it, of, and the medians of saturation.of's numbers }; { unknown = the reason
--   of most } where none does; nil where nothing was counted
function waits.of_job(nodes)
   local known, reasons, most = {}, {}, nil
   for _, one in ipairs(nodes) do
      local why = type(one.unknown) == "string" and one.unknown
      known[#known + 1] = type(one.mem_gbs_mean) == "number" and one or nil
      if why then
         reasons[why] = (reasons[why] or 0) + 1
         most = (not most or reasons[why] > reasons[most]) and why or most
      end
   end
   if not known[1] then
      return most and { unknown = most } or nil
   end
   local out = together(known)
   out.nodes, out.of = #known, #nodes
   return out
end

local function used(job)
   local of = job.of == 1 and "node's" or "nodes'"
   if job.saturated_at_pct and job.saturated_pct >= 10 then
      return ("used %.0f %% of its %s memory bandwidth for %.0f %% of its time"):format(job.saturated_at_pct, of,
         job.saturated_pct)
   elseif job.used_pct then
      return ("used %.0f %% of its %s memory bandwidth on average"):format(job.used_pct, of)
   end
   return ("moved %.3g GB/s to and from its %s memory on average"):format(job.mem_gbs_mean, of)
end

local function cores(job)
   if not job.cores_needed or not job.cores then
      return ": it waits for memory"
   elseif job.gain_pct and job.gain_pct >= GAIN_PCT then
      return ("; all cores of a node would move %.0f %% more, at most"):format(job.gain_pct)
   elseif job.cores_needed >= NEARLY_ALL * job.cores then
      return ("; to move as much takes at least %.0f of %.0f cores"):format(job.cores_needed, job.cores)
   end
   return ("; %.0f of %.0f cores move as much, at least so many are needed: more cores per node will not help"):format(
      job.cores_needed, job.cores)
end

local function placed(job)
   if not saturation.is_one_sided(job) then
      return ("; %.0f %% of that went to another NUMA node: bind its processes, and let each touch its own data first"):
         format(job.remote_pct)
   end
   local worst = job.worst_domain_pct
   return ("; one NUMA domain was at %.0f %% of its bandwidth while the median was at %.0f %%: its data lies there: "
      .. "let each core touch its own first"):format(worst, worst * (1 - job.domain_imbalance))
end

--- "used 92 % of its nodes' memory bandwidth for 71 % of its time; 14 of 48 cores move as much, ..."
-- @param job of waits.of_job
-- @param like { cores, ratio (their time to this job's), runs }: like runs with another number of cores, or nil
-- @return text without a subject; nil where there is nothing to say
function waits.text(job, like)
   if job.unknown then
      return nil
   end
   local text = used(job)
   if job.state == "first touch" then
      text = text .. placed(job)
   elseif job.state == "saturated" then
      text = text .. cores(job)
   elseif job.state == "one domain" then
      text = ("%s; one NUMA domain was at %.0f %% of its bandwidth: spread its cores and their data over all"):format(
         text, job.worst_domain_pct)
   elseif job.state == "partly" then
      text = text .. "; the rest of the time it did not wait for memory"
   elseif job.state == "free" then
      text = text .. ": it does not wait for memory bandwidth"
   end
   if like then
      text = text .. ("; %d like run%s with %.0f cores a node took %.2f times as long"):format(like.runs,
         like.runs == 1 and "" or "s", like.cores, like.ratio)
   end
   return text
end

--- Of one node, for the line at the end of a step: "used 92 % of its memory bandwidth, 14 of 48 cores move as much".
-- @param one of saturation.of; state of saturation.state
function waits.phrase(one, state)
   if state == "first touch" and not saturation.is_one_sided(one) then
      return ("had %.0f %% of its memory traffic with another NUMA node"):format(one.remote_pct)
   elseif state ~= "saturated" then
      return ("had one NUMA domain at %.0f %% of its bandwidth, and not the others"):format(one.worst_domain_pct)
   end
   local few = one.cores and one.cores_needed and one.cores_needed < NEARLY_ALL * one.cores
   return ("used %.0f %% of its memory bandwidth%s"):format(one.used_pct,
      few and (", %.0f of %.0f cores move as much"):format(one.cores_needed, one.cores) or "")
end

return waits
