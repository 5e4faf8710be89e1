"""Whether a request costs more than what somebody has read: more jobs, a higher level, or more work of any kind."""

from datetime import timedelta
from typing import Any

import pytest

from console.core import clock
from console.partitions.selectors import decoded
from console.steering.approvals import RequestDifference, asked_for
from console.steering.models import PlanVersion
from tests import factories

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]


def victim(job: str, **facts: Any) -> dict[str, Any]:
    run = {"job": job, "user": "ann", "start": 1, "restarts": 0, "how": "requeue", "ran_s": 600}
    held = {"amounts": {"gpu": 2, "cpu": 8}, "user_level": "P3", "task_level": "P3"}
    return {**run, **held, **facts}


def difference(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> RequestDifference:
    """The second an hour after the first."""
    now = clock.now()
    versions = [
        PlanVersion(number=number, at=at, victims=victims, placement={"n1": {"cpu": 8}}, policy_revision=1)
        for number, at, victims in ((1, now - timedelta(hours=1), before), (2, now, after))
    ]
    return RequestDifference(asked_for(versions[:1]), asked_for(versions[1:]), frozenset())


def costs_more(
    before: list[dict[str, Any]], after: list[dict[str, Any]], mode: str = "user_then_task"
) -> bool:
    policy = decoded(factories.policy_document(mode=mode, levels=LEVELS))
    return difference(before, after).costs_more(policy)


A, B, C = victim("1"), victim("2"), victim("3")
LATER_A = victim("1", ran_s=4201)
"""The same run an hour and a second later: cycles do not come on the second."""


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        ([A], [LATER_A], False),
        ([A, B], [LATER_A], False),
        ([A], [LATER_A, B], True),
        ([A], [B], False),
        ([A], [victim("2", ran_s=4100)], False),
        ([A], [victim("2", ran_s=4300)], True),
        ([A], [victim("2", amounts={"gpu": 1, "cpu": 80})], True),
        ([A], [victim("2", amounts={"gpu": 1, "cpu": 8})], False),
        ([A, B], [victim("3", ran_s=9000)], True),
        ([A], [victim("2", user_level="P2")], True),
        ([A], [victim("2", task_level="P2")], True),
        ([A, victim("4", user_level="P1")], [victim("2", user_level="P2")], False),
        ([victim("1", user_level="unconfigured")], [B], True),
        ([A], [victim("2", user_level="unconfigured")], False),
        ([A], [victim("2", how="cancel")], True),
        ([victim("1", how="cancel")], [victim("2", how="cancel")], False),
        ([], [A], True),
        ([A], [], False),
    ],
)
def test_costs_more(before: list[dict[str, Any]], after: list[dict[str, Any]], more: bool) -> None:
    assert costs_more(before, after) is more


@pytest.mark.parametrize(
    ("mode", "level", "more"),
    [
        ("user", "user_level", True),
        ("user", "task_level", False),
        ("task", "user_level", False),
        ("task", "task_level", True),
        ("task_then_user", "user_level", True),
    ],
)
def test_only_levels_that_the_mode_looks_at_count(mode: str, level: str, more: bool) -> None:
    assert costs_more([A], [victim("2", **{level: "P1"})], mode) is more


def test_it_is_told_in_words() -> None:
    now = clock.now()
    before = PlanVersion(
        number=1,
        at=now - timedelta(minutes=10),
        victims=[A, B, victim("4")],
        placement={"n1": {}},
        policy_revision=1,
    )
    after = PlanVersion(
        number=2,
        at=now,
        victims=[A, victim("5", user="bob", ran_s=60)],
        placement={"n2": {}},
        policy_revision=2,
    )
    told = RequestDifference(asked_for([before]), asked_for([after]), frozenset({"2"})).sentences
    assert told == [
        "2 (ann) has ended.",
        "5 (bob) is stopped instead of 4 (ann).",
        "Work lost: 2 GPU-h · 8 CPU-h → 22 GPU-min · 1.47 CPU-h.",
        "The room is made on n2 instead of n1.",
        "Policy revision 2 is in force.",
    ]


def test_two_that_ended_and_two_more() -> None:
    told = difference([A, B], [C, victim("4")])
    assert told.sentences[0] == "3 (ann) and 4 (ann) are stopped instead of 1 (ann) and 2 (ann)."
    assert difference([A], [A]).sentences == []
