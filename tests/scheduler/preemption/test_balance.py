"""Nodes of equal compute power (spec 5, document 004)."""

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot, encode_snapshot
from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import Decision, DecisionKind, How
from scheduler.model.policy import AppliesTo, Balance, Mode, Otherwise
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.balance.designated import designated
from scheduler.preemption.explain import explain
from scheduler.preemption.planner import plan
from tests.builders import HOUR, NOW, anywhere, ending, node, on_nodes, one_node, pending, running
from tests.scheduler import oracle_balance
from tests.scheduler.planning import decide, decisions, stopped

VECTORS = Path(__file__).parents[2] / "vectors"
WAIT, NEAREST = Otherwise.WAIT, Otherwise.NEAREST
START, QUEUE, PREEMPT, SWAP = DecisionKind.START, DecisionKind.QUEUE, DecisionKind.PREEMPT, DecisionKind.SWAP
quick = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def check_vector(case: dict[str, Any]) -> None:
    """What a vector expects of some decisions."""
    made = encode_plan(plan(decode_snapshot(case["snapshot"])))
    by_job = {decision["job"]: {"victims": [], **decision} for decision in made["decisions"]}
    for job, expected in case["expect"].items():
        assert {key: by_job[job].get(key) for key in expected} == expected


CASES = json.loads((VECTORS / "compute-power.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_document_004(case: dict[str, Any]) -> None:
    check_vector(case)


def powered(*powers: float | None, cpu: int = 4, unit: str | None = None) -> list[SnapshotNode]:
    """n1, n2, … with these powers (None: not measured)."""
    return [
        node(f"n{i}", cpu, unit=unit, power={} if power is None else {"cpu": power})
        for i, power in enumerate(powers, start=1)
    ]


def even(count: int, cpu: int = 4, job_id: str = "J", user: int = 0, **fields: Any) -> SnapshotJob:
    return pending(job_id, on_nodes(count, cpu), user=user, balanced=True, **fields)


def balance(distance: float = 0.05, otherwise: Otherwise = WAIT, swap_below_s: int = 0) -> Balance:
    return Balance("cpu", distance, otherwise, swap_below_s)


class TestFreeRoom:
    def test_as_far_apart_as_may_be_is_even_in_decimal_numbers(self) -> None:
        """1.05 - 1.0 is a little more than 0.05 in binary."""
        decision = decide(even(2), nodes=powered(1.0, 1.05), balance=balance(0.05))
        assert decision.action is START
        assert decide(even(2), nodes=powered(1.0, 1.0501), balance=balance(0.05)).action is QUEUE

    def test_of_sets_equally_close_the_one_with_least_left_over_is_taken(self) -> None:
        places = [
            replace(n, total={"cpu": cpu}) for n, cpu in zip(powered(1, 1, 1, 1), (8, 4, 8, 4), strict=True)
        ]
        assert decide(even(2), nodes=places, balance=balance()).nodes == ("n2", "n4")

    def test_one_node_and_what_asks_for_another_resource_are_placed_as_ever(self) -> None:
        job = pending("J", one_node(4), balanced=True)
        assert decide(job, nodes=powered(None), balance=balance()).action is START
        other = pending("J", on_nodes(2, per_node={"mem": 5}), balanced=True)
        places = [node(f"n{i}", total={"cpu": 4, "mem": 9}, power={"cpu": i}) for i in (1, 2)]
        assert decide(other, nodes=places, balance=balance()).reason is Reason.ROOM_IS_FREE

    def test_in_a_designated_partition_every_job_of_several_nodes_gets_an_even_set(self) -> None:
        nobody_asks = replace(even(2), balanced=False)
        places = powered(1.0, 1.3, 1.01)
        assert decide(nobody_asks, nodes=places, balance=balance()).nodes == ("n1", "n3")
        only_asked = replace(balance(), applies_to=AppliesTo.ASKED)
        assert decide(nobody_asks, nodes=places, balance=only_asked).nodes == ("n1", "n2")
        assert decide(even(2), nodes=places, balance=only_asked).nodes == ("n1", "n3")

    def test_in_any_other_partition_who_asks_gets_the_nearest_set(self) -> None:
        places = powered(1.0, 1.3, 1.01)
        assert decide(even(2), nodes=places).nodes == ("n1", "n3")
        assert decide(replace(even(2), balanced=False), nodes=places).nodes == ("n1", "n2")
        far = decide(even(2), nodes=powered(1.0, 1.3, 1.6))
        assert (far.action, far.reason) == (START, Reason.NEAREST_SET)
        assert far.explain.endswith(
            "It is the nearest set: its nodes differ by 0.3 in compute power, 0.065 is allowed."
        )

    @pytest.mark.parametrize(("most", "takes"), [(0, False), (101, False), (100, True), (99, True)])
    def test_who_was_submitted_long_enough_ago_takes_the_nearest_set(self, most: int, takes: bool) -> None:
        rule = replace(balance(), most_wait_s=most)
        job = replace(even(2), submit=NOW - 100)
        decision = decide(job, nodes=powered(1.0, 1.3, 1.6), balance=rule)
        assert decision.reason is (Reason.NEAREST_SET if takes else Reason.NO_EVEN_SET)
        assert ("It has waited 1 min" in decision.explain) is takes

    def test_who_has_waited_takes_an_even_set_all_the_same(self) -> None:
        rule = replace(balance(), most_wait_s=100)
        decision = decide(replace(even(2), submit=NOW - 100), nodes=powered(1.0, 1.3, 1.01), balance=rule)
        assert (decision.nodes, decision.reason) == (("n1", "n3"), Reason.ROOM_IS_FREE)

    def test_where_nothing_is_measured_who_asks_is_placed_like_any_other(self) -> None:
        assert decide(even(2), nodes=powered(None, None)).reason is Reason.ROOM_IS_FREE

    def test_nodes_counted_together_come_from_the_narrowest_range_with_enough(self) -> None:
        places = powered(1.0, 1.2, 1.21, 1.4, cpu=4)
        job = pending("J", anywhere(7), balanced=True)
        decision = decide(job, nodes=places, balance=balance())
        assert decision.nodes == ("n2", "n3")
        assert (
            decide(replace(job, request=anywhere(9)), nodes=places, balance=balance()).reason
            is Reason.NO_EVEN_SET
        )
        # One node that has it all is even by itself.
        assert decide(replace(job, request=anywhere(4)), nodes=places, balance=balance()).nodes == ("n1",)

    def test_it_waits_for_an_even_set_that_is_coming_rather_than_take_an_uneven_one(self) -> None:
        jobs = [ending("e", "n1", 4), even(2)]
        decision = decide(*jobs, nodes=powered(1.0, 1.01, 1.3), balance=balance(otherwise=NEAREST))
        assert (decision.action, decision.nodes) == (DecisionKind.WAIT, ("n1", "n2"))


class TestDevices:
    """Processors of one node may differ: then all of them count, as Slurm chooses which of them a job gets."""

    def test_nodes_whose_processors_are_close_are_chosen_whatever_the_first_one_is(self) -> None:
        places = [
            node(f"n{i}", total={"gpu": 2}, power={"gpu": power})
            for i, power in enumerate([(1.0, 1.2), (1.0, 1.01), 1.02, (1.3, 1.3)], start=1)
        ]
        job = pending("J", on_nodes(2, per_node={"gpu": 2}), balanced=True)
        rule = Balance("gpu", 0.05)
        assert decide(job, nodes=places, balance=rule).nodes == ("n2", "n3")
        taken = running("r", {"n3": {"gpu": 2}}, user=0)
        waits = decide(taken, job, nodes=places, balance=rule)
        assert (waits.action, waits.reason) == (QUEUE, Reason.NO_EVEN_SET)
        assert "The most equal free nodes differ by 0.2" in waits.explain

    def test_several_processors_of_one_node_are_to_be_even_too(self) -> None:
        places = [
            node(f"n{i}", total={"gpu": 4}, power={"gpu": power})
            for i, power in enumerate([(1.0, 1.0, 0.8, 1.0), (1.0, 1.01, 1.0, 1.02)], start=1)
        ]
        rule = Balance("gpu", 0.05)
        assert decide(pending("J", one_node(per_node={"gpu": 2})), nodes=places, balance=rule).nodes == (
            "n2",
        )
        # One processor is even by itself.
        assert decide(pending("J", one_node(per_node={"gpu": 1})), nodes=places, balance=rule).nodes == (
            "n1",
        )

    def test_what_is_counted_together_comes_from_the_narrowest_range(self) -> None:
        places = [
            node(f"n{i}", total={"gpu": 2}, power={"gpu": power})
            for i, power in enumerate([(1.0, 1.2), (1.18, 1.2), (1.2, 1.21)], start=1)
        ]
        job = pending("J", anywhere(spread={"gpu": 3}), balanced=True)
        assert decide(job, nodes=places, balance=Balance("gpu", 0.05)).nodes == ("n2", "n3")


class TestNotMeasured:
    def test_measured_nodes_are_waited_for_when_there_are_enough_of_them(self) -> None:
        places = powered(1.0, 1.0, None, None)
        busy = running("r", "n1", 4, user=0)
        decision = decide(busy, even(2), nodes=places, balance=balance(otherwise=NEAREST))
        assert decision.action is QUEUE

    def test_where_they_never_suffice_the_partitions_word_decides(self) -> None:
        places = powered(1.0, None, None)
        waits = decide(even(2), nodes=places, balance=balance())
        assert (waits.action, waits.reason) == (QUEUE, Reason.NOT_MEASURED)
        assert "only 1 of the nodes that it may use are measured (cpu)" in waits.explain
        starts = decide(even(2), nodes=places, balance=balance(otherwise=NEAREST))
        assert starts.nodes == ("n1", "n2")
        assert starts.explain.endswith("Not measured: n2.")


class TestMakingRoom:
    PLACES = powered(1.0, 1.3, 1.02, 1.31)

    def test_victims_are_on_nodes_that_are_even(self) -> None:
        """n1 and n2 would be the cheapest."""
        jobs = [
            running(f"r{i}", f"n{i}", 4, user=3, ran=ran) for i, ran in ((1, 10), (2, 20), (3, 30), (4, 90))
        ]
        decision = decide(*jobs, even(2), nodes=self.PLACES, balance=balance())
        assert (decision.action, stopped(decision)) == (PREEMPT, ["r1", "r3"])
        assert "The nodes differ by 0.02 in compute power, 0.05 is allowed." in decision.explain

    def test_the_second_tier_is_used_when_the_first_has_no_even_set(self) -> None:
        jobs = [running(f"r{i}", f"n{i}", 4, user=3 if i < 3 else 0, task=3, ran=i) for i in (1, 2, 3, 4)]
        job = even(2, task=0)
        decision = decide(*jobs, job, nodes=self.PLACES, mode=Mode.USER_THEN_TASK, balance=balance())
        assert stopped(decision) == ["r1", "r3"]

    def test_nearest_stops_for_the_nearest_set_when_none_is_even(self) -> None:
        jobs = [running(f"r{i}", f"n{i}", 4, user=3, ran=i) for i in (1, 2, 3)]
        places = powered(1.0, 1.3, 1.2)
        assert decide(*jobs, even(2), nodes=places, balance=balance()).action is QUEUE
        decision = decide(*jobs, even(2), nodes=places, balance=balance(otherwise=NEAREST))
        assert stopped(decision) == ["r2", "r3"]
        assert "It is the nearest set: its nodes differ by 0.1" in decision.explain

    def test_what_is_counted_together_stops_others_in_one_range_of_power(self) -> None:
        jobs = [running(f"r{i}", f"n{i}", 4, user=3, ran=i) for i in (1, 2, 3, 4)]
        decision = decide(
            *jobs, pending("J", anywhere(8), user=0, balanced=True), nodes=self.PLACES, balance=balance()
        )
        assert stopped(decision) in (["r1", "r3"], ["r2", "r4"])


class TestExchange:
    """n1 and n3 are free and too far apart; R holds n2 and n4."""

    PLACES = powered(1.0, 1.01, 1.3, 1.31)

    def young(self, **fields: Any) -> SnapshotJob:
        both = {"n2": {"cpu": 4}, "n4": {"cpu": 4}}
        return running("R", both, **{"ran": 60, "user": 0, "balanced": True, **fields})

    def test_both_have_even_sets_afterwards(self) -> None:
        decision = decide(self.young(), even(2), nodes=self.PLACES, balance=balance(swap_below_s=300))
        assert (decision.action, decision.reason) == (SWAP, Reason.SWAPS_A_NODE)
        assert decision.nodes == ("n1", "n2")
        (victim,) = decision.victims
        assert (victim.job, victim.how, victim.nodes, victim.gets) == ("R", How.SWAP, ("n2",), ("n3",))
        assert "exchanges n2 for n3: then both have equal nodes" in decision.explain

    @pytest.mark.parametrize(
        "job",
        [
            {"ran": 300},
            {"balanced": False},
            {"preemptable": False},
            {"user": 0, "of": "higher"},
        ],
        ids=str,
    )
    def test_not_with_one_that_is_old_or_not_balanced_or_protected_or_ranks_above(
        self, job: dict[str, Any]
    ) -> None:
        waiting = even(2, user=1 if job.pop("of", None) else 0)
        rule = replace(balance(swap_below_s=300), applies_to=AppliesTo.ASKED)
        assert decide(self.young(**job), waiting, nodes=self.PLACES, balance=rule).action is QUEUE

    @pytest.mark.parametrize(
        "rules", [{"paused": "dave paused it"}, {"exempt_s": 300}, {"max_stops_per_hour": 2, "stopped": 2}]
    )
    def test_not_while_nobody_may_be_interrupted(self, rules: dict[str, Any]) -> None:
        decision = decide(
            self.young(), even(2), nodes=self.PLACES, balance=balance(swap_below_s=300), **rules
        )
        assert decision.action is QUEUE

    def test_not_when_the_free_node_cannot_take_what_the_other_holds(self) -> None:
        places = [replace(n, features=frozenset({"fast"})) if n.name == "n2" else n for n in self.PLACES]
        decision = decide(self.young(), even(2), nodes=places, balance=balance(swap_below_s=300))
        assert decision.nodes != ("n1", "n2")
        known = replace(self.young(), request=on_nodes(2, 4))
        assert decide(known, even(2), nodes=places, balance=balance(swap_below_s=300)).action is SWAP

    def test_not_when_the_running_jobs_set_would_become_uneven(self) -> None:
        """n5 would be even with n2 or n3; but n1 and n2 (or n3) are not with n4, which R would get."""
        places = powered(1.0, 1.04, 1.03, 0.96, 1.07)
        job = self.young()
        three = replace(job, alloc={f"n{i}": {"cpu": 4} for i in (1, 2, 3)})
        waiting = replace(even(2), request=on_nodes(2, 4, not_nodes=frozenset({"n1"})))
        assert decide(three, waiting, nodes=places, balance=balance(swap_below_s=300)).action is QUEUE
        nearer = [replace(n, power={"cpu": 0.99}) if n.name == "n4" else n for n in places]
        assert decide(three, waiting, nodes=nearer, balance=balance(swap_below_s=300)).action is SWAP

    def test_once_exchanged_it_is_left_alone_by_the_rest_of_the_plan(self) -> None:
        jobs = [self.young(user=3), even(2), pending("K", on_nodes(2, 4), user=1)]
        made = decisions(jobs, self.PLACES, balance=balance(swap_below_s=300))
        assert (made["J"].action, made["K"].action) == (SWAP, QUEUE)
        assert made["K"].passed_over[0].reason is Reason.EQUAL_OR_HIGHER or any(
            other.reason is Reason.EXCHANGED for other in made["K"].passed_over
        )

    def test_what_stands_in_the_plan_can_be_said(self) -> None:
        jobs = [self.young(), even(2)]
        places = self.PLACES
        told = Snapshot(
            NOW, PartitionRules("x", Mode.USER, balance=balance(swap_below_s=300)), tuple(places), tuple(jobs)
        )
        assert decode_snapshot(encode_snapshot(told)) == told
        (made,) = encode_plan(plan(told))["decisions"]
        assert made["victims"] == [{"job": "R", "how": "swap", "nodes": ["n2"], "gets": ["n3"]}]
        assert "It is to exchange n2 for n3 for J (" in explain(told, "R")


# --- Properties --------------------------------------------------------------------------------------------


@st.composite
def balanced_partitions(draw: st.DrawFn, *, most_pending: int = 3, spanning: bool = True) -> Snapshot:
    """Two to six nodes of some powers and units, jobs on one or two nodes, and balanced jobs that wait."""
    powers = st.sampled_from(
        [1.0, 1.01, 1.02, 1.05, 1.1, 1.2, (1.0, 1.01), (1.02, 1.0), (1.01, 1.05, 1.2), None]
    )
    places = [
        node(
            f"n{i}",
            draw(st.integers(2, 4)),
            power={} if (power := draw(powers)) is None else {"cpu": power},
            unit=draw(st.sampled_from(["a", "b", None])),
            up=draw(st.integers(0, 9)) > 0,
        )
        for i in range(1, draw(st.integers(2, 6)) + 1)
    ]
    free = {place.name: place.total["cpu"] for place in places}
    jobs: list[SnapshotJob] = []
    for i in range(draw(st.integers(0, 7))):
        size = 2 if spanning and draw(st.integers(0, 2)) == 0 else 1
        chosen = draw(st.lists(st.sampled_from(sorted(free)), min_size=1, max_size=size, unique=True))
        cpu = draw(st.integers(1, 4))
        if all(free[name] >= cpu for name in chosen):
            for name in chosen:
                free[name] -= cpu
            ran = draw(st.sampled_from([30, 60, HOUR, 2 * HOUR]))
            job = running(str(100 + i), {name: {"cpu": cpu} for name in chosen}, ran=ran)
            jobs.append(
                replace(job, user_level=draw(st.sampled_from([0, 1, 2])), balanced=draw(st.booleans()))
            )
    for i in range(draw(st.integers(1, most_pending))):
        request = on_nodes(draw(st.integers(2, 3)), draw(st.integers(1, 3)))
        jobs.append(
            even(2, job_id=str(200 + i), user=draw(st.sampled_from([0, 1])), waited=draw(st.integers(0, 99)))
        )
        jobs[-1] = replace(jobs[-1], request=request)
    rule = balance(
        draw(st.sampled_from([0.0, 0.01, 0.05, 0.1])),
        draw(st.sampled_from([WAIT, NEAREST])),
        draw(st.sampled_from([0, 100])),
    )
    return Snapshot(NOW, PartitionRules("x", Mode.USER, balance=rule), tuple(places), tuple(jobs))


def apart(made: Snapshot, names: Iterable[str]) -> Decimal:
    assert made.partition.balance
    by_name = {place.name: place for place in made.nodes}
    return oracle_balance.distance([by_name[name] for name in names], "cpu")


def after(made: Snapshot, decided: Iterable[Decision]) -> dict[str, dict[str, int]]:
    """What every job holds per node once the plan is carried out."""
    held = {job.id: {name: n["cpu"] for name, n in job.alloc.items()} for job in made.jobs}
    for decision in decided:
        for victim in decision.victims:
            if victim.how is not How.SWAP:
                held[victim.job] = {}
                continue
            for up, instead in zip(victim.nodes, victim.gets, strict=True):
                held[victim.job][instead] = held[victim.job].pop(up)
        held[decision.job] = {name: n["cpu"] for name, n in decision.placement.items()}
    return held


@quick
@given(balanced_partitions())
def test_sets_are_even_and_nothing_is_given_twice(made: Snapshot) -> None:
    limit = oracle_balance.most(made.partition)
    decided = plan(made).decisions
    running_ones = {job.id: job for job in designated(made).jobs if job.state is JobState.RUNNING}
    held = after(made, decided)
    for place in made.nodes:
        assert sum(each.get(place.name, 0) for each in held.values()) <= place.total["cpu"]
    for decision in decided:
        event(decision.action.value)
        if decision.nodes and made.partition.balance and made.partition.balance.otherwise is WAIT:
            assert apart(made, decision.nodes) <= limit
        if decision.action is SWAP:
            (victim,) = decision.victims
            job, waiting = (
                running_ones[victim.job],
                next(each for each in made.jobs if each.id == decision.job),
            )
            meant = made.partition.balance.applies_to is AppliesTo.ALL if made.partition.balance else False
            assert (job.balanced or meant) and NOW - (job.start or 0) < 100
            assert (job.user_level or 0) >= (waiting.user_level or 0)
            assert apart(made, decision.nodes) <= limit and apart(made, held[victim.job]) <= limit


@quick
@given(balanced_partitions(most_pending=1, spanning=False))
def test_the_best_set_is_found_and_whoever_must_go_is_as_low_as_can_be(made: Snapshot) -> None:
    job = next(each for each in made.jobs if each.state is JobState.PENDING)
    (decision,) = plan(made).decisions
    best = oracle_balance.best_free_set(made, job)
    cost = oracle_balance.cheapest_even_cost(made, job)
    event(f"{decision.action.value} {decision.reason.value}")
    if best and best.distance <= oracle_balance.most(made.partition):
        assert decision.action is START
        order = sorted(place.name for place in made.nodes)
        assert decision.nodes == tuple(order[i] for i in best.places)
    elif decision.action is PREEMPT and cost is not None:
        victims = [each for each in made.jobs if each.id in stopped(decision)]
        assert oracle_balance.cost_of(made, job, victims)[0][0] == cost[0][0]
    elif decision.action is QUEUE:
        assert cost is None


@quick
@given(balanced_partitions(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(made: Snapshot, chance: random.Random) -> None:
    jobs, places = list(made.jobs), list(made.nodes)
    chance.shuffle(jobs)
    chance.shuffle(places)
    assert plan(replace(made, jobs=tuple(jobs), nodes=tuple(places))) == plan(made)


def test_requests_in_units_are_placed_like_any_others() -> None:
    request = Request(unit={"cpu": 2}, count=3)
    job = pending("J", request, balanced=True)
    assert decide(job, nodes=powered(1, 9), balance=balance()).reason is Reason.ROOM_IS_FREE
