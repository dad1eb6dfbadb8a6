"""What users and admins do to a job and to Slurm at every stage of it."""

import os
import signal
import time

from cluster import processes, wait
from fault import register

FAULTS = []
fault = register(FAULTS, "jobs")

STAGES = ("prolog", "kernel", "step", "epilog")
ENDED = ("COMPLETED", "CANCELLED", "FAILED", "NODE_FAIL")


def begin(t, stage, **more):
    job = t.submit(sleep=2, **more)
    t.c.at("n1", stage)
    return job


@fault("scancel at the {}", each=STAGES)
def scancel(t, stage):
    job = begin(t, stage, good=ENDED)
    t.c.run("scancel", str(job))
    t.ends()


@fault("scancel while a bad node is drained")
def scancel_drain(t):
    t.slow("n1", 25)
    job = t.submit(good=ENDED)
    t.c.at("n1", "scontrol")
    t.c.run("scancel", str(job))
    t.ends()


@fault("requeue at the {}", each=STAGES)
def requeue(t, stage):
    job = begin(t, stage)
    t.c.run("scontrol", "requeue", str(job), check=False)
    t.ends()


@fault("requeue while a bad node is drained")
def requeue_drain(t):
    t.slow("n1", 25)
    job = t.submit()
    t.c.at("n1", "scontrol")
    t.c.run("scontrol", "requeue", str(job), check=False)
    t.ends()


@fault("suspend and resume of the job")
def suspend(t):
    job = begin(t, "step")
    t.c.run("scontrol", "suspend", str(job))
    wait("the job is suspended", 30, lambda: t.c.job_is(job, "SUSPENDED"))
    t.c.run("scontrol", "resume", str(job))
    t.ends()


@fault("scontrol reconfigure at the {}", each=STAGES)
def reconfigure(t, stage):
    begin(t, stage)
    t.c.run("scontrol", "reconfigure")
    t.ends()


@fault("reconfigure while a bad node is drained")
def reconfigure_drain(t):
    t.slow("n1", 25)
    t.submit()
    t.c.at("n1", "scontrol")
    t.c.run("scontrol", "reconfigure")
    t.ends()


@fault("preempted by a job of a better partition at the {}", each=STAGES[:3])
def preempt(t, stage):
    conf = open(t.c.env["SLURM_CONF"]).read()

    def put(text):
        with open(t.c.env["SLURM_CONF"], "w") as file:
            file.write(text)
        t.c.run("scontrol", "reconfigure")

    put(conf + "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
        "PartitionName=urgent Nodes=ALL OverSubscribe=EXCLUSIVE PriorityTier=100\n")
    t.undo(lambda: put(conf))
    job = begin(t, stage)
    urgent = t.submit("-p", "urgent", "-w", "n1")
    t.ends(job, urgent)


def launch_missed(t):
    """A job whose launch was lost with slurmd is missed at a registration after BatchStartTimeout + 10 s, which
    without this may be half an hour later."""
    time.sleep(120)
    t.c.end_daemon("slurmd.n1")
    t.c.start_slurmd("n1")


@fault("slurmd killed and restarted at the {}", each=STAGES)
def slurmd_killed(t, stage):
    begin(t, stage, good=("COMPLETED", "NODE_FAIL", "FAILED"))
    t.c.kill(t.c.daemon("slurmd.n1"), signal.SIGKILL)
    t.c.start_slurmd("n1")
    wait("n1 is registered", 60, lambda: t.c.node("n1")[0] not in ("unknown", "down*"))
    if stage in ("prolog", "kernel"):
        launch_missed(t)
    t.ends()


@fault("slurmd killed and restarted while a bad node is drained")
def slurmd_drain(t):
    t.slow("n1", 25)
    t.submit(good=("COMPLETED", "NODE_FAIL", "FAILED"))
    t.c.at("n1", "scontrol")
    t.c.kill(t.c.daemon("slurmd.n1"), signal.SIGKILL)
    t.c.start_slurmd("n1")
    launch_missed(t)
    t.ends()


def reboot(t, node):
    """All that runs on the node is gone at once, and it comes back with another boot_id and an
    empty run directory."""
    for pid in processes(t.c.group + "/" + node):
        if pid != t.c.daemon(node + ".namespace"):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    path = t.c.base + "/boot_id"
    with open("/proc/sys/kernel/random/uuid") as uuid, open(path, "w") as file:
        file.write(uuid.read())
    t.c.inside(node, "mount", "--bind", path, "/proc/sys/kernel/random/boot_id")
    t.undo(lambda: t.c.inside(node, "umount", "/proc/sys/kernel/random/boot_id"))
    t.c.run("find", t.c.run_dir(node), "-type", "f", "-delete", check=False)
    t.c.start_slurmd(node, "-b")


@fault("the node reboots at the {}", each=STAGES)
def reboots(t, stage):
    job = begin(t, stage, good=("COMPLETED", "NODE_FAIL", "FAILED"))
    t.spared[job] += 1
    t.excused.add("n1")
    reboot(t, "n1")
    wait("n1 is registered", 60, lambda: t.c.node("n1")[0] not in ("unknown", "down*"))
    if stage != "epilog":
        launch_missed(t)  # also a job that had begun: Slurm believes in a reboot 15 s after a job's begin, no sooner
    t.ends(job)
    t.excused.discard("n1")


@fault("the node reboots while it is drained as bad")
def reboots_drain(t):
    t.slow("n1", 25)
    t.submit(good=("COMPLETED", "NODE_FAIL", "FAILED"))
    t.c.at("n1", "scontrol")
    reboot(t, "n1")
    launch_missed(t)
    t.ends()
