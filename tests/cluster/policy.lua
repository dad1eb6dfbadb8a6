-- The policy of a minicluster: virtual nodes that share one machine.
return {
   mode = "enforce",
   -- The machine is shared, its speed differs by a tenth within minutes; a node that is
   -- slowed for a test is slower by far more.
   tolerance = 0.25,
   partitions = {
      ["*"] = { floor = "none", default = "passive", ceiling = "full" },
      main = { floor = "passive", default = "passive", ceiling = "full" },
   },
   -- One node measures at a time, or they would measure each other. The deadlines
   -- have room for the others' turns.
   lock = "@DIR@/lock",
   deadline = { quick = 60, full = 60 },
   -- Shorter than on a real node, since all nodes take turns; long enough to touch more
   -- than the caches that the machine shows (a virtual one: its host's), or stream and
   -- scaling are unknown.
   kernels = {
      stream = { quick = 1.5, full = 1.5 },
      dgemm = { quick = 0.5, full = 0.5 },
      noise = { quick = 0.3, full = 0.5 },
      numa = { full = 0.6 },
      scaling = { full = 1 },
   },
   spool = "@DIR@/var/spool/syscheck/%n",
   state = "@DIR@/var/lib/syscheck/%n",
   run = "@DIR@/run/syscheck/%n",
   baseline = "@DIR@/etc/syscheck/baseline.json",
}
