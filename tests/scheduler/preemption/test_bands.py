"""Bands of levels: only jobs of a lower band give way (spec 2.3)."""

import pytest

from scheduler.model.jobs import Level
from scheduler.model.policy import Mode
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import PartitionRules
from scheduler.preemption.ranking import SECOND_TIER, PreemptionScope, Ranking
from scheduler.priority.levels import weight
from tests.builders import HOUR, one_node, pending, running
from tests.scheduler.planning import decide, decisions, stopped

BANDS = ((0, 1), (2, 3), (4, None))
GAPS = ((0, 2), (5, 6))


@pytest.mark.parametrize(
    ("bands", "own", "victim", "stops"),
    [
        (BANDS, 0, 1, False),
        (BANDS, 0, 2, True),
        (BANDS, 1, 2, True),
        (BANDS, 2, 3, False),
        (BANDS, 3, 4, True),
        (BANDS, 2, None, True),
        (BANDS, 4, None, False),
        (BANDS, None, None, False),
        # Levels that no band names: between bands each is its own, inside a band's span it belongs to it.
        (GAPS, 0, 1, False),
        (GAPS, 1, 2, False),
        (GAPS, 2, 3, True),
        (GAPS, 3, 4, True),
        (GAPS, 4, 5, True),
        (GAPS, 5, 6, False),
        (GAPS, 6, 7, True),
        (GAPS, 7, 8, True),
        (GAPS, 6, None, True),
        (None, 0, 1, True),
        (((0,), (1, 2)), 0, 1, True),
    ],
)
def test_only_a_lower_band_gives_way(
    bands: tuple[tuple[Level, ...], ...] | None, own: Level, victim: Level, stops: bool
) -> None:
    job, running_job = pending(request=one_node(4), user=own), running("v", cpu=8, user=victim)
    assert stopped(decide(running_job, job, bands=bands)) == (["v"] if stops else [])


def test_inside_lower_bands_the_lowest_level_still_goes_first() -> None:
    jobs = [running("p2", cpu=4, user=2, ran=10), running("p3", cpu=4, user=3, ran=9 * HOUR)]
    assert stopped(decide(*jobs, pending(request=one_node(4), user=1), bands=BANDS)) == ["p3"]


def test_on_two_axes_the_band_counts_on_the_axis_that_is_compared() -> None:
    """Tier 2 still needs equal users, and a lower band of tasks."""
    mode = Mode.USER_THEN_TASK
    job = pending(request=one_node(4), user=1, task=2)
    for user, task, stops in [(2, 0, True), (1, 3, False), (1, 4, True), (0, 4, False), (1, 1, False)]:
        decision = decide(running("v", cpu=8, user=user, task=task), job, mode=mode, bands=BANDS)
        assert stopped(decision) == (["v"] if stops else []), (user, task)


def test_a_job_of_the_same_band_is_passed_over_as_such() -> None:
    decision = decide(running("v", cpu=8, user=1), pending(request=one_node(4), user=0), bands=BANDS)
    assert decision.reason is Reason.NOTHING_LOWER_RUNS
    assert [(other.job, other.reason) for other in decision.passed_over] == [("v", Reason.SAME_BAND)]


def test_a_lower_job_may_reach_what_a_higher_one_does_not_and_still_finds_it() -> None:
    """r is in `top`'s own band of users, but an equal of `next`, and in a lower band of tasks."""
    jobs = [
        running("r", cpu=7, user=1, task=3),
        running("low", cpu=1, user=3),
        pending("top", one_node(4), user=0, task=0, waited=9),
        pending("next", one_node(4), user=1, task=0, waited=8),
    ]
    made = decisions(jobs, mode=Mode.USER_THEN_TASK, bands=BANDS)
    assert stopped(made["top"]) == []
    assert stopped(made["next"]) == ["r"]


class TestReach:
    def test_classes_grow_with_the_value_of_a_victim_and_the_second_tier_is_above_the_first(self) -> None:
        scope = Ranking(Mode.USER_THEN_TASK).scope(weight(1), weight(1))
        classes = [
            scope.class_of(weight(user), weight(task))
            for user, task in [(None, 0), (9, None), (3, 0), (2, 0), (1, None), (1, 9), (1, 2)]
        ]
        assert None not in classes
        known = [each for each in classes if each is not None]
        assert known == sorted(known)
        assert known[4] >= SECOND_TIER + weight(None)

    def test_out_of_scope_has_no_class(self) -> None:
        scope = Ranking(Mode.USER_THEN_TASK).scope(weight(1), weight(1))
        assert scope.class_of(weight(1), weight(1)) is None
        assert scope.class_of(weight(0), weight(None)) is None

    def test_a_mode_of_one_axis_has_no_second_tier(self) -> None:
        assert Ranking(Mode.USER).scope(weight(1), 0) == PreemptionScope(weight(1), weight(1), 0, None)
        assert Ranking(Mode.TASK).two_axes is False

    def test_the_ranking_of_rules(self) -> None:
        rules = PartitionRules("x", Mode.TASK, bands=BANDS)
        assert Ranking.of(rules) == Ranking(Mode.TASK, BANDS)
