-- syscheck policy. A Lua table; every key is optional and shown with its default.
-- `syscheck config check` says whether the file can be used, `syscheck config show` what
-- of it applies where. Where it cannot be used the last good copy is, and without one
-- the defaults, checks become `unknown` and nothing is drained; the log says why with
-- file and line. Tables and values only: no loops, functions, "..". Manual:
-- syscheck-policy(5).
return {
   -- "observe": verdicts are recorded, nothing is drained. "enforce": a node that is
   -- below its limit twice in a row is drained. Start with observe, learn a baseline
   -- (`syscheck baseline learn`), look at the records for a week, then enforce.
   mode = "observe",

   -- Levels per partition: none < passive < quick < full. A job gets the default; a
   -- user may ask for more (sbatch --syscheck=full), never for less than the floor.
   -- "*" is every partition that is not named.
   partitions = {
      ["*"] = { floor = "none", default = "passive", ceiling = "full" },
      -- gpu = { floor = "passive", default = "quick", ceiling = "full" },
   },

   -- The same for accounts and QOS. Of all that match a job the highest floor and the
   -- lowest ceiling hold, and the default of the account, else the QOS, else the
   -- partition. Before Slurm 26.05 the nodes do not know a job's QOS: there its rules
   -- only say what a user may ask for.
   accounts = {}, -- { bench = { default = "quick" } }
   qos = {},      -- { debug = { ceiling = "passive" } }

   -- A user asks for kernels (quick, full) in a partition that gives parts of nodes:
   -- "passive": told so, and they run only if the job gets a whole node; "exclusive":
   -- the job is made exclusive; "refuse".
   shared = "passive",

   -- Static limits, for values that are known without a baseline. `min` and `max` in
   -- the metric's unit; action "fail" may drain, "warn" only tells, "off" does not
   -- rate. `tolerance` overrides the one below for this metric, `mode` the one above: with
   -- "observe" its fail drains nothing, with "enforce" it does even where others do not.
   limits = {
      -- triad_gbs = { min = 300 },     -- GB/s, the whole node
      -- gflops = { min = 2000, mode = "observe" }, -- GFLOP/s, the whole node
      noise_pct = { action = "warn" },  -- % of time lost to the OS; no limit as shipped: add max = 1
      latency_ns = { action = "warn" }, -- of the worst NUMA node to its own memory
      best_gbs = { action = "off" },    -- best triad of `scaling`: recorded, not rated
      throttle_events = { max = 0, action = "warn" }, -- since the last look at them
   },

   -- What a node should have, by the beginning of its hardware class up to a dash (the
   -- model: a node that loses memory or cores changes the rest of its class); "*" is
   -- every node. A list holds several right values. A difference warns; action "fail"
   -- may drain a node that lacks some.
   expect = {
      -- ["*"] = { packages = 2 },
      -- ["epyc-9654"] = { memory_gib = 768, dimms = 24, cores = 192, threads = 384, numa_nodes = 2 },
      -- ["xeon-8592+"] = { memory_gib = { 512, 1024 }, dimms = 16, action = "fail" },
   },

   -- A node fails when it is below median * (1 - tolerance) of its hardware class,
   -- never tighter than the spread of the class supports. Healthy nodes differ
   -- by 3 to 5 %.
   tolerance = 0.10,

   -- Share of a node's time that checks may take when nobody asked for them: 0.01
   -- runs a 4.5 s check at most every 7.5 minutes.
   budget = 0.01,

   -- The storm guard: of a partition's nodes, at most this share (and always one) may be
   -- drained by syscheck within the window (seconds); beyond it the job starts.
   max_drained = 0.10,
   window = 86400,

   -- Passing checks in a row after which a node that syscheck drained comes back;
   -- 0: never by itself.
   resume_after = 2,

   -- The health program, for idle nodes: kernels of this level when the last pass is
   -- older than so many seconds. A node that syscheck drained is measured again after
   -- `recheck` seconds, then, while it fails, after twice as many each time, up to an hour.
   health = { level = "quick", every = 86400, recheck = 300 },

   -- Seconds each kernel measures, set-up included; 0: it does not run at that level.
   kernels = {
      stream = { quick = 2, full = 2 },
      dgemm = { quick = 1, full = 5 },
      noise = { quick = 0.5, full = 2 },
      numa = { full = 5 },
      scaling = { full = 5 },
      io = { full = 3 }, -- for each directory
   },

   -- Directories whose reads and writes are measured at level full: at most 8, no links
   -- on their way. Up to 256 MB each, on every node of the job at the same time.
   io_paths = {}, -- { "/scratch", "/tmp" }

   -- Seconds until a check is given up (verdict `unknown`, the job starts). At most
   -- 60. Keep Slurm's MessageTimeout and BatchStartTimeout above it.
   deadline = { quick = 15, full = 60 },

   -- Kernels run only where the job holds all CPUs of the node: "threads" (every
   -- hardware thread), "cores" (slurm.conf counts one CPU per core), or a number
   -- (CoreSpecCount keeps some back).
   node_cpus = "threads",

   -- Several virtual nodes on one machine: a lock file that lets one measure at a time.
   -- lock = "/run/syscheck/lock",

   -- Where scontrol is, if not in the system's directories.
   -- scontrol = "/opt/slurm/bin/scontrol",

   -- Node-local directories and the baseline; %n becomes the node's name.
   -- spool = "@LOCALSTATEDIR@/spool/syscheck",
   -- state = "@LOCALSTATEDIR@/lib/syscheck",
   -- run = "@RUNDIR@",
   -- baseline = "@SYSCONFDIR@/syscheck/baseline.json",

   -- The spool on each node: records go to a new file after spool_segment_mb MiB; of all
   -- files together the oldest are dropped beyond spool_max_mb, those first that are
   -- shipped. What had to be dropped unshipped is told in a record.
   spool_segment_mb = 8,
   spool_max_mb = 256,

   -- Where `syscheck ship` (syscheck-ship(8), a timer) moves a node's records: a directory
   -- that exists on a shared file system, or "syslog:FACILITY". ship_keep_mb MiB of what
   -- is shipped stay on the node; a destination that hangs is given up after ship_timeout s.
   -- ship = "/shared/syscheck",
   ship_keep_mb = 16,
   ship_timeout = 300,

   -- Where the fleet's records are collected: a file or a database. No password here:
   -- the policy is readable by all.
   -- store = "@LOCALSTATEDIR@/lib/syscheck-store/syscheck.db", -- or "postgresql://db.example.org/syscheck"
   -- store_group = "hpcadmins", -- whose members may read it, where it is a file
}
