--- Alert rules for Prometheus: what make.lua makes etc/prometheus/syscheck.rules.yml of.
local function drifts(what, metric)
   return { name = "SyscheckClassDrifts", after = "6h", severity = "warning",
      expr = ("quantile by (class) (0.5, %s / %s_class_median * ignoring(class, mode, version) "
         .. "group_left(class) syscheck_info) < 0.97"):format(metric, metric), labels = { metric = what },
      summary = "Half of the nodes of {{ $labels.class }} have less than {{ $value | humanizePercentage }} of their "
         .. "baseline's " .. what,
      description = "One thing that all of them have: firmware, kernel, cooling, power. `syscheck node NODE` has "
         .. "the settings that changed, `syscheck fleet` the class. If you can explain it: `syscheck baseline learn`." }
end

local function below(what, metric)
   return { name = "SyscheckBelowLimit", after = "1h", severity = "info", labels = { metric = what },
      expr = ('%s < %s_limit and ignoring(class, mode, version) syscheck_info{mode="observe"}'):format(metric, metric),
      summary = "{{ $labels.instance }} is below its limit of " .. what .. ", and in service",
      description = "In mode observe nothing is drained. `syscheck node NODE` has its checks." }
end

return {
   { name = "SyscheckUnknown", after = "1h", severity = "warning",
      expr = 'sum(syscheck_node_status{status="unknown"}) / count(syscheck_info) > 0.02',
      summary = "{{ $value | humanizePercentage }} of the nodes cannot be checked",
      description = "Their checks end as unknown: jobs start there, whatever they are. `syscheck fleet` lists them, "
         .. "and why." },
   { name = "SyscheckTextfileOld", after = "1h", severity = "warning",
      expr = 'time() - node_textfile_mtime_seconds{file=~"(.*/)?syscheck[.]prom"} > 8 * 86400',
      summary = "{{ $labels.instance }}: neither a job nor a health check since {{ $value | humanizeDuration }}",
      description = "Does Slurm still run Prolog, Epilog and HealthCheckProgram there? `syscheck doctor` on the "
         .. "node, its /var/log/syscheck.log." },
   { name = "SyscheckCapReached", after = "0m", severity = "critical",
      expr = 'count(increase(syscheck_drains_withheld_total{why="cap"}[1h]) > 0) > 0',
      summary = "{{ $value }} bad nodes stay in service: the policy's max_drained is reached",
      description = "Many nodes are bad at once, or the baseline is wrong. What do they have in common? "
         .. "`syscheck fleet`, `sinfo -R`. Resuming some makes room." },
   { name = "SyscheckUndecided", after = "0m", severity = "warning",
      expr = 'count(increase(syscheck_drains_withheld_total{why="undecided"}[1h]) > 0) > 0',
      summary = "{{ $value }} bad nodes stay in service: slurmctld did not answer, or refused the drain",
      description = "Their next check asks again. Look at slurmctld, and at whether root of the nodes may scontrol "
         .. "update them." },
   drifts("memory bandwidth", "syscheck_memory_bandwidth_bytes_per_second"),
   drifts("dgemm", "syscheck_dgemm_flops"),
   below("memory bandwidth", "syscheck_memory_bandwidth_bytes_per_second"),
   below("dgemm", "syscheck_dgemm_flops"),
   { name = "SyscheckIngestOld", after = "15m", severity = "warning", expr = "syscheck_ingest_lag_seconds > 7200",
      summary = "{{ $labels.cluster }}: the newest record in the store is {{ $value | humanizeDuration }} old",
      description = "Does `syscheck ingest` run, and do nodes still ship? `syscheck store info`; `syscheck ship` on a "
         .. "node." },
   { name = "SyscheckExportOld", after = "15m", severity = "warning",
      expr = 'time() - node_textfile_mtime_seconds{file=~"(.*/)?syscheck-fleet[.]prom"} > 3600',
      summary = "The fleet's metrics are {{ $value | humanizeDuration }} old",
      description = "`systemctl status syscheck-export.timer syscheck-export.service` on {{ $labels.instance }}." },
   { name = "SyscheckRecordsLost", after = "0m", severity = "warning",
      expr = "increase(syscheck_records_lost_total[1d]) > 0",
      summary = "{{ $labels.cluster }}: nodes have lost {{ $value | humanize }} records in a day",
      description = "Their spools were full, or could not be written: `syscheck store info`; is `ship` set, does it "
         .. "work?" },
}
