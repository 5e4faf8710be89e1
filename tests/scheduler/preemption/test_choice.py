"""Of all who may be stopped, who is: the document's order on a node, the least cost among nodes (spec 1.4)."""

from typing import Any

import pytest

from scheduler.model.plan import How
from scheduler.model.policy import Mode, VictimOrder
from tests.builders import HOUR, anywhere, node, nodes, one_node, pending, running
from tests.scheduler.planning import decide, stopped

LOST_WORK = VictimOrder.LEAST_LOST_WORK


class TestOnOneNode:
    def test_of_one_level_the_shortest_running_goes_first(self) -> None:
        jobs = [running(str(i), cpu=2, user=3, ran=ran) for i, ran in enumerate((900, 100, 500, 300))]
        assert stopped(decide(*jobs, pending(request=one_node(4), user=0))) == ["1", "3"]

    def test_of_two_that_started_together_the_smaller_id_goes(self) -> None:
        jobs = [running(name, cpu=4, user=3) for name in ("10", "9")]
        assert stopped(decide(*jobs, pending(request=one_node(4), user=0))) == ["9"]

    def test_a_start_in_the_future_counts_as_just_started(self) -> None:
        jobs = [running("odd", cpu=4, user=3, ran=-50), running("even", cpu=4, user=3, ran=10)]
        assert stopped(decide(*jobs, pending(request=one_node(4), user=0))) == ["odd"]

    def test_short_work_goes_before_long_work_even_when_more_of_it_is_needed(self) -> None:
        """¶97: from the shortest running time upwards until it suffices."""
        jobs = [running("a", cpu=2, user=3, ran=100), running("b", cpu=2, user=3, ran=200)]
        long = running("long", cpu=4, user=3, ran=250)
        assert stopped(decide(*jobs, long, pending(request=one_node(4), user=0))) == ["a", "b"]

    def test_whoever_a_later_victim_makes_needless_is_given_back(self) -> None:
        """a and b alone are not enough, c alone is: a and b stay."""
        jobs = [
            running("a", cpu=1, user=3, ran=100),
            running("b", cpu=1, user=3, ran=200),
            running("c", cpu=6, user=3, ran=300),
        ]
        assert stopped(decide(*jobs, pending(request=one_node(5), user=0))) == ["c"]

    def test_the_most_valuable_are_given_back_first(self) -> None:
        """All three make 6; without b (2) it is 4, enough: the more valuable b stays, not a."""
        jobs = [
            running("a", cpu=2, user=3, ran=100),
            running("b", cpu=2, user=3, ran=200),
            running("c", cpu=2, user=2, ran=300),
            running("keeper", cpu=2, user=0),
        ]
        assert stopped(decide(*jobs, pending(request=one_node(4), user=0))) == ["a", "b"]

    def test_no_higher_level_is_taken_where_lower_ones_suffice(self) -> None:
        many_low = [running(f"low{i}", cpu=1, user=3, ran=9 * HOUR) for i in range(4)]
        one_high = running("high", cpu=4, user=2, ran=1)
        decision = decide(*many_low, one_high, pending(request=one_node(4), user=0))
        assert stopped(decision) == ["low0", "low1", "low2", "low3"]


