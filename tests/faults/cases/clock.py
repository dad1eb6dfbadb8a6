"""Steps of the node's wall clock, both ways."""

import os
import time

from cluster import ROOT, Failed
from fault import register

FAULTS = []
fault = register(FAULTS, "clock")

STEPS = (("back by an hour", -3600), ("forward by two days", 172800), ("back by 20 years", -631152000))


def prepare(t):
    """n1 gets an /etc of its own, whose preloaded library adds what a file says to its wall clock."""
    c, etc = t.c, t.c.base + "/etc.n1"
    library = c.base + "/clock.so"
    if not os.path.exists(library):
        c.run("gcc", "-O2", "-shared", "-fPIC", "-o", library, ROOT + "/tests/faults/clock.c", "-ldl")
        c.run("cp", "-a", "/etc", etc)
        c.run("cp", c.dir + "/nodes/hosts", etc + "/hosts")
    step(t, 0)
    with open(etc + "/ld.so.preload", "w") as file:
        file.write(library + "\n")
    c.inside("n1", "mount", "--bind", etc, "/etc")
    t.undo(lambda: c.inside("n1", "umount", "-l", "/etc"))
    step(t, 7200)
    if abs(int(c.inside("n1", "date", "+%s")) - time.time() - 7200) > 60:
        raise Failed("the clock of n1 does not follow its file")
    step(t, 0)


def step(t, seconds):
    path = t.c.base + "/etc.n1/syscheck-faults-clock"
    with open(path + ".new", "w") as file:
        file.write("%d\n" % seconds)
    os.rename(path + ".new", path)


def elapsed(t, job, least, most=60):
    """The record's run time is the boot's clock, whatever the wall's did."""
    t.c.ship()
    rows = t.c.rows("SELECT j.elapsed_s FROM job_node j JOIN run r ON r.id = j.run WHERE r.job_id = ?", job)
    if not rows or rows[0][0] is None or not least <= rows[0][0] <= most:
        t.notes.append("job %d: elapsed_s is %s" % (job, rows and rows[0][0]))
        t.wrong_value = True


@fault("the clock goes {} while a job runs", each=STEPS)
def running(t, _, seconds):
    prepare(t)
    job = t.submit("-w", "n1", sleep=3)
    t.c.at("n1", "step")
    step(t, seconds)
    t.ends()
    elapsed(t, job, 3)


@fault("the clock goes {} while a kernel measures", each=STEPS)
def measuring(t, _, seconds):
    prepare(t)
    job = t.submit("-w", "n1", sleep=1)
    t.c.at("n1", "kernel")
    step(t, seconds)
    t.ends()
    elapsed(t, job, 1)


@fault("the clock goes {} while a bad node is measured", each=STEPS)
def measuring_bad(t, _, seconds):
    prepare(t)
    t.slow("n1", 25)
    t.submit()
    t.c.at("n1", "kernel")
    step(t, seconds)
    t.ends()


@fault("the clock is {} off: a bad node", each=STEPS[:2])
def bad(t, _, seconds):
    prepare(t)
    step(t, seconds)
    t.slow("n1", 25)
    t.submit()
    t.ends()
