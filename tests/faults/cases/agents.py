"""Whatever runs on the node is killed, stopped, or meets the OOM killer, at every stage."""

import os
import signal

from cluster import Failed, wait
from fault import register

FAULTS = []
fault = register(FAULTS, "agent")

# What ended it, by the shell around it: that a bad node was drained is another matter.
AGENT = r"error: the agent (was|did not end)"
HOW = ("killed (SIGKILL)", "stopped (SIGSTOP)", "out of memory")


def oom(trial, pid):
    """The process goes into a memory cgroup that has no room: the kernel's OOM killer ends it."""
    v1 = "/sys/fs/cgroup/memory"
    top = v1 if os.path.isdir(v1) else "/sys/fs/cgroup"
    group = "%s/syscheck-faults-%d" % (top, os.getpid())
    os.makedirs(group, exist_ok=True)
    trial.undo(lambda: wait("the group is empty", 100, lambda: empty(group)))
    with open(group + ("/memory.limit_in_bytes" if top == v1 else "/memory.max"), "w") as file:
        file.write("65536")
    try:
        with open(group + "/cgroup.procs", "w") as file:
            file.write(str(pid))
    except OSError as failure:
        raise Failed("process %d had ended before it came into the group: %s" % (pid, failure))


def empty(group):
    try:
        os.rmdir(group)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def strike(trial, pid, how):
    if how == HOW[0]:
        trial.c.kill(pid)
    elif how == HOW[1]:
        trial.c.kill(pid, signal.SIGSTOP)
    else:
        oom(trial, pid)


@fault("the prolog's agent, before it measures: {}", each=HOW, tells=AGENT)
def early(t, how):
    t.submit()
    strike(t, t.c.at("n1", "prolog"), how)
    t.ends()


@fault("the prolog's agent, while a kernel measures: {}", each=HOW, tells=AGENT)
def measuring(t, how):
    t.submit()
    t.c.at("n1", "kernel")
    strike(t, t.c.find("n1", "prolog"), how)
    t.ends()


@fault("a kernel: {}", each=HOW, tells=True)
def kernel(t, how):
    t.submit()
    strike(t, t.c.at("n1", "kernel"), how)
    t.ends()


@fault("the prolog's agent, while it drains a bad node: {}", each=HOW, tells=AGENT)
def draining(t, how):
    t.slow("n1", 25)
    t.submit()
    t.c.at("n1", "scontrol")
    strike(t, t.c.find("n1", "prolog"), how)
    t.ends()


@fault("scontrol, called to drain a bad node: {}", each=HOW, tells=True)
def scontrol(t, how):
    t.slow("n1", 25)
    t.submit()
    strike(t, t.c.at("n1", "scontrol"), how)
    t.ends()


@fault("the epilog's agent: {}", each=HOW, tells=AGENT)
def epilog(t, how):
    t.submit()
    strike(t, t.c.at("n1", "epilog"), how)
    t.ends()


@fault("the health program's agent, while a kernel measures: {}", each=HOW, tells=AGENT)
def health(t, how):
    child = t.c.spawn("env", "-i", "SLURMD_NODENAME=n1", "SLURM_CONF=" + t.c.env["SLURM_CONF"],
                      t.c.dir + "/prefix/libexec/syscheck/health", node="n1")
    t.undo(child.wait)
    t.c.at("n1", "kernel")
    strike(t, t.c.find("n1", "health"), how)
    child.wait()  # a job that begins ends it, in whatever state
    t.submit()
    t.ends()


@fault("the job's own step: {}", each=HOW[:1])
def step(t, how):
    t.submit(good=("FAILED", "COMPLETED", "CANCELLED"), sleep=30)
    strike(t, t.c.at("n1", "step"), how)
    t.ends()
