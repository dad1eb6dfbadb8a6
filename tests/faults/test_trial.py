#!/usr/bin/python3
"""Whether a fault can fail: what trial.py counts where records, jobs and agents are as they must not be."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import trial  # noqa: E402
from cluster import Changed, Failed  # noqa: E402


class Cluster:
    """As much of a cluster as a trial looks at."""

    nodes = ["n1", "n2"]

    def __init__(self, out):
        self.out, self.text, self.records = out, "", []
        self.left, self.agents, self.unshipped, self.out_of = [], False, False, {}

    def log(self, _):
        return self.text

    def log_size(self):
        return 0

    def out_of_service(self):
        return self.out_of

    def queue(self):
        return self.left

    def is_queued(self, _):
        return False

    def health(self, _):
        pass

    def measures(self, _):
        return self.agents

    def job(self, job):
        # No record of this one is of a restart that was none.
        return {"JobState": "RUNNING" if job in self.left else "COMPLETED", "Restarts": "0" if job == 5 else "1",
                "StartTime": "2099-01-01T00:00:00"}

    def run(self, *_, **__):
        return ""

    def ship(self):
        if self.unshipped:
            raise Failed("syscheck ship: internal error")

    def rows(self, _):
        return self.records


class Bench:
    """A machine whose speed is another one, or not."""

    now = 1.0

    def speed(self):
        return self.now


def row(job, restart=0, node="n1", count=1):
    return job, restart, node, count


class TestTrial(unittest.TestCase):
    def setUp(self):
        trial.STUCK_S = trial.AGENT_S = 0.4
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.c = Cluster(self.dir.name)
        self.t = trial.Trial(self.c, "x")
        self.t.bench = Bench()

    def job(self, job, runs=1):
        self.t.jobs[job] = ("COMPLETED",)
        for restart in range(runs):
            with open("%s/begin.%d.%d" % (self.dir.name, job, restart), "w"):
                pass

    def counts(self, **want):
        counts, _ = self.t.end()
        self.assertEqual({k: v for k, v in counts.items() if v}, want, self.t.notes)

    def test_as_it_should_be(self):
        self.job(1)
        self.c.records = [row(1)]
        self.counts()

    def test_a_lost_record_is_not_told_by_another_stage(self):
        self.job(1)
        self.c.text = "2026-11-22T10:00:00Z n1 prolog: job 1: error: the agent was killed: out of memory, or by hand\n"
        self.counts(lost=1)

    def test_nor_by_another_job(self):
        self.job(1)
        self.c.text = "2026-11-22T10:00:00Z n1 epilog: job 12: error: job record lost: ENOSPC\n"
        self.counts(lost=1)

    def test_it_is_by_its_own_epilog(self):
        self.job(1)
        self.job(2)
        self.c.text = ("2026-11-22T10:00:00Z n1 epilog: job 1: error: job record lost: ENOSPC\n"
                       "2026-11-22T10:00:00Z n1 epilog: job 2: error: the agent did not end within 10 s\n")
        self.counts()

    def test_each_run_that_began_has_a_record(self):
        self.job(1, runs=2)
        self.c.records = [row(1, restart=1)]
        self.counts(lost=1)

    def test_but_one_whose_node_lost_its_power(self):
        self.job(1, runs=2)
        self.t.spared[1] += 1
        self.c.records = [row(1, restart=1)]
        self.counts()

    def test_a_second_record_by_another_restart_count(self):
        self.job(5)
        self.c.records = [row(5), row(5, restart=1)]
        self.counts(doubled=1)

    def test_two_runs_have_two(self):
        self.job(1, runs=2)
        self.c.records = [row(1), row(1, restart=1)]
        self.counts()

    def test_two_records_of_a_run(self):
        self.job(1)
        self.c.records = [row(1, count=2)]
        self.counts(doubled=1)

    def test_a_job_that_does_not_end_is_counted_at_once(self):
        self.job(1)
        self.c.records = [row(1)]
        self.c.left = [1]
        self.t.ends(seconds=0.1)
        self.counts(held=1)

    def test_an_agent_that_does_not_end(self):
        self.job(1)
        self.c.records = [row(1)]
        self.c.agents = True
        self.counts(late=1)

    def test_a_ship_that_fails_undisturbed(self):
        self.job(1)
        self.c.unshipped = True
        self.counts(lost=2)

    def test_a_good_node_that_is_drained(self):
        self.c.out_of = {"n1": "drained syscheck: dgemm 96 < 112 GFLOP/s"}
        self.counts(wrong_drains=1)

    def test_a_bad_node_that_is_not(self):
        self.t.bad.add("n1")
        self.counts(missed=1)

    def test_a_machine_that_is_slower_now_explains_a_drain_for_a_rate(self):
        self.t.bench.now = 0.5
        self.c.out_of = {"n1": "drained syscheck: dgemm 96 < 112 GFLOP/s (policy)"}
        self.assertRaisesRegex(Changed, "this machine has 50 % of its rate", self.t.end)

    def test_and_no_other(self):
        self.t.bench.now = 0.5
        for why in ("Prolog error", "syscheck: dgemm: WRONG RESULT: cpu 0", "syscheck: memory 18 GiB, most by dgemm"):
            self.c.out_of, self.t.wrong = {"n1": "drained " + why}, {}
            self.counts(wrong_drains=1)

    def test_nor_what_else_is_wrong(self):
        self.t.bench.now = 0.5
        self.c.out_of = {"n1": "drained syscheck: dgemm 96 < 112 GFLOP/s (policy)", "n2": "drained Prolog error"}
        self.counts(wrong_drains=2)
        self.c.out_of, self.t.wrong = {"n1": "drained syscheck: dgemm 96 < 112 GFLOP/s (policy)"}, {}
        self.c.agents = True
        self.counts(wrong_drains=1, late=1)

    def test_one_that_is_faster_or_not_known_does_not(self):
        self.c.out_of = {"n1": "drained syscheck: dgemm 96 < 112 GFLOP/s (policy)"}
        for now in (2.0, 1.0, 0.8, None):
            self.t.bench.now = now
            self.counts(wrong_drains=1)

    def test_one_that_is_faster_explains_a_slow_node_that_stays(self):
        self.t.bad, self.t.slowed, self.t.bench.now = {"n1"}, {"n1"}, 2.0
        self.assertRaises(Changed, self.t.end)
        self.t.bench.now = 0.5
        self.counts(missed=1)
        self.t.slowed, self.t.bench.now = set(), 2.0  # bad for another reason
        self.counts(missed=1)

    def test_that_a_node_was_drained_does_not_tell_that_an_agent_died(self):
        self.t.tells = "error: the agent (was|did not end)"
        self.c.text = "2026-11-22T10:00:00Z n1 prolog: job 1: error: drained: syscheck: dgemm 2 < 6 GFLOP/s\n"
        self.counts(untold=1)
        self.c.text += "2026-11-22T10:00:00Z n1 prolog: job 1: error: the agent was killed: out of memory, or by hand\n"
        self.counts()


if __name__ == "__main__":
    unittest.main()
