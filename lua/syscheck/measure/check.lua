--- Runs one check: kernels under a deadline, the verdict, one confirming re-run.
-- The same for the prolog and the command line.
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local busy = lazy.require("syscheck.verdict.busy")
local counters = require("syscheck.hardware.snapshot")
local cpus = lazy.require("syscheck.hardware.cpus")
local deltas = lazy.require("syscheck.counters.deltas")
local directories = lazy.require("syscheck.measure.directories")
local inventories = require("syscheck.hardware.inventory")
local kernels = lazy.require("syscheck.measure.kernels")
local level = require("syscheck.policy.level")
local machine = require("syscheck.hardware.machine")
local memory_traffic = lazy.require("syscheck.counters.memory_traffic")
local metrics = require("syscheck.catalogue.metrics")
local others = lazy.require("syscheck.measure.others")
local parts = require("syscheck.verdict.parts")
local paths = require("syscheck.lib.paths")
local ruler = lazy.require("syscheck.verdict.ruler")
local schema = require("syscheck.policy.schema")
local throttle = require("syscheck.counters.throttle")
local time = require("syscheck.lib.time")
local verdict = require("syscheck.verdict.rating")

local check = {}

local function now_s()
   return uv.hrtime() / 1e9
end

-- @param measured from cpus:describe
local function take(results, measurement, measured)
   for _, m in ipairs(metrics.LIST) do
      if m.kernel == measurement.kernel then
         if measurement.state == "ok" then
            local value, why, bound = metrics.measured(m, measurement.result)
            results[m.name] = { value = value, unknown = not value and why or nil, bound = bound, cpus = measured,
               loss = measurement.loss, others = measurement.others }
         elseif measurement.state == "corrupt" then
            results[m.name] = { corrupt = measurement.reason }
         else
            results[m.name] = { unknown = measurement.reason }
         end
      end
   end
end

--- The counters that a check rates: what its snapshot at the begin has to have.
check.COUNTERS = { "throttle" }

-- Events since the last snapshot, whichever is the latest that counts: the last
-- one of this boot, the boot itself when there was another before, else this
-- check's own begin.
local function throttle_events(from, last, to)
   if not to.sources.throttle then
      return nil -- the machine has no such counters
   end
   local since = from
   if last and last.boot_id == to.boot_id then
      since = last
   elseif last then
      return throttle.events(deltas.total(to.sources.throttle))
   end
   local delta = deltas.delta(since, to)
   return throttle.events(delta and delta.throttle)
end

