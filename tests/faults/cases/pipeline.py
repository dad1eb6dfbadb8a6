"""Ship and ingest: killed, stopped, out of memory; the destination and the store full,
read-only, slow, with I/O errors. Afterwards they run once more, undisturbed, and every
record is there once."""

import glob
import os
import shutil
import signal
import subprocess
import time

from cases.agents import HOW, strike
from cases.storage import FAULTFS
from fault import register

FAULTS = []
fault = register(FAULTS, "pipeline")

RUNS = 6


def runs(t):
    """Jobs whose records are in the spools."""
    for node in t.c.nodes:
        for _ in range(RUNS // len(t.c.nodes)):
            t.submit("-w", node)
    t.ends()


def ship_argv(c, node="n1"):
    os.makedirs(c.base + "/dest", exist_ok=True)
    return (c.syscheck, "ship", "--spool", c.spool(node), "--node", node, "--to", c.base + "/dest")


def ingest_argv(c):
    return (c.syscheck, "ingest", "--store", c.store, c.base + "/dest")


def interrupted(t, argv, how, delay):
    """Strikes so many seconds after the start, whatever it does then; a stopped one goes on later."""
    child = subprocess.Popen(argv, env=t.c.env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    time.sleep(delay)
    if child.poll() is None:
        strike(t, child.pid, how)
        if how == HOW[1]:
            second = subprocess.run(argv, env=t.c.env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
            t.notes.append("a second one beside it: %s" % (second.stderr.decode().strip()[:160] or "done"))
            child.send_signal(signal.SIGCONT)
        child.wait(60)


@fault("ship: {}", each=HOW)
def ship(t, how):
    runs(t)
    for delay in (0.005, 0.01, 0.02, 0.04):
        interrupted(t, ship_argv(t.c), how, delay)


@fault("ingest: {}", each=HOW)
def ingest(t, how):
    runs(t)
    for node in t.c.nodes:
        t.c.run(*ship_argv(t.c, node))
    for delay in (0.01, 0.02, 0.04, 0.08):
        interrupted(t, ingest_argv(t.c), how, delay)


PLACES = ("full", "read-only", "slow", "with I/O errors")


def beside(t, place, how, argv):
    """Runs argv in a mount namespace of its own, where a directory has the fault. What it wrote is there afterwards."""
    real = t.c.base + "/real." + os.path.basename(place)
    os.makedirs(place, exist_ok=True)
    shutil.rmtree(real, ignore_errors=True)
    os.mkdir(real)
    lay = {
        "full": 'mount -t tmpfs -o size=64k full "$1"; cat /dev/zero >"$1/fill" 2>/dev/null;',
        "read-only": 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1";',
        "slow": '/usr/bin/python3 "$3" slow "$2" "$1" & fs=$!; until grep -q " $1 fuse" /proc/mounts; do sleep 0.1; done;',
        "with I/O errors": '/usr/bin/python3 "$3" eio "$2" "$1" & fs=$!; '
                           'until grep -q " $1 fuse" /proc/mounts; do sleep 0.1; done;',
    }[how]
    script = "fs=; %s shift 3; timeout 60 \"$@\"; code=$?; [ -z \"$fs\" ] || kill \"$fs\"; exit \"$code\"" % lay
    done = subprocess.run(("unshare", "--mount", "sh", "-c", script, "sh", place, real, FAULTFS) + argv,
                          env=t.c.env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    shutil.copytree(real, place, dirs_exist_ok=True)
    t.notes.append("exit %d: %s" % (done.returncode, (done.stderr.strip().splitlines() or ["-"])[-1][:160]))
    if how in ("full", "read-only", "with I/O errors") and (done.returncode == 0 or not done.stderr.strip()):
        t.silent = True


@fault("ship: the destination is {}", each=PLACES)
def destination(t, how):
    runs(t)
    beside(t, t.c.base + "/dest", how, ship_argv(t.c))


@fault("ingest: the store is {}", each=PLACES)
def store(t, how):
    runs(t)
    for node in t.c.nodes:
        t.c.run(*ship_argv(t.c, node))
    place = t.c.base + "/store"
    beside(t, place, how, (t.c.syscheck, "ingest", "--store", place + "/store.db", t.c.base + "/dest"))
    # What it left of a store is what the last ingest goes on with.
    for path in glob.glob(place + "/store.db*"):
        os.rename(path, t.c.base + "/" + os.path.basename(path))
