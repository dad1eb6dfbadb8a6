#!/usr/bin/env python3
"""Planted faults of a real network: 9 nodes at 3 leaves, tbf on every link (make bench-fabric).

fabric_real.py SIMULATED OUT: adds what it counts to SIMULATED's object.
A case is right when the fault is named as it should be and nothing else is.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTER = os.path.join(HERE, "..", "cluster", "minicluster")
RATE = 200  # Mbit/s, minicluster's default
GOODPUT = 1448 / 1514  # TCP's part of what tbf counts: tests/cluster/lib/leaves.sh

# The fault, and what has to be named: kind, place, direction; None: nothing. "mtu": as unlike the others' links, which
# is no finding. "kill": the rank there, when its rounds have begun.
CASES = [
    (["slow-link", "n5", "in", "100"], ("nic", "n5", "in")),
    (["slow-link", "n5", "out", "100"], ("nic", "n5", "out")),
    (["slow-link", "n1", "in", "50"], ("nic", "n1", "in")),
    (["slow-link", "n9", "out", "20"], ("nic", "n9", "out")),
    (["slow-link", "n2", "both", "160"], ("nic", "n2", "both")),
    (["slow-link", "n7", "both", "60"], ("nic", "n7", "both")),
    (["slow-trunk", "leaf2", "up", "300"], ("uplink_lost", "leaf2", "up")),
    (["slow-trunk", "leaf1", "down", "300"], ("uplink_lost", "leaf1", "down")),
    (["slow-trunk", "leaf3", "down", "100"], ("uplink_link", "leaf3", "down")),
    (["slow-trunk", "leaf1", "both", "100"], ("uplink_link", "leaf1", "both")),
    (["slow-leaf", "leaf1", "300"], ("leaf_overloaded", "leaf1", None)),
    (["slow-leaf", "leaf3", "380"], ("leaf_overloaded", "leaf3", None)),
    (["slow-path", "n1", "n7", "40"], ("route", "n1 n7", "both")),
    (["delay", "n8", "1"], ("latency", "n8", None)),
    (["loss", "n4", "5"], ("nic", "n4", None)),
    (["drop", "n6", "on"], ("silent", "n6", None)),
    (["mtu", "n3", "1400"], ("mtu", "n3", None)),
    (["kill", "n2"], ("silent", "n2", None)),
    (None, None),
    (None, None),
]


def cluster(*words):
    subprocess.run([CLUSTER, *words], check=True, stdout=subprocess.DEVNULL)


def until_idle():
    """The last job has ended everywhere: a node that dropped all packets a moment ago is the last to say so."""
    for _ in range(120):
        states = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], capture_output=True, text=True, check=True).stdout.split()
        if states and set(states) == {"idle"}:
            return
        time.sleep(0.5)
    sys.exit("nodes are not idle after 60 s: " + " ".join(states))


def place_of(finding):
    pair = " ".join(sorted(filter(None, (finding.get("from"), finding.get("to")))))
    return finding.get("node") or finding.get("leaf") or pair


def is_right(want, answer):
    found = [f for f in answer["findings"] if f["kind"] != "collision"]
    unlike = [(u["what"], *u["nodes"]) for u in answer["unlike"]]
    if answer.get("beyond"):
        return False
    if want is None or want[0] == "mtu":
        return not found and unlike == ([want[:2]] if want else [])
    kind, place, direction = want
    return (len(found) == 1 and found[0]["kind"] == kind and place_of(found[0]) == place
            and direction in (None, found[0].get("direction")))


def sent(directory, node):
    """Bytes that the node's link has sent."""
    with open(f"{directory}/run/slurmd.{node}.pid") as file:
        pid = file.read().strip()
    with open(f"/proc/{pid}/net/dev") as file:
        return next(int(line.split()[9]) for line in file if line.strip().startswith("eth0:"))


def ranks(directory):
    """Node -> the process that measures there."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if not file.read().startswith(f"{directory}/prefix/libexec/syscheck/fabric\0".encode()):
                    continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                env = dict(one.split(b"=", 1) for one in file.read().split(b"\0") if b"=" in one)
        except OSError:
            continue
        found[env.get(b"SLURMD_NODENAME", b"").decode()] = int(pid)
    return found


def measure(directory, args, victim):
    """What `syscheck fabric` prints; the victim's rank is killed when it has sent for a moment."""
    before = sent(directory, victim) if victim else 0
    run = subprocess.Popen([directory + "/prefix/bin/syscheck", "fabric", "--nodes", "n[1-9]", "--json", *args],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")
    while victim and run.poll() is None:
        if sent(directory, victim) - before > 4e6:
            os.kill(ranks(directory)[victim], signal.SIGKILL)
            break
        time.sleep(0.05)
    return run.communicate()


def median(values):
    return sorted(values)[len(values) // 2]


def errors(fault, answer):
    """Of each pair within a leaf whose rate is known: how far off what was measured is, in %."""
    out = []
    slow = {}
    if fault and fault[0] == "slow-link":
        for way in ("in", "out"):
            if fault[2] in (way, "both"):
                slow[fault[1], way] = float(fault[3])
    elif fault and fault[0] not in ("slow-trunk", "kill"):
        return out
    for p in answer["pairs"]:
        for field, sender, receiver in (("ab_gbs", "a", "b"), ("ba_gbs", "b", "a")):
            if p["hops"] == 1 and p.get(field):
                rate = min(slow.get((p[sender], "out"), RATE), slow.get((p[receiver], "in"), RATE))
                out.append(abs(p[field] * 8000 / (rate * GOODPUT) - 1) * 100)
    return out


def main():
    with open(sys.argv[1]) as file:
        result = json.load(file)
    os.environ["MINICLUSTER_DIR"] = directory = tempfile.mkdtemp(prefix="fabric.", dir="/var/tmp")
    os.chmod(directory, 0o755)
    os.environ["SLURM_CONF"] = directory + "/etc/slurm.conf"
    cluster("up", "--nodes", "9", "--leaves", "3")
    right, off, seconds, wrong = 0, [], [], []
    try:
        for seed, (fault, want) in enumerate(CASES, 1):
            until_idle()
            victim = fault[1] if fault and fault[0] == "kill" else None
            if fault and not victim:
                cluster(*fault)
            more = ["--all"] if fault and fault[0] == "slow-path" else []
            out, err = measure(directory, ["--seed", str(seed), *more], victim)
            if fault and not victim:
                cluster(*fault[:-1], "off")
            answer = json.loads(out) if out else {"findings": [], "pairs": [], "seconds": 0}
            good = bool(out) and is_right(want, answer)
            right += good
            off += errors(fault, answer)
            seconds.append(answer["seconds"])
            said = "; ".join([f.get("text", f["kind"]) for f in answer["findings"] if f["kind"] != "collision"]
                             + [f"{b['nodes']} {b['text']}" for b in answer.get("beyond") or []])
            print("right" if good else "WRONG", " ".join(fault or ["healthy"]), "->", said or err.strip() or "nothing",
                  "(%.1f s)" % answer["seconds"], flush=True)
            if not good:
                wrong.append(" ".join(fault or ["healthy"]))
    finally:
        cluster("down")
    off.sort()
    result.update(real_right=right, real_cases=len(CASES), real_wrong=wrong, rate_err_pct=round(median(off), 2),
                  rate_err_p95_pct=round(off[int(len(off) * 0.95)], 2), rates=len(off), real_s=round(median(seconds), 1))
    with open(sys.argv[2], "w") as file:
        json.dump(result, file)
        file.write("\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