-- Those that the policy gives time at this level; of the node, not of directories.
local function kernels_of(lvl, p)
   local names = {}
   for _, kernel in ipairs(metrics.KERNELS) do
      if not kernel.directories and (p.kernels[kernel.name][lvl] or 0) > 0 then
         names[#names + 1] = kernel.name
      end
   end
   return names
end

-- The first of what is planned begins: says so to whoever waits for it (node.watch).
local function begins(out, lvl, node)
   local seconds = 0
   for _, name in ipairs(out.planned) do
      seconds = seconds + node.policy.kernels[name][lvl]
   end
   out.begun = out.begun + 1
   local name = table.remove(out.planned, 1)
   if node.watch then
      node.watch(name, out.begun, out.begun + #out.planned, seconds)
   end
end

local function args_of(list, more)
   return more and table.move(more, 1, #more, #list + 1, table.move(list, 1, #list, 1, {})) or list
end

-- Where the machine counts memory traffic, stream reads that around its triads: see verdict/ruler.lua.
local function traffic_args(name, node)
   local dir = name == "stream" and memory_traffic.directory(machine.at(node.root), node.policy.traffic.perf)
   return dir and { "--traffic", node.root .. dir } or nil
end

local function measure_kernels(out, names, lvl, node, deadline, attempt)
   -- Before the directories.
   table.move(out.planned, 1, #out.planned, #names + 1)
   table.move(names, 1, #names, 1, out.planned)
   for _, name in ipairs(names) do
      begins(out, lvl, node)
      -- Who disturbs is looked for where it has to be explained.
      local before = others.begin(node.root, attempt > 1 or out.disturbed)
      local measurement = kernels.measure(name, node.policy.kernels[name][lvl], deadline - now_s(),
         { args = args_of(args_of(out.set.args, traffic_args(name, node)),
            node.more_args and node.more_args(name, attempt)), give_up = node.give_up })
      measurement.attempt = attempt
      measurement.loss, measurement.others = others.finish(before, measurement.result, out.busy_before, out.from)
      out.disturbed = out.disturbed or measurement.others ~= nil
      out.runs[#out.runs + 1] = measurement
      local measured = measurement.result and out.set:describe(measurement.result)
      out.cpus = out.cpus or measured
      take(out.results, measurement, measured)
   end
end

-- The CPUs to measure. What the prolog saw of slurmd's own is kept for root's shell, which is not confined.
local function cpus_of(node)
   local kept = node:read_state("cpus.json") or {}
   local set = cpus.read(node.root, node.policy.node_cpus, uv.getuid() == 0, type(kept.jobs) == "string" and kept.jobs)
   if set.jobs and set.jobs ~= kept.jobs and uv.getuid() == 0 then
      node:save_state("cpus.json", { jobs = set.jobs })
   end
   return set
end

-- Kernels behind the metrics that failed by their value, or would have.
local function failing_kernels(rated)
   local names, seen = {}, {}
   for _, r in ipairs(rated.metrics) do
      local kernel = metrics.of(r.name).kernel
      if (r.status == "fail" or r.busy) and not r.corrupt and kernel and not seen[kernel] then
         seen[kernel] = true
         names[#names + 1] = kernel
      end
   end
   return names
end

local function active(out, lvl, node, limits, deadline)
   local p = node.policy
   out.set = cpus_of(node)
   local names = kernels_of(lvl, p)
   -- Last: whatever a hanging directory costs, it costs nobody else's time.
   local io_s = (p.kernels.io[lvl] or 0) > 0 and p.kernels.io[lvl] or nil
   for i = 1, io_s and #p.io_paths or 0 do
      out.planned[i] = "io"
   end
   local release, err = node:hold(math.max(0, deadline - now_s()))
   if not release then
      out.interrupted = err
      for _, name in ipairs(names) do
         take(out.results, { kernel = name, state = "unknown", reason = err })
      end
      return
   end
   measure_kernels(out, names, lvl, node, deadline, 1)
   local rated = verdict.rate(out.results, limits)
   local again = failing_kernels(rated)
   -- Beside a wrong result, too: that one may only be observed, and these drain.
   if #again > 0 then
      for _, r in ipairs(rated.metrics) do
         if r.status == "fail" or r.busy then
            out.first[r.name] = r
         end
      end
      measure_kernels(out, again, lvl, node, deadline, 2)
   end
   local function left_s()
      return deadline - now_s()
   end
   for _, measurement in ipairs(directories.measure(node, io_s, left_s, function()
      begins(out, lvl, node)
   end)) do
      out.runs[#out.runs + 1] = measurement
   end
   release()
end

-- Who kept the node busy through all of the check, and whether that is a finding.
local function follow(out, node)
   local known = false
   for _, measurement in ipairs(out.runs) do
      known = known or measurement.loss ~= nil
   end
   if known then
      out.busy = busy.follow(out.busy_before, out.runs, out.from)
      local text = busy.finding(out.busy, node.alone)
      out.results.others_cpus = text and { value = out.busy.cpus, text = text }
   end
   out.watched = known
end

-- What the site has looked at beyond that. Its modules are loaded where there is something for them.
local function look_at_site(out, lvl, node, until_s)
   local has_site, has_checks = false, next(node.policy.checks) ~= nil
   local scan = not has_checks and uv.fs_scandir(paths.checks)
   has_checks = has_checks or scan and uv.fs_scandir_next(scan) ~= nil or false
   for _, key in ipairs(schema.SITE) do
      has_site = has_site or node.policy[key] ~= nil
   end
   if has_site or has_checks then
      out.own, out.checks = require("syscheck.measure.own").run(node, lvl, until_s, out.first, has_checks)
   end
end

-- Rates what the machine has against what it should have. A lack that may drain is
-- read a second time, like a kernel that failed runs a second time.
local function rate_all(out, inventory, limits, root, history)
   if inventory then
      parts.take(out.results, inventory, limits, history)
   end
   local rated = verdict.rate(out.results, limits, out.own)
   local lacks = false
   for _, r in ipairs(rated.metrics) do
      if r.status == "fail" and metrics.of(r.name).expected then
         out.first[r.name], lacks = r, true
      end
   end
   if lacks then
      parts.take(out.results, inventories.read(root), limits, history)
      rated = verdict.rate(out.results, limits, out.own)
   end
   out.unconfirmed = verdict.settle(rated, out.first)
   return rated
end

--- Runs a check.
-- @param lvl level that was decided
-- @param node from node.open; its `alone`: a process of a job is one that its job has left; its `until_s`, or
--   nil: when the check ends at the latest, whatever its level's deadline (node.now_s); its `watch`, or nil:
--   function(kernel, at, of, seconds), called when the at'th of so many begins, with seconds for the time boxes
--   from it on; its `more_args`, or nil: function(kernel, attempt) -> list of
--   further arguments, or nil
-- @param inventory from inventory.read
-- @param from counters.snapshot at the begin, of check.COUNTERS at least
-- @return { level, status, node_status = the same without its directories, corrupt, confirmed = a fail that may
--   drain, enforced = the policy says that it does (for one failing metric at least), metrics (see
--   verdict.rate), runs, cpus = what kernels measured (cpus:describe), reason, text = one sentence,
--   kernel_s = wall seconds in kernels, box_s = their time boxes, duration_s, unconfirmed = a fail
--   that a second measurement could neither confirm nor excuse, after = counters.snapshot at the end,
--   traffic = ruler.recorded or nil, last = what the node kept of the check before (node/last.lua), or nil,
--   checks = runs of own checks (measure/checks_d.lua), or nil, interrupted = why kernels could not begin or end,
--   of no fault of theirs or the node's, orphan = nobody waits for the result, watched = it is known who else used
--   the node, busy = state of busy.follow where they did through all of the check }
function check.run(lvl, node, inventory, from)
   local started = now_s()
   local p = node.policy
   local limits = verdict.limits(p, inventory.class, node.baseline, inventory.class_before, lvl)
   local out = { level = lvl, results = {}, runs = {}, first = {}, planned = {}, begun = 0 }
   out.from = { boot_id = from.boot_id, s = started, time = time.show(os.time()) }
   if level.is_active(lvl) then
      lazy.load()
      out.busy_before = node:read_state(busy.FILE)
      active(out, lvl, node, limits, math.min(started + p.deadline[lvl], node.until_s or math.huge))
      follow(out, node)
   end
   if lvl ~= "none" then
      look_at_site(out, lvl, node, math.min(started + p.deadline[lvl], node.until_s or math.huge))
   end
   out.after = level.is_active(lvl) and counters.snapshot(node.root) or from
   local last = lvl ~= "none" and node:read_state("last.json") or nil
   out.last = last
   if lvl ~= "none" then
      local events = throttle_events(from, last, out.after)
      out.results.throttle_events = events and { value = events } or nil
   end
   -- Kept with the snapshot: the next check reports a node that has become another.
   out.after.class = inventory.class
   local rated = rate_all(out, lvl ~= "none" and inventory, limits, node.root, last)
   -- The next job may run here by now: nothing that was found is confirmed.
   local gone = node.give_up and node.give_up()
   if gone then
      node:problem(gone)
      out.interrupted, out.orphan = gone, true
   end
   if node.inconclusive and rated.status ~= "fail" then
      rated.status = "unknown"
   end
   out.node_status = rated.status
   rated.status = verdict.with_paths(rated.status, out.runs)
   out.status, out.metrics, out.corrupt = rated.status, rated.metrics, rated.corrupt
   out.enforced = verdict.set_modes(rated, p, inventory.class, inventory.class_before)
   out.reason, out.text = verdict.reason(rated), verdict.sentence(rated)
   -- Bad configuration must not drain: what the limits would have been is not known. A
   -- wrong result needs no limit.
   out.confirmed = rated.status == "fail" and (not node.inconclusive or rated.corrupt == true) and not out.orphan
   out.traffic = level.is_active(lvl) and ruler.recorded(out.runs) or nil
   out.kernel_s, out.box_s = 0, 0
   for _, measurement in ipairs(out.runs) do
      out.kernel_s, out.box_s = out.kernel_s + measurement.seconds, out.box_s + measurement.box_s
   end
   out.duration_s = now_s() - started
   for _, own in ipairs({ "results", "first", "own",
      "set", "from", "busy_before", "planned", "begun" }) do
      out[own] = nil
   end
   return out
end

return check
