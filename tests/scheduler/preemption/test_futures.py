"""What is kept about the time to come is what a look at every node would find, after whatever has happened."""

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.jobs import JobState
from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Balance, Otherwise
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import fits
from scheduler.preemption.reservation.ends import expected_end
from scheduler.preemption.reservation.moments import Claims, Moments
from scheduler.preemption.reservation.nodeset import NodeSet
from scheduler.preemption.reservation.summed import Summed
from scheduler.preemption.shapes import Shape, Shapes
from tests.builders import NOW, node, on_nodes, one_node, pending, snapshot
from tests.scheduler.planning import decide, state_of
from tests.scheduler.preemption.test_reservation import futures, quick, until

BYS = (None, NOW, NOW + 60, NOW + 300)


def looked_up(made: ClusterState, claims: Claims, place: NodeState, shape: Shape) -> int | None:
    """When a shape fits onto a node, step by step."""
    ends = {runner: expected_end(runner, NOW) for runner in place.runners if runner.alive}
    if shape.exclusive and (len(ends) < place.holders or claims.of(place) or None in ends.values()):
        return None
    for moment in sorted({NOW, *(end for end in ends.values() if end)}):
        left = [runner for runner, end in ends.items() if end is None or end > moment]
        gone = [runner.alloc[place.node.name] for runner in ends if runner not in left]
        have = {
            name: place.free.get(name, 0) + place.coming.get(name, 0) - claims.of(place).get(name, 0)
            for name, _ in shape.wants
        }
        enough = all(have[name] + sum(gives.get(name, 0) for gives in gone) >= n for name, n in shape.wants)
        promised_away = any(amount - have[name] > place.node.total[name] for name, amount in shape.wants)
        if enough and not promised_away and not (shape.exclusive and left):
            return moment
    return None


def shapes_of(made: Snapshot, cluster_state: ClusterState) -> list[Shape]:
    known = Shapes(cluster_state)
    return [known.of(job.request) for job in made.jobs if job.state is JobState.PENDING and job.request]


def after_each_change(cluster_state: ClusterState, claims: Claims, draw: st.DataObject) -> Iterator[None]:
    """Now, and again when somebody was stopped, or has lost room to others."""
    yield
    for runner in cluster_state.runners:
        match draw.draw(st.sampled_from(("stop", "take", "claim", "spare", ""))):
            case "stop":
                cluster_state.stop(runner)
            case "take":
                cluster_state.take({runner.places[0].node.name: {"cpu": 3}}, coming_first=True)
            case "claim":
                claims.add({runner.places[0].node.name: {"cpu": 2}})
            case "spare" if runner.may_go:
                cluster_state.spare(runner, "for a while")
        yield


@quick
@given(futures(), st.data())
def test_a_line_names_the_nodes_with_their_moments_in_order(made: Snapshot, data: st.DataObject) -> None:
    cluster_state = state_of(made)
    claims = Claims(cluster_state)
    moments = Moments(cluster_state, claims)
    shapes = [shape for shape in shapes_of(made, cluster_state) if shape.count]
    forgotten: set[int] = set()
    for _ in after_each_change(cluster_state, claims, data):
        forgotten |= data.draw(st.sets(st.sampled_from(range(len(cluster_state.places))), max_size=1))
        moments.forget(forgotten)
        for shape in shapes:
            left = [place for place in shape.places if place.order not in forgotten]
            found = [(looked_up(cluster_state, claims, place, shape), place.order) for place in left]
            for by in data.draw(st.permutations(BYS)):
                due = sorted(
                    (at, order) for at, order in found if at is not None and (by is None or at <= by)
                )
                assert [(at, order) for at, _, order in moments.earliest(shape, by)] == due


def test_who_moves_onto_a_node_releases_it_there() -> None:
    """By an exchange, after the node was looked at: its future was worked out without that job."""
    places = [
        node("n1", total={"cpu": 8}, power={"cpu": 1.0}),
        node("n2", total={"cpu": 8}, power={"cpu": 1.0}),
    ]
    made = snapshot([until("1", "n1", 8, 100), until("2", "n2", 4, 200)], nodes=places)
    cluster_state = state_of(made)
    moments, shapes = Moments(cluster_state, Claims(cluster_state)), Shapes(cluster_state)
    mover, other = cluster_state.runners
    n1, n2 = cluster_state.places
    for by in (None, NOW + 150):
        assert [entry[2] for entry in moments.earliest(shapes.of(one_node(8)), by)] == (
            [0, 1] if by is None else [0]
        )
    cluster_state.stop(other)
    n1.free["cpu"], n2.free["cpu"] = 8, 0
    n1.runners.remove(mover)
    n2.runners.append(mover)
    mover.places, mover.alloc = (n2,), {"n2": mover.alloc["n1"]}
    for order in (0, 1):
        cluster_state.index.changes.note(order)
    for by in (None, NOW + 150):
        assert [*moments.earliest(shapes.of(one_node(8)), by)] == [(NOW, 0, 0), (NOW + 100, 0, 1)]


