"""One fault, really done, and what came of it.

A trial submits jobs, does its fault and undoes it; then whatever Slurm and the nodes do of
themselves is waited for, and counted:

  wrong_drains  healthy nodes that were out of service at any time, for whatever reason
  missed        bad nodes that are in service after their next checks
  held          jobs that did not end as they should: held, stuck, failed
  late          jobs whose script began later than the prolog may last (its own limit); agents that do not end
  lost          runs of jobs whose script began, without a record in the store and without a line in the log by
                which their own epilog says so
  doubled       runs of jobs on a node with more than one record, by whatever restart count
  untold        1 where the fault had an effect that the log does not mention
"""

import collections
import glob
import os
import re
import time

from cluster import Changed, Failed, Late, wait

# What prolog/entry.sh gives the agent, and the shell after it, and slurmctld's own delays.
PROLOG_S = 75 + 5 + 10
# A job that has not ended so long after its fault was undone is stuck.
STUCK_S, SOON_S = 240, 20
# No agent lasts longer: slurmd's own limit for a health program is 60 s.
AGENT_S = 100
# A machine of which so much is left, or that has so much more, is another one than its limits were made for: they are
# 60 and 80 % of its rate, and slow nodes have 70 % at most.
SLOWER, FASTER = 0.75, 1.33
# What a slow node may be told from: DESIGN asks for nodes 30 % slow or worse.
COUNTS = ("wrong_drains", "missed", "held", "late", "lost", "doubled", "untold")
# The job's record is lost, as its epilog, or the shell around that, says it.
LOST = r"\bepilog: job %d: error: (job record lost|the agent )"


def begin_file(out):
    """What a job's script makes when it begins, one for each run; for the shell."""
    return out + "/begin.$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}"


def begun(out, job):
    """When each run of a job began, by the machine's clock: its node's may be wrong. In their order."""
    return sorted(os.stat(path).st_mtime for path in glob.glob("%s/begin.%d.*" % (out, job)))


