#!/usr/bin/python3
"""make faults: does every fault of cases/ to a real cluster and counts what it led to.

  faults.py [--list] [--json FILE] [--table FILE] [--again N] [PATTERN...]

PATTERN: a regular expression; only faults whose name it is found in. Exit 1 when a number
that has to be 0 is not, or a fault could not be done.
"""

import argparse
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from cluster import Changed, Cluster, Failed, wait  # noqa: E402
from trial import COUNTS, Trial  # noqa: E402

# In this order: those that break least come first.
CASES = ("agents", "capacity", "controller", "storage", "policy", "jobs", "clock", "pipeline", "storm")

POLICY = """-- of make faults
return {
   mode = "enforce",
   partitions = { ["*"] = { default = "quick" } },
   lock = "%(dir)s/lock", deadline = { quick = 60, full = 60 },
   kernels = { stream = { quick = 0 }, dgemm = { quick = 0.5 }, noise = { quick = 0.2 } },
   limits = { gflops = { min = %(gflops)g } },
   health = { level = "quick", recheck = 1 },
   resume_after = 0, budget = 1, max_drained = 0.10,
   spool = "%(dir)s/var/spool/syscheck/%%n", state = "%(dir)s/var/lib/syscheck/%%n", run = "%(dir)s/run/syscheck/%%n",
   baseline = "%(dir)s/etc/syscheck/baseline.json",
   %(more)s
}
"""


class Bench:
    """The cluster that faults are done to, made anew when one has left it broken."""

    def __init__(self):
        self.cluster, self.gflops = None, None

    def ready(self):
        if self.cluster is None:
            self.cluster = Cluster()
        if self.gflops is None:
            self.gflops = self._measure()
        self.reset()
        return self.cluster

    def _measure(self, runs=5):
        """What dgemm reaches here while it runs, in GFLOP/s, the best of so many: limits are shares of it."""
        values = []
        for _ in range(runs):
            out = json.loads(self.cluster.run(self.cluster.dir + "/prefix/libexec/syscheck/dgemm", "--seconds", "0.5"))
            if "unfinished" not in out:
                values.append(out["gflops"] / (1 - out["lost_pct"] / 100))
        if not values:
            raise Failed("dgemm is not measured: others use this machine")
        return max(values)

    def speed(self):
        """How fast the machine is now, of what it was when the limits were made; None where that is not known.

        On a virtual machine whose two CPUs become the two threads of one core, half of the rate is left, and
        nothing in it shows why: a drain is right there.
        """
        try:
            return self._measure(3) / self.gflops
        except (Failed, KeyError, ValueError, subprocess.SubprocessError):
            return None

    def policy(self, share=0.6, more=""):
        return POLICY % {"dir": self.cluster.dir, "gflops": share * self.gflops, "more": more}

    def reset(self):
        """As on the first day: no records, no state, all nodes idle."""
        c = self.cluster
        c.run("scancel", "--user=root", check=False)
        for node in c.nodes:
            c.tool("slow", node, "off")
        c.policy(self.policy())

        def idle():
            c.run("scontrol", "update", "nodename=" + ",".join(c.out_of_service() or ["none"]), "state=resume", check=False)
            return c.is_idle() and not any(c.measures(n) for n in c.nodes)

        wait("all nodes are idle", 60, idle)
        c.run("find", c.dir + "/var/spool/syscheck", c.dir + "/var/lib/syscheck", c.dir + "/run/syscheck", c.base + "/dest",
              "-mindepth", "1", "-type", "f", "-delete", check=False)
        c.run("find", c.base, "-maxdepth", "1", "-name", "store.db*", "-delete")

    def broken(self):
        """The next fault gets a new cluster."""
        if self.cluster:
            self.cluster.down()
        self.cluster = None


def registered():
    found = []
    for name in CASES:
        if os.path.exists("%s/cases/%s.py" % (HERE, name)):
            found += importlib.import_module("cases." + name).FAULTS
    return found