def test_a_node_that_is_forgotten_stays_out_of_a_line_that_reaches_further() -> None:
    """Whoever must be alone is told of forgotten nodes too: put in again they came behind later ones, and the next
    change took another node out of the line, or none that was there."""
    ends = [until(str(i), f"n{i}", 8, seconds) for i, seconds in ((2, 100), (3, 300))]
    made = snapshot(ends, nodes=[node(f"n{i}", total={"cpu": 8}) for i in (1, 2, 3)])
    cluster_state = state_of(made)
    moments, alone = (
        Moments(cluster_state, Claims(cluster_state)),
        Shapes(cluster_state).of(one_node(8, exclusive=True)),
    )
    assert [order for _, _, order in moments.earliest(alone, NOW + 150)] == [0, 1]
    moments.forget([0])
    assert [order for _, _, order in moments.earliest(alone, NOW + 150)] == [1]
    assert [order for _, _, order in moments.earliest(alone)] == [1, 2]
    cluster_state.stop(cluster_state.runners[0])
    assert [*moments.earliest(alone)] == [(NOW, 0, 1), (NOW + 300, 0, 2)]


def test_a_resource_that_is_asked_for_later_is_looked_at_as_it_is_by_then() -> None:
    made = snapshot([], nodes=[node(total={"cpu": 4, "gpu": 2})])
    cluster_state = state_of(made)
    moments, shapes = Moments(cluster_state, Claims(cluster_state)), Shapes(cluster_state)
    assert [*moments.earliest(shapes.of(one_node(4)))] == [(NOW, 0, 0)]
    cluster_state.take({"n1": {"gpu": 1}}, coming_first=False)
    assert [*moments.earliest(shapes.of(one_node(4)))] == [(NOW, 0, 0)]
    assert [*moments.earliest(shapes.of(one_node(per_node={"gpu": 2})))] == []


@quick
@given(futures(), st.data())
def test_a_sum_is_told_if_it_is_soon_enough_and_only_then(made: Snapshot, data: st.DataObject) -> None:
    cluster_state = state_of(made)
    claims = Claims(cluster_state)
    summed = Summed(cluster_state, Moments(cluster_state, claims))
    shapes = [shape for shape in shapes_of(made, cluster_state) if not shape.count]
    for _ in after_each_change(cluster_state, claims, data):
        for shape in shapes:
            late = summed.earliest(shape)
            fresh = Summed(cluster_state, Moments(cluster_state, claims)).earliest(shape)
            assert late == fresh
            for by in BYS[1:]:
                assert summed.earliest(shape, by) == (late if late and late[0] <= by else None)


@quick
@given(futures(), st.data())
def test_the_best_nodes_are_those_that_a_new_look_finds(made: Snapshot, data: st.DataObject) -> None:
    """Whatever shape was asked about first: one that asks for less sees the nodes too that are full for the others."""
    cluster_state = state_of(made)
    nodes = NodeSet(cluster_state)
    shapes = [shape for shape in shapes_of(made, cluster_state) if shape.count]
    for _ in after_each_change(cluster_state, Claims(cluster_state), data):
        for shape in shapes:
            found = nodes.best(shape)
            assert found == NodeSet(cluster_state).best(shape)
            fitting = [place for place in shape.places if fits(place, shape, coming=False)]
            assert (found is not None) == (len(fitting) >= shape.count)


def test_the_nearest_set_is_not_waited_for_where_an_even_one_comes_too_late() -> None:
    """n1 and n2 are free soon and uneven; n1 and n3 are even, but n3 is free later than patience lasts."""
    places = [node(f"n{i}", power={"cpu": power}) for i, power in enumerate((1.0, 1.3, 1.01), start=1)]
    jobs = [until(str(i), f"n{i}", 8, seconds) for i, seconds in ((1, 100), (2, 200), (3, 900))]
    job = pending("J", on_nodes(2, 8), balanced=True)
    rule = Balance("cpu", 0.05, Otherwise.NEAREST)
    assert decide(*jobs, job, nodes=places, balance=rule, patience_s=600).action is DecisionKind.QUEUE
    never = replace(jobs[2], predicted_end=None)
    nearest = decide(jobs[0], jobs[1], never, job, nodes=places, balance=rule, patience_s=600)
    assert (nearest.action, nearest.nodes) == (DecisionKind.WAIT, ("n1", "n2"))
