"""Nodes that are chosen by their features: any of some, all with the same, so many of each."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.model.jobs import Elastic, JobState, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Dispatch
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from tests.builders import ending, node, on_nodes, one_node, pending, running, snapshot
from tests.scheduler.naive import World
from tests.scheduler.planning import decide, stopped
from tests.scheduler.strategies import running_jobs

START, QUEUE, WAIT, PREEMPT = DecisionKind.START, DecisionKind.QUEUE, DecisionKind.WAIT, DecisionKind.PREEMPT
A, V, X = frozenset("a"), frozenset("v"), frozenset("x")


def cluster(*features: str, cpu: int = 8) -> list[SnapshotNode]:
    """n1, n2, … with these features, one letter each."""
    return [node(f"n{i}", cpu, features=frozenset(has)) for i, has in enumerate(features, start=1)]


def urgent(count: int, cpu: int = 8, **fields: Any) -> SnapshotJob:
    return pending("J", on_nodes(count, cpu, **fields), user=0)


def filled(*nodes: int, user: int = 3, first: int = 0) -> list[SnapshotJob]:
    """Whole nodes full of lower jobs; the one on n1 has run longest."""
    return [running(f"v{i}", f"n{i}", 8, user=user, ran=3600 - 60 * i + first) for i in nodes]


class TestAnyOfThem:
    def test_an_urgent_job_that_would_take_either_gets_room(self) -> None:
        jobs = [running("1", "n1", 8, user=0), *filled(2, 3)]
        decision = decide(*jobs, urgent(1, any_of=(A, V)), nodes=cluster("a", "", "v"))
        assert (decision.action, decision.nodes, stopped(decision)) == (PREEMPT, ("n3",), ["v3"])
        assert "needs 8 cpu on one node with a|v" in decision.explain

    def test_several_nodes_may_differ(self) -> None:
        decision = decide(urgent(2, any_of=(A, V | X)), nodes=cluster("a", "v", "vx"))
        assert (decision.action, decision.nodes) == (START, ("n1", "n3"))

    def test_where_no_node_has_any_of_them_it_can_never_start(self) -> None:
        decision = decide(*filled(1), urgent(1, any_of=(V, X)), nodes=cluster("a", "a"))
        assert (decision.action, decision.reason) == (QUEUE, Reason.DOES_NOT_FIT_EVER)
        assert decision.explain.endswith("x has no such node: it can never start here.")


class TestAllWithTheSame:
    NODES = cluster("a", "a", "v", "v")

    def test_a_node_of_each_is_no_room(self) -> None:
        decision = decide(*filled(1, 3), urgent(2, same_of=(A, V)), nodes=self.NODES)
        assert decision.action is PREEMPT
        assert "on each of 2 nodes with [a|v]" in decision.explain
        assert decision.nodes in {("n1", "n2"), ("n3", "n4")}

    def test_free_room_with_the_last_is_better_than_stopping_for_the_first(self) -> None:
        decision = decide(*filled(1, 2), urgent(2, same_of=(A, V)), nodes=self.NODES)
        assert (decision.action, decision.nodes) == (START, ("n3", "n4"))
        coming = decide(*filled(1, 2), ending("e", "n3", 8), urgent(2, same_of=(A, V)), nodes=self.NODES)
        assert (coming.action, coming.nodes) == (WAIT, ("n3", "n4"))

    def test_those_are_stopped_who_lose_least(self) -> None:
        decision = decide(*filled(1, 2, 3, 4), urgent(2, same_of=(A, V)), nodes=self.NODES)
        assert (decision.nodes, stopped(decision)) == (("n3", "n4"), ["v3", "v4"])
        jobs = [*filled(1, 2), *filled(3, 4, user=2)]
        decision = decide(*jobs, urgent(2, same_of=(V, A)), nodes=self.NODES)
        assert (decision.nodes, stopped(decision)) == (("n1", "n2"), ["v1", "v2"])

    def test_where_a_limit_forbids_the_one_the_other_is_taken(self) -> None:
        jobs = [*filled(1, 2), running("w", {"n3": {"cpu": 8}, "n4": {"cpu": 8}}, user=2)]
        job = urgent(2, same_of=(A, V))
        assert stopped(decide(*jobs, job, nodes=self.NODES)) == ["v1", "v2"]
        assert stopped(decide(*jobs, job, nodes=self.NODES, max_stops_per_hour=1)) == ["w"]
        none = decide(*jobs, job, nodes=self.NODES, max_stops_per_hour=0)
        assert (none.action, none.reason) == (QUEUE, Reason.HOURLY_LIMIT)

    def test_only_those_count_of_which_there_are_enough(self) -> None:
        decision = decide(*filled(1, 2, 3), urgent(2, same_of=(V, A)), nodes=self.NODES[:3])
        assert decision.nodes == ("n1", "n2")
        never = decide(urgent(3, same_of=(V, A)), nodes=self.NODES)
        assert (never.action, never.reason) == (QUEUE, Reason.DOES_NOT_FIT_EVER)

    def test_amounts_anywhere_are_all_on_nodes_with_the_same(self) -> None:
        request = Request(spread={"cpu": 10}, same_of=(A, V))
        decision = decide(*filled(1), pending("J", request, user=0), nodes=self.NODES)
        assert (decision.action, decision.nodes) == (START, ("n3", "n4"))

    def test_in_managed_dispatch_too(self) -> None:
        job = urgent(2, same_of=(A, V))
        decision = decide(*filled(1), job, nodes=self.NODES, dispatch=Dispatch.MANAGED)
        assert (decision.action, decision.nodes) == (START, ("n3", "n4"))


class TestSoManyOfEach:
    WANT = ((2, A), (1, V))

    def test_free_nodes_of_each(self) -> None:
        decision = decide(*filled(2), urgent(3, counted=self.WANT), nodes=cluster("a", "a", "v", "a", "v"))
        assert (decision.action, decision.nodes) == (START, ("n1", "n3", "n4"))
        assert "on each of 3 nodes with [a*2&v*1]" in decision.explain

    def test_room_is_made_where_it_lacks(self) -> None:
        decision = decide(*filled(2, 3), urgent(3, counted=self.WANT), nodes=cluster("a", "a", "v", "x"))
        assert (decision.action, decision.nodes) == (PREEMPT, ("n1", "n2", "n3"))
        assert stopped(decision) == ["v2", "v3"]

    def test_room_that_is_coming_is_waited_for(self) -> None:
        decision = decide(ending("e", "n3", 8), urgent(3, counted=self.WANT), nodes=cluster("a", "a", "v"))
        assert (decision.action, decision.nodes) == (WAIT, ("n1", "n2", "n3"))

    def test_one_that_leaves_nodes_of_both_is_enough(self) -> None:
        wide = running("w", {f"n{i}": {"cpu": 8} for i in (1, 2, 3)}, user=3)
        decision = decide(wide, urgent(3, counted=self.WANT), nodes=cluster("a", "a", "v"))
        assert stopped(decision) == ["w"]

    def test_nobody_is_stopped_where_one_group_gets_no_room(self) -> None:
        jobs = [*filled(1, 2), *filled(3, user=0)]
        decision = decide(*jobs, urgent(3, counted=self.WANT), nodes=cluster("a", "a", "v"))
        assert (decision.action, decision.victims) == (QUEUE, ())

    def test_a_node_that_would_do_for_both_counts_once(self) -> None:
        both = cluster("av", "av", "a")
        assert decide(urgent(3, counted=self.WANT), nodes=both).action is START
        assert decide(urgent(3, counted=((1, A), (2, V))), nodes=cluster("av", "a", "a")).action is QUEUE

    def test_the_limits_count_the_victims_of_all_groups(self) -> None:
        jobs, nodes = filled(1, 2, 3), cluster("a", "a", "v")
        held = decide(*jobs, urgent(3, counted=self.WANT), nodes=nodes, max_stops_per_hour=2)
        assert (held.action, held.reason) == (QUEUE, Reason.HOURLY_LIMIT)
        assert "has had 0 of 2 stops in this hour, and 3 more are too many" in held.explain
        enough = decide(*jobs, urgent(3, counted=self.WANT), nodes=nodes, max_stops_per_hour=3)
        assert enough.action is PREEMPT
        own = [running(f"v{i}", f"n{i}", 8, user=3, of="ann") for i in (1, 2, 3)]
        user = decide(*own, urgent(3, counted=self.WANT), nodes=nodes, max_stops_per_user_hour=2)
        assert (user.action, user.reason) == (QUEUE, Reason.HOURLY_LIMIT)


def allowed(request: Request, chosen: list[SnapshotNode]) -> bool:
    """Whether nodes are what a request says of their features, tried out."""
    if not all(request.features <= each.features for each in chosen):
        return False
    if request.any_of and not all(any(one <= each.features for one in request.any_of) for each in chosen):
        return False
    if request.same_of and not any(all(one <= each.features for each in chosen) for one in request.same_of):
        return False
    return not request.counted or _dealt(list(request.counted), chosen)


def _dealt(counted: list[tuple[int, frozenset[str]]], chosen: list[SnapshotNode]) -> bool:
    if not counted:
        return not chosen
    (count, features), *rest = counted
    able = [each for each in chosen if features <= each.features]
    return any(
        _dealt(rest, [each for each in chosen if each not in some]) for some in combinations(able, count)
    )


@st.composite
def constrained(draw: st.DrawFn) -> Snapshot:
    places = cluster(
        *draw(st.lists(st.sampled_from(("a", "v", "av", "x", "ax")), min_size=3, max_size=6)), cpu=4
    )
    kind = draw(st.sampled_from(("any_of", "same_of", "counted")))
    cpu, count = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    if kind == "counted":
        counts = draw(
            st.lists(st.tuples(st.integers(1, 2), st.sampled_from((A, V, X))), min_size=1, max_size=2)
        )
        request = on_nodes(sum(number for number, _ in counts), cpu, counted=tuple(counts))
    else:
        request = on_nodes(count, cpu, **{kind: draw(st.sampled_from(((A, V), (V, X), (A | X, V))))})
    jobs = draw(running_jobs(places, simple=True))
    return snapshot([*jobs, pending("J", request, user=0)], places)


def _possible(made: Snapshot, request: Request, *, stop_all: bool) -> bool:
    """Whether any choice of nodes would do, with nobody or everybody lower stopped."""
    world = World(made)
    gone = [
        job.id
        for job in made.jobs
        if stop_all and job.state is JobState.RUNNING and job.preemptable and job.user_level != 0
    ]
    fits = [
        each
        for each in made.nodes
        if all(world.available(each, gone).get(name, 0) >= n for name, n in request.per_node.items())
    ]
    return any(allowed(request, list(chosen)) for chosen in combinations(fits, request.nodes))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(constrained())
def test_whoever_gets_nodes_gets_those_that_slurm_would_take_too(made: Snapshot) -> None:
    (decision,) = plan(made).decisions
    request = next(job.request for job in made.jobs if job.id == "J")
    assert request
    if decision.action is QUEUE:
        _check_queued(made, request, decision)
        return
    by_name = {each.name: each for each in made.nodes}
    assert len(decision.nodes) == request.nodes
    assert allowed(request, [by_name[name] for name in decision.nodes])
    world = World(made)
    for name in decision.nodes:
        room = world.available(by_name[name], stopped(decision))
        assert all(room.get(resource, 0) >= n for resource, n in request.per_node.items())
    assert len(stopped(decision)) == len({*stopped(decision)})
    if _possible(made, request, stop_all=False) and not request.counted:
        assert not decision.victims


def _check_queued(made: Snapshot, request: Request, decision: Decision) -> None:
    """Counted nodes are dealt out to their groups at once, which may miss a room; nothing else may."""
    if not request.counted:
        assert not _possible(made, request, stop_all=True)
    if decision.reason is Reason.DOES_NOT_FIT_EVER:
        assert not _possible(Snapshot(made.now, made.partition, made.nodes, ()), request, stop_all=False)


@pytest.mark.parametrize(
    "request_of_running",
    [on_nodes(1, 8, same_of=(A, V)), on_nodes(1, 8, counted=((1, A),)), one_node(8, any_of=(A,))],
)
def test_an_elastic_job_grows_only_where_its_features_say_enough(request_of_running: Request) -> None:
    grower = running(
        "e", "n1", 8, user=0, elastic=Elastic(min_nodes=1, wish_nodes=2), request=request_of_running
    )
    made = plan(snapshot([grower], cluster("a", "v", "a")))
    grown = [decision.nodes for decision in made.decisions]
    assert grown == ([("n3",)] if request_of_running.any_of else [])
