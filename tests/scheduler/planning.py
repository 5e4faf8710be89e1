"""Short ways to ask the planner, and to read its answers, for tests."""

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from scheduler.model.jobs import SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import Decision
from scheduler.model.policy import Mode
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.planner import METHODS, plan
from scheduler.preemption.planning_run import room_search
from scheduler.preemption.ranking import Ranking
from scheduler.preemption.search import RoomSearch
from scheduler.preemption.units.in_pieces import lose
from tests.builders import snapshot


def decisions(
    jobs: Iterable[SnapshotJob],
    nodes: Iterable[SnapshotNode] | None = None,
    mode: Mode = Mode.USER,
    **rules: Any,
) -> dict[str, Decision]:
    """The decisions by job, in the order in which they were made."""
    made = plan(snapshot(jobs, nodes, mode, **rules))
    return {decision.job: decision for decision in made.decisions}


def decide(
    *jobs: SnapshotJob, nodes: Iterable[SnapshotNode] | None = None, mode: Mode = Mode.USER, **rules: Any
) -> Decision:
    """The decision on the only pending job."""
    (decision,) = decisions(jobs, nodes, mode, **rules).values()
    return decision


def stopped(decision: Decision) -> list[str]:
    """The ids of the victims, sorted."""
    return sorted(victim.job for victim in decision.victims)


def state_of(made: Snapshot) -> ClusterState:
    """The planner's own copy of a partition, with what running jobs may lose noted by the methods that are on."""
    divide = [method.divide for method in METHODS if method.is_on(made)]
    return ClusterState(made, Ranking.of(made.partition), divide=divide)


def search_in(cluster_state: ClusterState) -> RoomSearch:
    """The search for room there, as the methods that are on make it."""
    return room_search(cluster_state, [method for method in METHODS if method.is_on(cluster_state.snapshot)])


def change(cluster_state: ClusterState, data: st.DataObject) -> None:
    """Somebody is stopped, or loses a piece, or is left alone from now on, or a room is taken."""
    runners = [runner for runner in cluster_state.runners if runner.alive]
    place = data.draw(st.sampled_from(cluster_state.places))
    runner = data.draw(st.sampled_from(runners)) if runners else None
    match data.draw(st.sampled_from(["take", "stop", "lose", "lose", "leave"])), runner:
        case "stop", runner if runner:
            cluster_state.stop(runner)
        case "lose", runner if runner and runner.pieces and runner.pieces.surplus:
            lose(cluster_state, runner, {data.draw(st.sampled_from(sorted(runner.pieces.counts))): 1})
        case "leave", runner if runner:
            cluster_state.leave_alone(runner, Reason.AWAITED.value)
        case _:
            cluster_state.take({place.node.name: {"cpu": data.draw(st.integers(0, 3))}}, coming_first=True)
