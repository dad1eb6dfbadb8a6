-- The policy of a minicluster: virtual nodes that share one machine.
return {
   mode = "enforce",
   partitions = {
      ["*"] = { floor = "none", default = "passive", ceiling = "full" },
      main = { floor = "passive", default = "passive", ceiling = "full" },
   },
   -- One node measures at a time, or they would measure each other. The deadlines
   -- have room for the others' turns.
   lock = "@DIR@/lock",
   deadline = { quick = 60, full = 60 },
   -- Shorter than on a real node, since all nodes take turns.
   kernels = {
      stream = { quick = 1, full = 1.5 },
      dgemm = { quick = 0.5, full = 1 },
      noise = { quick = 0.3, full = 0.5 },
      numa = { full = 0.6 },
      scaling = { full = 0.6 },
   },
   spool = "@DIR@/var/spool/syscheck/%n",
   state = "@DIR@/var/lib/syscheck/%n",
   run = "@DIR@/run/syscheck/%n",
   baseline = "@DIR@/etc/syscheck/baseline.json",
}
