"""What elastic jobs may lose is kept up to date instead of worked out again: the same answers, for far less work."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.policy import Mode
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.elastic.bounds import Least, ShrinkBounds
from scheduler.preemption.elastic.nodes import ElasticNodes
from scheduler.preemption.elastic.on_node import OnNode
from scheduler.preemption.elastic.shrinks import Shrinks
from scheduler.preemption.elastic.supply import Supply
from scheduler.preemption.elastic.workers import Workers
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import PreemptionScope, Ranking
from scheduler.preemption.shapes import Shape, Shapes
from scheduler.priority.levels import weight
from tests.builders import nodes, one_node, running, snapshot
from tests.scheduler.pieces import ELASTIC_NODES, ELASTIC_UNITS, WHOLE, in_pieces
from tests.scheduler.planning import change, search_in, state_of
from tests.scheduler.preemption.test_elastic import elastic, on


class TestReachWithin:
    def test_whoever_reaches_no_more_is_within_and_nobody_else(self) -> None:
        levels = [weight(level) for level in (0, 1, 2, 3, None)]
        runners = list(product(levels, levels))
        for bands in (None, ((0,), (1, 2), (3, None))):
            ranking = Ranking(Mode.USER_THEN_TASK, bands)
            for one, other in product(runners, runners):
                narrow, wide = ranking.scope(*one), ranking.scope(*other)
                classes = [(narrow.class_of(*weights), wide.class_of(*weights)) for weights in runners]
                holds = all(a is None or (b is not None and b <= a) for a, b in classes)
                assert holds or not narrow.within(wide), (bands, one, other)
                if bands is None and one <= other:
                    assert narrow.within(wide), "a job of lower rank"

    def test_on_one_axis_only_the_floor_counts(self) -> None:
        assert PreemptionScope(-1, -2).within(PreemptionScope(-2, -2))
        assert not PreemptionScope(-1, -1).within(PreemptionScope(-2, -2))


@settings(max_examples=80, deadline=None)
@given(in_pieces(most_pending=4, kinds=(WHOLE, ELASTIC_UNITS, ELASTIC_NODES, ELASTIC_NODES)), st.data())
def test_after_any_changes_the_answer_is_that_of_a_first_question(
    snapshot: Snapshot, data: st.DataObject
) -> None:
    cluster_state = state_of(snapshot)
    shapes = Shapes(cluster_state)
    kept = Shrinks(cluster_state, search_in(cluster_state))
    asking = [job for job in snapshot.jobs if job.state is JobState.PENDING]
    for _ in range(data.draw(st.integers(1, 6))):
        shape = shapes.of(data.draw(st.sampled_from([job.request for job in asking if job.request])))
        scope = cluster_state.ranking.scope(
            *cluster_state.ranking.weights(data.draw(st.sampled_from(asking)))
        )
        fresh = search_in(cluster_state)
        if not fresh.room(shape, coming=False):  # who finds free room does not ask
            assert kept.find(shape, scope) == Shrinks(cluster_state, fresh).find(shape, scope)
        change(cluster_state, data)


@settings(max_examples=80, deadline=None)
@given(in_pieces(kinds=(WHOLE, ELASTIC_UNITS, ELASTIC_NODES), shapes=("units", "spread")), st.data())
def test_the_workers_of_a_pool_are_those_of_a_first_look(snapshot: Snapshot, data: st.DataObject) -> None:
    cluster_state = state_of(snapshot)
    job = next(job for job in snapshot.jobs if job.request)
    assert job.request is not None
    shape, lower = (
        Shapes(cluster_state).of(job.request),
        cluster_state.ranking.scope(*cluster_state.ranking.weights(job)),
    )
    kept = Supply(Workers(cluster_state), shape)
    for _ in range(data.draw(st.integers(1, 6))):
        kept.choice(lower, {})
        change(cluster_state, data)
        assert _known(kept, lower) == _known(Supply(Workers(cluster_state), shape), lower)


def _known(supply: Supply, scope: PreemptionScope) -> tuple[object, ...]:
    choice = supply.choice(scope, {})
    if choice is None:
        return ()
    groups = [
        [(worker.rank[0], worker.runner.job.id, worker.place.node.name, worker.count) for worker in group]
        for group in choice.groups
    ]
    assert all(group.lowest is next(iter(group)) for group in choice.groups)
    return sorted(groups), choice.number


@settings(max_examples=80, deadline=None)
@given(in_pieces(kinds=(WHOLE, ELASTIC_UNITS, ELASTIC_NODES), shapes=("units", "spread")), st.data())
def test_as_much_may_be_had_as_nodes_would_have_without_the_workers(
    snapshot: Snapshot, data: st.DataObject
) -> None:
    cluster_state = state_of(snapshot)
    job = next(job for job in snapshot.jobs if job.request)
    assert job.request is not None
    shape, lower = (
        Shapes(cluster_state).of(job.request),
        cluster_state.ranking.scope(*cluster_state.ranking.weights(job)),
    )
    workers = Workers(cluster_state)
    supply = Supply(workers, shape)
    for _ in range(data.draw(st.integers(1, 6))):
        change(cluster_state, data)
        gain = 0
        for place in shape.places:
            gone = workers.on(place).within(lower) if place.order in workers.node_indices else []
            soon = place.free["cpu"] + place.coming.get("cpu", 0)
            gives = sum(worker.lot.all.get("cpu", 0) for worker in gone)
            gain += max(0, soon + gives) - max(0, soon)
        assert gain == 0 or supply.choice(lower, {"cpu": gain})
        assert not supply.choice(lower, {"cpu": gain + 1})


class Counted(ShrinkBounds):
    """Bounds that know which nodes they looked at closely, and which were priced."""

    def __init__(self, cluster_state: ClusterState, shape: Shape) -> None:
        self.workers = Workers(cluster_state)
        super().__init__(self.workers, shape)
        self.closely: list[str] = []
        self.priced: list[str] = []

    def least(self, node: OnNode, scope: PreemptionScope) -> Least | None:
        self.closely.append(node.place.node.name)
        return super().least(node, scope)


def counted(*jobs: SnapshotJob, count: int, cpu: int) -> tuple[ClusterState, Counted, ElasticNodes]:
    """Nodes for requests of some CPUs, each of which costs the lowest that it may."""
    made = snapshot(jobs, nodes(count))
    cluster_state = state_of(made)
    bounds = Counted(cluster_state, Shapes(cluster_state).of(one_node(cpu)))

    def price(node: OnNode, scope: PreemptionScope) -> Price | None:
        bounds.priced.append(node.place.node.name)
        number, size, highest = ShrinkBounds.least(bounds, node, scope) or (9, 9, 9)
        return Price(((number, size, 0), (highest, 0, 0)))

    return cluster_state, bounds, ElasticNodes(bounds.workers, cluster_state.places, bounds, price)


def scope(user: int) -> PreemptionScope:
    return Ranking(Mode.USER).scope(weight(user), 0)


class TestWhatIsLookedAt:
    def test_who_reaches_less_pays_another_price_for_the_same_node(self) -> None:
        jobs = [elastic("1", on(n1=3, n2=1), user=2), elastic("2", on(n1=4, n2=1), user=3)]
        made = snapshot(jobs, nodes(2))
        cluster_state = state_of(made)
        shape = Shapes(cluster_state).of(one_node(4, only_nodes=frozenset({"n1"})))
        shrinks = Shrinks(cluster_state, search_in(cluster_state))
        for user, victim in ((1, "1"), (2, "2"), (1, "1")):
            found = shrinks.find(shape, scope(user))
            assert found is not None
            assert [runner.job.id for runner in found.losses] == [victim]

    def test_of_nodes_that_may_cost_the_same_only_the_first_is_priced(self) -> None:
        jobs = [elastic(str(i), on(**{f"n{i}": 8, "n9": 1}), user=2) for i in range(1, 9)]
        _, bounds, priced = counted(*jobs, count=9, cpu=4)
        assert [place.node.name for place, _ in priced.cheapest(2, scope(1))] == ["n1", "n2"]
        assert bounds.priced == ["n1", "n2"]
        assert [place.node.name for place, _ in priced.cheapest(1, scope(1))] == ["n1"]
        assert bounds.priced == ["n1", "n2"], "a price is kept"

    def test_a_node_that_has_become_dearer_is_not_taken_at_its_old_price(self) -> None:
        jobs = [elastic(f"{i}{j}", on(**{f"n{i}": 4, "n3": 2}), user=2) for i in (1, 2) for j in (1, 2)]
        cluster_state, _, priced = counted(*jobs, count=3, cpu=4)
        assert [place.node.name for place, _ in priced.cheapest(1, scope(1))] == ["n1"]
        cluster_state.take({"n1": {"cpu": 2}}, coming_first=False)
        assert [place.node.name for place, _ in priced.cheapest(1, scope(1))] == ["n2"]

    def test_a_node_that_cannot_be_had_is_left_alone_until_it_has_more(self) -> None:
        low, high = elastic("1", on(n1=3, n2=1), user=3), elastic("2", on(n1=4, n2=1), user=1)
        rest = [running("3", "n1", 1, user=0), running("4", "n2", 6, user=0)]
        cluster_state, bounds, priced = counted(low, high, *rest, count=2, cpu=5)
        assert priced.cheapest(1, scope(1)) == []
        assert bounds.closely == ["n1"], "with both jobs there would be enough"
        assert priced.cheapest(1, scope(2)) == []
        assert bounds.closely == ["n1"]
        cluster_state.take({"n1": {"cpu": 0}}, coming_first=False)
        assert priced.cheapest(1, scope(2)) == []
        assert bounds.closely == ["n1"], "one more is on it, which makes nothing cheaper"
        cluster_state.stop(next(runner for runner in cluster_state.runners if runner.job.id == "3"))
        assert priced.cheapest(1, scope(2)) == []
        assert bounds.closely == ["n1", "n1"]
        assert len(priced.cheapest(1, scope(0))) == 1, (
            "whoever reaches more is not told what others could not have"
        )
