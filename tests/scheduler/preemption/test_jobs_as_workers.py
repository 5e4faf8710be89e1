"""Elastic jobs whose workers are tasks of an array, or jobs of a group (document 003, spec 4.1)."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from scheduler.contracts.errors import InputError
from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot, encode_snapshot
from scheduler.model.plan import Decision
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan

NOW = 5000
MACHINE = {"gpu": 8, "cpu": 80, "mem": 300}
WORKER = {"gpu": 2, "cpu": 20}


def job(number: str, state: str, user: str, level: int, **keys: Any) -> dict[str, Any]:
    return {
        "id": number, "name": "j", "state": state, "user": user, "user_level": level, "task_level": None,
        "submit": 100, **keys,
    }  # fmt: skip


def worker(task: int, start: int = 0, *, least: int = 2, node: str = "n1", **keys: Any) -> dict[str, Any]:
    """A task of array 41; it waits when it has no start."""
    own = {"group": "41", "elastic": {"min_workers": least, "wish_workers": 4}, **keys}
    if start:
        return job(f"41_{task}", "running", "tom", 3, start=start, alloc={node: WORKER}, **own)
    return job(f"41_{task}", "pending", "tom", 3, request={"nodes": 1, "per_node": WORKER}, **own)


def urgent(gpus: int, number: str = "50", **keys: Any) -> dict[str, Any]:
    request = {"nodes": 1, "per_node": {"gpu": gpus, "cpu": 10 * gpus, "mem": 60}}
    return job(number, "pending", "hal", 1, request=request, **keys)


OTHER = job("9", "running", "rita", 3, start=4900, alloc={"n1": {"gpu": 1, "cpu": 10, "mem": 240}})
"""A rigid job of the same rank that has hardly run: whoever has to stop somebody takes it first."""
THREE = [worker(1, 300), worker(2, 200), worker(3, 400)]


def snapshot(*jobs: dict[str, Any], **rules: Any) -> Snapshot:
    nodes = [{"name": name, "up": True, "total": MACHINE} for name in ("n1", "n2")[: rules.pop("nodes", 1)]]
    document = {
        "schema": "giveway.snapshot/1", "now": NOW, "partition": {"name": "x", "mode": "user", **rules},
        "nodes": nodes, "jobs": list(jobs),
    }  # fmt: skip
    return decode_snapshot(document)


def decided(*jobs: dict[str, Any], **rules: Any) -> dict[str, Decision]:
    return {decision.job: decision for decision in plan(snapshot(*jobs, **rules)).decisions}


def victims(decision: Decision) -> list[str]:
    return [victim.job for victim in decision.victims]


def test_document_003_by_array_workers() -> None:
    made = plan(snapshot(OTHER, *THREE, urgent(3)))
    (decision,) = encode_plan(made)["decisions"]
    assert (decision["action"], decision["reason"]) == ("shrink", "shrinks")
    assert decision["victims"] == [{"job": "41_3", "how": "requeue", "worker_of": "41"}]
    assert decision["explain"].endswith(
        "Nobody is stopped: 41_[1-3] (tom, P3) gives up 1 of 3 workers: 41_3 (2 gpu, 20 cpu)."
    )


def test_the_minimum_goes_with_the_victim_for_the_second_look() -> None:
    (victim,) = decided(OTHER, *THREE, urgent(3))["50"].victims
    assert (victim.worker_of, victim.least) == ("41", 2)


def test_no_worker_below_the_minimum_goes_and_others_are_stopped_instead() -> None:
    made = decided(OTHER, *[worker(n, 100 * n, least=3) for n in (1, 2, 3)], urgent(2))["50"]
    assert (made.action, victims(made)) == ("preempt", ["9"])


def test_a_job_that_has_to_go_below_its_minimum_is_stopped_as_a_whole() -> None:
    made = decided(*THREE, urgent(6))["50"]
    assert (made.action, sorted(victims(made))) == ("preempt", ["41_1", "41_2", "41_3"])
    assert not any(victim.worker_of for victim in made.victims)


def test_that_is_not_done_when_it_has_more_workers_than_the_hour_has_left() -> None:
    for limit in ({"max_stops_per_hour": 2}, {"max_stops_per_user_hour": 2}):
        made = decided(*THREE, urgent(6), **limit)["50"]
        assert (made.action, made.victims) == ("queue", ())
    assert decided(*THREE, urgent(6), max_stops_per_hour=3)["50"].victims


def test_the_limits_of_an_hour_do_not_hold_a_shrink_back() -> None:
    assert victims(decided(OTHER, *THREE, urgent(3), max_stops_per_hour=0)["50"]) == ["41_3"]


def test_two_urgent_jobs_take_different_workers() -> None:
    four = [worker(n, 100 * n, least=2) for n in (1, 2, 3, 4)]
    made = decided(*four, urgent(2), urgent(2, "51"))
    assert [victims(made[number]) for number in ("50", "51")] == [["41_4"], ["41_3"]]


def test_who_gave_workers_and_is_stopped_afterwards_has_only_the_others_left() -> None:
    """One stop per run: a worker that goes for one job cannot go once more for the next."""
    eight = [worker(n, 100 * n, least=4, node="n1" if n <= 4 else "n2") for n in range(1, 9)]
    made = decided(*eight, urgent(2, "50"), urgent(8, "51"), nodes=2)
    gone = [victims(made[number]) for number in ("50", "51")]
    assert [made[number].action for number in ("50", "51")] == ["shrink", "preempt"]
    assert sorted(gone[0] + gone[1]) == [f"41_{n}" for n in range(1, 9)]


def test_urgent_tasks_shrink_it_by_one_decision() -> None:
    four = [worker(n, 100 * n, least=2) for n in (1, 2, 3, 4)]
    made = decided(*four, *[urgent(2, f"60_{n}", group="60") for n in (1, 2)])
    assert sorted(victims(made["60_1"])) == ["41_3", "41_4"]
    assert [task.job for task in made["60_1"].tasks] == ["60_1", "60_2"]
    assert (made["60_2"].lead, made["60_2"].victims) == ("60_1", ())


def test_who_may_not_be_stopped_stays_and_counts_for_the_minimum() -> None:
    young = worker(3, NOW - 10)
    made = decided(OTHER, worker(1, 300), worker(2, 200), young, urgent(3), exempt_s=60)["50"]
    assert victims(made) == ["41_1"]
    protected = replace_key(THREE, "41_3", preemptable=False)
    assert victims(decided(OTHER, *protected, urgent(3))["50"]) == ["41_1"]


def replace_key(jobs: list[dict[str, Any]], number: str, **keys: Any) -> list[dict[str, Any]]:
    return [each | keys if each["id"] == number else each for each in jobs]


def test_a_worker_of_a_higher_job_is_not_taken() -> None:
    high = [each | {"user_level": 0} for each in THREE]
    assert victims(decided(OTHER, *high, urgent(1))["50"]) == []
    assert decided(OTHER, *high, urgent(3))["50"].action == "queue"


def test_workers_of_several_kinds_together_keep_the_minimum() -> None:
    small = [worker(n, 100 * n, least=3) | {"alloc": {"n1": {"gpu": 1, "cpu": 10}}} for n in (4, 5)]
    large = [worker(n, 100 * n, least=3) for n in (1, 2, 3)]
    made = decided(*large, *small, urgent(4))["50"]
    assert sorted(victims(made)) == ["41_2", "41_3"]
    assert len(large + small) - len(made.victims) >= 3


def test_a_partition_may_count_them_as_rigid() -> None:
    made = decided(*THREE, urgent(3), elastic=False)["50"]
    assert (made.action, made.reason) == ("preempt", "lower_user")


@pytest.mark.parametrize(("running", "action"), [(2, "queue"), (1, "preempt")])
def test_nobody_is_stopped_for_a_worker_beyond_the_minimum(running: int, action: str) -> None:
    low = job("9", "running", "rita", 5, start=100, alloc={"n1": {"gpu": 8 - 2 * running, "cpu": 10}})
    made = decided(low, *[worker(n, 100) for n in range(running)], worker(7))["41_7"]
    assert made.action == action
    assert (made.reason == "grows_later") is (action == "queue")
    assert "has the 2 workers that it needs" in made.explain or made.victims


def test_it_grows_into_free_room_by_its_rank() -> None:
    held = job("9", "running", "rita", 0, start=100, alloc={"n1": {"gpu": 2, "cpu": 10}})
    low = job("70", "pending", "kim", 4, request={"nodes": 1, "per_node": WORKER})
    made = decided(held, worker(1, 300), worker(2, 200), worker(3), low)
    assert (made["41_3"].action, made["70"].action) == ("start", "queue")


def test_a_snapshot_with_workers_is_read_as_it_was_written() -> None:
    made = snapshot(OTHER, *THREE, worker(4), urgent(3))
    assert decode_snapshot(encode_snapshot(made)) == made
    assert plan(replace(made, jobs=made.jobs[::-1])) == plan(made)


def test_workers_need_a_group() -> None:
    with pytest.raises(InputError, match=r"group: is missing"):
        snapshot(worker(1, 300, group=""))
    with pytest.raises(InputError, match="stands beside min_nodes"):
        snapshot(worker(1, 300, elastic={"min_workers": 1, "min_nodes": 1}))
    with pytest.raises(InputError, match="is below min_workers"):
        snapshot(worker(1, 300, elastic={"min_workers": 3, "wish_workers": 2}))


# --- Many random partitions -----------------------------------------------------------------------------------


def _random(number: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Arrays of workers and rigid jobs on up to four nodes, and urgent jobs of all sizes."""
    chance = random.Random(number)
    nodes = [f"n{n}" for n in range(1, chance.randint(2, 4) + 1)]
    left = dict.fromkeys(nodes, 8)
    found = []
    for array in range(41, 41 + chance.randint(1, 3)):
        count = chance.randint(2, 8)
        words = {
            "group": str(array),
            "elastic": {"min_workers": chance.randint(1, count), "wish_workers": count},
        }
        gpus, level = chance.choice((1, 1, 2)), chance.choice((2, 3))
        for task in range(count):
            node = chance.choice(nodes)
            alloc = {node: {"gpu": gpus, "cpu": gpus}}
            if left[node] >= gpus:
                left[node] -= gpus
                started = {"start": chance.randint(100, 4900), "alloc": alloc}
                found.append(job(f"{array}_{task}", "running", "tom", level, **started, **words))
            else:
                request = {"nodes": 1, "per_node": {"gpu": gpus, "cpu": gpus}}
                found.append(job(f"{array}_{task}", "pending", "tom", level, request=request, **words))
    for rigid in range(chance.randint(0, 6)):
        node, gpus = chance.choice(nodes), chance.choice((1, 2, 4))
        if left[node] >= gpus:
            left[node] -= gpus
            held = {"start": chance.randint(100, 4900), "alloc": {node: {"gpu": gpus, "cpu": gpus}}}
            found.append(job(f"{rigid + 10}", "running", "rita", chance.choice((1, 2, 3)), **held))
    for urgent_one in range(chance.randint(1, 6)):
        gpus, count = chance.choice((1, 2, 3, 4, 8)), chance.choice((1, 1, 1, 2))
        request = {"nodes": min(count, len(nodes)), "per_node": {"gpu": gpus, "cpu": gpus}}
        group = {"group": "60"} if chance.random() < 0.3 else {}
        found.append(
            job(f"60_{urgent_one}", "pending", "hal", chance.choice((0, 1)), request=request, **group)
        )
    limits = {"max_stops_per_hour": chance.randint(1, 6)} if chance.random() < 0.3 else {}
    total = [{"name": name, "up": True, "total": {"gpu": 8, "cpu": 8}} for name in nodes]
    return found, {"nodes": total, "partition": {"name": "x", "mode": "user", **limits}}


