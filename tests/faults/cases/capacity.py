"""CPUs and memory taken away; quotas; neighbours that are busy."""

import os
import signal

from cluster import wait
from fault import register

FAULTS = []
fault = register(FAULTS, "capacity")


@fault("a node with {} % of its CPU time", each=(5, 10, 20, 30, 50, 70), tells=True)
def quota(t, percent):
    t.c.policy(t.bench.policy(share=0.8))
    t.slow("n1", percent)
    t.submit()
    t.ends()


@fault("a node with 95 % of its CPU time")
def nearly(t):
    t.slow("n1", 95)
    t.submit()
    t.ends()


@fault("all nodes with {} % of their CPU time, cap 1", each=(10, 40), tells=True)
def all_slow(t, percent):
    for node in t.c.nodes:
        t.slow(node, percent)
    t.cap = 1
    for _ in t.c.nodes:
        t.submit()
    t.ends()


def busy(t, count, nice=0, node=None):
    for _ in range(count):
        argv = ("setpriv", "--reuid", "65534", "--clear-groups", "nice", "-n", str(nice), "sh", "-c", "while :; do :; done")
        child = t.c.spawn(*argv, node=node)
        t.undo(lambda c=child: (os.killpg(c.pid, signal.SIGKILL), c.wait()))


@fault("a good node beside {} busy loop(s) of nice {}, outside of it", each=((1, 0), (2, 0), (2, 19)))
def beside(t, count, nice):
    t.c.policy(t.bench.policy(share=0.8))
    busy(t, count, nice)
    for _ in range(3):
        t.submit("-w", "n1")
    t.ends()


@fault("a good node with {} busy loop(s) of a user left on it", each=(1, 2), tells=True)
def left_over(t, count):
    t.c.policy(t.bench.policy(share=0.8))
    busy(t, count, node="n1")
    for _ in range(3):
        t.submit("-w", "n1")
    t.ends()


@fault("a good node beside a memory hog")
def hog(t):
    t.c.policy(t.bench.policy(share=0.8))
    code = "b = bytearray(256 << 20)\nwhile True:\n    b[:] = bytes(len(b))\n"
    child = t.c.spawn("setpriv", "--reuid", "65534", "--clear-groups", "/usr/bin/python3", "-c", code)
    t.undo(lambda: (os.killpg(child.pid, signal.SIGKILL), child.wait()))
    for _ in range(3):
        t.submit("-w", "n1")
    t.ends()


@fault("a node at 40 % of its CPU time, and a busy loop of a user on it", tells=True)
def slow_and_busy(t):
    t.slow("n1", 40)
    busy(t, 1, node="n1")
    # Busy is not rated; when the loop has gone, the node is found.
    t.submit()
    wait("the first check", 100, lambda: any(r.get("trigger") == "prolog" for r in t.c.records("n1")))


@fault("slurmd on one CPU of the machine: {}", each=("affinity", "cpuset"))
def fewer_cpus(t, how):
    pid = t.c.daemon("slurmd.n1")
    if how == "affinity":
        t.c.run("taskset", "-a", "-p", "-c", "0", str(pid))
        t.undo(lambda: t.c.run("taskset", "-a", "-p", "-c", "0-%d" % (os.cpu_count() - 1), str(pid)))
    else:
        top = "/sys/fs/cgroup/cpuset/syscheck-minicluster-%s" % t.c.slot
        group = top + "/faults"
        os.makedirs(group, exist_ok=True)
        for name, text in (("cpuset.cpus", "0"), ("cpuset.mems", "0"), ("cgroup.procs", str(pid))):
            with open(group + "/" + name, "w") as file:
                file.write(text)

        def back():
            with open("/sys/fs/cgroup/cpuset/cgroup.procs", "w") as file:
                file.write(str(pid))

        t.undo(back)
    t.c.policy(t.bench.policy(share=0.8))
    for _ in range(2):
        t.submit("-w", "n1")
    t.ends()


@fault("a quarter of the memory is gone, and expected", tells=True)
def memory(t):
    total = int([line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemTotal")][0])
    path = t.c.base + "/meminfo"
    with open("/proc/meminfo") as old, open(path, "w") as new:
        for line in old:
            new.write("MemTotal: %d kB\n" % (total * 3 // 4) if line.startswith("MemTotal") else line)
    t.c.policy(t.bench.policy(more='expect = { ["*"] = { memory_gib = %d, action = "fail" } },' % (total >> 20)))
    t.c.inside("n1", "mount", "--bind", path, "/proc/meminfo")
    t.undo(lambda: t.c.inside("n1", "umount", "/proc/meminfo"))
    t.bad.add("n1")
    t.submit()
    t.ends()
