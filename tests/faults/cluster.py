"""A minicluster as the faults use it: a real Slurm with syscheck installed, whose nodes,
processes and records are looked at from outside, never through the code under test.
"""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MINICLUSTER = os.path.join(ROOT, "tests/cluster/minicluster")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

# States in which a node takes no jobs. A star (does not answer) is slurmctld's own finding.
OUT = ("drain", "down", "fail", "error", "maint")


class Failed(Exception):
    """The fault could not be done: neither good nor bad is known of it."""


class Changed(Failed):
    """The machine itself is faster or slower than when the limits were made: a host gives and takes."""


class Late(Failed):
    """What was waited for did not come."""


def wait(what, seconds, condition):
    """Waits until condition() is true and returns what it is; Late after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Late("not within %g s: %s" % (seconds, what))
        time.sleep(0.05)


def processes(group):
    """All processes of a cgroup and those below it: {pid: argv}."""
    found = {}
    for folder, _, _ in os.walk(group):
        try:
            with open(os.path.join(folder, "cgroup.procs")) as file:
                pids = file.read().split()
        except OSError:
            continue
        for pid in pids:
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    argv = file.read().decode("utf-8", "replace").split("\0")[:-1]
            except OSError:
                continue
            if argv:
                found[int(pid)] = argv
    return found


def stat(pid):
    """Fields of /proc/PID/stat from the third on: state, parent, ...; ["Z", "0"] of one that is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return ["Z", "0"]


def parent(pid):
    return int(stat(pid)[1])


def is_agent(argv, stage):
    return os.path.basename(argv[0]).startswith("lua") and argv[-1] == stage and any("agent.lua" in a for a in argv)