class TestLeastLostWork:
    def test_seconds_run_are_weighed_by_what_is_held(self) -> None:
        """2 h on 1 CPU is less lost than 1 h on 4."""
        jobs = [running("wide", cpu=4, user=3, ran=HOUR), running("narrow", cpu=1, user=3, ran=2 * HOUR)]
        filler = running("filler", cpu=3, user=0)
        by_time = decide(*jobs, filler, pending(request=one_node(1), user=0))
        by_work = decide(*jobs, filler, pending(request=one_node(1), user=0), victim_order=LOST_WORK)
        assert stopped(by_time) == ["wide"]
        assert stopped(by_work) == ["narrow"]

    def test_the_level_still_goes_before_the_work(self) -> None:
        jobs = [running("low", cpu=4, user=3, ran=9 * HOUR), running("high", cpu=4, user=2, ran=1)]
        assert stopped(decide(*jobs, pending(request=one_node(4), user=0), victim_order=LOST_WORK)) == ["low"]

    def test_work_is_counted_in_the_scarcest_resource_that_is_asked_for(self) -> None:
        """All GPUs are in use and few CPUs: lost GPU hours count, not CPU hours."""
        place = node(total={"cpu": 64, "gpu": 4})
        cpu_heavy = running("cpu_heavy", {"n1": {"cpu": 16, "gpu": 1}}, user=3, ran=HOUR)
        gpu_heavy = running("gpu_heavy", {"n1": {"cpu": 1, "gpu": 3}}, user=3, ran=HOUR)
        wants = one_node(per_node={"cpu": 1, "gpu": 1})
        urgent = pending(request=wants, user=0)
        decision = decide(cpu_heavy, gpu_heavy, urgent, nodes=[place], victim_order=LOST_WORK)
        assert stopped(decision) == ["cpu_heavy"]

    def test_when_cpus_are_scarcer_they_count(self) -> None:
        place = node(total={"cpu": 8, "gpu": 100})
        cpu_heavy = running("cpu_heavy", {"n1": {"cpu": 7, "gpu": 1}}, user=3, ran=HOUR)
        gpu_heavy = running("gpu_heavy", {"n1": {"cpu": 1, "gpu": 9}}, user=3, ran=HOUR)
        wants = one_node(per_node={"cpu": 1, "gpu": 1})
        urgent = pending(request=wants, user=0)
        decision = decide(cpu_heavy, gpu_heavy, urgent, nodes=[place], victim_order=LOST_WORK)
        assert stopped(decision) == ["gpu_heavy"]

    def test_of_equal_work_the_shorter_running_goes(self) -> None:
        jobs = [running("1", cpu=2, user=3, ran=2 * HOUR), running("2", cpu=4, user=3, ran=HOUR)]
        filler = running("filler", cpu=2, user=0)
        decision = decide(*jobs, filler, pending(request=one_node(2), user=0), victim_order=LOST_WORK)
        assert stopped(decision) == ["2"]


class TestAmongNodes:
    def test_the_node_whose_dearest_victim_is_of_the_lowest_class_is_taken(self) -> None:
        jobs = [
            running("a1", "n1", 7, user=3, ran=10),
            running("a2", "n1", 1, user=2, ran=10),
            running("b1", "n2", 4, user=3, ran=9 * HOUR),
            running("b2", "n2", 4, user=3, ran=9 * HOUR),
        ]
        decision = decide(*jobs, pending(request=one_node(8), user=0), nodes=nodes(2))
        assert stopped(decision) == ["b1", "b2"]

    def test_then_the_one_with_the_least_harm_in_that_class(self) -> None:
        jobs = [running("long", "n1", 8, user=3, ran=2 * HOUR), running("short", "n2", 8, user=3, ran=HOUR)]
        assert stopped(decide(*jobs, pending(request=one_node(8), user=0), nodes=nodes(2))) == ["short"]

    def test_harm_is_added_up_over_the_victims_of_a_class(self) -> None:
        """Two jobs of 40 minutes lose more than one of an hour."""
        jobs = [
            running("one", "n1", 8, user=3, ran=HOUR),
            *(running(f"two{i}", "n2", 4, user=3, ran=2400) for i in range(2)),
        ]
        assert stopped(decide(*jobs, pending(request=one_node(8), user=0), nodes=nodes(2))) == ["one"]

    def test_a_class_below_is_compared_only_between_equals_above(self) -> None:
        same_above = [
            running("x1", "n1", 4, user=2, ran=HOUR),
            running("x2", "n1", 4, user=3, ran=9 * HOUR),
            running("y1", "n2", 4, user=2, ran=HOUR),
            running("y2", "n2", 4, user=3, ran=2 * HOUR),
        ]
        assert stopped(decide(*same_above, pending(request=one_node(8), user=0), nodes=nodes(2))) == [
            "y1",
            "y2",
        ]
        dearer_above = [
            running("x1", "n1", 4, user=2, ran=HOUR - 1),
            running("x2", "n1", 4, user=3, ran=9 * HOUR),
            *same_above[2:],
        ]
        decision = decide(*dearer_above, pending(request=one_node(8), user=0), nodes=nodes(2))
        assert stopped(decision) == ["x1", "x2"]

    def test_of_equal_harm_fewer_victims_are_better(self) -> None:
        jobs = [
            *(running(f"two{i}", "n1", 4, user=3, ran=0) for i in range(2)),
            running("one", "n2", 8, user=3, ran=0),
        ]
        assert stopped(decide(*jobs, pending(request=one_node(8), user=0), nodes=nodes(2))) == ["one"]

    def test_a_node_with_some_room_saves_victims(self) -> None:
        jobs = [
            running("full1", "n1", 4, user=3),
            running("full2", "n1", 4, user=3),
            running("half", "n2", 4, user=3),
        ]
        decision = decide(*jobs, pending(request=one_node(6), user=0), nodes=nodes(2))
        assert stopped(decision) == ["half"]

    @pytest.mark.parametrize("mode", [Mode.USER_THEN_TASK, Mode.TASK_THEN_USER])
    def test_a_node_that_needs_the_second_tier_comes_after_every_node_that_does_not(self, mode: Mode) -> None:
        user_first = mode is Mode.USER_THEN_TASK
        second = {"user": 1, "task": 3} if user_first else {"user": 3, "task": 1}
        first = {"user": 2, "task": 0} if user_first else {"user": 0, "task": 2}
        jobs = [
            running("second", "n1", 8, ran=1, **second),
            *(running(f"first{i}", "n2", 1, ran=99 * HOUR, **first) for i in range(8)),
        ]
        urgent = pending(request=one_node(8), user=1, task=1)
        decision = decide(*jobs, urgent, nodes=nodes(2), mode=mode)
        assert stopped(decision) == [f"first{i}" for i in range(8)]


