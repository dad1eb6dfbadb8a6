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

local DRAIN_S = 60 -- all calls for one node

-- Nobody settles it later: the next run finds the node again.
local function nothing()
end

-- @return action, drain details, as in a check's record
local function act(host, rated)
   if rated.status ~= "fail" then
      return "none"
   elseif host.inconclusive then
      return "undecided", { done = false, reason = storm.reason(rated.reason), error = host.problems[1] }
   elseif not rated.enforced then
      return "observed"
   end
   local done = drain.node({ name = rated.node, policy = host.policy }, rated.reason,
      { until_s = uv.hrtime() / 1e9 + DRAIN_S, sending = nothing, decided = nothing })
   local action = done.action
   done.action, done.open = nil, nil
   return action, done
end

-- Whether this user may append to the spool: its directory, or the one above that it would be made in.
local function may_write(spool)
   local dir = spool
   while dir ~= "" and not uv.fs_stat(dir) do
      dir = dir:match("^(.*)/[^/]*$") or ""
   end
   return uv.fs_access(dir == "" and "/" or dir, "W") == true
end

--- Rates the nodes, drains, and records all in the host's spool, where this user may write to it: what others
-- measure accuses nobody.
-- @param host from node.open
-- @param answer from run.run
-- @return { recorded = how many, failed = list of { node, action = of the record, text }, error }; nil where this user
--   records nothing
function record.keep(host, answer)
   if not may_write(host.spool) then
      return nil
   end
   local by = { cluster = host:cluster(), node = host.name,
      boot_id = files.read("/proc/sys/kernel/random/boot_id"):match("%S+") }
   local out, list = { recorded = 0, failed = {} }, rating.of(answer, host.policy, host.baseline)
   -- The slowest first: the storm guard may not let all of them go.
   table.sort(list, function(a, b)
      return a.least < b.least or a.least == b.least and hostlist.order(a.node) < hostlist.order(b.node)
   end)
   for i, rated in ipairs(list) do
      local action, drained = act(host, rated)
      if rated.status == "fail" then
         table.insert(out.failed, { node = rated.node, action = action, text = drained and action ~= "drain"
            and storm.sentence(drained) or drained and drained.reason or rated.reason })
      end
      list[i] = records.fabric(by, rated, answer, action, drained)
   end
   local ok, err = records.append_all(host.spool, list, host.policy, by)
   out.recorded, out.error = ok and #list or 0, err
   return out
end

return record