@pytest.mark.parametrize("block", range(6))
def test_nobody_is_stopped_twice_none_goes_below_the_minimum_and_the_room_is_there(block: int) -> None:
    shrinks = both = 0
    for number in range(100 * block, 100 * block + 100):
        jobs, more = _random(number)
        made = plan(decode_snapshot({"schema": "giveway.snapshot/1", "now": NOW, "jobs": jobs, **more}))
        gone = [victim.job for decision in made.decisions for victim in decision.victims]
        assert len(gone) == len(set(gone)), number
        shrinks += any(victim.worker_of for decision in made.decisions for victim in decision.victims)
        both += {"shrink", "preempt"} <= {decision.action for decision in made.decisions}
        _keep_their_minimum(jobs, made.decisions, number)
        _fit(jobs, made.decisions, number)
    assert shrinks > 20 and both > 2, "they are partitions in which something happens"


def _keep_their_minimum(jobs: list[dict[str, Any]], decisions: Sequence[Decision], number: int) -> None:
    """Of an elastic job that only gave workers at least the minimum stays."""
    given = {
        victim.worker_of: victim.least for each in decisions for victim in each.victims if victim.worker_of
    }
    gone = {victim.job for each in decisions for victim in each.victims}
    stopped = {victim.job for each in decisions for victim in each.victims if not victim.worker_of}
    for group, least in given.items():
        running = [each["id"] for each in jobs if each.get("group") == group and each["state"] == "running"]
        if not stopped & set(running):
            assert len(set(running) - gone) >= least, number


def _fit(jobs: list[dict[str, Any]], decisions: Sequence[Decision], number: int) -> None:
    """What stays and what gets room do not need more than there is."""
    gone = {victim.job for each in decisions for victim in each.victims}
    held = Counter[str]()
    for each in jobs:
        if each["state"] == "running" and each["id"] not in gone:
            for node, part in each["alloc"].items():
                held[node] += part["gpu"]
    for decision in decisions:
        if decision.action in {"start", "shrink", "preempt"} and not decision.lead:
            for node, part in decision.placement.items():
                held[node] += part["gpu"]
    assert all(amount <= 8 for amount in held.values()), number
