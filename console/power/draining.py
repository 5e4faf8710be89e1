"""Nodes that a person drains because of a slow processor, and puts back: written down first, then carried out by a
task, and true only when it is seen.

What somebody else does to such a node meanwhile stays, and is told.
"""

from datetime import timedelta

import structlog
from django.db import transaction

from console.audit.services import SYSTEM, record
from console.cluster.models import Cluster, Node
from console.cluster.services import show_change
from console.core import clock
from console.power.models import OPEN_DRAINS, DrainState, NodeDrain
from console.power.standouts import subject_of
from scheduler.model.actions import DRAIN_MARK, OutcomeKind
from scheduler.ports import NodePort

log = structlog.get_logger(__name__)

SEEN_WITHIN = timedelta(minutes=2)
"""What the cluster took and does not show after so long has been undone by somebody."""
_ACTIONS = {
    DrainState.DRAINED: "power.drained",
    DrainState.BACK: "power.put_back",
    DrainState.FAILED: "power.not_drained",
    DrainState.OVER: "power.drain_over",
}


def mark_of(drain: NodeDrain) -> str:
    """Its reason in Slurm: nobody else's, and what a person reads there."""
    words = f"{DRAIN_MARK}drain {drain.pk} by {drain.by}: {drain.reason}"
    return " ".join("".join(each if each.isprintable() else " " for each in words).split())[:150].rstrip()


def tend(cluster: Cluster, port: NodePort) -> int:
    """Carry out what is wished, and compare it with what is seen; how many drains have changed."""
    rows = NodeDrain.objects.filter(cluster=cluster, state__in=OPEN_DRAINS).select_related(
        "incident", "cluster"
    )
    return sum(_tend(row, port) for row in rows.order_by("id"))


def _tend(drain: NodeDrain, port: NodePort) -> bool:
    if drain.state != DrainState.DRAINED and drain.sent_at is None:
        return _send(drain, port)
    return _verify(drain)


def _send(drain: NodeDrain, port: NodePort) -> bool:
    asked = drain.state == DrainState.ASKED
    outcome = (port.drain if asked else port.put_back)(drain.node, drain.mark)
    if outcome.ok:
        rows = NodeDrain.objects.filter(pk=drain.pk, state=drain.state, sent_at=None)
        return bool(rows.update(sent_at=clock.now(), detail=""))
    if outcome.kind is OutcomeKind.UNKNOWN:
        log.warning("node not answered for", node=drain.node, reason=outcome.detail)
        NodeDrain.objects.filter(pk=drain.pk).update(detail=outcome.detail[:300])
        return False
    return _end(drain, DrainState.FAILED if asked else DrainState.OVER, outcome.detail)


def _verify(drain: NodeDrain) -> bool:
    """By the mirror, and only what was seen after the cluster took it."""
    seen_at, sent = drain.cluster.observed_at, drain.sent_at or drain.changed_at
    node = Node.objects.filter(cluster=drain.cluster, name=drain.node).first()
    if seen_at is None or seen_at <= sent:
        return False
    if node is None:
        return _end(drain, DrainState.OVER, "the node is gone")
    is_drained, is_ours = "DRAIN" in node.state.upper(), node.state_reason.startswith(drain.mark)
    if drain.state == DrainState.RETURNING:
        if not is_drained:
            return _end(drain, DrainState.BACK)
        return not is_ours and _end(drain, DrainState.OVER, node.state_reason)
    if is_drained and is_ours:
        return drain.state == DrainState.ASKED and _end(drain, DrainState.DRAINED)
    if is_drained:
        return _end(drain, DrainState.OVER, node.state_reason)
    if drain.state == DrainState.ASKED and seen_at - sent < SEEN_WITHIN:
        return False
    return _end(drain, DrainState.OVER)


def _end(drain: NodeDrain, state: DrainState, detail: str = "") -> bool:
    """It has come so far, told once."""
    with transaction.atomic():
        rows = NodeDrain.objects.filter(pk=drain.pk, state=drain.state)
        if not rows.update(state=state, changed_at=clock.now(), detail=detail[:300]):
            return False
        record(
            actor=SYSTEM,
            action=_ACTIONS[state],
            subject=subject_of(drain.incident),
            after={"mark": drain.mark, "detail": detail[:300]},
        )
        show_change(drain.cluster)
    return True
