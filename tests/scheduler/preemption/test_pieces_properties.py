"""What must hold of every plan in which jobs lose pieces, whatever the partition (checked by `pieces.World`)."""

import json
import random
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot, encode_snapshot
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.plan import STOPPED, Decision, DecisionKind, How
from scheduler.model.policy import Partial
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from tests.scheduler import naive
from tests.scheduler.pieces import World, in_pieces, whole

thorough = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@thorough
@given(in_pieces())
def test_a_plan_in_pieces_is_sound(snapshot: Snapshot) -> None:
    """Capacity, minimums, rank and bands, whole units, nothing taken that could be given back."""
    world = World.of(snapshot)
    for decision in plan(snapshot).decisions:
        job = world.job(decision.job)
        assert_only_lower_jobs_lose(snapshot, job, decision)
        before, units_before = world.copy(), units_of(world)
        world.apply(decision)
        assert_nobody_holds_what_is_not_there(world)
        assert_the_rest_is_as_a_job_may_be_left(world, decision)
        if decision.action is not DecisionKind.GROW:
            assert_conserved(world, decision, units_before)
            assert_gets_what_it_asked(job, decision)
            assert_nothing_is_taken_that_could_stay(before, job, decision)


def assert_only_lower_jobs_lose(snapshot: Snapshot, job: SnapshotJob, decision: Decision) -> None:
    allowed = {other.id for other in naive.stoppable(snapshot, job)}
    victims = [victim.job for victim in decision.victims]
    assert set(victims) <= allowed
    assert len(victims) == len(set(victims))
    elastic = {other.id for other in snapshot.jobs if other.elastic}
    if decision.action is DecisionKind.SHRINK:
        assert set(victims) <= elastic
        assert not any(victim.how in STOPPED for victim in decision.victims)
    assert bool(victims) == (decision.action in {DecisionKind.SHRINK, DecisionKind.PREEMPT})


def units_of(world: World) -> dict[str, int]:
    return {job.id: world.units(job.id) for job in world.snapshot.jobs if job.id in world.held and job.unit}


def assert_nobody_holds_what_is_not_there(world: World) -> None:
    for node in world.snapshot.nodes:
        assert all(amount >= 0 for amount in world.free(node).values()), node.name


def assert_the_rest_is_as_a_job_may_be_left(world: World, decision: Decision) -> None:
    for victim in decision.victims:
        job, held = world.job(victim.job), world.held[victim.job]
        if victim.how is How.NODES:
            assert job.elastic is not None
            assert len(held) >= (job.elastic.min_nodes or 0)
            assert held.items() <= dict(job.alloc).items(), "a node is given up as a whole, or kept as it is"
        elif victim.how is How.UNITS and job.elastic is not None:
            assert world.units(job.id) >= (job.elastic.min_units or 0)


def assert_conserved(world: World, decision: Decision, before: dict[str, int]) -> None:
    """Units that are lost are told; nobody else loses or gains any, and nobody holds half a unit."""
    told = {victim.job: victim.units for victim in decision.victims if victim.how is How.UNITS}
    gone = {victim.job for victim in decision.victims if victim.how in STOPPED}
    for job_id, count in units_of(world).items():
        assert count == (0 if job_id in gone else before[job_id] - told.get(job_id, 0))
        unit = world.job(job_id).unit
        for part in world.held[job_id].values():
            assert part == {name: n * whole(part, unit) for name, n in unit.items()}


def assert_gets_what_it_asked(job: SnapshotJob, decision: Decision) -> None:
    request = job.request
    assert request is not None
    if not decision.placement:
        return
    if request.count:
        got = sum(whole(part, request.unit) for part in decision.placement.values())
        assert got == decision.units
        assert got == request.count or (request.partial and 0 < got < request.count)
    elif request.nodes:
        assert len(decision.placement) == request.nodes
        assert all(naive.holds(part, request.per_node) for part in decision.placement.values())


