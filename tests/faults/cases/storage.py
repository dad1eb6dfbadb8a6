"""The node's directories full, read-only, gone, slow, hanging, or with I/O errors."""

import os

from cluster import ROOT, wait
from fault import register

FAULTS = []
fault = register(FAULTS, "storage")

WHERE = ("spool", "state", "run")
HOW = ("full", "read-only", "gone", "slow", "hanging", "with I/O errors")
FAULTFS = os.path.join(ROOT, "tests/faults/faultfs.py")


def path_of(t, where, node="n1"):
    return {"spool": t.c.spool, "state": t.c.state, "run": t.c.run_dir}[where](node)


def break_it(t, path, how):
    """Lays the fault over a directory of n1, in its mount namespace."""
    c = t.c
    os.makedirs(path, exist_ok=True)
    off = lambda: c.inside("n1", "umount", "-l", path, check=False)  # noqa: E731
    if how == "full":
        c.inside("n1", "mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "full", path)
        t.undo(off)
        c.inside("n1", "sh", "-c", 'cat /dev/zero >"$1/fill"', "sh", path, check=False)
    elif how == "read-only":
        c.inside("n1", "mount", "-t", "tmpfs", "-o", "ro,size=64k", "read-only", path)
        t.undo(off)
    elif how == "gone":
        os.rename(path, path + ".away")
        with open(path, "w"):
            pass  # a file in its place: it cannot be made again

        def back():
            os.unlink(path)
            os.rename(path + ".away", path)

        t.undo(back)
    else:
        real = c.base + "/real." + os.path.basename(os.path.dirname(path))
        os.makedirs(real, exist_ok=True)
        c.inside("n1", "mount", "--bind", path, real)
        t.undo(lambda: c.inside("n1", "umount", "-l", real, check=False))
        word = {"slow": "slow", "hanging": "hang", "with I/O errors": "eio"}[how]
        child = c.spawn("/usr/bin/python3", FAULTFS, word, real, path, node="n1")

        def end():
            # Whoever waits in it is let go when its server has gone.
            child.kill()
            child.wait()
            off()

        t.undo(end)
        wait("the file system is mounted", 20, lambda: "fuse" in c.inside("n1", "grep", " %s " % path, "/proc/mounts", check=False))


# run lies in memory: what hangs there is the node, slurmstepd with it, which opens a file of ours there.
@fault("{} is {}: a node that passes", each=[(w, h) for w in WHERE for h in HOW if (w, h) != ("run", "hanging")])
def passes(t, where, how):
    t.submit()
    t.ends()
    break_it(t, path_of(t, where), how)
    t.submit("-w", "n1")
    t.ends()


@fault("{} is {}: a bad node", each=[(w, h) for w in WHERE for h in ("full", "read-only", "with I/O errors")])
def bad(t, where, how):
    break_it(t, path_of(t, where), how)
    t.slow("n1", 25)
    t.submit()
    t.ends()


@fault("the log cannot be written")
def log(t):
    os.rename(t.c.log_path, t.c.log_path + ".away") if os.path.exists(t.c.log_path) else None
    os.mkdir(t.c.log_path)

    def back():
        os.rmdir(t.c.log_path)
        if os.path.exists(t.c.log_path + ".away"):
            os.rename(t.c.log_path + ".away", t.c.log_path)

    t.undo(back)
    t.submit()
    t.ends()


