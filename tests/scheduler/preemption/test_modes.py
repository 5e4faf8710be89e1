"""Who may be stopped by whom: four modes, two tiers (spec 1.4, figures 2 to 5 of the document)."""

from typing import Any

import pytest

from scheduler.model.jobs import Level
from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Mode
from scheduler.model.reasons import Reason
from tests.builders import HOUR, anywhere, node, one_node, pending, running
from tests.scheduler.planning import decide, stopped

USER, TASK = Mode.USER, Mode.TASK
USER_TASK, TASK_USER = Mode.USER_THEN_TASK, Mode.TASK_THEN_USER


@pytest.mark.parametrize(
    ("mode", "victim", "stops"),
    [
        # victim's (user level, task level) against a pending job of user level 1 and task level 1
        (USER, (2, 0), True),
        (USER, (None, 0), True),
        (USER, (1, 3), False),
        (USER, (0, None), False),
        (TASK, (0, 2), True),
        (TASK, (0, None), True),
        (TASK, (3, 1), False),
        (TASK, (None, 0), False),
        (USER_TASK, (2, 0), True),
        (USER_TASK, (1, 2), True),
        (USER_TASK, (1, None), True),
        (USER_TASK, (1, 1), False),
        (USER_TASK, (1, 0), False),
        (USER_TASK, (0, 3), False),
        (USER_TASK, (0, None), False),
        (TASK_USER, (0, 2), True),
        (TASK_USER, (2, 1), True),
        (TASK_USER, (None, 1), True),
        (TASK_USER, (1, 1), False),
        (TASK_USER, (0, 1), False),
        (TASK_USER, (3, 0), False),
    ],
)
def test_a_job_of_p1_and_l1_stops_exactly_what_its_mode_says(
    mode: Mode, victim: tuple[Level, Level], stops: bool
) -> None:
    user, task = victim
    decision = decide(
        running("v", cpu=8, user=user, task=task), pending(request=one_node(4), user=1, task=1), mode=mode
    )
    assert (decision.action is DecisionKind.PREEMPT) is stops
    assert stopped(decision) == (["v"] if stops else [])
    if not stops:
        assert decision.reason is Reason.NOTHING_LOWER_RUNS


@pytest.mark.parametrize("mode", list(Mode))
def test_a_job_with_nothing_configured_stops_nobody(mode: Mode) -> None:
    decision = decide(running("v", cpu=8), pending(request=one_node(4)), mode=mode)
    assert decision.action is DecisionKind.QUEUE
    assert decision.reason is Reason.NOTHING_LOWER_RUNS


def test_among_unconfigured_users_the_second_tier_still_compares_tasks() -> None:
    """Equal users are equal, also where nobody has configured any."""
    victim = running("v", cpu=8, task=2)
    assert stopped(decide(victim, pending(request=one_node(4), task=0), mode=USER_TASK)) == ["v"]
    assert stopped(decide(victim, pending(request=one_node(4), task=2), mode=USER_TASK)) == []


@pytest.mark.parametrize(
    ("mode", "first", "second"),
    [
        (USER_TASK, {"user": 3, "task": 0}, {"user": 1, "task": 3}),
        (TASK_USER, {"user": 0, "task": 3}, {"user": 3, "task": 1}),
    ],
)
def test_the_second_tier_is_touched_only_when_the_first_is_not_enough(
    mode: Mode, first: dict[str, Any], second: dict[str, Any]
) -> None:
    """The second tier's job is the younger one, and on the same node: its tier protects it."""
    tier_one = running("one", cpu=4, ran=9 * HOUR, **first)
    tier_two = running("two", cpu=4, ran=60, **second)
    for request in (one_node(4), anywhere(4)):
        assert stopped(decide(tier_one, tier_two, pending(request=request, user=1, task=1), mode=mode)) == [
            "one"
        ]
    for request in (one_node(6), anywhere(6)):
        both = decide(tier_one, tier_two, pending(request=request, user=1, task=1), mode=mode)
        assert stopped(both) == ["one", "two"]


def test_a_first_tier_job_that_the_second_tiers_job_makes_needless_is_given_back() -> None:
    """b holds too little; e alone suffices: irreducible beats "all of tier 1 goes" (spec 1.4)."""
    b = running("b", cpu=2, user=3, task=0)
    e = running("e", cpu=6, user=1, task=3)
    for request in (one_node(6), anywhere(6)):
        assert stopped(decide(b, e, pending(request=request, user=1, task=1), mode=USER_TASK)) == ["e"]


