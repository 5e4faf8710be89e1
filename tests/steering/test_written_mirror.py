"""What cycles write bit by bit is what one full write would have written."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import transaction

from console.cluster.models import Cluster, Job, Node
from console.cluster.services import JobRow, write_jobs, write_nodes
from console.steering import cycle, mirror
from scheduler.model.observation import Observation
from scheduler.model.sentence import facts_of
from tests.steering.conftest import Sim


class Written:
    """The last cycle's arguments, so that the same can be written once more, in full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: Sequence[JobRow] = ()
        self.seen: Observation | None = None
        self.short = 0
        monkeypatch.setattr(cycle, "write_jobs", self.write_jobs)
        monkeypatch.setattr(cycle, "write_nodes", self.write_nodes)

    def write_jobs(self, cluster: Cluster, rows: Sequence[JobRow]) -> bool:
        self.rows = rows
        return write_jobs(cluster, rows)

    def write_nodes(self, cluster: Cluster, seen: Observation) -> bool:
        self.seen = seen
        return write_nodes(cluster, seen)

    def again(self, cluster: Cluster) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The tables after a full write of the same; nothing of it is kept."""
        assert self.seen is not None
        mirror._MARKS.clear()
        with transaction.atomic():
            Job.objects.update(fingerprint="", verdict="?", explain="?", plan=7, place=9, preemptions=99)
            Node.objects.all().delete()
            write_jobs(cluster, self.rows)
            write_nodes(cluster, self.seen)
            found = tables()
            transaction.set_rollback(True)
        return found


def tables() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Both mirrors. A duration in an explanation grows by itself, and need not be written again."""
    rows = Job.objects.exclude(phase="ended").order_by("job_id", "partition").values()
    jobs: list[dict[str, Any]] = [dict(row) for row in rows]
    for job in jobs:
        job["explain"] = facts_of(job["explain"])
    nodes = list(Node.objects.order_by("name").values())
    return jobs, [{key: value for key, value in node.items() if key != "id"} for node in nodes]


@pytest.mark.parametrize("seed", range(8))
def test_after_each_cycle_of_a_random_history(sim: Sim, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance, written = random.Random(seed), Written(monkeypatch)
    enforcement = ("shadow", "approve", "enforce")[seed % 3]
    sim.policy(enforcement=enforcement)
    sim.policy("wide", enforcement=enforcement)
    jobs: list[str] = []
    for _ in range(10):
        for _ in range(chance.randrange(4)):
            user, partition = chance.choice(("ann", "bob", "cy")), chance.choice(("x", "wide"))
            name = f"l{chance.randrange(4)}_job"
            spec = {"name": name, "run_time_s": chance.choice((5, 60)), "requeue": chance.random() < 0.8}
            jobs.append(sim.submit(user, chance.choice((1, 4, 6, 8)), partition, **spec))
        if chance.random() < 0.2:
            sim.policy(enforcement=enforcement, protected_users=[chance.choice(("ann", "bob"))])
        sim.cycle()
        now = tables()
        assert now == written.again(sim.cluster)
        sim.port.advance(chance.choice((1, 2, 10)))
    assert len(jobs) > 5


def test_a_worker_that_knows_nothing_writes_what_one_that_knows_the_last_cycle_does(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers in turns, or one that was started again."""
    written = Written(monkeypatch)
    sim.policy()
    sim.running("ann", 4)
    for user in ("bob", "cy", "ann"):
        sim.submit(user, 6)
        sim.cycle()
        mirror._MARKS.clear()
        cycle._KNOWN.clear()
        sim.port.advance(1)
        sim.cycle()
        assert tables() == written.again(sim.cluster)


def test_a_job_of_which_only_the_verdict_is_new_is_written_short(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    low = sim.submit("bob", 6)
    sim.cycles(2)
    before = sim.row(low)
    sim.submit("cy", 6)
    sim.cycle()
    after = sim.row(low)
    assert before.fingerprint[:16] == after.fingerprint[:16]
    assert before.fingerprint[16:] != after.fingerprint[16:]
    assert facts_of(before.explain) != facts_of(after.explain)


def test_what_was_rolled_back_is_not_taken_as_written(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    sim.cycle()
    low = sim.submit("bob", 6)
    with monkeypatch.context() as patch:
        patch.setattr(cycle, "note_cycle", lambda *_args, **_named: 1 / 0)
        sim.may_fail = True
        sim.cycle()
    assert not Job.objects.filter(job_id=low)
    sim.cycle()
    assert sim.row(low).verdict
