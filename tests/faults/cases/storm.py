"""Hundreds of nodes bad at once, with a slurmctld that is slow, stopped, or killed meanwhile."""

import glob
import os
import signal
import threading
import time

from cases.controller import answers, starve
from cluster import Cluster, Failed, wait
from fault import register
from trial import begin_file, begun

FAULTS = []
fault = register(FAULTS, "storm")

NODES = int(os.environ.get("FAULTS_STORM_NODES", "1000"))


def records(c, jobs, row):
    """Of each run that began, on each of its nodes, one record: looked for where the nodes wrote them, as to ship a
    thousand spools takes longer than all else. `jobs`: {id: nodes}."""
    found = {}
    for node in c.nodes:
        for record in c.records(node):
            if record.get("kind") == "job":
                run = (record["job"]["id"], record["job"].get("restart"), node)
                found.setdefault(run, {})[record["id"]] = "%s: from %s, %.0f s, with%s a check, others %s" % (
                    record["time"], record.get("begin", {}).get("time"), record.get("elapsed_s", -1),
                    "" if record.get("check") else "out", record.get("others"))
    row["doubled"] = sum(len(ids) - 1 for ids in found.values())
    for (job, restart, node), ids in found.items():
        if len(ids) > 1:
            # What its node and slurmctld did is gone with the cluster, and it comes once in some storms.
            row["notes"] += ["job %d, restart %s on %s: %s" % (job, restart, node, " / ".join(ids.values())),
                             *(line for line in c.log().splitlines() if " %s " % node in line),
                             *c.daemon_log("slurmd." + node, str(job)),
                             *c.daemon_log("slurmctld", "JobId=%d " % job)]
    for job, nodes in jobs.items():
        have = sum(run[0] == job for run in found)
        row["lost"] += max(0, nodes * len(begun(c.out, job)) - have)


def storm(bench, name, disturb, least):
    """No node is free of noise, and all say so in the same seconds. At least so many have to leave service."""
    bench.broken()
    began = time.monotonic()
    c = Cluster(NODES, "ports")
    row = {"fault": name, "group": "storm", "told": [], "notes": []}
    # Not how late: the machine starts a thousand jobs one after the other.
    row.update(dict.fromkeys(("wrong_drains", "missed", "held", "lost", "doubled"), 0))
    try:
        c.policy("""return {
   mode = "enforce", partitions = { ["*"] = { default = "quick" } }, limits = { noise_pct = { max = 0, action = "fail" } },
   kernels = { stream = { quick = 0 }, dgemm = { quick = 0 }, noise = { quick = 0.05 } }, deadline = { quick = 60 },
   health = { level = "none" }, resume_after = 0, max_drained = 0.10,
   spool = "%(d)s/var/spool/syscheck/%%n", state = "%(d)s/var/lib/syscheck/%%n", run = "%(d)s/run/syscheck/%%n" }
""" % {"d": c.dir})
        back = disturb(c)
        script = ("-o", "/dev/null", "--wrap", ": >%s; sleep 1" % begin_file(c.out))
        wide = int(c.run("sbatch", "--parsable", "-N", str(NODES // 2), *script, timeout=120))
        c.run("sbatch", "-Q", "-a", "1-%d" % (NODES // 2), "-N1", *script, timeout=120)
        time.sleep(90)
        back()
        wait("slurmctld answers", 120, lambda: answers(c))
        try:
            wait("jobs end", 600, lambda: not c.queue())
        except Failed:
            row["held"] = len(c.queue())
        out = c.out_of_service()
        ours = [n for n, why in out.items() if "syscheck:" in why]
        others = [n for n, why in out.items() if "syscheck:" not in why and "Not responding" not in why]
        cap = NODES // 10
        row["wrong_drains"] = max(0, len(ours) - cap) + len(others)
        row["missed"] = max(0, least - len(ours))
        jobs = {int(path.split(".")[-2]) for path in glob.glob(c.out + "/begin.*")}
        records(c, {job: NODES // 2 if job == wide else 1 for job in jobs}, row)
        row["notes"].append("%d of %d nodes out of service, %d by syscheck, cap %d" % (len(out), NODES, len(ours), cap))
        row["told"] = [line for line in c.log().splitlines() if "error: " in line][:1]
    finally:
        c.down()
    row["seconds"] = round(time.monotonic() - began, 1)
    return row


def register_storm(text, disturb, least=1):
    name = "%d nodes bad at once, %s" % (NODES, text)
    fault(name, alone=True)(lambda bench: storm(bench, name, disturb, least))


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


register_storm("slurmctld well", nothing, least=NODES // 20)
register_storm("slurmctld on a fifth of a CPU", lambda c: starve(c, 20))
register_storm("slurmctld stopped for 55 s", stop)
