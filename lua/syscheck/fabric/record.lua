--- What comes of a run: a record for each node, and a node whose NIC is bad, confirmed, leaves service where the site
-- wants that: through the drain path of every check.
local drain = require("syscheck.slurm.drain")
local files = require("syscheck.lib.files")
local hostlist = require("syscheck.lib.hostlist")
local rating = require("syscheck.fabric.rating")
local records = require("syscheck.spool.records")
local storm = require("syscheck.slurm.storm")
local uv = require("luv")

local record = {}

local DRAINS_S = 60 -- all calls for all nodes
local OPEN = "fabric-drains.json" -- nodes that Slurm may have drained, without an answer: the next run settles it

local function nothing()
end

-- Asks for a drain, or with no text whether one of ours that is open may stay.
local function ask(with, node, text)
   local done, listed = drain.node({ name = node, policy = with.host.policy }, text, { until_s = with.until_s,
      fabric = true, open = text == nil, sending = nothing, decided = nothing })
   with.open[node] = done.open or nil
   -- A node's own state may be in the way; only where slurmctld said nothing it is not asked for others.
   with.silent = with.silent or done.action == "undecided" and (not listed or done.open == true)
   local action = done.action
   done.action, done.open = nil, nil
   return action, done
end

-- @return action, drain details, as in a check's record
local function act(with, rated)
   local undecided
   if rated.status ~= "fail" then
      return "none"
   elseif with.host.inconclusive then
      undecided = with.host.problems[1]
   elseif not rated.enforced then
      return "observed"
   elseif with.silent then
      undecided = "not asked, as Slurm did not answer for another node"
   elseif with.interrupted() then
      undecided = "interrupted"
   end
   if undecided then
      return "undecided", { done = false, reason = storm.reason(storm.FABRIC .. rated.reason), error = undecided }
   end
   return ask(with, rated.node, storm.FABRIC .. rated.reason)
end

-- Drains of an earlier run that got no answer: where they stand beyond the cap, they are taken back.
local function settle(with)
   local before = with.host:read_state(OPEN)
   for _, node in ipairs(before and type(before.nodes) == "table" and before.nodes or {}) do
      local is_name = type(node) == "string" and hostlist.name(node)
      if is_name and not with.silent then
         ask(with, node, nil)
      elseif is_name then
         with.open[node] = true
      end
   end
   return before ~= nil
end

local function remember(with, had)
   local nodes = {}
   for node in pairs(with.open) do
      nodes[#nodes + 1] = node
   end
   if #nodes > 0 then
      table.sort(nodes)
      with.host:save_state(OPEN, { nodes = nodes })
   elseif had then
      with.host:forget_state(OPEN)
   end
end

-- Whether this user records: root, or whom the site lets write to the spool.
local function may_record(spool)
   return uv.getuid() == 0 or uv.fs_access(spool, "W") == true
end

--- Rates the nodes, drains, and records all in the host's spool, where this user may write to it: what others
-- measure accuses nobody.
-- @param host from node.open
-- @param answer from run.run
-- @param interrupted function() -> true: nothing is asked of Slurm any more
-- @return { recorded = how many, beyond = list of { nodes, text of the first }: beyond the same limits of the policy or
--   the baseline, and nothing was found; failed = list of { node, action = of the record, text }, error }; nil where
--   this user records nothing
function record.keep(host, answer, interrupted)
   if not may_record(host.spool) then
      return nil
   end
   local by = { cluster = host:cluster(), node = host.name,
      boot_id = files.read("/proc/sys/kernel/random/boot_id"):match("%S+") }
   local with = { host = host, open = {}, until_s = uv.hrtime() / 1e9 + DRAINS_S, interrupted = interrupted }
   local out, list = { failed = {}, beyond = {} }, rating.of(answer, host.policy, host.baseline)
   -- The slowest first: the storm guard may not let all of them go.
   table.sort(list, function(a, b)
      return a.least < b.least or a.least == b.least and hostlist.order(a.node) < hostlist.order(b.node)
   end)
   local had = settle(with)
   for i, rated in ipairs(list) do
      local action, drained = act(with, rated)
      if rated.status == "fail" then
         table.insert(out.failed, { node = rated.node, action = action, text = drained and action ~= "drain"
            and storm.sentence(drained) or drained and drained.reason or rated.reason })
      end
      if rated.status == "warn" and #rated.findings == 0 then
         local same = out.beyond[rated.beyond] or { nodes = {}, text = rated.text }
         if not out.beyond[rated.beyond] then
            out.beyond[rated.beyond] = same
            table.insert(out.beyond, same)
         end
         table.insert(same.nodes, rated.node)
      end
      list[i] = records.fabric(by, rated, answer, action, drained)
   end
   remember(with, had)
   out.recorded, out.error = records.append_all(host.spool, list, host.policy, by)
   return out
end

return record
