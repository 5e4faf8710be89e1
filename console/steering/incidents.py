"""Incidents: opened when a victim did not come back, closed by a person with a reason or when the job is seen again.

Two within an hour pause the partition by itself; whoever resumes it wipes the slate: only later ones count then.
"""

from datetime import timedelta

from console.audit.services import SYSTEM
from console.cluster.services import show_change
from console.core import clock
from console.partitions.models import Partition
from console.steering.journal import tell_incident
from console.steering.models import Incident, IncidentKind, Victim
from console.steering.pausing import pause, pause_of
from scheduler.model.sentence import Listed, say

TOO_MANY = 2
WITHIN = timedelta(hours=1)
SEEN_AGAIN = say("incident.seen_again")


def open_incident(victim: Victim, kind: IncidentKind) -> bool:
    """Open an incident for a victim; whether the partition is paused because of it. Must run inside a transaction."""
    plan = victim.plan
    incident, is_new = Incident.objects.get_or_create(
        victim=victim,
        kind=kind,
        defaults={
            "cluster_id": victim.cluster_id,
            "partition": plan.partition,
            "job_id": victim.job_id,
            "job_name": victim.job_name,
            "user": victim.user,
            "plan": plan.pk,
            "beneficiary": plan.job_id,
            "words": victim.words,
            "opened_at": clock.now(),
        },
    )
    if not is_new:
        return False
    tell_incident(incident, "incident.opened", reason=incident.words)
    show_change(plan.cluster)
    return _pause(incident)


def close_found(victim: Victim) -> None:
    """The job is seen again: its incidents are over, and do not count. Must run inside a transaction."""
    for incident in Incident.objects.filter(victim=victim, closed_at=None).select_related("cluster"):
        close(incident, actor=SYSTEM, reason=SEEN_AGAIN, counts=False)


def close(incident: Incident, *, actor: str, reason: str, counts: bool = True, request_id: str = "") -> bool:
    """Close an incident; False when somebody else has done so. Must run inside a transaction."""
    changes = {
        "closed_at": clock.now(),
        "closed_by": actor,
        "close_reason": reason,
        "counts": incident.counts and counts,
    }
    if not Incident.objects.filter(pk=incident.pk, closed_at=None).update(**changes):
        return False
    for name, value in changes.items():
        setattr(incident, name, value)
    tell_incident(incident, "incident.closed", reason=reason, actor=actor, request_id=request_id)
    show_change(incident.cluster)
    return True


def _pause(incident: Incident) -> bool:
    """Pause the partition where this was one too many, unless it is paused already."""
    lately = Incident.objects.filter(
        cluster=incident.cluster_id,
        partition=incident.partition,
        counts=True,
        opened_at__gte=clock.now() - WITHIN,
    )
    jobs = list(lately.order_by("id").values_list("job_id", flat=True))
    partition = Partition.objects.filter(cluster=incident.cluster_id, name=incident.partition).first()
    if len(jobs) < TOO_MANY or partition is None or pause_of(incident.cluster, partition):
        return False
    pause(
        actor=SYSTEM,
        cluster=incident.cluster,
        partition=partition,
        reason=say("incident.too_many", n=len(jobs), names=Listed(jobs)),
    )
    return True
