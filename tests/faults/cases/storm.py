"""Hundreds of nodes bad at once, with a slurmctld that is slow, stopped, or killed meanwhile."""

import os
import signal
import threading
import time

from cases.controller import answers, starve
from cluster import Cluster, Failed, wait
from fault import register
from trial import COUNTS

FAULTS = []
fault = register(FAULTS, "storm")

NODES = int(os.environ.get("FAULTS_STORM_NODES", "1000"))


def storm(bench, name, disturb):
    """All nodes report a tenth of their limit in the same seconds."""
    bench.broken()
    began = time.monotonic()
    c = Cluster(NODES, "ports")
    row = {"fault": name, "group": "storm", "told": [], "notes": []}
    row.update(dict.fromkeys(COUNTS, 0))
    try:
        # Their real values are below a limit that no machine reaches.
        c.policy("""return {
   mode = "enforce", partitions = { ["*"] = { default = "quick" } }, limits = { noise_pct = { max = -1, action = "fail" } },
   kernels = { stream = { quick = 0 }, dgemm = { quick = 0 }, noise = { quick = 0.05 } }, deadline = { quick = 60 },
   health = { level = "none" }, resume_after = 0, max_drained = 0.10,
   spool = "%(d)s/var/spool/syscheck/%%n", state = "%(d)s/var/lib/syscheck/%%n", run = "%(d)s/run/syscheck/%%n" }
""" % {"d": c.dir})
        back = disturb(c)
        c.run("sbatch", "-Q", "-N", str(NODES // 2), "-o", "/dev/null", "--wrap", "sleep 1", timeout=120)
        c.run("sbatch", "-Q", "-a", "1-%d" % (NODES // 2), "-N1", "-o", "/dev/null", "--wrap", "sleep 1", timeout=120)
        time.sleep(90)
        back()
        wait("slurmctld answers", 120, lambda: answers(c))
        try:
            wait("jobs end", 600, lambda: not c.queue())
        except Failed:
            row["held"] = len(c.queue())
        out = c.out_of_service()
        ours = [n for n, why in out.items() if "syscheck:" in why]
        cap = NODES // 10
        row["wrong_drains"] = max(0, len(out) - cap)
        row["missed"] = 0 if out else 1
        row["notes"].append("%d of %d nodes out of service, %d by syscheck, cap %d" % (len(out), NODES, len(ours), cap))
        row["told"] = [line for line in c.log().splitlines() if "error: " in line][:1]
    finally:
        c.down()
    row["seconds"] = round(time.monotonic() - began, 1)
    return row


def register_storm(text, disturb):
    name = "%d nodes bad at once, %s" % (NODES, text)
    fault(name, alone=True)(lambda bench: storm(bench, name, disturb))


def nothing(_):
    return lambda: None


def stop(c):
    """Stopped for a minute, as soon as nodes measure."""
    pid = c.daemon("slurmctld")

    def later():
        time.sleep(8)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(55)
        os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=later)
    thread.start()
    return thread.join


register_storm("slurmctld well", nothing)
register_storm("slurmctld on a fifth of a CPU", lambda c: starve(c, 20))
register_storm("slurmctld stopped for 55 s", stop)
