-- syscheck policy: tables and values only; every key is optional and shown with its default.
-- Manual: syscheck-policy(5). After a change: `syscheck config check`.
return {
   -- version = "2026-11-20", -- what you call this file; records and `syscheck fleet` show it beside its hash

   mode = "observe", -- record verdicts, drain nothing; "enforce": drain what fails twice in a row

   -- Levels per partition: none < passive < quick < full; "*" is every other one.
   partitions = {
      ["*"] = { floor = "none", default = "passive", ceiling = "full" },
      -- gpu = { floor = "passive", default = "quick", ceiling = "full" },
   },
   accounts = {}, -- the same per account: { bench = { default = "quick" } }
   qos = {}, -- and per QOS: { debug = { ceiling = "passive" } }
   shared = "passive", -- kernels asked for on parts of nodes: only say so; or "exclusive", "refuse"

   no_requeue = "cancel", -- a job that Slurm cannot requeue, on a bad node: as Slurm does; or "start", "requeue"

   -- Static limits: min, max, tolerance, mode, action ("fail", "warn" or "off").
   limits = {
      -- triad_gbs = { min = 300 }, -- GB/s, the whole node
      -- gflops = { min = 2000, mode = "observe" }, -- GFLOP/s, the whole node
      noise_pct = { action = "warn" }, -- % of time lost to the OS; add max = 1
      latency_ns = { action = "warn" }, -- of the worst NUMA node to its own memory
      best_gbs = { action = "off" }, -- best triad over thread counts
      throttle_events = { max = 0, action = "warn" }, -- since the last job or check
      others_cpus = { max = 0, action = "warn" }, -- that others keep busy, check after check
   },

   -- What a node should have, by model ("*": every node).
   expect = {
      -- ["epyc-9654"] = { memory_gib = 768, dimms = 24, cores = 192, threads = 384, numa_nodes = 2 },
      -- ["xeon-8592+"] = { memory_gib = { 512, 1024 }, dimms = 16, action = "fail" },
   },

   tolerance = 0.10, -- how far below the median of its hardware class a node may be, at most 0.3
   budget = 0.01, -- share of a node's time for checks that no user asked for
   max_drained = 0.10, -- share of a partition's nodes that syscheck may drain (always one)
   window = 86400, -- within so many seconds
   resume_after = 2, -- passing checks after which a node comes back; 0: never by itself
   health = { level = "quick", every = 86400, recheck = 300 }, -- idle nodes; seconds

   -- Seconds that each kernel measures, set-up included; 0: not run.
   kernels = {
      stream = { quick = 2, full = 2 },
      dgemm = { quick = 1, full = 1 }, -- stream, dgemm: the same at both, as a baseline is of one box
      noise = { quick = 0.5, full = 2 },
      numa = { full = 5 },
      scaling = { full = 5 },
      io = { full = 3 }, -- for each directory
   },
   io_paths = {}, -- directories measured at level full: { "/scratch", "/tmp" }
   traffic = { -- memory traffic of jobs
      groups = false, -- true: of jobs that share a node, too, each for itself; where resctrl is mounted
      perf = false, -- true: by the memory controllers' counters where it is not; needs PrologFlags=Contain
      -- sample_s = 10, -- for how long a job waited, not only its mean; needs PrologFlags=Contain
   },
   deadline = { passive = 5, quick = 15, full = 60 }, -- seconds; MessageTimeout, BatchStartTimeout: 100

   -- Programs of the site's own in @SYSCONFDIR@/syscheck/checks.d, by name: syscheck-checks(5).
   checks = {
      -- lustre = { levels = "passive", seconds = 2, action = "fail", limits = { free_pct = { min = 5 } } },
   },
   -- What else is looked at from level passive on; nothing, unless it is named.
   -- filesystems = { { path = "/scratch", type = "lustre", writable = true, free_pct = 2 } },
   -- files = { { path = "/etc/munge/munge.key", mode = "0400", owner = "munge" } },
   -- services = { "sshd", "munge" },
   -- processes = { { name = "nscd", max = 0 } },
   -- links = { { name = "mlx5_0", rate = 200 } }, -- Gbit/s
   -- pcie = { { kind = "gpu", count = 4, width = 16 } },
   -- clock = { { max_error_ms = 100 } },
   -- leftovers = { { except = { "monitor" } } }, -- processes of users without a job

   node_cpus = "threads", -- CPUs of a whole node: "cores" if slurm.conf counts those, or (CoreSpecCount) a number
   -- lock = "/run/syscheck/lock", -- virtual nodes on one machine measure in turn
   -- scontrol = "/opt/slurm/bin/scontrol", -- if not in the system's directories

   -- Node-local directories and the baseline; %n becomes the node's name.
   -- spool = "@LOCALSTATEDIR@/spool/syscheck",
   -- state = "@LOCALSTATEDIR@/lib/syscheck",
   -- run = "@RUNDIR@",
   -- baseline = "@SYSCONFDIR@/syscheck/baseline.json",

   -- textfile = "/var/lib/prometheus/node-exporter", -- directory for Prometheus' syscheck.prom

   spool_segment_mb = 8, -- MiB of one file of records
   spool_max_mb = 256, -- of all on a node; beyond it the oldest are dropped
   -- ship = "/shared/syscheck", -- where `syscheck ship` moves records, or "syslog:FACILITY"
   ship_keep_mb = 16, -- MiB of shipped records kept on the node
   ship_timeout = 300, -- seconds until a destination that hangs is given up

   -- store = "@LOCALSTATEDIR@/lib/syscheck-store/syscheck.db", -- or "postgresql://db.example.org/syscheck"
   -- store_group = "hpcadmins", -- may read the store, where it is a file
   notify = { -- a program that `syscheck ingest` tells of drains and the like
      -- program = { "/usr/local/sbin/syscheck-mail", "root" }, -- examples: share/syscheck/examples/notify
      every = 60, -- seconds between two calls, at least
      timeout = 30, -- seconds until it is given up
      unknown_nodes = 3, -- nodes whose newest check is unknown, and share of them, from which on it is told
      unknown_share = 0.02,
   },
}
