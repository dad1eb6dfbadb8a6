--- What a job's nodes together say of its wait for memory, in words for its user. Pure.
local hostlist = require("syscheck.lib.hostlist")
local saturation = require("syscheck.verdict.saturation")
local statistics = require("syscheck.lib.statistics")

local waits = {}

local NAMES = { "mem_gbs_mean", "mem_gbs_p95", "peak_gbs", "used_pct", "saturated_pct", "saturated_at_pct",
   "worst_domain_pct", "domain_imbalance", "remote_pct", "cores", "cores_needed", "gain_pct", "covered_pct" }

-- More cores than these of the job's own: all of them are needed, as far as one can tell.
local NEARLY_ALL = 0.9
-- A gain of less is within what like runs differ by.
local GAIN_PCT = 5
-- Of a job's time: what is known of less is said.
local COVERED_PCT = 80
-- States that are somebody's loss.
local BAD = { saturated = true, ["first touch"] = true, ["one domain"] = true }
local GROUPS, NAMES_SHOWN = 3, 60 -- of nodes that differ from the others; characters of who they are

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
   out.source = nodes[1].source
   for _, state in ipairs(states) do
      out.state = states[state] * 2 > #nodes and state or out.state
   end
   return out
end

-- Nodes that wait, and otherwise than most do: what is one node's trouble is lost in medians.
-- @return list of { state, names, one = the numbers of the first } by state; nil where there are none
local function differing(nodes, state)
   local by, out = {}, {}
   for _, one in ipairs(nodes) do
      local own = saturation.state(one)
      if own ~= state and BAD[own] and one.name then
         if not by[own] then
            by[own] = { state = own, names = {}, one = one }
            out[#out + 1] = by[own]
         end
         table.insert(by[own].names, one.name)
      end
   end
   return out[1] and out or nil
end

--- Of all nodes of a run.
-- @param nodes list of what saturation.of says of each, and its `name`
-- @return { state, nodes = how many know it, of, the medians of saturation.of's numbers, differing }; { unknown = the
--   reason of most } where none does; nil where nothing was counted
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
   out.nodes, out.of, out.differing = #known, #nodes, differing(known, out.state)
   return out
end

-- Whether its cores are so few that all of a node's would move more.
local function has_part(job)
   return job.cores and job.gain_pct and job.gain_pct >= GAIN_PCT
end

local function used(job)
   local of = job.of == 1 and "node's" or "nodes'"
   local what = ("its %s memory bandwidth"):format(of)
   if has_part(job) then
      what = ("what %.0f core%s of a node can move"):format(job.cores, job.cores == 1 and "" or "s")
   end
   if job.saturated_at_pct and (job.saturated_pct or 0) >= 10 then
      return ("used %.0f %% of %s for %.0f %% of its time"):format(job.saturated_at_pct, what, job.saturated_pct)
   elseif job.used_pct then
      return ("used %.0f %% of %s on average"):format(job.used_pct, what)
   end
   return ("moved %.3g GB/s to and from its %s memory on average"):format(job.mem_gbs_mean, of)
end

local function cores(job)
   if not job.cores_needed or not job.cores then
      return ": it waits for memory"
   elseif has_part(job) then
      return ("; all cores of a node would move %.0f %% more, at most"):format(job.gain_pct)
   elseif job.cores_needed >= NEARLY_ALL * job.cores then
      return ("; to move as much takes at least %.0f of %.0f cores"):format(job.cores_needed, job.cores)
   end
   -- The better of both curves: with several domains that is the one in which all have some at work.
   local spread = job.domain_imbalance and ", spread over its NUMA nodes," or ""
   local some = job.saturated_pct and job.saturated_pct < 90 and " in that time" or ""
   return ("; %.0f of %.0f cores%s move as much, fewer do not: more cores per node will not help%s"):format(
      job.cores_needed, job.cores, spread, some)
end

local function placed(job)
   -- Of medians neither need be so.
   if not job.remote_pct then
      return ("; one NUMA domain's memory was at %.0f %% of its bandwidth and the others idle: its data lies there: "
         .. "bind its processes, and let each touch its own data first"):format(job.worst_domain_pct or 100)
   end
   return ("; %.0f %% of that went to another NUMA node: bind its processes, and let each touch its own data first")
      :format(job.remote_pct)
end

local function alone(job)
   local worst = job.worst_domain_pct
   local text = ("; one NUMA domain was at %.0f %% of its bandwidth"):format(worst)
   -- The medians of nodes that are each one-sided need not be.
   if saturation.is_one_sided(job) then
      return ("%s while the median was at %.0f %%: its cores move nearly all: let all have a part of the work"):format(
         text, worst * (1 - job.domain_imbalance))
   end
   return text .. ": spread its cores and their data over all"
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
      text = text .. alone(job)
   elseif job.state == "partly" then
      text = text .. "; the rest of the time it did not wait for memory"
   elseif job.state == "free" then
      text = text .. ": it does not wait for memory bandwidth"
   elseif job.used_pct then
      text = text .. ": whether it waited for memory a mean does not tell"
   end
   for i, group in ipairs(job.differing or {}) do
      local names = hostlist.fold(group.names)
      names = i <= GROUPS and (#names <= NAMES_SHOWN and names or ("%d others"):format(#group.names))
      text = names and ("%s; %s %s"):format(text, names, waits.phrase(group.one, group.state)) or text
   end
   if job.nodes < job.of then
      text = ("%s (known of %d of %d nodes)"):format(text, job.nodes, job.of)
   end
   if job.covered_pct and job.covered_pct < COVERED_PCT then
      text = ("%s (counted for %.0f %% of its time)"):format(text, job.covered_pct)
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
   if state == "first touch" and one.remote_pct then
      return ("had %.0f %% of its memory traffic with another NUMA node"):format(one.remote_pct)
   elseif state ~= "saturated" then
      return ("had one NUMA domain%s at %.0f %% of its bandwidth, and not the others"):format(
         state == "first touch" and "'s memory" or "", one.worst_domain_pct)
   end
   local few = one.cores and one.cores_needed and one.cores_needed < NEARLY_ALL * one.cores
   local time = one.saturated_at_pct and one.saturated_pct
   return ("used %.0f %% of its memory bandwidth%s%s"):format(time and one.saturated_at_pct or one.used_pct,
      time and (" for %.0f %% of its time"):format(time) or "",
      few and (", %.0f of %.0f cores move as much"):format(one.cores_needed, one.cores) or "")
end

return waits
