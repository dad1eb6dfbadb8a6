--- Where this installation lives; `make install` fills in the names.
return {
   version = "@VERSION@",
   bin = "@BINDIR@/syscheck",
   libexec = "@LIBEXECDIR@",
   data = "@DATADIR@",
   plugin = "@LIBDIR@/spank_syscheck.so",
   sysconf = "@SYSCONFDIR@",
   log = "@LOCALSTATEDIR@/log/syscheck.log",
   policy = "@SYSCONFDIR@/syscheck/policy.lua",
   checks = "@SYSCONFDIR@/syscheck/checks.d",
   -- %n is the node's name, as in slurm.conf: several nodes may share a disk.
   baseline = "@SYSCONFDIR@/syscheck/baseline.json",
   spool = "@LOCALSTATEDIR@/spool/syscheck",
   state = "@LOCALSTATEDIR@/lib/syscheck",
   run = "@RUNDIR@",
   store = "@LOCALSTATEDIR@/lib/syscheck-store/syscheck.db",
}
