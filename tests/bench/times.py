"""times.py [NAME=VALUE]... COMMAND...: "wall_ms cpu_ms" of a command, in this environment and no other, and of all that
it starts, orphans too, which bash's time leaves out. No env(1): it would be measured, too."""
import ctypes
import os
import resource
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
command, environment = sys.argv[1:], {}
while "=" in command[0]:
    name, value = command.pop(0).split("=", 1)
    environment[name] = value
# What was waited for before this program was.
before = resource.getrusage(resource.RUSAGE_CHILDREN)
began = time.monotonic()
pid = os.posix_spawnp(command[0], command, environment)
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
