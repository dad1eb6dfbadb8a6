--- Writes what happened as nodes write it: records, in order of arrival. Pure.
local counters = require("world.counters")
local effect = require("world.effect")
local lines = require("world.lines")
local reclaim = require("world.reclaim")
local rng = require("world.rng")
local site = require("world.site")

local records = {}

local function job_of(s, run)
   local k = run.kind
   run.hosts = run.hosts or lines.hostlist(s, run.nodes)
   return { id = run.id, user = k.user, uid = k.uid, partition = run.partition.name, account = k.account,
      nodes = k.size, nodelist = run.hosts, restart = run.restart }
end

local function floor_for(name, wall)
   if name:find("_ms$") then
      return wall * 1000 * 0.005
   elseif name:find("_us$") then
      return wall * 1e6 * 0.002
   elseif name == "stalls" then
      return 20 + wall * 0.05
   elseif name == "swapped_in" then
      return 2000 + wall * 0.5
   end
   return 2
end

-- Adds what causes leave. A cause is seen that changes a counter by more than it changes by itself.
local function add_causes(s, r, m, run, node, place, d, wall, x)
   local from, to, k = run.begin, run.begin + wall, run.kind
   local by_cause, list = {}, {}
   for _, spans in ipairs({ node.spans, s.everywhere }) do
      for i = 1, #spans do
         local span = spans[i]
         if span.from >= to then
            break
         elseif span.to > from and (not span.cause.applies or span.cause.applies(run, node)) then
            local tau = math.min(span.to, to) - math.max(span.from, from)
            local one = by_cause[span.cause]
            if not one then
               one = { cause = span.cause, tau = 0, weight = 0 }
               by_cause[span.cause], list[#list + 1] = one, one
            end
            one.tau, one.weight, one.holds = one.tau + tau, one.weight + tau * span.strength, one.holds or span.to > to
         end
      end
   end
   local role = effect.role(k, place)
   for _, one in ipairs(list) do
      local cause, strength = one.cause, one.weight / one.tau
      local c = { tau = one.tau, work = one.tau * run.clean / run.seconds, s = strength, r = r, m = m, k = k,
         class = node.class, role = role, heats = effect.heats(k), wall = wall, run = run, node = node }
      c.loss = 1 - 1 / effect.node(k, node.class, role, { { cause = cause, s = strength } })
      function c.mark()
         run.traced[cause] = true
      end
      function c.add(source, name, amount)
         local values = d[source]
         if values and values[name] and amount > 0 then
            local had = values[name]
            values[name] = had + amount
            local usual = name:find("^op_") and 0.5 or 0.5 + s.p.burst
            if amount > usual * had + floor_for(name, wall) and not name:find("bytes") then
               c.mark()
            end
         end
      end
      function c.slack()
         return r:spread(s.p.slack)
      end
      function c.gauge(name, value)
         if value and (one.holds or name == "power") then -- states are read at the end
            x.gauge(c, name, value)
         end
      end
      function c.error(kind, unit, name, n)
         if kind == "dimm" and d.memory_errors or kind == "link" and d.link then
            x.fault(kind, unit, name, n)
         end
      end
      function c.cgroup(name, amount)
         if s.p.plugin then
            x.cgroup[name] = (x.cgroup[name] or 0) + amount
            c.mark()
         end
      end
      cause:trace(c)
   end
end

-- Gauges at the end.
local function gauges(r, run, node, x, at)
   local class, has, k = node.class, node.class.has, run.kind
   local hour = at / 3600 % 24
   local warm = 3 * math.max(0, math.sin((hour - 9) / 24 * 6.283))
   local h = counters.harmless(node, at) and node.harmless
   local always = h and h.kind == "hot_sensor" and 8 + 18 * h.level or 0
   local e = { time = lines.stamp(at + lines.skew(node, at)) }
   if has.clock or has.power then
      e.limits = { clock_mhz = has.clock and (x.clock_mhz or class.mhz) or nil,
         power_w = has.power and (x.power_w or class.watts) or nil }
   end
   if has.temperature then
      e.temperature = { max_c = math.floor(math.min(101, 38 + class.heat + node.heat + 34 * k.power * k.cores + warm
         + (x.heat or 0) + always + r:normal(0, 2)) + 0.5) }
   end
   if has.cooling then
      e.cooling = { active = x.cooling or 0 }
   end
   if has.link then
      e.link = { active_ports = math.tointeger(x.ports or class.rails), rate_gbps = x.rate_gbps or class.rate }
   end
   return e
end

local function new_gauges(node, cgroup, faults)
   local x = { cgroup = cgroup, power = 0 }
   local has = node.class.has
   local NEEDS = { clock_mhz = has.clock, power_w = has.power, ports = has.link, rate_gbps = has.link,
      cooling = has.cooling, heat = has.temperature }
   function x.gauge(c, name, value)
      if name == "heat" then
         x.heat = (x.heat or 0) + value
      elseif name == "power" then
         x.power = x.power + value
      elseif name == "cooling" then
         x.cooling = math.max(x.cooling or 0, value)
      else
         x[name] = math.min(x[name] or math.huge, value)
      end
      if NEEDS[name] and value ~= 0 and (name ~= "heat" or value >= 8) then
         c.mark()
      end
   end
   function x.fault(kind, unit, name, n)
      n = math.floor(n)
      if n > 0 then
         local key = kind .. unit
         if not faults[key] then
            faults[key] = { kind = kind, unit = unit }
            faults[#faults + 1] = faults[key]
         end
         faults[key][name] = (faults[key][name] or 0) + n
      end
   end
   return x
end

local function cgroup_of(s, r, run, class, role, wall, work)
   local k = run.kind
   local io = work * (k.w.disk * role.disk)
   local busy = k.spin and wall or work
   local function amount(part)
      local local_io = part == "disk" or not s.p.io_controller -- accounts of processes count network files
      local seconds = local_io and work * k.w[part] * role[part] * k.flight[part] or 0
      return counters.moved(k, class, part, seconds / counters.operation_s(k, class, part))
   end
   local moved = (amount("disk") + amount("nfs") + amount("lustre")) * run.mix
   local read = moved * r:uniform(0.2, 0.8)
   local peak = math.min(0.98, k.memory * run.work ^ 0.5 * r:spread(0.02)) * class.memory_gib * 2 ^ 30
   local cpu = busy * math.max(1, class.cores * k.cores) * r:uniform(0.93, 0.99)
   local g = { v = 2, steps = 1, cpu_us = math.floor(cpu * 1e6), cpu_throttled_us = 0, oom_kills = 0,
      read_bytes = math.floor(read), written_bytes = math.floor(moved - read), memory_peak_bytes = math.floor(peak) }
   if class.has.pressure then
      g.io_some_us, g.io_full_us = math.floor(io * 1e6), math.floor(io * 4e5)
      g.memory_some_us = k.press and math.floor(wall * 1e6 * k.press) or 0
   end
   if not s.p.io_controller then
      g.by_tasks = { "read_bytes", "written_bytes" }
   end
   return g
end

local function energy(r, run, class, wall, x)
   local k = run.kind
   if class.has.energy and (wall * 1000 < class.energy_range * 1000 or class.energy_long) then
      local share = (0.3 + 0.62 * k.power * k.cores) * math.max(0.4, 1 + x.power)
      return { package_j = math.floor(wall * class.packages * class.watts * share * r:spread(0.03) * 1000) / 1000 }
   end
end

local function others_of(body, run)
   local ids = {}
   for i, other in ipairs(run.others or {}) do
      ids[i] = other.id
   end
   if ids[1] then
      table.sort(ids)
      body.others = { table.unpack(ids, 1, 64) }
      body.others_more = #ids > 64 and #ids - 64 or nil
   end
end

-- The record of a node whose prolog left nothing, or a later run's prolog has taken its place.
local function without_begin(s, r, run, node)
   local at = (run.next and run.next.run and run.next.run.begin or run.begin + run.seconds) + run.late
   local job = job_of(s, run)
   job.restart = nil
   lines.put(s, r, node, "job", r:hex(32), at, at, { job = job, ["end"] = gauges(r, run, node, {}, at),
      duration_s = 0.02 })
end

--- A run's record of one of its nodes.
function records.job(s, r, run, place)
   local node, k = s.nodes[run.nodes[place]], run.kind
   local wall = math.floor((run.seconds + r:exp(0.7) + (r:chance(0.01) and r:uniform(3, 40) or 0)) * 1000) / 1000
   if run.late and place == 1 then
      return without_begin(s, r, run, node)
   end
   local at = run.begin + wall
   local role, class, faults = effect.role(k, place), node.class, {}
   local cgroup = cgroup_of(s, r, run, class, role, wall, wall * run.clean / run.seconds)
   local x, d = new_gauges(node, cgroup, faults), counters.empty(class)
   local function raise(source, name, amount)
      local values = d[source]
      if values and values[name] then
         values[name] = values[name] + amount
      end
   end
   counters.fill(raise, x.fault, r, s, run, node, role, wall)
   local m = reclaim.stream(s, run, node)
   reclaim.fill(raise, m, s, run, node, role, wall)
   add_causes(s, r, m, run, node, place, d, wall, x)
   counters.seal(d, class, wall)
   d.energy = energy(r, run, class, wall, x)
   local job, check = job_of(s, run), run.checks and run.checks[node.i]
   job.name, job.array_job_id, job.array_task_id = run.name, run.array, run.task
   job.batch = place == 1 or nil
   local body = { job = job, begin = { time = lines.stamp(run.begin + lines.skew(node, run.begin)) },
      ["end"] = gauges(r, run, node, x, at), delta = d, elapsed_s = wall, duration_s = 0.012,
      errors = faults[1] and { table.unpack(faults) } or nil, cgroup = s.p.plugin and cgroup or nil }
   if cgroup.cpu_throttled_us then
      cgroup.cpu_throttled_us = math.floor(cgroup.cpu_throttled_us)
   end
   local t = d.throttle
   body.throttle_events = t and math.max(t.package_count, t.core_count)
      + math.max(t.package_power_count, t.core_power_count) or nil
   body.check = check and { id = check.id, level = check.level, asked = check.asked, status = check.status,
      reason = check.reason, action = check.action } or nil
   others_of(body, run)
   lines.put(s, r, node, "job", r:hex(32), at + r:uniform(0, 0.8), run.begin, body)
end

--- A check's record. @param run whose prolog made it, or nil
function records.check(s, r, check, node, run)
   local at, id = check.at, check.id
   check.at, check.node, check.id, check.kind = nil, nil, nil, nil
   check.job = run and job_of(s, run) or nil
   lines.put(s, r, node, "check", id, at, run and run.begin or at, check)
end

function records.loss(s, r, node, at, n)
   lines.put(s, r, node, "loss", r:hex(32), at, at, { lost_records = n, lost_bytes = n * r:int(1500, 2600),
      reason = "disk full" })
end

--- Writes all runs' and checks' records. Sets run.traced and run.recorded (nodes with a record).
function records.write(s, runs, idle, write)
   s.lines = {}
   local outages = {}
   local o = rng.new(s.seed, "outages")
   for _ = 1, o:int(1, 3) do -- a spool that nobody could read
      local from = o:uniform(0, s.days) * site.DAY
      outages[o:int(1, #s.nodes)] = { from = from, to = from + o:log(0.1, 2) * site.DAY, n = 0 }
   end
   for _, run in ipairs(runs) do
      local r = rng.new(s.seed, ("run%d.%d"):format(run.id, run.restart))
      run.traced, run.recorded = {}, 0
      for place, n in ipairs(run.nodes) do
         local outage, to = outages[n], run.begin + run.seconds
         local gone = outage and to > outage.from and to < outage.to
         if gone then
            outage.n = outage.n + 1
         end
         if run.checks[n] then
            local check = run.checks[n]
            run.checks[n] = { id = check.id, level = check.level, asked = check.asked, status = check.status,
               reason = check.reason, action = check.action }
            records.check(s, r, check, s.nodes[n], run)
         end
         if not gone and not r:chance(s.p.lost) then
            records.job(s, r, run, place)
            run.recorded = run.recorded + 1
         end
      end
      run.checks = nil
   end
   local r = rng.new(s.seed, "idle checks")
   for _, check in ipairs(idle) do
      records.check(s, r, check, check.node)
   end
   for n = 1, #s.nodes do
      if outages[n] and outages[n].n > 0 then
         records.loss(s, r, s.nodes[n], outages[n].to, outages[n].n)
      end
   end
   lines.flush(s, write)
end

return records
