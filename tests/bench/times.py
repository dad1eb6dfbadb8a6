"""times.py COMMAND...: "wall_ms cpu_ms" of a command and of all that it starts, orphans too, which bash's time leaves out."""
import ctypes
import os
import resource
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
# What was waited for before this program was.
before = resource.getrusage(resource.RUSAGE_CHILDREN)
began = time.monotonic()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
code, wall = 0, 0.0
while True:
    try:
        ended, status = os.wait()
    except ChildProcessError:
        break
    if ended == pid:
        code, wall = os.waitstatus_to_exitcode(status), time.monotonic() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
print(f"{1000 * wall:.1f} {1000 * cpu:.1f}")
sys.exit(code != 0)
