"""Prices of nodes are kept up to date instead of worked out again: the same answers, for far less work."""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

import pytest

from scheduler.model.jobs import Request, SnapshotJob
from scheduler.model.policy import VictimOrder
from scheduler.preemption.bound_line import BoundLine, step_below
from scheduler.preemption.candidates import Candidates
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.planner import plan
from scheduler.preemption.pricing import Cost, Price, present
from scheduler.preemption.quotes import ONLY_A_BOUND, Entry, Pricer, Quotes
from scheduler.preemption.ranking import Ranking
from scheduler.preemption.search import CheapestNodes
from scheduler.preemption.stock import Stock, Stocks
from scheduler.preemption.victim_prefix_sums import Stopping
from tests.builders import node, nodes, on_nodes, one_node, pending, running, snapshot
from tests.scheduler.planning import state_of

Bound = Callable[[NodeState], tuple[Cost, int] | None]


def cluster_state(*jobs: SnapshotJob, count: int = 3) -> ClusterState:
    made = snapshot(jobs, nodes(count))
    return state_of(made)


def by_free(place: NodeState) -> Price | None:
    """A simple price: what is free; nothing free is not to be had."""
    free = place.free["cpu"]
    return Price(waste=free) if free > 0 else None


def offers_of(
    made: ClusterState, pricer: Pricer, bound: Bound | None = None, *, own: int = 99, **more: Any
) -> CheapestNodes:
    """Offers of the first nodes; `bound` is of a single one."""

    def bounds(node_indices: Iterable[int], *, now: bool) -> list[Entry]:
        found = [(order, bound(made.places[order])) for order in node_indices] if bound else []
        return [
            (*least, 0, order, index.changes.last[order], ONLY_A_BOUND) for order, least in found if least
        ]

    index = made.index
    return CheapestNodes(
        frozenset(range(min(own, len(made.places)))),
        Quotes(index, pricer, bounds if bound else None),
        **more,
    )


def names(offers: CheapestNodes, count: int = 9, below: int | None = None) -> list[str]:
    return [place.node.name for place, _ in offers.cheapest(count, below)]


