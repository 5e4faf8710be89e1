"""Plans do not depend on whether requests share what is kept about nodes by the resource that they need most of."""

import random
from dataclasses import replace

import pytest

from bench.plan_methods import METHODS, Method, snapshot_for
from scheduler.model.snapshot import Snapshot
from scheduler.preemption import by_one_resource
from scheduler.preemption.by_one_resource import LackingNodes, most_needed
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.planner import plan
from scheduler.preemption.ranking import Ranking
from scheduler.preemption.reservation import moments
from scheduler.preemption.shapes import Shapes
from scheduler.preemption.stock import NodeStocks
from tests.scheduler.random_partitions import random_partition


def partition(method: Method, seed: int, scarce: float) -> Snapshot:
    """One of the benchmark's, smaller; a share of its nodes has hardly any memory left."""
    made = snapshot_for(method, running=300, pending=60, seed=seed, sizes=300)
    chance = random.Random(seed)
    held = dict.fromkeys((node.name for node in made.nodes), 0)
    for job in made.jobs:
        for name, amounts in job.alloc.items():
            held[name] += amounts["mem"]
    nodes = [
        replace(node, total={**node.total, "mem": held[node.name] + chance.choice((1_000, 4_000, 9_000))})
        if chance.random() < scarce
        else node
        for node in made.nodes
    ]
    return replace(made, nodes=tuple(nodes))


def by_themselves(made: Snapshot, monkeypatch: pytest.MonkeyPatch) -> object:
    """The plan when each request has nodes of its own."""
    with monkeypatch.context() as patched:
        patched.setattr(LackingNodes, "now", lambda _: None)
        patched.setattr(moments, "MOST_DEFERRED", -1)
        return plan(made)


@pytest.mark.parametrize("scarce", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.title)
def test_the_plan_is_the_same(method: Method, scarce: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        made = partition(method, seed, scarce)
        assert plan(made) == by_themselves(made, monkeypatch)


def test_the_plans_of_random_partitions_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300, 360):
        made = random_partition(number)
        assert plan(made) == by_themselves(made, monkeypatch)


def test_nodes_that_lack_something_else_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few of them, by name; many, not at all."""
    made = partition(METHODS[0], 1, 0.3)
    ranking = Ranking.of(made.partition)
    state = ClusterState(made, ranking)
    request = next(job.request for job in made.jobs if job.request and job.request.nodes == 1)
    shape = Shapes(state).of(replace(request, per_node={"cpu": 8, "mem": 20_000}))
    one = most_needed(shape)
    lacking = LackingNodes(shape.node_indices, [(NodeStocks(state.index).of("mem", coming=True), 20_000)])
    scarce = {place.order for place in shape.places if place.free["mem"] < 20_000}
    assert one == ("cpu", 8)
    assert scarce and lacking.now() == scarce
    monkeypatch.setattr(by_one_resource, "FEW", len(scarce) - 1)
    assert lacking.now() is None