def assert_nothing_is_taken_that_could_stay(before: World, job: SnapshotJob, decision: Decision) -> None:
    """No victim could keep one more piece (or, where it would be below its minimum, all it had)."""
    assert job.request is not None
    if job.request.exclusive:
        return
    for victim in decision.victims:
        others = replace(decision, victims=tuple(v for v in decision.victims if v != victim), placement={})
        for less in one_piece_less(before, decision, victim.job):
            trial = before.copy()
            trial.apply(others)
            trial.apply(replace(others, victims=less))
            assert not trial.fits(job.request, decision.units), f"{victim.job} loses too much for {job.id}"


def one_piece_less(world: World, decision: Decision, victim_id: str) -> list[tuple]:
    """What a victim loses, less one piece, in every way."""
    (victim,) = [v for v in decision.victims if v.job == victim_id]
    if victim.how is How.UNITS:
        result = []
        for node, count in victim.on:
            on = tuple((name, n - (name == node)) for name, n in victim.on if n - (name == node))
            result.append((replace(victim, on=on, units=victim.units - 1),) if on else ())
            assert count > 0
        return result
    if victim.how is How.NODES:
        rest = [tuple(name for name in victim.nodes if name != node) for node in victim.nodes]
        return [(replace(victim, nodes=nodes),) if nodes else () for nodes in rest]
    return [()]


@thorough
@given(in_pieces())
def test_a_job_stays_in_the_queue_only_when_nothing_would_help(snapshot: Snapshot) -> None:
    """Not even everything that the jobs below it hold makes enough room; a part is given as the partition says."""
    world = World.of(snapshot)
    for decision in plan(snapshot).decisions:
        job = world.job(decision.job)
        request = job.request
        if decision.action is not DecisionKind.GROW and request is not None and not request.exclusive:
            emptied = world.copy()
            for other in naive.stoppable(snapshot, job):
                emptied.held[other.id] = {}
            if decision.action is DecisionKind.QUEUE:
                assert not emptied.fits(request)
                if request.count and request.partial:
                    takes = snapshot.partition.partial is Partial.TAKE
                    assert not (emptied if takes else world).fits(request, 1)
            elif request.count and decision.units != request.count:
                assert not emptied.fits(request)
                takes = snapshot.partition.partial is Partial.TAKE
                most = emptied if takes and decision.victims else world
                assert decision.units is not None
                assert not most.fits(request, decision.units + 1)
        world.apply(decision)


@thorough
@given(in_pieces(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter_and_neither_does_the_text(
    snapshot: Snapshot, chance: random.Random
) -> None:
    nodes, jobs = list(snapshot.nodes), list(snapshot.jobs)
    chance.shuffle(nodes)
    chance.shuffle(jobs)
    shuffled = replace(snapshot, nodes=tuple(nodes), jobs=tuple(jobs))
    read = decode_snapshot(json.loads(json.dumps(encode_snapshot(shuffled))))
    assert json.dumps(encode_plan(plan(read))) == json.dumps(encode_plan(plan(snapshot)))


@thorough
@given(in_pieces(units=False, elastic=False))
def test_switched_off_everybody_is_stopped_as_a_whole(snapshot: Snapshot) -> None:
    plain = [replace(job, unit={}, elastic=None) for job in snapshot.jobs]
    off = plan(snapshot)
    assert off == plan(replace(snapshot, jobs=tuple(plain)))
    assert all(victim.how in STOPPED for decision in off.decisions for victim in decision.victims)


@thorough
@given(in_pieces(most_pending=2))
def test_what_was_shrunk_does_not_grow_at_the_expense_of_anybody(snapshot: Snapshot) -> None:
    """Growing takes only what is free after everybody above; and every running job that lacks something is asked."""
    decisions = plan(snapshot).decisions
    for i, decision in enumerate(decisions):
        if decision.action is DecisionKind.GROW:
            assert not decision.victims
            assert decision.job not in {v.job for d in decisions[:i] for v in d.victims}
    pending = {job.id for job in snapshot.jobs if job.state is JobState.PENDING}
    assert sorted(d.job for d in decisions if d.action is not DecisionKind.GROW) == sorted(pending)