class Trial:
    def __init__(self, cluster, name):
        self.c = cluster
        self.name = name
        self.jobs = {}  # id -> states that are good ends
        self.bad = set()  # nodes that have to leave service
        self.slowed = set()  # those of them that are slow
        self.excused = set()  # nodes that the fault itself takes out: a dead slurmd
        self.spared = collections.Counter()  # by job, runs that may have no record: their node lost its power
        self.restarts = {}  # of a job, as slurmctld counts them
        self.wrong = {}  # healthy node -> state and reason
        self.undos = []
        self.log_from = cluster.log_size()
        self.tells = False  # the log has to have an error, or one that a pattern is found in
        self.silent = False  # a command failed without a word
        self.wrong_value = False  # a record holds what did not happen
        self.cap = None  # of bad nodes, how many the storm guard lets out; None: all
        self.notes = []

    # -- what a fault is made of --------------------------------------------------------------

    def submit(self, *options, good=("COMPLETED",), sleep=0.3):
        """A job at level quick: its prolog measures. On n1, the first node, if options say nothing."""
        text = self.c.run("sbatch", "--parsable", "-o", "/dev/null", "-N1", "--syscheck=quick", *options, "--wrap",
                          ": >%s; exec sleep %g" % (begin_file(self.c.out), sleep))
        job = int(text.strip().split(";")[0])
        self.jobs[job] = good
        return job

    def undo(self, what):
        self.undos.append(what)

    def slow(self, node, percent):
        """A CPU quota. A node at 70 % or less is bad."""
        self.c.tool("slow", node, str(percent))
        if percent <= 70:
            self.bad.add(node)
            self.slowed.add(node)

    def ends(self, *jobs, seconds=STUCK_S):
        """Waits for jobs to end. One that does not is no fault that could not be done: end() counts it."""
        try:
            wait("jobs end", seconds,
                 lambda: self.watch() and (self.rated() or not set(jobs or self.jobs) & set(self.c.queue())))
        except Late as late:
            self.notes.append(str(late))

    def watch(self):
        """Looks for healthy nodes out of service. True, so that a wait can do it on its way."""
        for node, state in self.c.out_of_service().items():
            if node not in self.bad and node not in self.excused:
                self.wrong.setdefault(node, state)
        return True

    def rated(self):
        """Good nodes that were drained for their rate: on a machine that is slower now they are not good."""
        return [node for node, state in self.wrong.items() if re.search(r" syscheck: dgemm [\d.]+ < ", state)]

    # -- the end --------------------------------------------------------------------------------

    def end(self):
        """Undoes the fault, waits for all that follows from it, counts."""
        while self.undos:
            self.undos.pop()()
        counts = dict.fromkeys(COUNTS, 0)
        try:
            self.watch()
        except Failed:
            pass  # slurmctld is coming back
        speed = self.bench.speed() if self.rated() else None
        # Who waits for a node that this machine took is not waited for.
        end = time.monotonic() + (SOON_S if speed and speed < SLOWER else STUCK_S)
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
        try:
            wait("no agent runs", AGENT_S, lambda: not any(self.c.measures(n) for n in self.c.nodes))
        except Late as late:
            counts["late"] += 1
            self.notes.append(str(late))
        log = self.c.log(self.log_from)
        self._records(counts, log)
        told = [re.sub(r"^\S+ (\S+ )?", "", line) for line in log.splitlines() if "error: " in line or "warn" in line]
        pattern = self.tells if isinstance(self.tells, str) else ""
        if self.silent or self.tells and not any(re.search(pattern, line) for line in told):
            counts["untold"] = 1
        if self.wrong_value:
            counts["lost"] += 1
        self._excuse(counts, speed)
        return counts, told

    def _excuse(self, counts, speed):
        """Raises Changed where all that is wrong is that the machine itself is slower or faster than its limits' was."""
        bad = {name for name in COUNTS if counts[name]}
        # Who waits for a drained node is held.
        drained = bad <= {"wrong_drains", "held"} and 0 < len(self.rated()) == counts["wrong_drains"]
        if not drained and not (bad == {"missed"} and self.bad <= self.slowed):
            return
        speed = speed or self.bench.speed()
        if speed and (speed < SLOWER if drained else speed > FASTER):
            raise Changed("this machine has %.0f %% of its rate: %s" % (100 * speed, "; ".join(self.notes)))

    def _jobs(self, counts):
        for job, good in self.jobs.items():
            info = self.c.job(job)
            state = info.get("JobState", "unknown")
            if state not in good:
                counts["held"] += 1
                self.notes.append("job %d: %s %s" % (job, state, info.get("Reason", "")))
                self.c.run("scancel", str(job), check=False)
            if info.get("Restarts", "").isdigit():
                self.restarts[job] = int(info["Restarts"])
            times = begun(self.c.out, job)
            if times and state == "COMPLETED":
                start = time.mktime(time.strptime(info["StartTime"], "%Y-%m-%dT%H:%M:%S"))
                if times[-1] - start > PROLOG_S:
                    counts["late"] += 1
                    self.notes.append("job %d: its script began %.0f s after its allocation" % (job, times[-1] - start))

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
        rows = []
        try:
            self.c.ship()
            rows = self.c.rows("SELECT r.job_id, r.restart, n.name, count(*) FROM job_node j JOIN run r ON r.id = j.run "
                               "JOIN node n ON n.id = j.node GROUP BY r.job_id, r.restart, n.name")
        except Failed as failure:
            # Nothing disturbs it any more.
            counts["lost"] += 1
            self.notes.append(str(failure))
        have, on_node = collections.Counter(), collections.Counter()
        for job, _, node, count in rows:
            have[int(job)] += count
            on_node[int(job), node] += count
            if count > 1:
                counts["doubled"] += count - 1
                self.notes.append("job %d on %s: %d records" % (job, node, count))
        for (job, node), count in on_node.items():
            if count > self.restarts.get(job, count) + 1:
                counts["doubled"] += 1
                self.notes.append("job %d on %s: %d records, %d restarts" % (job, node, count, self.restarts[job]))
        for job in self.jobs:
            missing = len(begun(self.c.out, job)) - have[job] - self.spared[job]
            said = len(re.findall(LOST % job, log))
            if missing > 0:
                self.notes.append("job %d: %d runs without a record, of which the log names %d" % (job, missing, said))
            counts["lost"] += max(0, missing - said)