@pytest.mark.parametrize(
    ("mode", "jobs", "reason"),
    [
        (USER, [(2, None)], Reason.LOWER_USER),
        (TASK, [(None, 2)], Reason.LOWER_TASK),
        (USER_TASK, [(2, 0)], Reason.LOWER_USER),
        (USER_TASK, [(1, 2)], Reason.LOWER_TASK),
        (USER_TASK, [(2, 0), (1, 2)], Reason.LOWER_USER_AND_TASK),
        (TASK_USER, [(0, 2)], Reason.LOWER_TASK),
        (TASK_USER, [(2, 1)], Reason.LOWER_USER),
        (TASK_USER, [(0, 2), (2, 1)], Reason.LOWER_TASK_AND_USER),
    ],
)
def test_the_reason_names_the_tiers_that_made_room(
    mode: Mode, jobs: list[tuple[Level, Level]], reason: Reason
) -> None:
    share = 8 // len(jobs)
    victims = [running(str(i), cpu=share, user=user, task=task) for i, (user, task) in enumerate(jobs)]
    decision = decide(*victims, pending(request=one_node(8), user=1, task=1), mode=mode)
    assert decision.reason is reason
    assert len(decision.victims) == len(jobs)


@pytest.mark.parametrize("mode", [USER, USER_TASK])
def test_inside_a_tier_the_lowest_level_goes_first_and_the_unconfigured_before_all(mode: Mode) -> None:
    """Whatever the running times: the older job of a lower level goes before the younger one of a higher."""
    jobs = [
        running("p2", cpu=2, user=2, ran=60),
        running("p3", cpu=2, user=3, ran=HOUR),
        running("p9", cpu=2, user=9, ran=5 * HOUR),
        running("none", cpu=2, ran=20 * HOUR),
    ]
    for needed, expected in ((2, ["none"]), (4, ["none", "p9"]), (6, ["none", "p3", "p9"])):
        for request in (one_node(needed), anywhere(needed)):
            assert stopped(decide(*jobs, pending(request=request, user=0), mode=mode)) == expected


def test_the_axis_that_the_mode_does_not_compare_does_not_order_victims() -> None:
    """In mode `user` the younger job goes, although its task level is higher."""
    old_low_task = running("old", cpu=4, user=2, task=3, ran=5 * HOUR)
    young_high_task = running("young", cpu=4, user=2, task=0, ran=60)
    decision = decide(old_low_task, young_high_task, pending(request=one_node(4), user=0, task=0))
    assert stopped(decision) == ["young"]


def test_jobs_of_the_urgent_jobs_own_user_are_treated_like_any_other() -> None:
    mine = running("mine", cpu=8, user=1, task=2, of="ann")
    decision = decide(mine, pending(request=one_node(8), user=1, task=0, of="ann"), mode=USER_TASK)
    assert stopped(decision) == ["mine"]


def test_free_room_comes_before_any_victim() -> None:
    decision = decide(running("v", cpu=4, user=3), pending(request=one_node(4), user=0))
    assert decision.action is DecisionKind.START
    assert decision.reason is Reason.ROOM_IS_FREE
    assert decision.nodes == ("n1",)
    assert decision.placement == {"n1": {"cpu": 4}}


def test_victims_only_make_up_what_is_missing() -> None:
    jobs = [running("a", cpu=2, user=3), running("b", cpu=2, user=3, ran=60)]
    assert stopped(decide(*jobs, pending(request=one_node(6), user=0))) == ["b"]


def test_where_all_candidates_are_not_enough_nobody_is_stopped() -> None:
    jobs = [running("low", cpu=4, user=3), running("high", cpu=4, user=0)]
    for request in (one_node(6), anywhere(6)):
        decision = decide(*jobs, pending(request=request, user=0))
        assert decision.action is DecisionKind.QUEUE
        assert decision.reason is Reason.NOT_ENOUGH_EVEN_SO
        assert not decision.victims


def test_more_than_the_partition_has_is_told_as_such() -> None:
    for request in (
        one_node(9),
        anywhere(9),
        one_node(1, per_node={"gpu": 1}),
        one_node(features=frozenset({"x"})),
    ):
        decision = decide(running("low", cpu=8, user=3), pending(request=request, user=0))
        assert decision.reason is Reason.DOES_NOT_FIT_EVER


def test_a_node_that_is_down_is_not_the_same_as_a_node_that_is_too_small() -> None:
    """When it is repaired the job will fit: that is a matter of waiting, not of asking for too much."""
    decision = decide(pending(request=one_node(8), user=0), nodes=[node(up=False)])
    assert decision.reason is Reason.NOTHING_LOWER_RUNS
