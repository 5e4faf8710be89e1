"""Waiting tasks of one array are planned as one request in units, and each has a verdict of its own."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot, encode_snapshot
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, TaskRoom
from scheduler.model.policy import Partial
from scheduler.model.reasons import Reason
from scheduler.model.resources import covers, total
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from scheduler.preemption.units.groups import groups_of, label_of_jobs, task_set
from tests.builders import node, on_nodes, one_node, pending, running, snapshot
from tests.scheduler.strategies import partitions


def tasks(array: str, count: int, cpu: int = 1, **fields: Any) -> list[SnapshotJob]:
    """Waiting tasks of an array of `cy`, P0 unless said otherwise."""
    known: dict[str, Any] = {"of": "cy", "user": 0, "name": f"sweep{array}", "group": array, **fields}
    return [pending(f"{array}_{n}", one_node(cpu), **known) for n in range(count)]


def runs(array: str, count: int, cpu: int, level: int, on: str = "n1") -> list[SnapshotJob]:
    """Running tasks of an array; of equals the one with the highest number is the youngest."""
    return [
        running(f"{array}_{n}", on, cpu, ran=3600 - n, user=level, of=f"u{level}", group=array, submit=0)
        for n in range(count)
    ]


def by_job(made: Snapshot) -> dict[str, Decision]:
    return {decision.job: decision for decision in plan(made).decisions}


def document_001(**rules: Any) -> Snapshot:
    """100 CPUs: A 20 tasks of 1, B 20 of 3, C 10 of 2, and 30 waiting ones of 1 that rank above all."""
    held = [*runs("1", 20, 1, 1), *runs("2", 20, 3, 2), *runs("3", 10, 2, 3)]
    return snapshot([*held, *tasks("4", 30)], [node(cpu=100)], **rules)


# --- One request ---------------------------------------------------------------------------------------------


def test_the_documents_example_stops_nine_of_c_and_four_of_b_for_one_plan() -> None:
    found = by_job(document_001())
    lead = found["4_0"]
    assert (lead.action, len(lead.tasks), lead.placement) == (DecisionKind.PREEMPT, 30, {"n1": {"cpu": 30}})
    assert Counter(victim.job.partition("_")[0] for victim in lead.victims) == {"3": 9, "2": 4}
    others = [found[f"4_{n}"] for n in range(1, 30)]
    assert {(other.action, other.lead, other.victims) for other in others} == {
        (DecisionKind.PREEMPT, "4_0", ())
    }
    assert {tuple(other.placement) for other in others} == {("n1",)}


def test_the_youngest_tasks_of_an_array_go_first() -> None:
    victims = {victim.job for victim in by_job(document_001())["4_0"].victims}
    assert victims == {f"3_{n}" for n in range(1, 10)} | {f"2_{n}" for n in range(16, 20)}


def test_the_words_name_the_tasks_as_slurm_does() -> None:
    assert by_job(document_001())["4_0"].explain.startswith("4_[0-29] (cy, P0) needs 30 units of 1 cpu; ")


def test_lower_numbers_get_room_first_when_there_is_not_enough_for_all() -> None:
    found = by_job(snapshot([*runs("1", 4, 2, 2), *tasks("4", 6, 2)], partial=Partial.TAKE))
    assert [task.job for task in found["4_0"].tasks] == ["4_0", "4_1", "4_2", "4_3"]
    assert [found[f"4_{n}"].reason for n in (4, 5)] == [Reason.GETS_PART] * 2
    assert [found[f"4_{n}"].action for n in (4, 5)] == [DecisionKind.QUEUE] * 2


def test_a_partition_that_spares_stops_nobody_for_a_part() -> None:
    found = by_job(snapshot([*runs("1", 4, 2, 2), *tasks("4", 6, 2)], partial=Partial.SPARE))
    assert {(each.action, each.victims) for each in found.values()} == {(DecisionKind.QUEUE, ())}


def test_each_task_has_its_node_when_there_is_room_for_all() -> None:
    made = snapshot(tasks("4", 3, 6), [node("n1"), node("n2"), node("n3")])
    found = by_job(made)
    assert {each.action for each in found.values()} == {DecisionKind.START}
    assert sorted(each.nodes for each in found.values()) == [("n1",), ("n2",), ("n3",)]
    assert all(each.placement == {each.nodes[0]: {"cpu": 6}} for each in found.values())


def test_the_room_of_several_nodes_is_told_task_by_task() -> None:
    held = [*runs("1", 4, 2, 2), *runs("2", 4, 2, 2, on="n2")]
    lead = by_job(snapshot([*held, *tasks("4", 4, 4)], [node("n1"), node("n2")]))["4_0"]
    assert lead.placement == {"n1": {"cpu": 8}, "n2": {"cpu": 8}}
    assert lead.tasks == (
        TaskRoom("4_0", "n1"), TaskRoom("4_1", "n1"), TaskRoom("4_2", "n2"), TaskRoom("4_3", "n2"),
    )  # fmt: skip


# --- Where a limit forbids it for all --------------------------------------------------------------------------


def test_what_the_hour_has_left_is_used_task_by_task() -> None:
    made = snapshot([*runs("1", 4, 2, 2), *tasks("4", 4, 2)], partial=Partial.TAKE, max_stops_per_hour=2)
    found = by_job(made)
    assert [each.action for each in found.values()].count(DecisionKind.PREEMPT) == 2
    assert not any(each.tasks or each.lead for each in found.values())
    assert {each.reason for each in found.values() if not each.victims} == {Reason.HOURLY_LIMIT}


def test_free_room_is_used_while_nobody_may_be_stopped() -> None:
    made = snapshot([*runs("1", 3, 2, 2), *tasks("4", 4, 2)], partial=Partial.TAKE, paused="dave paused it")
    found = by_job(made)
    assert found["4_0"].action is DecisionKind.START
    assert {found[f"4_{n}"].reason for n in (1, 2, 3)} == {Reason.PAUSED}


# --- Who is no part of it --------------------------------------------------------------------------------------

ALONE: dict[str, dict[str, Any]] = {
    "blocked": {"blocked": "it is held by its user"},
    "promised": {"promised": {"n1": {"cpu": 1}}},
    "another level": {"task_level": 2},
    "another request": {"request": one_node(2)},
    "several nodes": {"request": on_nodes(2)},
    "a whole node": {"request": one_node(1, exclusive=True)},
    "features of which any will do": {"request": one_node(1, any_of=(frozenset({"fast"}),))},
    "ran before": {"restarts": 1},
    "another array": {"group": "5"},
    "no array": {"group": ""},
}


@pytest.mark.parametrize("why", ALONE)
def test_a_task_that_differs_stands_alone(why: str) -> None:
    first, second, third = tasks("4", 3)
    (group,) = groups_of(snapshot([first, replace(second, **ALONE[why]), third]))
    assert [task.id for task in group.tasks] == ["4_0", "4_2"]


@pytest.mark.parametrize(
    "rules",
    [
        {"units": False},
        {"quotas": {2: 5}},
        {"quota_amounts": {2: {"cpu": 5}}},
        {"quota_totals": {2: {"cpu": 5}}},
        {"patience_s": 60},
    ],
)
def test_there_are_no_groups_where_each_task_counts(rules: dict[str, Any]) -> None:
    waiting = [replace(task, task_level=2) for task in tasks("4", 3)]
    assert groups_of(snapshot(waiting, **rules)) == []


def test_jobs_of_a_group_may_have_different_names() -> None:
    jobs = [
        replace(task, id=f"{n}", name=f"part{n}", group="train@cy/")
        for n, task in enumerate(tasks("4", 3), 7)
    ]
    (group,) = groups_of(snapshot(jobs))
    assert (group.job.id, [task.id for task in group.tasks]) == ("7,8,9", ["7", "8", "9"])


def test_the_latest_stop_and_submission_count_for_all() -> None:
    early, late = (replace(task, restarts=1) for task in tasks("4", 2))
    late = replace(late, stopped_at=late.submit + 5, submit=late.submit + 5, crashes=2)
    (group,) = groups_of(snapshot([early, late]))
    assert (group.job.stopped_at, group.job.submit, group.job.crashes) == (late.stopped_at, late.submit, 2)


def test_a_set_of_tasks_in_slurms_notation() -> None:
    assert task_set(["41_3", "41_10", "41_4", "41_5"]) == "41_[3-5,10]"
    assert task_set(["41_3"]) == "41_[3]"
    assert task_set(["41_3", "42_3"]) == ""
    assert task_set([f"41_{n}" for n in range(0, 200, 2)]) == ""


def test_jobs_are_listed_as_slurm_lists_them() -> None:
    assert label_of_jobs(["41_3", "41_4"]) == "41_[3-4]"
    assert label_of_jobs(["4711"]) == "4711"
    assert label_of_jobs(["4711", "4713"]) == "4711,4713"
    assert label_of_jobs([f"{n}" for n in range(4711, 4811)]) == "4711,…,4810"


# --- All or none -------------------------------------------------------------------------------------------------


def whole(array: str, count: int, cpu: int = 1, **fields: Any) -> list[SnapshotJob]:
    """The same tasks of a user who wants all of them at once, or none."""
    return [
        replace(task, request=replace(task.request, partial=False))
        for task in tasks(array, count, cpu, **fields)
        if task.request
    ]


@pytest.mark.parametrize("partial", Partial)
def test_who_wants_all_gets_nothing_where_there_is_room_for_a_part(partial: Partial) -> None:
    found = by_job(snapshot([*runs("1", 2, 2, 2), *whole("4", 6, 2)], partial=partial))
    assert {(each.action, each.victims, each.placement == {}) for each in found.values()} == {
        (DecisionKind.QUEUE, (), True)
    }


def test_who_wants_all_gets_all_where_others_can_be_stopped() -> None:
    lead = by_job(snapshot([*runs("1", 2, 2, 2), *whole("4", 4, 2)]))["4_0"]
    assert (len(lead.tasks), {victim.job for victim in lead.victims}) == (4, {"1_0", "1_1"})


def test_who_wants_all_starts_by_one_decision() -> None:
    found = by_job(snapshot(whole("4", 4, 2)))
    assert {each.action for each in found.values()} == {DecisionKind.START}
    assert len(found["4_0"].tasks) == 4
    assert {found[f"4_{n}"].lead for n in (1, 2, 3)} == {"4_0"}


@pytest.mark.parametrize("left", [1, 3])
def test_a_limit_stops_nobody_for_who_wants_all(left: int) -> None:
    rules: dict[str, Any] = {"partial": Partial.TAKE, "max_stops_per_hour": left}
    found = by_job(
        snapshot([*runs("1", 4, 2, 2), *whole("4", 4, 2), *tasks("5", 2, 2, of="di", user=1)], **rules)
    )
    assert {found[f"4_{n}"].action for n in range(4)} == {DecisionKind.QUEUE}
    assert {found[f"4_{n}"].victims for n in range(4)} == {()}
    assert sum(len(found[f"5_{n}"].victims) for n in range(2)) == min(left, 2)


# --- In documents, and whatever the partition ------------------------------------------------------------------


def test_a_group_survives_the_contract_and_is_decided_the_same() -> None:
    made = document_001()
    again = decode_snapshot(encode_snapshot(made))
    assert again == made
    written = encode_plan(plan(again))
    assert written == encode_plan(plan(made))
    assert len(written["decisions"][0]["tasks"]) == 30
    assert written["decisions"][1]["lead"] == "4_0"


def in_arrays(made: Snapshot, copies: int) -> Snapshot:
    """The same with each waiting job as the first task of an array of so many."""
    jobs = [job for job in made.jobs if job.state is not JobState.PENDING]
    for job in made.jobs:
        if job.state is JobState.PENDING:
            jobs += [replace(job, id=f"9{job.id}_{n}", group=f"9{job.id}") for n in range(copies)]
    return replace(made, jobs=tuple(jobs))


@settings(max_examples=150, deadline=None)
@given(partitions, st.integers(2, 4), st.sampled_from(Partial))
def test_every_task_is_decided_once_and_nobody_gets_room_that_is_not_there(
    made: Snapshot, copies: int, partial: Partial
) -> None:
    arrays = in_arrays(made, copies)
    arrays = replace(arrays, partition=replace(arrays.partition, partial=partial))
    decisions = plan(arrays).decisions
    waiting = [job.id for job in arrays.jobs if job.state is JobState.PENDING]
    assert Counter(decision.job for decision in decisions) == Counter(waiting)
    victims = [victim.job for decision in decisions for victim in decision.victims]
    assert len(victims) == len(set(victims))
    _fits(arrays, decisions, set(victims))
    leads = {decision.job: decision for decision in decisions if decision.tasks}
    for decision in decisions:
        if decision.lead:
            assert decision.job in {task.job for task in leads[decision.lead].tasks}
    for lead in leads.values():
        assert len({task.job for task in lead.tasks}) == len(lead.tasks) > 1


def _fits(made: Snapshot, decisions: tuple[Decision, ...], victims: set[str]) -> None:
    """What stays and what gets room are no more than what each node has; of what it has none of, nobody gets any."""
    for place in made.nodes:
        takes = [
            decision.placement[place.name]
            for decision in decisions
            if place.name in decision.placement and not decision.lead
        ]
        if takes:
            stays = [
                job.alloc.get(place.name, {})
                for job in made.jobs
                if job.state is JobState.RUNNING and job.id not in victims
            ]
            assert covers(place.total, total([*takes, *stays, place.held_elsewhere])), place.name
