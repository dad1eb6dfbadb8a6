"""One fault, really done, and what came of it.

A trial submits jobs, does its fault and undoes it; then whatever Slurm and the nodes do of
themselves is waited for, and counted:

  wrong_drains  healthy nodes that were out of service at any time, for whatever reason
  missed        bad nodes that are in service after their next checks
  held          jobs that did not end as they should: held, stuck, failed
  late          jobs whose script began later than the prolog may last (its own limit)
  lost          runs of jobs without a record in the store, and no line in the log that says so
  doubled       runs of jobs on a node with more than one record
  untold        1 where the fault had an effect that the log does not mention
"""

import os
import re
import time

from cluster import Failed, wait

# What prolog/entry.sh gives the agent, and the shell after it, and slurmctld's own delays.
PROLOG_S = 75 + 5 + 10
# A job that has not ended so long after its fault was undone is stuck.
STUCK_S = 240
# What a slow node may be told from: DESIGN asks for nodes 30 % slow or worse.
COUNTS = ("wrong_drains", "missed", "held", "late", "lost", "doubled", "untold")


class Trial:
    def __init__(self, cluster, name):
        self.c = cluster
        self.name = name
        self.jobs = {}  # id -> states that are good ends
        self.bad = set()  # nodes that have to leave service
        self.excused = set()  # nodes that the fault itself takes out: a dead slurmd
        self.not_recorded = set()  # jobs that may have no record: cancelled before their prolog
        self.wrong = {}  # healthy node -> state and reason
        self.undos = []
        self.quotas = []
        self.log_from = cluster.log_size()
        self.tells = False
        self.silent = False  # a command failed without a word
        self.wrong_value = False  # a record holds what did not happen
        self.cap = None  # of bad nodes, how many the storm guard lets out; None: all
        self.notes = []

    # -- what a fault is made of --------------------------------------------------------------

    def submit(self, *options, good=("COMPLETED",), sleep=0.3):
        """A job at level quick: its prolog measures. On n1, the first node, if options say nothing."""
        text = self.c.run("sbatch", "--parsable", "-o", "/dev/null", "-N1", "--syscheck=quick", *options, "--wrap",
                          ": >%s/begin.$SLURM_JOB_ID; exec sleep %g" % (self.c.out, sleep))
        job = int(text.strip().split(";")[0])
        self.jobs[job] = good
        return job

    def undo(self, what):
        self.undos.append(what)

    def slow(self, node, percent):
        """A CPU quota. A node at 70 % or less is bad."""
        self.c.tool("slow", node, str(percent))
        self.quotas.append(node)
        if percent <= 70:
            self.bad.add(node)

    def ends(self, *jobs, seconds=STUCK_S):
        """Waits for jobs to end."""
        wait("jobs end", seconds, lambda: self.watch() and not set(jobs or self.jobs) & set(self.c.queue()))

    def watch(self):
        """Looks for healthy nodes out of service. True, so that a wait can do it on its way."""
        for node, state in self.c.out_of_service().items():
            if node not in self.bad and node not in self.excused:
                self.wrong.setdefault(node, state)
        return True

    # -- the end --------------------------------------------------------------------------------

    def end(self):
        """Undoes the fault, waits for all that follows from it, counts."""
        while self.undos:
            self.undos.pop()()
        counts = dict.fromkeys(COUNTS, 0)
        end = time.monotonic() + STUCK_S
        answered = False
        while time.monotonic() < end:
            try:
                self.watch()
                if not set(self.jobs) & set(self.c.queue()):
                    answered = True
                    break
            except Failed:
                pass  # slurmctld is coming back
            time.sleep(0.3)
        if not answered:
            self.notes.append("stuck: " + str(self.c.run("squeue", "-h", "-o", "%A %T %R", check=False).splitlines()))
        self._jobs(counts)
        self._settle()
        out = self.bad & set(self.c.out_of_service())
        cap = len(self.bad) if self.cap is None else min(self.cap, len(self.bad))
        counts["missed"] = max(0, cap - len(out))
        self.watch()
        # Beyond the storm guard's cap even a bad node stays.
        counts["wrong_drains"] = len(self.wrong) + max(0, len(out) - cap)
        for node, state in self.wrong.items():
            self.notes.append("%s: %s" % (node, state))
        if len(out) > cap:
            self.notes += ["%s: %s" % one for one in self.c.out_of_service().items()]
        wait("no agent runs", 100, lambda: not any(self.c.measures(n) for n in self.c.nodes))
        log = self.c.log(self.log_from)
        self._records(counts, log)
        told = [re.sub(r"^\S+ (\S+ )?", "", line) for line in log.splitlines() if "error: " in line or "warn" in line]
        if self.silent or self.tells and not told:
            counts["untold"] = 1
        if self.wrong_value:
            counts["lost"] += 1
        return counts, told

    def _jobs(self, counts):
        for job, good in self.jobs.items():
            info = self.c.job(job)
            state = info.get("JobState", "unknown")
            if state not in good:
                counts["held"] += 1
                self.notes.append("job %d: %s %s" % (job, state, info.get("Reason", "")))
                self.c.run("scancel", str(job), check=False)
            began = self._begun(job)
            if began and state == "COMPLETED":
                start = time.mktime(time.strptime(info["StartTime"], "%Y-%m-%dT%H:%M:%S"))
                if began - start > PROLOG_S:
                    counts["late"] += 1
                    self.notes.append("job %d: its script began %.0f s after its allocation" % (job, began - start))

    def _begun(self, job):
        """When the job's script began, by the machine's clock: its node's may be wrong."""
        try:
            return os.stat("%s/begin.%d" % (self.c.out, job)).st_mtime
        except OSError:
            return None

    def _settle(self):
        """What the nodes' next checks settle: the health program, then a job's prolog."""
        for turn in ("health", "job", "health", "job"):
            out = self.bad & set(self.c.out_of_service())
            left = self.bad - out
            if not left or self.cap is not None and len(out) >= self.cap:
                return
            for node in sorted(left):
                if turn == "health":
                    self.c.health(node)
                else:
                    text = self.c.run("sbatch", "--parsable", "-o", "/dev/null", "-w", node, "--wrap", "true")
                    job = text.strip()
                    try:
                        wait("job", 120, lambda: not self.c.is_queued(job) or node in self.c.out_of_service())
                    except Failed:
                        pass
                    self.c.run("scancel", job, check=False)
            self.watch()

    def _records(self, counts, log):
        self.c.ship()
        rows = self.c.rows("SELECT r.job_id, r.restart, n.name, count(*) FROM job_node j JOIN run r ON r.id = j.run "
                           "JOIN node n ON n.id = j.node GROUP BY r.job_id, r.restart, n.name")
        have = set()
        for job, _, node, count in rows:
            have.add(int(job))
            if count > 1:
                counts["doubled"] += count - 1
                self.notes.append("job %d on %s: %d records" % (job, node, count))
        for job in self.jobs:
            if job in have or job in self.not_recorded or self._begun(job) is None:
                continue
            said = [line for line in log.splitlines() if "job %d" % job in line and "error: " in line]
            if said:
                self.notes.append("job %d: no record, and the log says so" % job)
            else:
                counts["lost"] += 1
                self.notes.append("job %d: no record" % job)
