"""What must hold of every plan, whatever the partition, checked by a second and simpler idea of it (`naive`)."""

import json
import random
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from scheduler.contracts.plan import encode_plan
from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Mode
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from tests.builders import anywhere, node, on_nodes, pending, running, snapshot
from tests.scheduler import naive
from tests.scheduler.strategies import crowded, partitions, with_quotas

Cost = list[tuple[tuple[int, int], int, int]]
thorough = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TWO_NODE_JOB = snapshot(
    [
        running("1", {"n1": {"cpu": 4}, "n2": {"cpu": 4}}, user=2),
        running("2", "n1", 4, user=2, ran=60),
        running("3", "n2", 4, user=2, ran=60),
        pending("J", on_nodes(2, 4), user=0),
    ],
    [node("n1"), node("n2")],
)
"""Stopping the job that holds both nodes is one victim; stopping the younger ones is two."""


def job_of(snapshot: Snapshot, job_id: str) -> SnapshotJob:
    return next(job for job in snapshot.jobs if job.id == job_id)


@thorough
@given(partitions)
@example(TWO_NODE_JOB)
def test_only_lower_unprotected_and_unexempt_jobs_are_stopped_and_none_twice(snapshot: Snapshot) -> None:
    seen: set[str] = set()
    for decision in plan(snapshot).decisions:
        allowed = {other.id for other in naive.stoppable(snapshot, job_of(snapshot, decision.job))}
        victims = {victim.job for victim in decision.victims}
        assert victims <= allowed
        assert not victims & seen
        assert len(victims) == len(decision.victims)
        seen |= victims


@thorough
@given(with_quotas)
@example(TWO_NODE_JOB)
def test_whoever_starts_or_makes_room_has_enough_of_it(snapshot: Snapshot) -> None:
    world = naive.World(snapshot)
    for decision in plan(snapshot).decisions:
        job = job_of(snapshot, decision.job)
        if decision.action is not DecisionKind.QUEUE:
            request = job.request
            assert request is not None
            assert world.fits(request, [victim.job for victim in decision.victims])
            assert_placed_as_asked(snapshot, request, decision.placement)
            assert tuple(decision.placement) == decision.nodes
            if decision.action is DecisionKind.START:
                assert_free_now(world, request, decision.placement)
        world.apply(decision)
        for place in snapshot.nodes:
            if place.name in decision.placement:
                assert_not_given_twice(world, place.name, decision.placement[place.name])


def assert_placed_as_asked(
    snapshot: Snapshot, request: Request, placement: Mapping[str, naive.Amounts]
) -> None:
    """The placement is on nodes that suit, and is what was asked for."""
    nodes = {place.name: place for place in snapshot.nodes}
    assert all(nodes[name].up and naive.suits(request, nodes[name]) for name in placement)
    if request.nodes:
        assert len(placement) == request.nodes
        assert all(naive.holds(part, request.per_node) for part in placement.values())
    else:
        for resource, amount in request.spread.items():
            assert sum(part.get(resource, 0) for part in placement.values()) >= amount


def assert_free_now(world: naive.World, request: Request, placement: Mapping[str, naive.Amounts]) -> None:
    """Who starts waits for nobody."""
    for place in world.snapshot.nodes:
        taken = placement.get(place.name)
        if taken is not None:
            free = world.free_now(place)
            wanted = request.per_node or request.spread
            assert all(free.get(resource, 0) >= taken.get(resource, 0) for resource in wanted)
            ending = [job for job in world.snapshot.jobs if job.state is JobState.COMPLETING]
            assert not request.exclusive or not any(place.name in job.alloc for job in ending)


def assert_not_given_twice(world: naive.World, name: str, taken: naive.Amounts) -> None:
    """A node from which something was taken has not less than nothing left of it."""
    place = next(place for place in world.snapshot.nodes if place.name == name)
    have = world.available(place)
    assert all(have.get(resource, 0) >= 0 for resource in taken)


@thorough
@given(with_quotas)
@example(TWO_NODE_JOB)
def test_no_victim_could_be_left_alone(snapshot: Snapshot) -> None:
    world = naive.World(snapshot)
    for decision in plan(snapshot).decisions:
        victims = {victim.job for victim in decision.victims}
        request = job_of(snapshot, decision.job).request
        assert request is not None
        for victim in victims:
            assert not world.fits(request, victims - {victim}), f"{victim} was not needed for {decision.job}"
        world.apply(decision)


@thorough
@given(partitions)
@example(TWO_NODE_JOB)
def test_the_highest_class_of_victim_is_the_lowest_that_suffices(snapshot: Snapshot) -> None:
    world = naive.World(snapshot)
    for decision in plan(snapshot).decisions:
        job = job_of(snapshot, decision.job)
        if not job.blocked:
            wanted = naive.lowest_sufficient_class(world, job)
            victims = [job_of(snapshot, victim.job) for victim in decision.victims]
            used = max((naive.class_of(snapshot.partition, job, other) for other in victims), default=(0, 0))
            if decision.action is DecisionKind.QUEUE:
                assert wanted is None, "it could have been given room"
            else:
                assert used == wanted
        world.apply(decision)


