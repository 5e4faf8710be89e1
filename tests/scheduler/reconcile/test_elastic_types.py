"""Workers of an elastic job by its task type; the comment comes first."""

from dataclasses import replace

import pytest

from scheduler.model.jobs import Elastic, JobState
from scheduler.model.plan import Shrinking
from scheduler.model.task_types import ShrinkHow, TaskType
from scheduler.reconcile.snapshot_jobs import asks_for_even_set, elastic_nodes, elastic_workers
from tests.builders import observed

TYPE = TaskType("train*", elastic_min=2, elastic_wish=4)


@pytest.mark.parametrize(
    ("comment", "kind", "expected"),
    [
        ("", TYPE, Elastic(min_workers=2, wish_workers=4)),
        ("", None, None),
        ("", TaskType("train*", cpus=8), None),
        ("elastic:min=1", TYPE, Elastic(min_workers=1)),
        # Words of ours that are wrong make it rigid, whatever its type says.
        ("elastic:min=x", TYPE, None),
        ("elastic:min=1,how=restart", TYPE, None),
        # A type that says how: only tasks are workers.
        ("", replace(TYPE, elastic_how=ShrinkHow.TASKS), Elastic(min_workers=2, wish_workers=4)),
        ("", replace(TYPE, elastic_how=ShrinkHow.RESTART), None),
        ("elastic:min=1", replace(TYPE, elastic_how=ShrinkHow.RESTART), Elastic(min_workers=1)),
        ("my own words", TYPE, Elastic(min_workers=2, wish_workers=4)),
    ],
)
def test_who_is_elastic(comment: str, kind: TaskType | None, expected: Elastic | None) -> None:
    assert elastic_workers(observed("7_1", comment=comment), None, kind) == expected


def test_how_a_job_of_several_nodes_shrinks_its_type_may_say() -> None:
    job = observed(
        "7", JobState.RUNNING, alloc={"n1": {"cpu": 1}, "n2": {"cpu": 1}}, requeue=True, batch=True
    )
    in_place = elastic_nodes(job, ("n1", "n2"), None, replace(TYPE, elastic_how=ShrinkHow.INPLACE))
    restart = elastic_nodes(job, ("n1", "n2"), None, TYPE)
    assert in_place is not None
    assert restart is not None
    assert (in_place.by, restart.by) == (Shrinking.INPLACE, Shrinking.RESTART)


@pytest.mark.parametrize(
    ("comment", "kind", "asks"),
    [
        ("", None, False),
        ("balanced", None, True),
        ("elastic:min=1 balanced", None, True),
        ("balanced=yes", None, False),
        ("unbalanced", None, False),
        ("", TaskType("train*", balanced=True), True),
        ("", TaskType("train*", cpus=8), False),
    ],
)
def test_who_asks_for_an_even_set(comment: str, kind: TaskType | None, asks: bool) -> None:
    assert asks_for_even_set(observed("7", comment=comment), kind) is asks
