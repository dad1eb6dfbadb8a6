"""slurmctld stopped, killed, restarted, refusing, slow, failing over; munge away."""

import os
import re
import signal
import time

from cluster import wait
from fault import register

FAULTS = []
fault = register(FAULTS, "controller")

# What a node is at when the fault begins: a prolog that passes, one that drains, an epilog.
AT = ("while a prolog measures", "while a bad node is drained", "while a job runs, until its epilog")
# Longer than a prolog waits for an answer.
SILENT_S = 50


def answers(c):
    return re.search(r"\(primary\).* is UP", c.run("scontrol", "ping", check=False, timeout=30)) is not None


def begin(t, at, saved=False):
    """Submits, and waits for the moment; `saved`: and until slurmctld will know of it after a kill."""
    if saved:
        t.c.policy(t.bench.policy().replace("dgemm = { quick = 0.5 }", "dgemm = { quick = 8 }"))
        t.undo(lambda: t.c.policy(t.bench.policy()))
    if at == AT[1]:
        for node in t.c.nodes:
            t.slow(node, 25)
        for _ in t.c.nodes:
            t.submit()
        t.c.at("n1", "kernel")
    elif at == AT[0]:
        t.submit()
        t.c.at("n1", "kernel")
    else:
        t.submit(sleep=12 if saved else 3)
        t.c.at("n1", "step")
    if saved:
        t.c.saved(t.jobs)


def settled(t, at):
    """Of three bad nodes the cap takes one: the others stay, which is neither missed nor wrong."""
    if at == AT[1]:
        t.cap = 1


@fault("slurmctld stopped for 50 s {}", each=AT)
def stopped(t, at):
    begin(t, at)
    pid = t.c.daemon("slurmctld")
    t.c.kill(pid, signal.SIGSTOP)
    t.undo(lambda: (os.kill(pid, signal.SIGCONT), wait("slurmctld answers", 60, lambda: answers(t.c))))
    time.sleep(SILENT_S)
    settled(t, at)


@fault("slurmctld killed, back after 20 s {}", each=AT)
def killed(t, at):
    begin(t, at, saved=True)
    t.c.kill(t.c.daemon("slurmctld"))
    t.undo(lambda: (t.c.start_slurmctld(), wait("slurmctld answers", 60, lambda: answers(t.c))))
    time.sleep(20)
    settled(t, at)


def restart(c):
    c.end_daemon("slurmctld")
    c.start_slurmctld()


@fault("slurmctld restarted {}", each=AT)
def restarted(t, at):
    begin(t, at)
    t.undo(lambda: wait("slurmctld answers", 60, lambda: answers(t.c)))
    restart(t.c)
    settled(t, at)


@fault("slurmctld refuses updates, lists work {}", each=AT[1:2], tells=True)
def refuses(t, at):
    # Real scontrol, real refusal: it asks as a user who may not.
    path = t.c.base + "/scontrol"
    with open(path, "w") as file:
        file.write("#!/bin/sh\nexec /usr/bin/setpriv --reuid 65534 --clear-groups /usr/bin/scontrol \"$@\"\n")
    os.chmod(path, 0o755)
    t.c.policy(t.bench.policy(more='scontrol = "%s",' % path))
    t.undo(lambda: t.c.policy(t.bench.policy()))
    begin(t, at)
    t.ends()
    settled(t, at)


def starve(c, percent):
    """Puts slurmctld where it gets so much of a CPU. Returns what takes it back."""
    pid = c.daemon("slurmctld")
    group = c.group + "/starved"
    os.makedirs(group, exist_ok=True)
    if os.path.exists(group + "/cpu.cfs_quota_us"):
        put(group + "/cpu.cfs_period_us", "100000")
        put(group + "/cpu.cfs_quota_us", "%d" % (percent * 1000))
    else:
        put(group + "/cpu.max", "%d 100000" % (percent * 1000))
    put(group + "/cgroup.procs", str(pid))
    return lambda: put(c.group + "/daemons/cgroup.procs", str(pid))


@fault("slurmctld gets 1 % of a CPU {}", each=AT)
def starved(t, at):
    begin(t, at)
    back = starve(t.c, 1)
    t.undo(lambda: (back(), wait("slurmctld answers", 60, lambda: answers(t.c))))
    time.sleep(30)
    settled(t, at)


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


@fault("the node's network at 4 kbit/s {}", each=AT)
def thin(t, at):
    begin(t, at)
    t.c.inside("n1", "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "4kbit", "burst", "2kb", "latency", "2s")
    t.undo(lambda: t.c.inside("n1", "tc", "qdisc", "del", "dev", "eth0", "root"))
    time.sleep(20)
    settled(t, at)


@fault("the node's network is gone for 30 s {}", each=AT)
def unplugged(t, at):
    begin(t, at)
    t.c.inside("n1", "ip", "link", "set", "eth0", "down")
    t.undo(lambda: t.c.inside("n1", "ip", "link", "set", "eth0", "up"))
    time.sleep(30)
    settled(t, at)


@fault("munge away for 30 s {}", each=AT)
def munge(t, at):
    begin(t, at)
    t.c.kill(t.c.daemon("munged"), signal.SIGTERM)
    t.undo(lambda: (t.c.start_munged(), wait("slurmctld answers", 60, lambda: answers(t.c))))
    time.sleep(30)
    settled(t, at)


@fault("names cannot be resolved {}", each=AT)
def names(t, at):
    empty = t.c.base + "/empty"
    put(empty, "")
    t.c.inside("n1", "mount", "--bind", empty, "/etc/hosts")
    t.undo(lambda: t.c.inside("n1", "umount", "/etc/hosts"))
    begin(t, at)
    t.ends()
    settled(t, at)


@fault("slurmctld fails over to its backup {}", each=AT)
def failover(t, at):
    c = t.c
    conf = open(c.env["SLURM_CONF"]).read()
    address = c.inside("n3", "hostname", "-I").split()[0]
    # Slurm asks the second controller after SlurmctldTimeout.
    more = conf.replace("SlurmctldPort=", "SlurmctldHost=n3(%s)\nSlurmctldTimeout=5\nSlurmctldPort=" % address, 1)
    put(c.env["SLURM_CONF"], more)
    restart(c)  # one that began alone writes no heartbeat, and its backup takes over at once
    wait("slurmctld answers", 60, lambda: answers(c))
    c.run("scontrol", "reconfigure")
    # On one machine with the first, whose process a second one with the same file would end.
    put(c.dir + "/etc/backup.conf", re.sub(r"(?m)^SlurmctldPidFile=.*", r"\g<0>.backup", more))
    backup = c.start_daemon("slurmctld.backup", "slurmctld", "-D", "-f", c.dir + "/etc/backup.conf", node="n3")

    def back():
        c.start_slurmctld()
        wait("slurmctld answers", 60, lambda: answers(c))
        put(c.env["SLURM_CONF"], conf)
        backup.terminate()
        backup.wait(30)
        c.run("scontrol", "reconfigure")

    begin(t, at, saved=True)
    c.kill(c.daemon("slurmctld"))
    t.undo(back)
    wait("the backup answers", 60, lambda: c.run("squeue", check=False, timeout=60) != "")
    time.sleep(5)
    settled(t, at)