def attempt(bench, fault):
    """One fault. Returns its row; raises Failed when it could not be done."""
    cluster = bench.ready()
    trial = Trial(cluster, fault.name)
    trial.bench, trial.tells = bench, fault.tells
    began = time.monotonic()
    try:
        fault.do(trial)
        counts, told = trial.end()
    except BaseException:
        for undo in reversed(trial.undos):
            try:
                undo()
            except Exception:  # noqa: BLE001: the first one's failure is what counts
                pass
        bench.broken()
        raise
    row = {"fault": fault.name, "group": fault.group, "told": told[:3], "notes": trial.notes,
           "seconds": round(time.monotonic() - began, 1)}
    row.update(counts)
    return row


def do(bench, fault):
    if fault.alone:
        return fault.do(bench)
    tries = []
    while len(tries) < 3:
        try:
            row = attempt(bench, fault)
            row["notes"] += ["tried before: " + why for why in tries]
            return row
        except Changed as changed:
            bench.gflops = None
            tries.append(str(changed))
        except Failed as failure:
            tries.append(str(failure))
        except Exception:  # noqa: BLE001: a defect of the harness is a fault not done
            tries.append(traceback.format_exc(limit=3).strip().splitlines()[-1])
            traceback.print_exc(limit=4)
    return {"fault": fault.name, "group": fault.group, "not_done": tries[-1],
            "notes": ["tried before: " + why for why in tries[:-1]]}


def counted(rows, name):
    """The sum of what was counted; "-" where it was not."""
    values = [row[name] for row in rows if name in row]
    return str(sum(values)) if values else "-"


def table(rows):
    """A line for each template, its numbers summed."""
    lines = ["| fault | done | " + " | ".join(name.replace("_", " ") for name in COUNTS) + " | what the log says, of one |",
             "|---" * (len(COUNTS) + 3) + "|"]
    for template in dict.fromkeys(row["template"] for row in rows):
        group = [row for row in rows if row["template"] == template]
        done = [row for row in group if "not_done" not in row]
        words = [" / ".join(dict.fromkeys(place)) for place in zip(*(map(str, row["words"]) for row in group))]
        told = next((row["told"][0] for row in done if row["told"]), "")
        told = re.sub(r"/\S*/(?=c/|store.db|dest)", ".../", told).replace("|", "/")
        lines.append("| %s | %d of %d | %s | %s |" % (template.format(*words), len(done), len(group),
                     " | ".join(counted(done, name) for name in COUNTS), told[:160]))
    return "\n".join(lines) + "\n"


def save(args, rows):
    """Writes what is done so far: an hour's work is not lost with its last minute. Returns the sums."""
    done = [r for r in rows if "not_done" not in r]
    result = {"faults": len(done), "not_done": len(rows) - len(done)}
    result.update({k: sum(r.get(k, 0) for r in done) for k in COUNTS})
    texts = ((args.json, json.dumps(dict(result, cases=rows), indent=1)), (args.table, table(rows)))
    for path, text in texts:
        if path:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            with open(path + ".new", "w") as file:
                file.write(text)
            os.rename(path + ".new", path)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="names of the faults")
    parser.add_argument("--json", help="where the result goes")
    parser.add_argument("--table", help="where the table for the documentation goes")
    parser.add_argument("pattern", nargs="*")
    args = parser.parse_args()
    chosen = [f for f in registered() if not args.pattern or any(re.search(p, f.name) for p in args.pattern)]
    if args.list:
        print("\n".join(f.name for f in chosen))
        return 0
    if os.geteuid() != 0:
        sys.exit("faults.py: must be root (it makes a cluster)")
    bench, rows = Bench(), []
    # A terminated run ends its cluster, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for i, fault in enumerate(chosen, 1):
            row = do(bench, fault)
            row.update(template=fault.template, words=fault.words)
            rows.append(row)
            save(args, rows)
            if "not_done" in row:
                text = "NOT DONE: " + row["not_done"]
            else:
                text = " ".join("%s %s" % (k, row[k]) for k in COUNTS if row.get(k)) or "as it should"
            print("%d/%d %-60s %6.1f s  %s" % (i, len(chosen), fault.name, row.get("seconds", 0), text), flush=True)
            for note in row.get("notes", []):
                print("      " + note, flush=True)
    finally:
        bench.broken()
    result = save(args, rows)
    print("%d faults done, %d not done; %s" % (result["faults"], result["not_done"],
                                               ", ".join("%s %d" % (k, result[k]) for k in COUNTS)))
    return 1 if result["not_done"] or any(result[k] for k in COUNTS) else 0


if __name__ == "__main__":
    sys.exit(main())
