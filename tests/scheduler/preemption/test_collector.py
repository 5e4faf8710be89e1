"""The garbage collector stands still while a plan is made, and only then."""

import gc
from collections.abc import Iterator

import pytest

from bench.plan_methods import METHODS, Method, snapshot_for
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.collector import paused
from scheduler.preemption.planner import plan
from tests.builders import nodes, snapshot


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.enable()


def test_it_stands_still_while_a_plan_is_made_and_goes_on_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    real = ClusterState.__init__

    def watched(*arguments: object) -> None:
        seen.append(gc.isenabled())
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ClusterState, "__init__", watched)
    plan(snapshot([], nodes(1)))
    assert seen == [False]
    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError, match="no plan"), paused():
        raise ValueError("no plan")
    assert gc.isenabled()


def test_who_had_stopped_it_finds_it_stopped() -> None:
    gc.disable()
    with paused():
        pass
    assert not gc.isenabled()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.title)
def test_a_plan_leaves_nothing_to_collect(method: Method) -> None:
    made = snapshot_for(method, running=200, pending=60, seed=7)
    plan(made)
    gc.collect()
    gc.disable()
    plan(made)
    assert gc.collect() < 20, "objects in cycles: 800 and more when places and runners know each other"
