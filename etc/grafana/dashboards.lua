--- Grafana's dashboards: what make.lua makes the JSON of. A panel is
--   { title, type, w, h (of 24 columns), unit, { query, legend } ..., what = description, and what make.lua knows }
-- PromQL is of the data source $prometheus, `sql = text` of $store, through the store's views (docs/store.md).
-- $node is the part of node_exporter's `instance` before the first . or :, which is Slurm's name of the node.
local BANDWIDTH = "syscheck_memory_bandwidth_bytes_per_second"
local FLOPS = "syscheck_dgemm_flops"
local NOISE = "syscheck_noise_ratio"
local LATENCY = "syscheck_memory_latency_seconds"

local MINE = '{instance=~"$node([.:].*)?"}'
local FLEET = '{cluster=~"$cluster"}'
-- A range of time is a range of keys, which is indexed; in milliseconds, as each kind of store divides them alike.
local IN_RANGE = "v.time_key >= ${__from} / 1000 * 1073741824 AND v.time_key < ${__to} / 1000 * 1073741824"
-- By the index of a node's records.
local NODE = "v.node_no IN (SELECT n.node_no FROM syscheck_node n WHERE n.node IN (${node:sqlstring}))"

-- A node's metric, of the classes that were chosen.
local function of_class(expression)
   return ('(%s) * ignoring(class, mode, version) group_left(class) syscheck_info{class=~"$class"}'):format(expression)
end

-- With a label `node`.
local function by_node(expression)
   return ('label_replace(%s, "node", "$1", "instance", "([^.:]+).*")'):format(expression)
end

local function lowest(metric)
   return by_node(("bottomk(10, %s)"):format(of_class(("%s / %s_class_median"):format(metric, metric))))
end

local function highest(metric)
   return by_node(("topk(10, sum by (instance) (increase(%s[$__range])) > 0)"):format(metric))
end

-- A node beside what it is compared with.
local function measured(title, metric, unit)
   return { title = title, type = "timeseries", w = 12, h = 7, unit = unit, points = true,
      { metric .. MINE, "node" }, { metric .. "_limit" .. MINE, "limit" },
      { metric .. "_class_median" .. MINE, "median of the class" } }
end

-- How a class' nodes spread.
local function spread(title, metric, unit)
   local panel = { title = title, type = "timeseries", w = 12, h = 7, unit = unit, points = true }
   for i, q in ipairs({ { 0, "lowest" }, { 0.05, "5 %" }, { 0.5, "median" }, { 0.95, "95 %" }, { 1, "highest" } }) do
      panel[i] = { ("quantile(%s, %s)"):format(q[1], of_class(metric)), q[2] }
   end
   return panel
end

local CHECKS = [[SELECT v.time_s * 1000 AS time, v.cluster, v.node, v.stage, v.level, v.status, v.action, v.reason
FROM syscheck_check v
WHERE %s AND %s
ORDER BY v.time_key DESC LIMIT 200]]

local function checks(title, which, what)
   return { title = title, type = "table", w = 24, h = 9, sql = CHECKS:format(IN_RANGE, which), what = what }
end

-- Runs that took longer than the median of like runs of the range: same cluster, user, name, number of nodes.
local SLOW = ([[WITH part AS (
  SELECT r.run, r.cluster, r.job_id, r.slurm_partition, r.nodes, r.begin_s, r.elapsed_s, r.user_no, r.name_no,
    ROW_NUMBER() OVER (PARTITION BY r.cluster, r.user_no, r.name_no, r.nodes ORDER BY r.elapsed_s) AS place,
    COUNT(*) OVER (PARTITION BY r.cluster, r.user_no, r.name_no, r.nodes) AS alike
  FROM (SELECT DISTINCT v.run FROM syscheck_job v WHERE %s) w JOIN syscheck_run r ON r.run = w.run
  WHERE r.elapsed_s > 0 AND r.name_no IS NOT NULL),
usual AS (
  SELECT p.run, p.cluster, p.job_id, p.slurm_partition, p.nodes, p.begin_s, p.elapsed_s,
    MAX(CASE WHEN p.place * 2 IN (p.alike, p.alike + 1) THEN p.elapsed_s END)
      OVER (PARTITION BY p.cluster, p.user_no, p.name_no, p.nodes) AS usual_s
  FROM part p WHERE p.alike >= 4),
timed AS (
  SELECT u.run, u.cluster, u.job_id, u.slurm_partition, u.nodes, u.begin_s, u.elapsed_s, u.usual_s,
    CASE WHEN u.elapsed_s > 1.1 * u.usual_s THEN 1 ELSE 0 END AS slow
  FROM usual u)
]]):format(IN_RANGE)