class TestOffers:
    def test_the_cheapest_come_first_and_only_as_many_as_asked(self) -> None:
        all_of_them = cluster_state(running("1", "n2", 5), running("2", "n3", 8))
        offers = offers_of(all_of_them, by_free)
        assert names(offers) == ["n2", "n1"]
        assert names(offers, 1) == ["n2"]
        assert names(offers) == ["n2", "n1"], "asking takes nothing away"

    def test_a_change_is_seen_at_the_next_question(self) -> None:
        made = cluster_state(running("1", "n2", 5, user=3), running("2", "n3", 8, user=3))
        offers = offers_of(made, by_free)
        made.stop(made.runners[0])
        assert names(offers) == ["n1", "n2"]
        made.take({"n1": {"cpu": 7}}, coming_first=False)
        made.take({"n2": {"cpu": 8}}, coming_first=False)
        assert names(offers) == ["n1"]
        made.stop(made.runners[1])
        assert names(offers) == ["n1", "n3"]

    def test_only_what_has_changed_is_priced_again(self) -> None:
        made = cluster_state(running("1", "n2", 5, user=3), count=50)
        priced: list[str] = []

        def counting(place: NodeState) -> Price | None:
            priced.append(place.node.name)
            return by_free(place)

        offers = offers_of(made, counting)
        assert len(priced) == 50
        priced.clear()
        names(offers)
        assert priced == []
        made.stop(made.runners[0])
        made.take({"n2": {"cpu": 1}}, coming_first=False)
        names(offers)
        assert priced == ["n2"]

    def test_what_is_free_does_not_depend_on_what_pieces_count_for(self) -> None:
        made = cluster_state(running("1", "n2", 5))
        offers = offers_of(made, by_free)
        made.index.weights.note(0)
        made.index.weights.note(1)
        assert names(offers) == ["n2", "n1", "n3"]

    def test_nodes_that_are_not_its_own_do_not_matter(self) -> None:
        made = cluster_state(running("1", "n3", 5, user=3))
        offers = offers_of(made, by_free, own=2)
        made.stop(made.runners[0])
        assert names(offers) == ["n1", "n2"]

    def test_a_limit_cuts_off_the_dear_ones(self) -> None:
        made = cluster_state()
        classes = {"n1": -3, "n2": -1, "n3": None}

        def classed(place: NodeState) -> Price | None:
            own_class = classes[place.node.name]
            return Price() if own_class is None else Price(((own_class, 10, 1),))

        offers = offers_of(made, classed)
        assert names(offers) == ["n3", "n1", "n2"]
        assert names(offers, below=-1) == ["n3", "n1"]
        assert names(offers, below=-3) == ["n3"]

    def test_only_nodes_that_might_have_enough_are_looked_at(self) -> None:
        made = cluster_state(running("1", "n1", 6, user=3), running("2", "n2", 3, user=3))
        priced: list[str] = []

        def counting(place: NodeState) -> Price | None:
            priced.append(place.node.name)
            return by_free(place)

        offers = offers_of(made, counting, stocks=Stocks([(stock_of(made, coming=False), 4)]))
        assert names(offers) == ["n2", "n3"]
        made.take({"n2": {"cpu": 2}, "n3": {"cpu": 1}}, coming_first=False)
        assert names(offers) == ["n3"], "what has too little now is not offered any more"
        made.stop(made.runners[1])
        assert names(offers) == ["n2", "n3"]
        assert sorted(priced) == ["n2", "n2", "n3", "n3"], "n1 never"

    def test_nodes_from_before_a_failure_are_looked_at_only_when_they_change(self) -> None:
        made = cluster_state(running("1", "n1", 1, user=3), running("2", "n2", 1, user=3))
        made.stop(made.runners[1])
        since = made.index.changes.now
        made.stop(made.runners[0])
        offers = offers_of(made, by_free, since=since)
        assert names(offers) == ["n1"]
        made.take({"n3": {"cpu": 1}}, coming_first=False)
        assert names(offers) == ["n3", "n1"]


def stock_of(made: ClusterState, *, coming: bool) -> Stock:
    return Stock(made.index, partial(present, coming, "cpu"))