@pytest.mark.parametrize("mode", [Mode.USER_THEN_TASK, Mode.TASK_THEN_USER])
class TestAmongNodesInTheSecondTier:
    """The same rules, on the second axis."""

    def levels(self, mode: Mode, second: int) -> dict[str, Any]:
        return {"user": 1, "task": second} if mode is Mode.USER_THEN_TASK else {"user": second, "task": 1}

    def test_the_lowest_class_wins_whatever_the_node(self, mode: Mode) -> None:
        for low in (1, 2, 3):
            jobs = [
                running(
                    f"v{i}",
                    f"n{i}",
                    8,
                    ran=9 * HOUR if i == low else 1,
                    **self.levels(mode, 3 if i == low else 2),
                )
                for i in (1, 2, 3)
            ]
            urgent = pending(request=one_node(8), user=1, task=1)
            assert stopped(decide(*jobs, urgent, nodes=nodes(3), mode=mode)) == [f"v{low}"]

    def test_then_the_least_harm(self, mode: Mode) -> None:
        for short in (1, 2, 3):
            jobs = [
                running(f"v{i}", f"n{i}", 8, ran=60 if i == short else HOUR, **self.levels(mode, 3))
                for i in (1, 2, 3)
            ]
            urgent = pending(request=one_node(8), user=1, task=1)
            assert stopped(decide(*jobs, urgent, nodes=nodes(3), mode=mode)) == [f"v{short}"]


class TestHowAVictimGivesWay:
    def test_it_is_requeued_unless_its_job_says_otherwise(self) -> None:
        jobs = [running("a", cpu=4, user=3), running("b", cpu=4, user=3, how=How.CANCEL)]
        decision = decide(*jobs, pending(request=one_node(8), user=0))
        assert {victim.job: victim.how for victim in decision.victims} == {"a": How.REQUEUE, "b": How.CANCEL}

    def test_victims_are_named_in_the_order_in_which_they_were_chosen(self) -> None:
        jobs = [
            running("p2", cpu=2, user=2),
            running("p3", cpu=2, user=3),
            running("none", cpu=2),
            running("p3young", cpu=2, user=3, ran=60),
        ]
        for request in (one_node(8), anywhere(8)):
            decision = decide(*jobs, pending(request=request, user=0))
            assert [victim.job for victim in decision.victims] == ["none", "p3young", "p3", "p2"]


class TestWhoMayNotBeStopped:
    def test_a_protected_job_is_left_alone(self) -> None:
        jobs = [
            running("safe", cpu=4, preemptable=False, protected="it is suspended"),
            running("v", cpu=4, user=2),
        ]
        assert stopped(decide(*jobs, pending(request=one_node(4), user=0))) == ["v"]
        assert stopped(decide(*jobs, pending(request=one_node(6), user=0))) == []

    def test_a_job_younger_than_the_exempt_time_is_left_alone(self) -> None:
        jobs = [running("young", cpu=4, user=3, ran=299), running("old", cpu=4, user=2, ran=300)]
        decision = decide(*jobs, pending(request=one_node(4), user=0), exempt_s=300)
        assert stopped(decision) == ["old"]
        assert stopped(decide(*jobs, pending(request=one_node(8), user=0), exempt_s=300)) == []
        assert stopped(decide(*jobs, pending(request=one_node(8), user=0), exempt_s=299)) == ["old", "young"]
