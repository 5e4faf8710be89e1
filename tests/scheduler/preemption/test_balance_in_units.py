"""Even sets inside one compute unit: a node, or nodes that talk fast to one another (document 004)."""

from typing import Any

import pytest

from scheduler.model.jobs import SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Balance, VictimOrder
from tests.builders import anywhere, node, on_nodes, pending, running
from tests.scheduler.planning import decide, stopped

RULE = Balance("cpu", 0.05)


def places(*units: str | None, cpu: int = 4, powers: tuple[float, ...] = ()) -> list[SnapshotNode]:
    """n1, n2 and so on, of one power unless told."""
    figures = powers or (1.0,) * len(units)
    return [
        node(f"n{i}", cpu, unit=unit, power={"cpu": power})
        for i, (unit, power) in enumerate(zip(units, figures, strict=True), start=1)
    ]


def even(count: int, **fields: Any) -> SnapshotJob:
    return pending("J", on_nodes(count, 4), user=0, balanced=True, **fields)


def full(*ran: int, user: int = 3) -> list[SnapshotJob]:
    """A job on each node that fills it, and how long it has run."""
    return [running(f"r{i}", f"n{i}", 4, user=user, ran=each) for i, each in enumerate(ran, start=1)]


class TestMakingRoom:
    WIRED = places("s1", "s2", "s1", "s2")

    def test_it_is_made_inside_one_unit_where_that_costs_hardly_more(self) -> None:
        """n1 and n2 would be a little cheaper."""
        decision = decide(*full(10, 20, 30, 40), even(2), nodes=self.WIRED, balance=RULE)
        assert stopped(decision) == ["r1", "r3"]
        assert str(decision.explain).endswith("0.05 is allowed, all in s1.")

    def test_not_where_more_work_would_be_lost(self) -> None:
        jobs = full(10, 20, 20 + 601, 20 + 601)
        assert stopped(decide(*jobs, even(2), nodes=self.WIRED, balance=RULE)) == ["r1", "r2"]
        jobs = full(10, 20, 20 + 600, 20 + 600)
        assert stopped(decide(*jobs, even(2), nodes=self.WIRED, balance=RULE)) == ["r1", "r3"]

    def test_lost_work_is_measured_by_what_the_job_asks_for(self) -> None:
        jobs = full(10, 20, 20 + 601, 20 + 601)
        half = [running("h", "n3", 1, user=3, ran=4 * 600), *jobs[:2], jobs[3]]
        order = VictimOrder.LEAST_LOST_WORK
        found = decide(*half, even(2), nodes=self.WIRED, balance=RULE, victim_order=order)
        assert stopped(found) == ["h", "r1"]
        assert stopped(decide(*half, even(2), nodes=self.WIRED, balance=RULE)) == ["r1", "r2"]

    def test_not_where_a_higher_class_would_be_stopped(self) -> None:
        jobs = [*full(10, 20), *(running(f"h{i}", f"n{i}", 4, user=2, ran=1) for i in (3, 4))]
        assert stopped(decide(*jobs, even(2), nodes=self.WIRED, balance=RULE)) == ["r1", "r2"]

    def test_not_where_more_jobs_would_be_stopped(self) -> None:
        several = [running(f"h{node}{i}", f"n{node}", 2, user=3, ran=12) for node in (3, 4) for i in (1, 2)]
        assert stopped(decide(*full(10, 20), *several, even(2), nodes=self.WIRED, balance=RULE)) == [
            "r1", "r2",
        ]  # fmt: skip

    def test_a_unit_whose_nodes_are_uneven_is_none(self) -> None:
        uneven = places("s1", "s2", "s1", "s2", powers=(1.0, 1.0, 1.5, 1.5))
        assert stopped(decide(*full(10, 20, 30, 40), even(2), nodes=uneven, balance=RULE)) == ["r1", "r2"]

    def test_a_unit_that_is_too_small_is_none(self) -> None:
        jobs = full(10, 20, 30, 40)
        assert stopped(decide(*jobs, even(3), nodes=self.WIRED, balance=RULE)) == ["r1", "r2", "r3"]

    def test_a_limit_that_holds_there_is_evaded_elsewhere(self) -> None:
        """Both of s1 are of one user, of whom one may be stopped in an hour."""
        jobs = [*full(10, 20, 30, 40)]
        mine = [running(f"m{i}", f"n{i}", 4, user=3, ran=ran, of="max") for i, ran in ((1, 10), (3, 30))]
        found = decide(
            *mine, jobs[1], jobs[3], even(2), nodes=self.WIRED, balance=RULE, max_stops_per_user_hour=1
        )
        assert len(stopped(found)) == 2 and stopped(found) != ["m1", "m3"]

    def test_a_free_node_of_the_unit_is_taken_with_another_that_is_not(self) -> None:
        decision = decide(*full(10, 20, 30), even(2), nodes=self.WIRED, balance=RULE)
        assert (decision.nodes, stopped(decision)) == (("n2", "n4"), ["r2"])

    def test_without_units_it_is_as_cheap_as_can_be(self) -> None:
        jobs = full(10, 20, 30, 40)
        found = decide(*jobs, even(2), nodes=places(None, None, None, None), balance=RULE)
        assert stopped(found) == ["r1", "r2"]


class TestCountedOverNodes:
    @pytest.mark.parametrize("unit", ["s1", None])
    def test_one_node_that_has_it_all_comes_first(self, unit: str | None) -> None:
        """n1 has a part of it, and comes before n2."""
        job = pending("J", anywhere(4), user=0, balanced=True)
        taken = running("r", "n1", 3, user=0)
        decision = decide(taken, job, nodes=places(unit, unit, unit), balance=RULE)
        assert (decision.action, decision.nodes) == (DecisionKind.START, ("n2",))

    def test_of_several_the_one_with_the_least_left_over(self) -> None:
        job = pending("J", anywhere(3), user=0, balanced=True)
        taken = running("r", "n2", 1, user=0)
        assert decide(taken, job, nodes=places("s1", "s1", None), balance=RULE).nodes == ("n2",)

    def test_then_one_unit_then_any(self) -> None:
        wired = places("s1", "s2", "s1", "s2", powers=(1.0, 1.0, 1.02, 1.01))
        job = pending("J", anywhere(8), user=0, balanced=True)
        assert decide(job, nodes=wired, balance=RULE).nodes == ("n2", "n4")
        busy = [running("a", "n3", 4, user=0), running("b", "n4", 4, user=0)]
        assert decide(*busy, job, nodes=wired, balance=RULE).nodes == ("n1", "n2")

    def test_a_node_whose_own_processors_differ_too_much_is_no_unit(self) -> None:
        unlike = node("n1", total={"gpu": 4}, power={"gpu": (1.0, 1.0, 1.0, 1.5)})
        alike = [node(f"n{i}", total={"gpu": 2}, power={"gpu": 1.0}) for i in (2, 3)]
        job = pending("J", anywhere(spread={"gpu": 4}), user=0, balanced=True)
        assert decide(job, nodes=[unlike, *alike], balance=Balance("gpu", 0.05)).nodes == ("n2", "n3")
