"""What is so now: incidents, failing cycles, pauses, sick and uneven nodes, the doctor's failures, too few levels.

No query: everything has been read.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import timedelta

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.cluster.models import Cluster
from console.core import clock
from console.core.l10n_format import names
from console.core.templatetags.ui import node_state
from console.core.translate import resay
from console.health.doctor.findings import Level
from console.health.selectors import late_after_s
from console.needs.rows import Need, NeedKind
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.power.models import PowerIncident
from console.reports.seen import Seen, level_field
from console.setup.models import Examination
from console.steering.operations.pausing import EVERYWHERE
from console.steering.operations.standing import SteeringNotices

Mine = Callable[[str], bool]
SLOWED = timedelta(minutes=10)
"""So long it is said that slurmctld has made a command wait."""
"""Whether a person may act on a partition; the empty one is all of them."""
LARGE = 0.5
"""A larger share of jobs without a level is worth a look..."""
FEWEST = 10
"""...where there are so many jobs at least."""
TOLD_APART = frozenset(
    {"doctor.incidents.open", "doctor.incidents.open.one", "doctor.worker.failed", "doctor.worker.blind"}
)
"""Findings that have rows of their own."""


def incidents(notices: SteeringNotices, mine: Mine) -> Iterator[Need]:
    """Victims that are lost."""
    for row in notices.incidents:
        if mine(row.partition):
            text = _("Job %(job)s (%(user)s) was stopped and did not come back.")
            said = f"{text % {'job': row.job_id, 'user': row.user}} {resay(row.words)}"
            url = reverse("incident", args=[row.pk])
            yield Need(NeedKind.INCIDENT, said, row.opened_at, row.partition, url, row.pk)


def failing(notices: SteeringNotices, cluster: Cluster, mine: Mine) -> Iterator[Need]:
    """Why nobody is stopped though nothing is paused."""
    for streak in notices.streaks:
        if mine(streak.partition):
            url = (
                reverse("partition", args=[streak.partition])
                if streak.partition
                else reverse("setup-cluster")
            )
            yield Need(NeedKind.CYCLE, resay(streak.sentence), streak.since, streak.partition, url)
    if not mine(EVERYWHERE):
        return
    last = cluster.attempted_at
    if last is not None and (clock.now() - last).total_seconds() > late_after_s():
        said = _("The worker is late or does not run: no cycle since then, and nothing is decided.")
        yield Need(NeedKind.CYCLE, said, last, "", reverse("setup-cluster"))
    slowed = cluster.slowed_at
    if slowed is not None and clock.now() - slowed < SLOWED:
        text = _("slurmctld lets Giveway ask only a few times a minute: cycles and plans take longer.")
        yield Need(NeedKind.CYCLE, text, slowed, "", reverse("setup-cluster"))
    if cluster.fault:
        text = _("The cluster could not be read in full; nothing is decided until it can.")
        said = f"{text} {resay(cluster.fault)}"
        yield Need(NeedKind.CYCLE, said, cluster.observed_at, "", reverse("setup-cluster"))


def paused(notices: SteeringNotices, mine: Mine) -> Iterator[Need]:
    """Pauses that the person may lift."""
    for pause in notices.pauses:
        if mine(pause.partition):
            text = _("%(who)s paused it: nobody is stopped.")
            if pause.partition == EVERYWHERE:
                text = _("%(who)s paused everything: nobody is stopped.")
            text %= {"who": pause.by_whom}
            why = resay(pause.reason) if pause.is_ours else pause.reason
            url = reverse("partition", args=[pause.partition]) if pause.partition else reverse("overview")
            said = f"{text} {why}".strip()
            yield Need(NeedKind.PAUSED, said, pause.since, pause.partition, f"{url}#pauses")


def sick(seen: Seen, partitions: Collection[str]) -> Iterator[Need]:
    """Nodes that take no jobs: one row for those of a partition with the same state and reason."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for node in seen.nodes:
        own = None if node.up else next((name for name in node.partitions if name in partitions), None)
        if own is not None:
            alike.setdefault((own, node.state, node.state_reason), []).append(node.name)
    for (partition, state, reason), found in alike.items():
        text = ngettext(
            "%(nodes)s takes no jobs (%(state)s).", "%(nodes)s take no jobs (%(state)s).", len(found)
        )
        if reason:
            text = ngettext(
                "%(reason)s: %(nodes)s takes no jobs (%(state)s).",
                "%(reason)s: %(nodes)s take no jobs (%(state)s).",
                len(found),
            )
        said = text % {"reason": reason, "nodes": names(found), "state": node_state(state)}
        yield Need(NeedKind.NODE, said, None, partition, _partition(partition, nodes="off"))


def uneven(found: Iterable[PowerIncident], seen: Seen, partitions: Collection[str]) -> Iterator[Need]:
    """Processors that stand out, on nodes of these partitions."""
    rows = list(found)
    of_node = {node.name: node.partitions for node in seen.nodes} if rows else {}
    for row in rows:
        own = next((name for name in of_node.get(row.node, ()) if name in partitions), None)
        if own is not None:
            url = reverse("power-incident", args=[own, row.pk])
            yield Need(NeedKind.UNEVEN, resay(row.words), row.opened_at, own, url, row.pk)


def doctor(found: Examination) -> Iterator[Need]:
    """The doctor's failures, as of the last examination."""
    for each in found.told:
        if each["level"] == Level.FAIL.value and getattr(each["what"], "code", "") not in TOLD_APART:
            yield Need(NeedKind.DOCTOR, resay(each["what"]), found.examined_at, "", reverse("setup-cluster"))


def unconfigured(seen: Seen, partitions: Iterable[Partition]) -> Iterator[Need]:
    """Partitions with levels in which most jobs have none."""
    for partition in partitions:
        policy = policy_of(partition) if partition.revision_id else None
        if policy is None or not policy.levels:
            continue
        axis, counts = level_field(policy.mode), Counter[bool]()
        for row in seen.jobs:
            if row["partition"] == partition.name:
                counts[row[axis] is None] += row["count"]
        without, total = counts[True], counts.total()
        if total >= FEWEST and without > LARGE * total:
            text = _("No project or rule names them: %(n)d of %(total)d jobs are unconfigured.")
            said = text % {"n": without, "total": total}
            url = _partition(partition.name, level="none")
            yield Need(NeedKind.UNCONFIGURED, said, None, partition.name, url)


def _partition(name: str, **query: str) -> str:
    return f"{reverse('partition', args=[name])}?{urlencode(query)}"
