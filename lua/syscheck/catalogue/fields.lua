--- The numbers of a job on a node: where each stands in a record, its column in the
-- store, its unit, and what it tells a reader. The one list that ingest, the questions
-- and docs/records.md agree on.
local metrics = require("syscheck.catalogue.metrics")

local fields = {}

-- Path in a job record: delta.throttle.package_count -> { "delta", "throttle", "package_count" }
local function at(path)
   local keys = {}
   for key in path:gmatch("[^.]+") do
      keys[#keys + 1] = key
   end
   return keys
end

--- In the order of the store's columns. A new one goes to the end, with a migration.
--   name   column of the store's table job_node
--   from   path in a job record; the value is a number, absent is not known
--   unit   count, ms, us, bytes, joules, mhz, celsius: of the whole job on the node
--   label  what people read
--   kind   cause: a condition of the node that slows its jobs; load: what the job itself did
--          there (it differs between ranks of a healthy job); gauge: a state, not a sum
--   better "lower" or "higher", of causes and gauges
--   rare   true: zero on a healthy node, so any count is an event
fields.JOB = {
   { name = "throttle_events", from = "throttle_events", unit = "count", label = "throttle events", kind = "cause",
      better = "lower", rare = true },
   { name = "throttle_package_ms", from = "delta.throttle.package_ms", unit = "ms", label = "package throttled",
      kind = "cause", better = "lower", rare = true },
   { name = "throttle_core_ms", from = "delta.throttle.core_ms", unit = "ms", label = "cores throttled", kind = "cause",
      better = "lower", rare = true },
   { name = "cpu_some_us", from = "delta.pressure.cpu_some_us", unit = "us", label = "waiting for a CPU",
      kind = "cause", better = "lower" },
   { name = "io_some_us", from = "delta.pressure.io_some_us", unit = "us", label = "some task waiting for I/O",
      kind = "cause", better = "lower" },
   { name = "io_full_us", from = "delta.pressure.io_full_us", unit = "us", label = "all tasks waiting for I/O",
      kind = "cause", better = "lower" },
   { name = "memory_some_us", from = "delta.pressure.memory_some_us", unit = "us", label = "waiting for memory",
      kind = "cause", better = "lower" },
   { name = "memory_full_us", from = "delta.pressure.memory_full_us", unit = "us", label = "all waiting for memory",
      kind = "cause", better = "lower" },
   { name = "iowait_ms", from = "delta.cpu.iowait_ms", unit = "ms", label = "iowait", kind = "cause",
      better = "lower" },
   { name = "steal_ms", from = "delta.cpu.steal_ms", unit = "ms", label = "stolen by the hypervisor", kind = "cause",
      better = "lower" },
   { name = "disk_busy_ms", from = "delta.disk.busy_ms", unit = "ms", label = "disks busy", kind = "load" },
   { name = "disk_read_bytes", from = "delta.disk.read_bytes", unit = "bytes", label = "read from disks",
      kind = "load" },
   { name = "disk_written_bytes", from = "delta.disk.written_bytes", unit = "bytes", label = "written to disks",
      kind = "load" },
   { name = "nfs_ops", from = "delta.nfs.ops", unit = "count", label = "NFS operations", kind = "load" },
   { name = "nfs_op_ms", from = "delta.nfs.op_ms", unit = "ms", label = "NFS operation time", kind = "cause",
      better = "lower" },
   { name = "nfs_bytes", from = "delta.nfs.bytes", unit = "bytes", label = "NFS traffic", kind = "load" },
   { name = "lustre_ops", from = "delta.lustre.ops", unit = "count", label = "Lustre operations", kind = "load" },
   { name = "lustre_op_us", from = "delta.lustre.op_us", unit = "us", label = "Lustre operation time", kind = "cause",
      better = "lower" },
   { name = "lustre_read_bytes", from = "delta.lustre.read_bytes", unit = "bytes", label = "read from Lustre",
      kind = "load" },
   { name = "lustre_written_bytes", from = "delta.lustre.written_bytes", unit = "bytes", label = "written to Lustre",
      kind = "load" },
   { name = "memory_corrected", from = "delta.memory_errors.corrected", unit = "count",
      label = "corrected memory errors", kind = "cause", better = "lower", rare = true },
   { name = "memory_uncorrected", from = "delta.memory_errors.uncorrected", unit = "count",
      label = "uncorrected memory errors", kind = "cause", better = "lower", rare = true },
   { name = "machine_checks", from = "delta.machine_checks.events", unit = "count", label = "machine checks",
      kind = "cause", better = "lower", rare = true },
   { name = "oom_kills", from = "delta.oom.kills", unit = "count", label = "processes killed for memory",
      kind = "cause", better = "lower", rare = true },
   { name = "link_errors", from = "delta.link.errors", unit = "count", label = "InfiniBand link errors",
      kind = "cause", better = "lower", rare = true },
   { name = "link_downed", from = "delta.link.downed", unit = "count", label = "InfiniBand link went down",
      kind = "cause", better = "lower", rare = true },
   { name = "energy_j", from = "delta.energy.package_j", unit = "joules", label = "energy of the packages",
      kind = "load" },
   { name = "traffic_bytes", from = "delta.memory_traffic.bytes", unit = "bytes", label = "memory traffic",
      kind = "load" },
   { name = "clock_limit_mhz", from = "end.limits.clock_mhz", unit = "mhz", label = "clock limit", kind = "gauge",
      better = "higher" },
   { name = "power_limit_w", from = "end.limits.power_w", unit = "watts", label = "power limit", kind = "gauge",
      better = "higher" },
   { name = "temperature_c", from = "end.temperature.max_c", unit = "celsius", label = "hottest CPU sensor",
      kind = "gauge", better = "lower" },
   { name = "cg_cpu_us", from = "cgroup.cpu_us", unit = "us", label = "CPU time of the job", kind = "load" },
   { name = "cg_throttled_us", from = "cgroup.cpu_throttled_us", unit = "us", label = "job held by its CPU quota",
      kind = "cause", better = "lower" },
   { name = "cg_io_some_us", from = "cgroup.io_some_us", unit = "us", label = "job waiting for I/O", kind = "cause",
      better = "lower" },
   { name = "cg_read_bytes", from = "cgroup.read_bytes", unit = "bytes", label = "read by the job", kind = "load" },
   { name = "cg_written_bytes", from = "cgroup.written_bytes", unit = "bytes", label = "written by the job",
      kind = "load" },
   { name = "cg_memory_peak_bytes", from = "cgroup.memory_peak_bytes", unit = "bytes", label = "memory peak of the job",
      kind = "load" },
   { name = "cg_oom_kills", from = "cgroup.oom_kills", unit = "count", label = "job's processes killed for memory",
      kind = "cause", better = "lower", rare = true },
}

--- What a check measured: columns of the table check_node. `name` is the metric's in
-- record.metrics.
fields.CHECK = {}

fields.JOB_BY_NAME, fields.CHECK_BY_NAME = {}, {}
for _, field in ipairs(fields.JOB) do
   field.path = at(field.from)
   fields.JOB_BY_NAME[field.name] = field
end
for _, m in ipairs(metrics.LIST) do
   if not m.expected then
      local field = { name = m.name, label = m.long or m.label, unit = m.unit == "" and "count" or m.unit,
         better = m.better, cause = m.cause }
      fields.CHECK[#fields.CHECK + 1] = field
      fields.CHECK_BY_NAME[m.name] = field
   end
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

return fields
