"""Policy and baseline torn, empty, foreign, gone, of an older form."""

import json
import os

from fault import register

FAULTS = []
fault = register(FAULTS, "policy")


def etc(t, name):
    return t.c.dir + "/etc/syscheck/" + name


def replace(t, path, text, mode=0o644, owner=0):
    old = open(path).read() if os.path.isfile(path) else None

    def back():
        if os.path.isdir(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)
        if old is not None:
            with open(path, "w") as file:
                file.write(old)

    t.undo(back)
    if os.path.lexists(path):
        os.unlink(path)
    if text is None:
        return
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    os.chown(path, owner, owner)


HOW = ("torn in the middle", "empty", "gone", "a foreigner's", "writable by everybody", "a directory", "a FIFO",
       "with keys of a later version", "of 64 MB")


def broken(t, path, how):
    good = open(path).read() if os.path.isfile(path) else "{}"
    if how == HOW[0]:
        replace(t, path, good[:len(good) // 2])
    elif how == HOW[1]:
        replace(t, path, "")
    elif how == HOW[2]:
        replace(t, path, None)
    elif how == HOW[3]:
        replace(t, path, good, owner=65534)
    elif how == HOW[4]:
        replace(t, path, good, mode=0o666)
    elif how == HOW[5]:
        replace(t, path, None)
        os.mkdir(path)
    elif how == HOW[6]:
        replace(t, path, None)
        os.mkfifo(path)
    elif how == HOW[7]:
        replace(t, path, good.replace("{", '{ ["later"] = 1,' if path.endswith(".lua") else '{"later": 1,', 1))
    else:
        replace(t, path, good + " " * (64 << 20))


@fault("the policy is {}: good nodes", each=HOW[:8], tells=True)
def policy_good(t, how):
    t.submit()
    t.ends()
    broken(t, etc(t, "policy.lua"), how)
    for node in t.c.nodes:
        t.submit("-w", node)
    t.ends()


@fault("the policy is {}: good nodes", each=HOW[8:])
def policy_long(t, how):
    policy_good(t, how)


@fault("the policy is {}: a bad node, found by the last good copy or afterwards", each=HOW[:3], tells=True)
def policy_bad(t, how):
    t.submit("-w", "n1")
    t.ends()
    broken(t, etc(t, "policy.lua"), how)
    t.slow("n1", 25)
    t.submit()
    t.ends()


@fault("the baseline is {}", each=HOW[:7])
def baseline(t, how):
    if not os.path.exists(etc(t, "baseline.json")):
        replace(t, etc(t, "baseline.json"), json.dumps({"v": 1, "classes": {}}))
    broken(t, etc(t, "baseline.json"), how)
    for node in t.c.nodes:
        t.submit("-w", node)
    t.ends()
