--- The numbers of a job on a node and of its check: where each stands in a record, its column
-- in the store, its unit, its label. The one list that ingest, the questions and
-- docs/records.md agree on. Pure.
local beside = require("syscheck.catalogue.beside")
local gauges = require("syscheck.counters.gauges")
local metrics = require("syscheck.catalogue.metrics")
local sources = require("syscheck.counters.sources")

local fields = {}

--- What jobs are called that syscheck itself runs: how long one takes says what it measured, and nothing of nodes.
fields.OWN_JOB = "syscheck-fabric"

-- Path in a job record: delta.throttle.package_count -> { "delta", "throttle", "package_count" }
local function at(path)
   local keys = {}
   for key in path:gmatch("[^.]+") do
      keys[#keys + 1] = key
   end
   return keys
end

-- What the plugin finds in the cgroups of a job's steps.
local CGROUP = {
   { name = "cg_cpu_us", from = "cgroup.cpu_us", unit = "us", label = "CPU time of the job" },
   { name = "cg_throttled_us", from = "cgroup.cpu_throttled_us", unit = "us", label = "job held by its CPU quota",
      cause = "quota" },
   { name = "cg_io_some_us", from = "cgroup.io_some_us", unit = "us", label = "job waiting for I/O",
      cause = "storage" },
   { name = "cg_read_bytes", from = "cgroup.read_bytes", unit = "bytes", label = "read by the job", work = 0.05 },
   { name = "cg_written_bytes", from = "cgroup.written_bytes", unit = "bytes", label = "written by the job",
      work = 0.2 },
   { name = "cg_memory_peak_bytes", from = "cgroup.memory_peak_bytes", unit = "bytes",
      label = "memory peak of the job" },
   { name = "cg_suspended_ms", from = "cgroup.suspended_ms", unit = "ms", label = "job suspended" },
   { name = "cg_oom_kills", from = "cgroup.oom_kills", unit = "count", label = "job's processes killed for memory",
      cause = "shortage", each_s = 60, rare = true },
}

-- Whether it waited for memory: verdict/saturation.lua.
local SATURATION = {
   { name = "mem_gbs_mean", unit = "GB/s", label = "memory traffic, mean" },
   { name = "mem_gbs_p95", unit = "GB/s", label = "memory traffic, 95th percentile" },
   { name = "mem_peak_gbs", from = "saturation.peak_gbs", unit = "GB/s", label = "what memory moves" },
   { name = "mem_used_pct", unit = "%", label = "memory bandwidth used" },
   { name = "mem_saturated_pct", unit = "%", label = "time at 80 % of memory bandwidth or more" },
   { name = "mem_saturated_at_pct", unit = "%", label = "memory bandwidth used in that time" },
   { name = "mem_worst_domain_pct", unit = "%", label = "busiest memory domain" },
   { name = "mem_domain_imbalance", unit = "share", label = "of that more than the others" },
   { name = "mem_remote_pct", unit = "%", label = "memory traffic with another NUMA node" },
   { name = "mem_cores", unit = "cores", label = "cores of the job" },
   { name = "mem_cores_needed", unit = "cores", label = "cores that move as much, at least" },
   { name = "mem_gain_pct", unit = "%", label = "all cores of the node move more by" },
   { name = "mem_covered_pct", unit = "%", label = "time that was counted" },
}
for _, field in ipairs(SATURATION) do
   field.late = true
   local own = field.name:match("^mem_gbs") and field.name or field.name:match("^mem_(.+)")
   field.from = field.from or "saturation." .. own
end

--- The same by the names of verdict/saturation.lua: { [name there] = column }.
fields.SATURATION = {}
for _, field in ipairs(SATURATION) do
   fields.SATURATION[field.from:match("%.(.+)$")] = field.name
end

--- Columns of the table job_node: those of each counter source, of the gauges, of the cgroups. The
-- store adds what a table lacks when it is next written to.
--   name   column of the store's table job_node
--   from   path in a job record; the value is a number, absent is not known. Of a counter, the
--          row begins with its name in the delta instead
--   unit   count, ms, us, bytes, joules, mhz, watts, celsius, gbps, ports: of the whole job on the node
--   label  what people read
--   cause  the group of causes it speaks for when a job was slow (questions/why/causes.lua); each_s
--          and unless: see there
--   work   of what the job itself did: P (guessed) that it follows the clock (a checkpoint every hour) and not the
--          work; `why` says it where no cause explains anything
--   kind   gauge: a state, not a sum; cause, a condition of the node that slows its jobs (filled in where
--          `cause` is); else load, what the job itself did there (it differs between ranks of a healthy job)
--   better "lower" or "higher", of gauges; filled in where `cause` is: lower. Without it nodes are not compared
--   late   true: scripts count columns of the CSV, so that what came later stands last there
--   none   true: of a rate, that 0 is none of it, and not that it is not known
--   rare   true: zero on a healthy node, so any count is an event
fields.JOB = {}

--- What a check measured: columns of the table check_node. `name` is the metric's in
-- record.metrics, or of beside.FIELDS.
fields.CHECK = {}

--- The same of `syscheck fabric`: columns of the table fabric_node.
fields.FABRIC = {}

--- What was measured of a node: both, in this order.
fields.MEASURED = {}

fields.JOB_BY_NAME, fields.CHECK_BY_NAME = {}, {}

local function add(list, source)
   for _, field in ipairs(list) do
      field.from = field.from or ("delta.%s.%s"):format(source.name, field[1])
      field.path = at(field.from)
      field.kind = field.kind or field.cause and "cause" or "load"
      field.better = field.better or field.cause and "lower" or nil
      fields.JOB[#fields.JOB + 1] = field
      fields.JOB_BY_NAME[field.name] = field
   end
end

for _, source in ipairs(sources) do
   add(source.fields, source)
end
add(gauges.fields)
add(CGROUP)
add(SATURATION)
for _, m in ipairs(metrics.LIST) do
   if not m.expected then
      local field = { name = m.name, label = m.long or m.label, unit = (m.unit == "" or m.count) and "count" or m.unit,
         better = m.better, cause = m.cause, usual = m.usual }
      table.insert(m.fabric and fields.FABRIC or fields.CHECK, field)
      fields.CHECK_BY_NAME[m.name] = not m.fabric and field or nil
   end
end

for _, field in ipairs(beside.FIELDS) do
   table.insert(fields.CHECK, field)
   fields.CHECK_BY_NAME[field.name] = field
end

table.move(fields.CHECK, 1, #fields.CHECK, 1, fields.MEASURED)
table.move(fields.FABRIC, 1, #fields.FABRIC, #fields.CHECK + 1, fields.MEASURED)

--- A measured value without its unit, as many digits as are worth reading.
-- @param field of fields.MEASURED, or a gauge
function fields.show(field, value)
   local m = metrics.BY_NAME[field.name]
   return m and metrics.show(m, value)
      or ((field.unit == "MHz" or field.unit == "ports") and "%.0f" or "%.3g"):format(value)
end

--- A field's value in a job record; nil when it is not known.
function fields.of(record, field)
   local value = record
   for _, key in ipairs(field.path) do
      if type(value) ~= "table" then
         return nil
      end
      value = value[key]
   end
   return type(value) == "number" and value or nil
end

--- For how long a job ran on a node: time that it was suspended is in its record's elapsed time, and
-- slows no job.
-- @return seconds, 0 or more; nil where that is not known
function fields.ran_s(record)
   local elapsed = record.elapsed_s
   if type(elapsed) ~= "number" then
      return nil
   end
   return math.max(0, elapsed - (fields.of(record, fields.JOB_BY_NAME.cg_suspended_ms) or 0) / 1000)
end

return fields
