"""Nodes of a simulated cluster out of service and back, as a person wishes it through Giveway."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.model.actions import ActionOutcome, OutcomeKind
from scheduler.ports import ClusterUnavailableError


@dataclass(frozen=True, slots=True)
class SimulatorNodes:
    """As `NodePort` says. `opened`: the cluster, for the time of one change."""

    opened: Callable[[], AbstractContextManager[SimulatedCluster]]

    def drain(self, node: str, reason: str) -> ActionOutcome:
        """As `NodePort` says."""
        return self._change(node, reason, drained=True)

    def put_back(self, node: str, reason: str) -> ActionOutcome:
        """As `NodePort` says."""
        return self._change(node, reason, drained=False)

    def _change(self, name: str, reason: str, *, drained: bool) -> ActionOutcome:
        try:
            with self.opened() as cluster:
                return _change(cluster, name, reason, drained=drained)
        except ClusterUnavailableError as error:
            return ActionOutcome(OutcomeKind.UNKNOWN, str(error))


def _change(cluster: SimulatedCluster, name: str, reason: str, *, drained: bool) -> ActionOutcome:
    if cluster.faults.unavailable:
        return ActionOutcome(OutcomeKind.UNKNOWN, cluster.faults.unavailable)
    node = cluster.state.nodes.get(name)
    if node is None:
        return ActionOutcome(OutcomeKind.GONE, f"Node {name} not found")
    is_drained = node.state is SimNodeState.DRAIN
    if is_drained and node.reason != reason:
        return ActionOutcome(OutcomeKind.REFUSED, node.reason or "no reason")
    if is_drained is drained:
        return ActionOutcome(OutcomeKind.ALREADY)
    if node.state is SimNodeState.DOWN:
        return (
            ActionOutcome(OutcomeKind.REFUSED, "it is down")
            if drained
            else ActionOutcome(OutcomeKind.ALREADY)
        )
    cluster.set_node_state(
        name, SimNodeState.DRAIN if drained else SimNodeState.UP, reason if drained else ""
    )
    return ActionOutcome(OutcomeKind.DONE)