local JUDGED = "Against the median of runs of the same user, name and node count in the range. "

return {
   { uid = "fleet", title = "fleet", variables = { "cluster", "class" },
      { title = "Nodes by status", type = "stat", w = 10, h = 4, unit = "short", by_status = true,
         { 'sum by (status) (syscheck_fleet_nodes{cluster=~"$cluster",class=~"$class"})', "{{status}}" } },
      { title = "Unknown", type = "stat", w = 4, h = 4, unit = "percentunit", bad = 0.02,
         { 'sum(syscheck_node_status{status="unknown"}) / count(syscheck_info)' },
         what = "Share of the nodes of which the last check could not say what they are." },
      { title = "Drained by syscheck", type = "stat", w = 3, h = 4, unit = "short",
         { "sum(increase(syscheck_drains_total[$__range]))" } },
      { title = "Not drained: cap", type = "stat", w = 3, h = 4, unit = "short", bad = 1,
         { 'sum(increase(syscheck_drains_withheld_total{why="cap"}[$__range]))' },
         what = "Bad, and in service, as max_drained of the policy is reached." },
      { title = "Ingest lag", type = "stat", w = 4, h = 4, unit = "s", bad = 7200,
         { "max(syscheck_ingest_lag_seconds" .. FLEET .. ")" } },
      { title = "Nodes by status", type = "timeseries", w = 12, h = 8, unit = "short", by_status = true, stack = true,
         { 'sum by (status) (syscheck_fleet_nodes{cluster=~"$cluster",class=~"$class"})', "{{status}}" } },
      { title = "Memory bandwidth, by class", type = "timeseries", w = 12, h = 8, unit = "Bps",
         { ("quantile by (class) (0.5, %s)"):format(of_class(BANDWIDTH)), "{{class}} median" },
         { ("min by (class) (%s)"):format(of_class(BANDWIDTH)), "{{class}} lowest" } },
      { title = "Checks an hour", type = "timeseries", w = 8, h = 7, unit = "short", by_status = true, stack = true,
         { "sum by (status) (increase(syscheck_checks_total[1h]))", "{{status}}" } },
      { title = "Node time that checks take", type = "timeseries", w = 8, h = 7, unit = "percentunit",
         { "sum(rate(syscheck_check_seconds_total[1h])) / count(syscheck_info)", "checks" } },
      { title = "Slow jobs, by cause", type = "timeseries", w = 8, h = 7, unit = "short", stack = true,
         { "sum by (cause) (syscheck_slow_jobs" .. FLEET .. ")", "{{cause}}" } },
      checks("Checks that failed, or could not say", "v.status IN ('fail', 'unknown')") },

   { uid = "node", title = "node", variables = { "node" },
      { title = "Status", type = "stat", w = 4, h = 4, name = true, by_status = true,
         { "syscheck_node_status" .. MINE .. " == 1", "{{status}}" } },
      { title = "Class", type = "stat", w = 8, h = 4, name = true,
         { "syscheck_info" .. MINE, "{{class}} ({{mode}}, {{version}})" } },
      { title = "Last check that measured", type = "stat", w = 6, h = 4, unit = "s",
         { 'time() - max(syscheck_last_check_timestamp_seconds{instance=~"$node([.:].*)?",level=~"quick|full"})',
            "ago" } },
      { title = "Age of its metrics", type = "stat", w = 6, h = 4, unit = "s", bad = 691200,
         { 'time() - node_textfile_mtime_seconds{instance=~"$node([.:].*)?",file=~"(.*/)?syscheck[.]prom"}', "age" } },
      measured("Memory bandwidth", BANDWIDTH, "Bps"),
      measured("DGEMM", FLOPS, "flops"),
      measured("Noise of the operating system", NOISE, "percentunit"),
      measured("Memory latency", LATENCY, "s"),
      { title = "Throttled an hour", type = "timeseries", w = 8, h = 7, unit = "s",
         { "increase(syscheck_throttled_seconds_total" .. MINE .. "[1h])", "{{scope}}" },
         what = "Summed over packages or cores. The file is written after checks and jobs: a job's comes at its end." },
      { title = "Memory and link errors an hour", type = "timeseries", w = 8, h = 7, unit = "short",
         { "increase(syscheck_memory_errors_total" .. MINE .. "[1h])", "memory, {{severity}}" },
         { "increase(syscheck_link_errors_total" .. MINE .. "[1h])", "links" } },
      { title = "Checks an hour", type = "timeseries", w = 8, h = 7, unit = "short", by_status = true, stack = true,
         { "sum by (status) (increase(syscheck_checks_total" .. MINE .. "[1h]))", "{{status}}" } },
      checks("Its checks", NODE),
      { title = "Its jobs", type = "table", w = 24, h = 9, sql = ([[SELECT v.time_s * 1000 AS time, v.cluster, v.node,
  v.job_id, v.slurm_partition, v.nodes, v.elapsed_s, v.throttle_events, v.throttle_package_ms / 1000 AS throttled_s,
  v.memory_corrected, v.memory_uncorrected, v.link_errors, v.oom_kills, v.io_some_us / 1000000 AS waited_for_io_s
FROM syscheck_job v
WHERE %s AND %s
ORDER BY v.time_key DESC LIMIT 200]]):format(IN_RANGE, NODE) } },

   { uid = "class", title = "class", variables = { "class" },
      { title = "Nodes by status", type = "stat", w = 12, h = 4, unit = "short", by_status = true,
         { 'sum by (status) (syscheck_fleet_nodes{class=~"$class"})', "{{status}}" } },
      { title = "Median of now, of the baseline's", type = "timeseries", w = 12, h = 8, unit = "percentunit",
         { ("quantile by (class) (0.5, %s)"):format(of_class(BANDWIDTH .. " / " .. BANDWIDTH .. "_class_median")),
            "{{class}} memory bandwidth" },
         { ("quantile by (class) (0.5, %s)"):format(of_class(FLOPS .. " / " .. FLOPS .. "_class_median")),
            "{{class}} dgemm" },
         what = "A class that drifts is one thing that all have: firmware, kernel, cooling. syscheck node NODE has the "
            .. "settings that changed." },
      { title = "Nodes in observe, enforce", type = "stat", w = 12, h = 4, unit = "short",
         { 'count by (mode) (syscheck_info{class=~"$class"})', "{{mode}}" } },
      spread("Memory bandwidth", BANDWIDTH, "Bps"),
      spread("DGEMM", FLOPS, "flops"),
      spread("Noise of the operating system", NOISE, "percentunit"),
      spread("Memory latency", LATENCY, "s"),
      { title = "Lowest memory bandwidth, of the class' median", type = "bargauge", w = 12, h = 9,
         unit = "percentunit", { lowest(BANDWIDTH), "{{node}}" } },
      { title = "Lowest DGEMM, of the class' median", type = "bargauge", w = 12, h = 9, unit = "percentunit",
         { lowest(FLOPS), "{{node}}" } },
      { title = "Nodes of the class in the range", type = "table", w = 24, h = 9, sql = ([[SELECT v.cluster, v.node,
  COUNT(*) AS checks, AVG(v.triad_gbs) * 1e9 AS bandwidth, MIN(v.triad_gbs) * 1e9 AS lowest_bandwidth,
  AVG(v.gflops) * 1e9 AS dgemm, MIN(v.gflops) * 1e9 AS lowest_dgemm, AVG(v.noise_pct) / 100 AS noise
FROM syscheck_check v
WHERE %s AND v.class IN (${class:sqlstring}) AND v.triad_gbs > 0
GROUP BY v.cluster, v.node ORDER BY AVG(v.triad_gbs) LIMIT 100]]):format(IN_RANGE) } },

   { uid = "suspects", title = "suspects", variables = { "class" },
      { title = "", type = "text", w = 24, h = 3, text = "What stands out, by single numbers. `syscheck suspects` "
         .. "weighs them against each other and against chance; `syscheck why JOB` does so for one job; "
         .. "`syscheck node NODE` has a node's story." },
      { title = "Nodes whose runs were slow", type = "table", w = 24, h = 9, sql = SLOW .. ([[
SELECT v.cluster, v.node, SUM(t.slow) AS slow_runs, COUNT(*) AS runs, SUM(t.slow) * 1.0 / COUNT(*) AS share,
  SUM(CASE WHEN t.slow = 1 THEN t.elapsed_s - t.usual_s ELSE 0 END) AS lost_s
FROM syscheck_job v JOIN timed t ON t.run = v.run
WHERE %s
GROUP BY v.cluster, v.node HAVING SUM(t.slow) >= 2
ORDER BY SUM(t.slow) * 1.0 * SUM(t.slow) / COUNT(*) DESC LIMIT 50]]):format(IN_RANGE), what = JUDGED
            .. "A slow run counts for all of its nodes: who is in few others is not at fault because of it." },
      { title = "Lowest memory bandwidth, of the class' median", type = "bargauge", w = 12, h = 9,
         unit = "percentunit", { lowest(BANDWIDTH), "{{node}}" } },
      { title = "Lowest DGEMM, of the class' median", type = "bargauge", w = 12, h = 9, unit = "percentunit",
         { lowest(FLOPS), "{{node}}" } },
      { title = "Throttled in the range", type = "bargauge", w = 8, h = 9, unit = "s",
         { highest('syscheck_throttled_seconds_total{scope="package"}'), "{{node}}" } },
      { title = "Memory errors in the range", type = "bargauge", w = 8, h = 9, unit = "short",
         { highest("syscheck_memory_errors_total"), "{{node}}" } },
      { title = "Link errors in the range", type = "bargauge", w = 8, h = 9, unit = "short",
         { highest("syscheck_link_errors_total"), "{{node}}" } } },

   { uid = "drains", title = "drains", variables = {},
      { title = "Drains in the range, by metric", type = "bargauge", w = 8, h = 8, unit = "short",
         { "sort_desc(sum by (metric) (increase(syscheck_drains_total[$__range])))", "{{metric}}" } },
      { title = "Drains an hour, by metric", type = "timeseries", w = 8, h = 8, unit = "short", stack = true,
         { "sum by (metric) (increase(syscheck_drains_total[1h]))", "{{metric}}" } },
      { title = "Bad and not drained, an hour", type = "timeseries", w = 8, h = 8, unit = "short",
         { "sum by (why) (increase(syscheck_drains_withheld_total[1h]))", "{{why}}" },
         what = "cap: max_drained of the policy is reached. undecided: slurmctld did not answer, or refused. observe: "
            .. "mode observe." },
      checks("Nodes that were found bad, or resumed",
         "v.action IN ('drain', 'storm', 'undecided', 'observed', 'resume')") },

   { uid = "lost", title = "lost node-hours", variables = { "cluster" },
      { title = "Node-hours lost in the range, by cause", type = "bargauge", w = 8, h = 9, unit = "h",
         { ("sort_desc(sum by (cause) (avg_over_time(syscheck_lost_node_seconds%s[$__range])) * $__range_s "
            .. "/ scalar(max(syscheck_jobs_window_seconds)) / 3600)"):format(FLEET), "{{cause}}" },
         what = "Beyond what like runs took, times nodes. unexplained: syscheck why names nothing; unexamined: not "
            .. "asked." },
      { title = "Node-hours lost a day, by cause", type = "timeseries", w = 16, h = 9, unit = "h", stack = true,
         { ("sum by (cause) (syscheck_lost_node_seconds%s) * 24 / scalar(max(syscheck_jobs_window_seconds))")
            :format(FLEET), "{{cause}}" } },
      { title = "Jobs that were slow, of those with like runs", type = "timeseries", w = 12, h = 8,
         unit = "percentunit",
         { ("sum(syscheck_slow_jobs%s) / sum(syscheck_compared_jobs%s)"):format(FLEET, FLEET), "slow" } },
      { title = "Slow jobs, by cause", type = "timeseries", w = 12, h = 8, unit = "short", stack = true,
         { "sum by (cause) (syscheck_slow_jobs" .. FLEET .. ")", "{{cause}}" } },
      { title = "Runs that lost most", type = "table", w = 24, h = 10, sql = SLOW .. [[
SELECT t.begin_s * 1000 AS time, t.cluster, t.job_id, t.slurm_partition, t.nodes, t.elapsed_s, t.usual_s,
  t.elapsed_s / t.usual_s AS times_usual, (t.elapsed_s - t.usual_s) * t.nodes AS lost_node_s
FROM timed t WHERE t.slow = 1
ORDER BY (t.elapsed_s - t.usual_s) * t.nodes DESC LIMIT 100]], what = JUDGED .. "Why: syscheck why JOB." } },
}