@thorough
@given(crowded())
def test_in_a_simple_partition_victims_are_the_first_to_go_in_the_documents_order(snapshot: Snapshot) -> None:
    """One resource, no job on two nodes, one pending job for one node or anywhere: the exact answer by trial."""
    (decision,) = plan(snapshot).decisions
    job = job_of(snapshot, decision.job)
    request = job.request
    assume(request is not None and request.nodes <= 1 and decision.action is DecisionKind.PREEMPT)
    assert request is not None
    world = naive.World(snapshot)
    order = sorted(
        naive.stoppable(snapshot, job),
        key=lambda other: (
            *naive.class_of(snapshot.partition, job, other),
            harm(snapshot, other),
            int(other.id),
        ),
    )
    place = {other.id: i for i, other in enumerate(order)}
    best: dict[str, list[list[int]]] = {}
    for chosen in naive.sets_that_help(world, job):
        nodes = {name for other in chosen for name in other.alloc}
        if not request.nodes or len(nodes) == 1:
            key = next(iter(nodes)) if request.nodes else ""
            best.setdefault(key, []).append(sorted((place[other.id] for other in chosen), reverse=True))
    victims = sorted((place[victim.job] for victim in decision.victims), reverse=True)
    key = decision.nodes[0] if request.nodes else ""
    assert victims == min(best[key]), "on its node it takes the first to go"
    costs = {node: cost(snapshot, job, [order[i] for i in min(sets)]) for node, sets in best.items()}
    assert costs[key] == min(costs.values()), "and it takes the node that costs least"


def harm(snapshot: Snapshot, other: SnapshotJob) -> tuple[int, int]:
    """Inside a class: seconds run, or seconds run times CPUs held, then seconds run."""
    ran = naive.ran(snapshot, other)
    held = sum(part["cpu"] for part in other.alloc.values())
    return (ran * held if snapshot.partition.victim_order == "least_lost_work" else ran), ran


def cost(snapshot: Snapshot, job: SnapshotJob, victims: list[SnapshotJob]) -> Cost:
    """From the highest class down: the class, the cost in it, the number of victims."""
    classes = {naive.class_of(snapshot.partition, job, other) for other in victims}
    result: Cost = []
    for own_class in sorted(classes, reverse=True):
        harms = [
            harm(snapshot, o)[0] for o in victims if naive.class_of(snapshot.partition, job, o) == own_class
        ]
        result.append((own_class, sum(harms), len(harms)))
    return result


@thorough
@given(with_quotas, st.randoms(use_true_random=False))
@example(TWO_NODE_JOB, random.Random(1))
def test_the_order_of_rows_does_not_matter(snapshot: Snapshot, chance: random.Random) -> None:
    nodes, jobs = list(snapshot.nodes), list(snapshot.jobs)
    chance.shuffle(nodes)
    chance.shuffle(jobs)
    shuffled = replace(snapshot, nodes=tuple(nodes), jobs=tuple(jobs))
    first, second = (json.dumps(encode_plan(plan(each))) for each in (snapshot, shuffled))
    assert first == second


@thorough
@given(partitions)
@example(TWO_NODE_JOB)
def test_a_plan_that_was_carried_out_leaves_nobody_to_stop(snapshot: Snapshot) -> None:
    two_axes = snapshot.partition.mode in {Mode.USER_THEN_TASK, Mode.TASK_THEN_USER}
    # With bands on two axes a job may reach what a higher one does not; see docs/reasons.md.
    assume(not (two_axes and snapshot.partition.bands))
    after = naive.applied(snapshot, plan(snapshot))
    again = plan(after)
    assert [d.job for d in again.decisions if d.action is DecisionKind.PREEMPT] == []


@thorough
@given(with_quotas)
def test_every_pending_job_gets_one_decision_in_the_partitions_order(snapshot: Snapshot) -> None:
    decisions = plan(snapshot).decisions
    waiting = [job.id for job in snapshot.jobs if job.state is JobState.PENDING]
    assert sorted(decision.job for decision in decisions) == sorted(waiting)
    assert all(decision.explain for decision in decisions)


def test_the_checker_itself_sees_a_victim_too_many() -> None:
    """The naive checker is only worth something if it can say no."""
    world = naive.World(
        snapshot(
            [running("1", cpu=4, user=2), running("2", cpu=4, user=2), pending("J", anywhere(4), user=0)]
        )
    )
    assert world.fits(anywhere(4), {"1"})
    assert world.fits(anywhere(4), {"1", "2"})
    assert not world.fits(anywhere(4), set())
