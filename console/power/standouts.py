"""Processors that stand out, as incidents: opened, closed and opened again by what the figures in force say.

A processor is far from its kind above `FAR`; it is ordinary again at `ORDINARY` and below, so that one in between does
not come and go. A typed or imported figure is no jump: somebody knows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Max

from console.audit.services import SYSTEM, Subject, record
from console.cluster.memory import memory_of
from console.cluster.models import Cluster, Node
from console.cluster.services import show_change
from console.core import clock
from console.power.models import PowerIncident, Processor, Source, StandoutKind, StandoutState
from console.power.selectors import FAR, Kind, kinds_among, kinds_of
from scheduler.model.sentence import say

ORDINARY = 0.08
CLEARLY = 0.05
"""One that was left is opened again when it is slower by so much more of the usual figure."""

_Key = tuple[str, str, int]


class _Followed:
    """What the figures and incidents of a cluster looked like from outside when they were last followed."""

    def __init__(self, _cluster: Cluster) -> None:
        self.stamp: tuple[int, datetime | None, int] | None = None


@dataclass(frozen=True, slots=True)
class Standout:
    """How a processor stands out."""

    kind: StandoutKind
    usual: float
    share: float
    siblings: int = 0


def follow_figures(cluster: Cluster) -> int:
    """Bring the incidents into step with the figures in force; how many have changed."""
    processors = Processor.objects.filter(cluster=cluster)
    seen = processors.aggregate(count=Count("pk"), last=Max("taken_at"))
    standing = PowerIncident.objects.filter(cluster=cluster).exclude(state=StandoutState.CLOSED)
    stamp = (seen["count"], seen["last"], standing.count())
    followed = memory_of(_Followed, cluster)
    if followed.stamp == stamp:
        return 0
    with transaction.atomic():
        known = {_key(row): row for row in standing.select_for_update()}
        rows = list(processors)
        kinds = kinds_among(rows, kinds_of(cluster))
        changed = sum(_follow(cluster, row, kinds.get(row.pk), known.get(_key(row))) for row in rows)
        if changed:
            show_change(cluster)
    followed.stamp = (*stamp[:2], standing.count())
    return changed


def _follow(cluster: Cluster, row: Processor, kind: Kind | None, known: PowerIncident | None) -> bool:
    found = standout(row, kind)
    if known is None:
        return found is not None and _open(cluster, row, found)
    if is_ordinary(row, kind, known):
        return _close(known, row)
    return _go_on(known, row, kind)


def standout(row: Processor, kind: Kind | None) -> Standout | None:
    """Whether a processor stands out: it is far slower than its kind, or its figure has jumped.

    A jump to where its kind is far away, too, is one to either side; else only what has become slower is one.
    """
    share = kind.share(row.figure) if kind else 0.0
    if kind and share > FAR:
        return Standout(StandoutKind.FAR, kind.middle, share, kind.siblings)
    if row.before is None or row.source != Source.MEASURED:
        return None
    moved = row.figure / row.before - 1
    if moved > FAR or (moved < -FAR and share < -FAR):
        return Standout(StandoutKind.JUMPED, row.before, moved)
    return None


def is_ordinary(row: Processor, kind: Kind | None, known: PowerIncident) -> bool:
    """Whether a processor that stood out does no more. After a jump only a later figure says so: it is back, or its
    kind is there, too."""
    if kind and kind.share(row.figure) > ORDINARY:
        return False
    if known.kind == StandoutKind.FAR:
        return kind is not None
    is_back = abs(row.figure / known.usual - 1) <= ORDINARY
    is_like_its_kind = kind is not None and abs(kind.share(row.figure)) <= ORDINARY
    return row.taken_at > known.figure_at and (is_back or is_like_its_kind)


def _open(cluster: Cluster, row: Processor, found: Standout) -> bool:
    incident = PowerIncident.objects.create(
        cluster=cluster,
        node=row.node,
        resource=row.resource,
        device=row.device,
        kind=found.kind,
        figure=row.figure,
        figure_at=row.taken_at,
        usual=found.usual,
        share=found.share,
        siblings=found.siblings,
        opened_at=clock.now(),
    )
    tell(incident, "power.incident_opened", after={"figure": row.figure, "words": str(incident.words)})
    return True


def _close(known: PowerIncident, row: Processor) -> bool:
    known.state, known.closed_at = StandoutState.CLOSED, clock.now()
    known.close_reason = say("power.ordinary", now=f"{row.figure:.3g}")
    known.save(update_fields=["state", "closed_at", "close_reason"])
    tell(known, "power.incident_closed", reason=known.close_reason)
    return True


def _go_on(known: PowerIncident, row: Processor, kind: Kind | None) -> bool:
    """It stands out still: by how much now, and whether that is clearly more than what was left as it is."""
    if known.kind == StandoutKind.FAR and kind:
        known.usual, known.siblings = kind.middle, kind.siblings
    share = row.figure / known.usual - 1
    if (row.figure, row.taken_at, share) == (known.figure, known.figure_at, known.share):
        return False
    known.figure, known.figure_at, known.share = row.figure, row.taken_at, share
    left = known.left_share
    worse = known.state == StandoutState.LEFT and left is not None and share > max(0.0, left) + CLEARLY
    if worse:
        known.state, known.opened_at, known.times = StandoutState.OPEN, clock.now(), known.times + 1
        known.left_share = None
    known.save()
    if worse:
        tell(known, "power.incident_opened", after={"figure": row.figure, "words": str(known.words)})
    return True


def tell(
    incident: PowerIncident, action: str, *, after: Mapping[str, object] | None = None, reason: str = ""
) -> None:
    """A row of the audit log about what happened by itself. Must run inside a transaction."""
    record(actor=SYSTEM, action=action, subject=subject_of(incident), after=after, reason=reason)


def subject_of(incident: PowerIncident) -> Subject:
    """What the audit log calls it: the node, in the first of its partitions."""
    label = f"{incident.node}, {incident.resource} {incident.device}"
    return Subject(
        "node", incident.node, label, cluster=incident.cluster.name, partition=partition_of(incident)
    )


def partition_of(incident: PowerIncident) -> str:
    """The first partition of an incident's node; empty when the node is gone."""
    node = Node.objects.filter(cluster=incident.cluster_id, name=incident.node).only("partitions").first()
    partitions: Sequence[str] = node.partitions if node else ()
    return min(partitions, default="")


def _key(row: Processor | PowerIncident) -> _Key:
    return row.node, row.resource, row.device
