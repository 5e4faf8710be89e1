"""What a person does about a processor that stands out: drain its node, put it back, leave it as it is."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from console.accounts.permissions import Permission
from console.audit.services import Context, reason_of, record
from console.cluster.models import Node
from console.cluster.services import show_change
from console.core import clock
from console.partitions.models import Partition
from console.power.draining import mark_of
from console.power.models import OPEN_DRAINS, DrainState, NodeDrain, PowerIncident, StandoutState
from console.power.standouts import subject_of


def may_act_on(user: Any, incident: PowerIncident) -> bool:
    """A node may be in several partitions: whoever drains it must look after all of those that Giveway knows."""
    node = Node.objects.filter(cluster=incident.cluster_id, name=incident.node).only("partitions").first()
    names = node.partitions if node else []
    rows = Partition.objects.filter(cluster=incident.cluster_id, name__in=names, revision__isnull=False)
    managed = list(rows.select_related("cluster"))
    return bool(managed) and all(user.has_perm(Permission.NODE_DRAIN, row) for row in managed)


def open_drain(incident: PowerIncident) -> NodeDrain | None:
    """The drain of its node that is wished for or in force, whatever it was drained for."""
    return NodeDrain.objects.filter(
        cluster=incident.cluster_id, node=incident.node, state__in=OPEN_DRAINS
    ).first()


def drain(incident: PowerIncident, *, actor: str, reason: str, context: Context) -> NodeDrain:
    """Have its node drained. Asked for already, it stays as it was. Raises `ValidationError`."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        incident = _locked(incident)
        known = open_drain(incident)
        if known is not None and known.state != DrainState.RETURNING:
            return known
        if known is not None:
            raise ValidationError(_("The node is just being put back. Drain it when it is."))
        if incident.state == StandoutState.CLOSED:
            raise ValidationError(_("The incident is closed: its processor is ordinary again."))
        now = clock.now()
        row = NodeDrain.objects.create(
            cluster=incident.cluster, node=incident.node, incident=incident, by=actor, reason=reason[:1000],
            asked_at=now, changed_at=now,
        )  # fmt: skip
        row.mark = mark_of(row)
        row.save(update_fields=["mark"])
        _record(incident, "power.drain_asked", actor, reason, context, {"node": row.node, "mark": row.mark})
    return row


def put_back(incident: PowerIncident, *, actor: str, reason: str, context: Context) -> NodeDrain:
    """Have its node put back, if Giveway has drained it. Raises `ValidationError`."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        incident = _locked(incident)
        row = open_drain(incident)
        if row is None:
            raise ValidationError(_("Giveway has not drained this node: whoever has puts it back."))
        if row.state != DrainState.RETURNING:
            row.state, row.sent_at, row.changed_at, row.detail = DrainState.RETURNING, None, clock.now(), ""
            row.save(update_fields=["state", "sent_at", "changed_at", "detail"])
            _record(
                incident, "power.return_asked", actor, reason, context, {"node": row.node, "mark": row.mark}
            )
    return row


def leave(incident: PowerIncident, *, actor: str, reason: str, context: Context) -> PowerIncident:
    """It stays as it is, until it gets clearly worse. Raises `ValidationError`."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        row = _locked(incident)
        if row.state == StandoutState.CLOSED:
            raise ValidationError(_("The incident is closed: its processor is ordinary again."))
        if row.state == StandoutState.OPEN:
            row.state, row.left_by, row.left_reason = StandoutState.LEFT, actor, reason[:1000]
            row.left_share = row.share
            row.save(update_fields=["state", "left_by", "left_reason", "left_share"])
            _record(row, "power.incident_left", actor, reason, context, {"share": row.share})
    return row


def _locked(incident: PowerIncident) -> PowerIncident:
    """Of two people at once one is first."""
    return PowerIncident.objects.select_for_update(of=("self",)).select_related("cluster").get(pk=incident.pk)


def _record(
    incident: PowerIncident, action: str, actor: str, reason: str, context: Context, after: dict[str, Any]
) -> None:
    record(
        actor=actor, action=action, subject=subject_of(incident), after=after, reason=reason, context=context
    )
    show_change(incident.cluster)