class TestStock:
    def test_it_names_the_nodes_that_have_enough_now(self) -> None:
        made = cluster_state(running("1", "n1", 5, user=3), running("2", "n2", 8, user=3), count=4)
        made.places[3].coming["cpu"] = 2
        now, soon = (stock_of(made, coming=coming) for coming in (False, True))

        def has(place: NodeState, coming: bool) -> int:
            return place.free["cpu"] + (place.coming.get("cpu", 0) if coming else 0)

        changes: list[Callable[[], None]] = [
            lambda: None,
            lambda: made.stop(made.runners[0]),
            lambda: made.take({"n3": {"cpu": 3}, "n4": {"cpu": 9}}, coming_first=True),
            lambda: made.stop(made.runners[1]),
        ]
        for change in changes:
            change()
            for coming, stock in ((False, now), (True, soon)):
                for amount in range(12):
                    enough = [place.order for place in made.places if has(place, coming) >= amount]
                    assert stock.among(range(4), amount) == enough
                    assert stock.among([3, 0], amount) == [each for each in (3, 0) if each in enough]

    def test_of_several_resources_there_must_be_enough_of_each(self) -> None:
        made = cluster_state(running("1", "n1", 5, user=3), running("2", "n2", 7, user=3), count=4)
        stock = stock_of(made, coming=False)
        few = Stock(made.index, lambda place: -place.order)
        assert Stocks([(stock, 3), (few, -2)]).enough(range(4)) == [0, 2]
        assert Stocks([(stock, 3), (few, -1)]).enough([3, 2, 0]) == [0]
        assert list(Stocks([]).enough([3, 2])) == [3, 2], "who wants nothing can have any node"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every look at a node while planning with victims: for its bound, or for its price."""
    seen: list[str] = []
    price, bounds = Stopping.price, Stopping.bounds

    def pricing(stopping: Stopping, place: NodeState) -> Price | None:
        seen.append(place.node.name)
        return price(stopping, place)

    def bounding(stopping: Stopping, node_indices: Collection[int], *, now: bool) -> list[Entry]:
        seen.extend(f"n{order + 1}" for order in node_indices)
        return bounds(stopping, node_indices, now=now)

    monkeypatch.setattr(Stopping, "price", pricing)
    monkeypatch.setattr(Stopping, "bounds", bounding)
    return seen


def crowd(count: int) -> list[SnapshotJob]:
    """Two running jobs on each of so many nodes, low and lower."""
    return [
        running(f"{i}{half}", f"n{i}", 4, user=2 + half, ran=i)
        for i in range(1, count + 1)
        for half in (0, 1)
    ]


def queue(count: int, request: Request, user: int = 0) -> list[SnapshotJob]:
    return [pending(f"J{i:04}", request, user=user, waited=10_000 - i) for i in range(count)]


class TestWorkGrowsWithChangesNotWithJobsTimesNodes:
    """Counted in looks at nodes, so that it does not depend on the machine."""

    def test_equal_jobs_look_at_every_node_once_and_then_only_at_what_changed(self, looks: list[str]) -> None:
        made = plan(snapshot([*crowd(60), *queue(60, one_node(4))], nodes(60)))
        assert all(decision.victims for decision in made.decisions)
        assert len(looks) <= 60 + 2 * 60

    def test_equal_jobs_that_find_nothing_look_at_every_node_once(self, looks: list[str]) -> None:
        keepers = [running(str(i), f"n{i}", 8, user=0) for i in range(1, 61)]
        plan(snapshot([running("low", "n61", 1, user=3), *keepers, *queue(80, one_node(8))], nodes(61)))
        assert len(looks) <= 61 + 3, "the one that might do: a closer bound, and its price"

    def test_jobs_of_several_nodes_share_the_looks_of_one(self, looks: list[str]) -> None:
        mixed = [*queue(5, one_node(8)), *(pending(f"K{i}", on_nodes(2 + i, 8), user=1) for i in range(3))]
        plan(snapshot([*crowd(40), *mixed], nodes(40)))
        assert len(looks) <= 40 + 40

    def test_ten_times_the_running_jobs_are_ten_times_the_looks(self, looks: list[str]) -> None:
        counts = []
        for size in (50, 500):
            looks.clear()
            plan(snapshot([*crowd(size), *queue(1, one_node(8))], nodes(size)))
            counts.append(len(looks))
        assert counts[1] <= 10 * counts[0] + 10


class TestOffersWithALowerBound:
    def test_a_node_is_priced_only_when_its_bound_comes_to_the_top(self) -> None:
        made = cluster_state(running("1", "n1", 5), running("2", "n2", 3), count=4)
        priced: list[str] = []

        def pricer(place: NodeState) -> Price | None:
            priced.append(place.node.name)
            return Price(((-1, place.free["cpu"], 1),))

        def bound(place: NodeState) -> tuple[Cost, int] | None:
            return None if place.node.name == "n4" else (((-1, place.order * 3, 0),), 0)

        offers = offers_of(made, pricer, bound=bound)
        assert priced == []
        assert names(offers, 1) == ["n1"]
        assert priced == ["n1", "n2"], "n2 might have been cheaper than n1; n3 might not"
        assert names(offers) == ["n1", "n2", "n3"]
        assert priced == ["n1", "n2", "n3"]

    def test_of_nodes_that_may_cost_the_same_the_first_is_enough(self) -> None:
        made = cluster_state(running("1", "n3", 1), count=3)
        cost: Cost = ((-1, 5, 1),)
        priced: list[str] = []

        def pricer(place: NodeState) -> Price | None:
            priced.append(place.node.name)
            return Price(cost, (made.runners[0],))

        offers = offers_of(made, pricer, bound=lambda place: (cost, 1))
        assert names(offers, 1) == ["n1"]
        assert priced == ["n1"]

    def test_a_bound_above_the_limit_is_not_priced_at_all(self) -> None:
        made = cluster_state()
        offers = offers_of(made, lambda place: Price(), bound=lambda place: (((-place.order, 0, 0),), 0))
        assert names(offers, below=-1) == ["n3"]

    def test_a_price_that_turns_out_impossible_is_dropped(self) -> None:
        made = cluster_state()
        offers = offers_of(made, lambda place: None, bound=lambda place: ((), 0))
        assert names(offers) == []

    def test_a_change_brings_the_bound_back(self) -> None:
        made = cluster_state(running("1", "n1", 8, user=3))
        offers = offers_of(made, by_free, bound=lambda place: ((), 0))
        assert names(offers) == ["n2", "n3"]
        made.stop(made.runners[0])
        made.take({"n1": {"cpu": 7}}, coming_first=False)
        assert names(offers) == ["n1", "n2", "n3"]


class TestQuotesThatAreShared:
    """As by the offers of the same nodes of equal power, and of all."""

    def test_what_was_priced_for_one_is_not_priced_for_the_other(self) -> None:
        made = cluster_state(running("1", "n1", 5, user=3))
        priced: list[str] = []

        def pricer(place: NodeState) -> Price | None:
            priced.append(place.node.name)
            return Price(((-1, place.order, 1),))

        everywhere, here = self.pair(made, pricer)
        assert [names(everywhere), names(here), priced] == [
            ["n1", "n2", "n3"],
            ["n1", "n2"],
            ["n1", "n2", "n3"],
        ]
        made.stop(made.runners[0])
        assert [names(here), names(everywhere), priced[3:]] == [["n1", "n2"], ["n1", "n2", "n3"], ["n1"]]

    def test_dearer_pieces_are_priced_again_and_no_node_comes_twice(self) -> None:
        made = cluster_state()
        dear = {"n1": 5, "n2": 9, "n3": 1}
        everywhere, here = self.pair(made, lambda place: Price(((-1, dear[place.node.name], 1),)))
        assert names(here, 1) == ["n1"]
        dear["n1"] = 99
        made.index.weights.note(0)
        assert names(everywhere) == ["n3", "n2", "n1"]
        assert names(here) == ["n2", "n1"]
        dear["n1"] = 3
        made.index.weights.note(0)
        assert names(here) == ["n1", "n2"]
        assert names(everywhere) == ["n3", "n1", "n2"]
        for changed in (made.index.weights, made.index.changes):
            for change in (changed, made.index.weights):
                change.note(0)
                assert names(here, 0) == [], "it is not priced again before the next change"
            assert names(here) == ["n1", "n2"]

    def test_a_node_enters_out_of_the_line_when_it_might_be_the_cheapest(self) -> None:
        made = cluster_state(running("1", "n1", 5, user=3))
        looked = list[str]()
        rough, costs, index = {0: 1, 1: 2, 2: 8}, {0: 7, 1: 4, 2: 9}, made.index

        def bounds(node_indices: Collection[int], *, now: bool) -> list[Entry]:
            looked.extend(f"rough{order}" for order in node_indices)
            last = index.changes.last
            return [(((-1, rough[each], 1),), 1, 0, each, last[each], ONLY_A_BOUND) for each in node_indices]

        def pricer(place: NodeState) -> Price:
            looked.append(place.node.name)
            return Price(((-1, costs[place.order], 1),), (made.runners[0],))

        line = BoundLine(frozenset(costs), Quotes(index, pricer, bounds), Stocks([]))
        assert looked == ["rough0", "rough1", "rough2"]
        own = Quotes(index, pricer, bounds)
        offers, others = (CheapestNodes(frozenset(costs), own, line=line) for _ in range(2))
        assert names(offers, 1) == names(others, 1) == ["n2"]
        assert looked[3:] == ["n1", "n2"], (
            "n3 costs 8 at least, and what is priced for one is priced for the other"
        )
        costs[0], rough[0] = 3, 2
        index.changes.note(0)
        assert names(offers, 1) == ["n1"]
        assert looked[5:] == ["rough0", "n1"], "a bound as of before is made anew before anything is priced"
        assert names(offers) == ["n1", "n2", "n3"]
        costs[2] = rough[2] = 0
        made.stop(made.runners[0])
        index.note_again(made.places[2])
        assert names(offers) == names(others) == ["n3", "n1", "n2"], (
            "who may be cheaper goes forward in the line"
        )

    @pytest.mark.parametrize("amount", [1, 2, 3, 4, 5, 6, 7, 8, 9, 37, 1_000, 64_000, 10**9])
    def test_a_line_serves_amounts_that_are_about_the_same(self, amount: int) -> None:
        step = step_below(amount)
        assert step <= amount < step * 5 / 4 + 1
        assert step_below(step) == step

    def pair(self, made: ClusterState, pricer: Pricer) -> tuple[CheapestNodes, CheapestNodes]:
        last = made.index.changes.last

        def bounds(node_indices: Iterable[int], *, now: bool) -> list[Entry]:
            return [((), 0, 0, order, last[order], ONLY_A_BOUND) for order in node_indices]

        quotes = Quotes(made.index, pricer, bounds)
        return CheapestNodes(frozenset(range(len(made.places))), quotes), CheapestNodes(
            frozenset({0, 1}), quotes
        )


class TestClusterState:
    def test_every_change_is_in_the_index_each_node_once_and_the_last_to_change_first(self) -> None:
        made = cluster_state(running("1", {"n1": {"cpu": 2}, "n3": {"cpu": 1}}, user=3))
        watch = made.index.changes.watch()
        made.stop(made.runners[0])
        made.take({"n2": {"cpu": 1}}, coming_first=False)
        made.take({"n1": {"cpu": 1}}, coming_first=False)
        assert (watch.behind, watch.changed(), watch.changed()) == (4, [0, 1, 2], [])

    def test_taking_uses_what_is_coming_first_or_leaves_it(self) -> None:
        place = cluster_state().places[0]
        for coming_first, free, coming in ((True, 7, 0), (False, 5, 2)):
            made = cluster_state()
            place = made.places[0]
            place.coming = {"cpu": 2}
            made.take({"n1": {"cpu": 3}}, coming_first=coming_first)
            assert (place.free["cpu"], place.coming["cpu"]) == (free, coming)

    def test_the_list_of_candidates_forgets_the_stopped_when_they_are_many(self) -> None:
        made = cluster_state(*(running(str(i), "n1", 1, user=3) for i in range(8)))
        candidates = Candidates(made)
        assert len(candidates.ordered("")) == 8
        for runner in made.runners[:5]:
            made.stop(runner)
        assert len(candidates.ordered("")) == 3

    def test_tallies_follow_the_stops(self) -> None:
        made = cluster_state(running("1", cpu=2, user=3), running("2", cpu=3, user=3, preemptable=False))
        scope = Ranking.of(made.snapshot.partition).scope(0, 0)
        before = made.below(scope)
        assert (before.stoppable, before.spared, before.held()) == (1, 1, {"cpu": 2})
        made.stop(made.runners[0])
        after = made.below(scope)
        assert (after.stoppable, after.spared, after.held()["cpu"]) == (0, 1, 0)

    def test_the_scarcest_resource_is_the_one_most_in_use(self) -> None:
        places = [node("n1", total={"cpu": 8, "gpu": 4, "mem": 100}), node("n2", up=False, total={"gpu": 99})]
        jobs = [running("1", {"n1": {"cpu": 4, "gpu": 4}})]
        made = snapshot(jobs, places, victim_order=VictimOrder.LEAST_LOST_WORK)
        scarcest = state_of(made).scarcest
        assert scarcest(["cpu", "gpu", "mem"]) == "gpu"
        assert scarcest(["cpu", "mem"]) == "cpu"
        assert scarcest(["mem"]) == "mem"
