"""The lower bound of a node's price is what keeps nodes from being priced: it must never be above the price."""

from collections.abc import Iterator

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.model.jobs import JobState
from scheduler.model.policy import GiveBack
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.candidates import Candidate, Candidates
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.giving_way import AS_A_WHOLE
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pricing import Price, price
from scheduler.preemption.quotes import Quotes
from scheduler.preemption.shapes import Shapes
from scheduler.preemption.units.in_pieces import LadderInPieces, giving_way, lose
from scheduler.preemption.units.in_pieces import price as price_in_pieces
from scheduler.preemption.victim_prefix_sums import Stopping, VictimPrefixSums
from tests.builders import nodes, one_node, pending, running, snapshot
from tests.scheduler.pieces import in_pieces
from tests.scheduler.planning import state_of
from tests.scheduler.strategies import crowded, snapshots

thorough = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def universe_of(made: Snapshot) -> ClusterState:
    return state_of(made)


def in_full(
    made: ClusterState, stopping: Stopping, place: NodeState, ladder: list[Candidate]
) -> Price | None:
    """A price worked out without what a ladder knows."""
    if not made.in_parts:
        return price(place, stopping.shape, ladder)
    whole = made.snapshot.partition.give_back is GiveBack.WHOLE
    return price_in_pieces(place, stopping.shape, ladder, whole=whole)


def each_way(made: ClusterState) -> Iterator[tuple[Stopping, VictimPrefixSums]]:
    """For every pending request for nodes: how these are priced, by the first tier alone and by both."""
    index, shapes = made.index, Shapes(made)
    way = giving_way(made) or AS_A_WHOLE
    candidates = Candidates(made, way.is_fixed)
    for job in made.snapshot.jobs:
        if job.state is JobState.PENDING and job.request and job.request.nodes:
            shape, scope = shapes.of(job.request), made.ranking.scope(*made.ranking.weights(job))
            first = VictimPrefixSums(index, candidates, shape.cost_in, None, None, way.ladder)
            alone = Stopping(first, shape, way.choice)
            yield alone, first
            both = VictimPrefixSums(
                index, candidates, shape.cost_in, first, (scope.first, scope.first_floor), way.ladder
            )
            yield Stopping(both, shape, way.choice, Quotes(index, alone.price, alone.bounds)), both


@thorough
@given(st.one_of(snapshots(most_pending=4), crowded(spanning=True, most_pending=3), in_pieces()))
def test_a_price_is_never_below_its_bound_and_none_is_without_the_other(made: Snapshot) -> None:
    known = universe_of(made)
    for stopping, ladders in each_way(known):
        for place in known.places:
            if not all(place.node.total.get(name, 0) >= n for name, n in stopping.shape.wants):
                continue
            bounds, found = stopping.bounds([place.order], now=True), stopping.price(place)
            assert found == in_full(known, stopping, place, ladders.on(place).candidates)
            assert bool(bounds) == (found is not None)
            for cost, number, *_ in bounds:
                assert found is not None
                assert (cost, number) <= (found.cost, len(found.victims))
                assert [c[0] for c in cost] == [c[0] for c in found.cost[:1]], "the highest class is known"


@thorough
@given(st.one_of(crowded(spanning=True, most_pending=3), in_pieces()), st.data())
def test_a_bound_holds_until_a_node_may_have_become_cheaper(made: Snapshot, data: st.DataObject) -> None:
    known = universe_of(made)
    node_indices = range(len(known.places))
    for stopping, ladders in [*each_way(known)]:
        index = ladders.index
        before = {bound[3]: bound for bound in stopping.bounds(node_indices, now=True)}
        seen = index.changes.now
        for runner in data.draw(st.lists(st.sampled_from(known.runners), max_size=3, unique=True)):
            change(known, runner, data)
        index.look()
        unasked = [order for order in node_indices if index.cheaper[order] <= seen]
        again = {bound[3]: bound for bound in stopping.bounds(unasked, now=False)}
        now = {bound[3]: bound for bound in stopping.bounds(unasked, now=True)}
        assert all(before[order] <= bound and again[order] <= bound for order, bound in now.items())


def test_a_bound_counts_with_whoever_goes_next_and_costs_less() -> None:
    whole, units = (
        running("1", "n1", 3, user=3, ran=10),
        running("2", "n1", 5, user=3, ran=20, unit={"cpu": 1}),
    )
    made = universe_of(snapshot([whole, units, pending("J", one_node(2))], nodes(1)))
    stopping, _ = next(each_way(made))
    before = stopping.bounds([0], now=True)
    made.stop(made.runners[0])
    made.take({"n1": {"cpu": 3}}, coming_first=False)
    found = stopping.price(made.places[0])
    assert found is not None
    assert before[0][0] <= found.cost == ((found.cost[0][0], 8, 1),), (
        "two units of five, of one who ran for 20 s"
    )


def change(made: ClusterState, runner: RunningJob, data: st.DataObject) -> None:
    """Something that happens to a running job; whoever it makes room for takes some of it, or all."""
    held = {name: dict(amounts) for name, amounts in runner.alloc.items()}
    if runner.spared:
        if not runner.lasting:
            made.allow(runner)
    elif not runner.alive or data.draw(st.booleans()):
        if runner.alive:
            made.spare(runner, "limit")
    elif runner.pieces and data.draw(st.booleans()):
        lost = {name: data.draw(st.integers(1, count)) for name, count in runner.pieces.counts.items()}
        held = {
            name: {resource: n * count for resource, n in runner.pieces.each[name].items()}
            for name, count in lost.items()
        }
        lose(made, runner, lost)
        made.take(held, coming_first=False)
    else:
        made.stop(runner)
        if data.draw(st.booleans()):
            made.take(held, coming_first=data.draw(st.booleans()))


@thorough
@given(crowded(spanning=True), st.data())
def test_a_ladder_holds_those_who_may_go_now_the_first_to_go_first(
    made: Snapshot, data: st.DataObject
) -> None:
    known = universe_of(made)
    ways = [ladders for _, ladders in each_way(known)]
    for _ in range(3):
        may_go = [runner for runner in known.runners if runner.may_go]
        if may_go:
            known.stop(data.draw(st.sampled_from(may_go)))
        for ladders in ways:
            for place in known.places:
                ladder = ladders.on(place).candidates
                here = {runner for runner in known.runners if runner.may_go and place in runner.places}
                assert ladder == sorted(ladder)
                assert {c[4] for c in ladder} <= here
                assert ladders is not ways[0] or len(ladder) == len(here)


def test_who_has_given_up_all_pieces_on_a_node_is_on_its_ladder_no_more() -> None:
    unit = {"cpu": 1}
    held = {"n1": {"cpu": 2}, "n2": {"cpu": 3}}
    made = universe_of(snapshot([running("1", held, unit=unit), running("2", "n1", 1)], nodes(2)))
    ladders = VictimPrefixSums(made.index, Candidates(made), "", None, None, LadderInPieces)
    places = made.places
    assert [len(ladders.on(place).candidates) for place in places] == [2, 1]
    assert ladders.on(places[1])["cpu"] == [5, 8]
    lose(made, made.runners[0], {"n1": 2, "n2": 1})
    assert [c[4].job.id for c in ladders.on(places[0]).candidates] == ["2"]
    assert ladders.on(places[1])["cpu"] == [6, 8]