class Cluster:
    """nodes: how many; mode: netns (namespaces of their own) or ports (hundreds)."""

    def __init__(self, nodes=3, mode="netns"):
        self.base = tempfile.mkdtemp(prefix="faults.", dir="/var/tmp")
        os.chmod(self.base, 0o755)
        self.dir = self.base + "/c"
        self.out = self.base + "/out"
        os.mkdir(self.out)
        os.chmod(self.out, 0o1777)
        self.env = {"PATH": PATH, "MINICLUSTER_DIR": self.dir, "LC_ALL": "C"}
        self.mode = mode
        self.tool("up", "--nodes", str(nodes), "--mode", mode, timeout=300)
        letter = "n" if mode == "netns" else "s"
        self.nodes = ["%s%d" % (letter, i) for i in range(1, nodes + 1)]
        self.env["SLURM_CONF"] = self.dir + "/etc/slurm.conf"
        settings = dict(line.split("=", 1) for line in open(self.dir + "/settings").read().split())
        self.slot = settings["SLOT"]
        v1 = "/sys/fs/cgroup/cpu/syscheck-minicluster-" + self.slot
        self.group = v1 if os.path.isdir(v1) else "/sys/fs/cgroup/syscheck-minicluster-" + self.slot
        self.syscheck = self.dir + "/prefix/bin/syscheck"
        self.log_path = self.dir + "/var/log/syscheck.log"
        self.store = self.base + "/store.db"

    # -- commands ---------------------------------------------------------------------------

    def run(self, *argv, timeout=60, check=True, **more):
        done = subprocess.run(argv, env=self.env, cwd=self.out, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=timeout, **more)
        if check and done.returncode != 0:
            raise Failed("%s: %s" % (" ".join(argv[:4]), (done.stderr or done.stdout).strip()[-400:]))
        return done.stdout

    def tool(self, *args, timeout=120):
        return self.run(MINICLUSTER, *args, timeout=timeout)

    def inside(self, node, *argv, timeout=60, check=True):
        """A command in a node's namespaces."""
        return self.run(MINICLUSTER, "run", node, "--", *argv, timeout=timeout, check=check)

    def spawn(self, *argv, node=None):
        """A process that stays until the fault is undone."""
        if node:
            argv = (MINICLUSTER, "run", node, "--") + argv
        return subprocess.Popen(argv, env=self.env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)

    def down(self):
        self.tool("down")
        shutil.rmtree(self.base, ignore_errors=True)

    # -- processes --------------------------------------------------------------------------

    def daemon(self, name):
        """Process id of a daemon that minicluster started, the newest of that name."""
        pid = 0
        for line in open(self.dir + "/pids"):
            fields = line.split()
            if fields[0] == name:
                pid = int(fields[1])
        return pid

    def start_daemon(self, name, *argv, node=None):
        """Starts a daemon again, and notes it where minicluster's own are."""
        group = self.group + "/" + (node or "daemons")

        def enter():
            with open(group + "/cgroup.procs", "w") as file:
                file.write(str(os.getpid()))
            os.setsid()

        env = dict(self.env)
        if node:
            env["SLURMD_NODENAME"] = node
            holder = self.daemon(node + ".namespace")
            argv = ("nsenter", "-t", str(holder), "--net", "--uts", "--mount", "--wd=/", "--") + argv
        with open("%s/log/%s.out" % (self.dir, name), "a") as log:
            child = subprocess.Popen(argv, env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     preexec_fn=enter)
        start = stat(child.pid)[19]
        with open(self.dir + "/pids", "a") as file:
            file.write("%s %d %s\n" % (name, child.pid, start))
        return child

    def start_slurmctld(self):
        return self.start_daemon("slurmctld", "slurmctld", "-D")

    def start_slurmd(self, node, *more):
        return self.start_daemon("slurmd." + node, "slurmd", "-D", "-N", node, "-f", self.env["SLURM_CONF"], *more,
                                 node=node)

    def start_munged(self):
        d = self.dir + "/munge"
        return self.start_daemon("munged", "munged", "-F", "--force", "--key-file=" + d + "/key", "--socket=" + d + "/socket",
                                 "--pid-file=" + d + "/pid", "--log-file=" + d + "/munged.log", "--seed-file=" + d + "/seed")

    def kill(self, pid, which=signal.SIGKILL):
        """Ends or stops a process. It is stopped first: one that was about to end by itself was hit by nothing."""
        try:
            if which != signal.SIGTERM:
                os.kill(pid, signal.SIGSTOP)
                wait("process %d stops or ends" % pid, 30, lambda: stat(pid)[0] in "TZX")
                if stat(pid)[0] != "T":
                    raise ProcessLookupError
            os.kill(pid, which)
        except ProcessLookupError:
            raise Failed("process %d had ended before the signal" % pid)

    def end_daemon(self, name):
        """Ends a daemon by SIGTERM, and waits until it has: what is left of it then has no executable."""
        pid = self.daemon(name)
        self.kill(pid, signal.SIGTERM)
        wait(name + " ends", 30, lambda: not os.path.exists("/proc/%d/exe" % pid))

    def find(self, node, stage):
        """The process of a stage on a node, or 0. Stages: prolog, epilog, health (the agent), kernel (of
        the check), scontrol (that an agent called), step (what the job runs)."""
        found = processes(self.group + "/" + node)
        for pid, argv in found.items():
            if stage in ("prolog", "epilog", "health"):
                if is_agent(argv, stage):
                    return pid
            elif stage == "kernel":
                if argv[0].startswith(self.dir + "/prefix/libexec/syscheck/") and "--seconds" in argv:
                    return pid
            elif stage == "scontrol":
                if os.path.basename(argv[0]) == "scontrol" and self._below_agent(pid, found):
                    return pid
            elif stage == "step":
                if argv[0] == "sleep" and argv[-1] != "infinity":
                    return pid
        return 0

    def _below_agent(self, pid, found):
        for _ in range(6):
            pid = parent(pid)
            if pid in found and any("agent.lua" in a for a in found[pid]):
                return True
        return False

    def at(self, node, stage, seconds=90):
        """Waits for a stage: a tight loop, as an epilog takes 15 ms. Returns its process id."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid = self.find(node, stage)
            if pid:
                return pid
        raise Failed("%s: no %s within %g s" % (node, stage, seconds))

    def measures(self, node):
        return any(self.find(node, stage) for stage in ("prolog", "epilog", "health", "kernel"))

    # -- Slurm ------------------------------------------------------------------------------

    def job(self, job):
        """What slurmctld knows of a job: {JobState = ..., Reason = ..., ...}."""
        text = self.run("scontrol", "show", "job", str(job), "--oneliner", check=False)
        return dict(re.findall(r"(\w+)=(\S*)", text))

    def job_is(self, job, *states):
        return self.job(job).get("JobState") in states

    def queue(self):
        return [int(i) for i in self.run("squeue", "-h", "-o", "%A").split()]

    def saved(self, jobs):
        """Waits until slurmctld has saved its state, at most once in 5 s: without that a kill loses what it knows
        of jobs and nodes, which nothing on a node can help."""
        for job in jobs:
            self.run("scontrol", "update", "jobid=%d" % job, "comment=saved")
        since = time.time()
        wait("slurmctld has saved its state", 20, lambda: os.stat(self.dir + "/state/job_state").st_mtime > since)

    def is_queued(self, job):
        return int(job) in self.queue()

    def node(self, node):
        """State of a node, in small letters, and its reason."""
        text = self.run("sinfo", "-h", "-N", "-n", node, "-p", "main", "-o", "%T|%E").strip()
        state, _, reason = text.partition("|")
        return state, reason

    def out_of_service(self):
        """{node: reason} of those that take no jobs."""
        out = {}
        for line in self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%N|%T|%E").splitlines():
            name, state, reason = line.split("|", 2)
            if any(word in state for word in OUT):
                out[name] = state + " " + reason
        return out

    def is_idle(self):
        states = self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%T").split()
        return len(states) == len(self.nodes) and all(s == "idle" for s in states)

    # -- syscheck ---------------------------------------------------------------------------

    def policy(self, text):
        """Installs a policy, whole and at once."""
        path = self.dir + "/etc/syscheck/policy.lua"
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def health(self, node):
        """The health program, as slurmd calls it."""
        env = ["env", "-i", "SLURMD_NODENAME=" + node, "SLURM_CONF=" + self.env["SLURM_CONF"]]
        self.inside(node, *env, self.dir + "/prefix/libexec/syscheck/health", check=False, timeout=90)

    def log(self, since=0):
        with open(self.log_path, errors="replace") as file:
            file.seek(since)
            return file.read()

    def daemon_log(self, name, part):
        """What a daemon of Slurm's logged with this in it."""
        try:
            with open("%s/log/%s.log" % (self.dir, name), errors="replace") as file:
                return [line.rstrip() for line in file if part in line]
        except OSError:
            return []

    def log_size(self):
        try:
            return os.path.getsize(self.log_path)
        except OSError:
            return 0

    def spool(self, node):
        return "%s/var/spool/syscheck/%s" % (self.dir, node)

    def state(self, node):
        return "%s/var/lib/syscheck/%s" % (self.dir, node)

    def run_dir(self, node):
        return "%s/run/syscheck/%s" % (self.dir, node)

    def ship(self):
        """Everything off the nodes and into the store."""
        dest = self.base + "/dest"
        os.makedirs(dest, exist_ok=True)
        for node in self.nodes:
            if os.path.isdir(self.spool(node)):
                self.run(self.syscheck, "ship", "--spool", self.spool(node), "--node", node, "--to", dest)
        self.run(self.syscheck, "ingest", "--store", self.store, dest, timeout=120)

    def rows(self, sql, *values):
        with sqlite3.connect("file:%s?mode=ro" % self.store, uri=True) as store:
            return store.execute(sql, values).fetchall()

    def records(self, node):
        """All records in a node's spool."""
        found = []
        for folder, _, names in os.walk(self.spool(node)):
            for name in names:
                if name.endswith(".jsonl"):
                    for line in open(os.path.join(folder, name), errors="replace"):
                        try:
                            found.append(json.loads(line))
                        except ValueError:
                            pass
        return found
