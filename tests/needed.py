"""One of each kind of thing that needs somebody, in partition x or project alpha of a test's house."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from console.cluster.models import Cluster, Node
from console.health.doctor.findings import Finding, fail
from console.projects.models import Project, ProjectProposal, UrgencyRequest
from console.setup.models import Examination
from console.steering.failures import Streak, written
from console.steering.models import CycleMeter, Fate, Pause, Plan, Victim
from tests import factories

HOUR = timedelta(hours=1)


def calm(cluster: Cluster) -> None:
    """Nothing of the house needs anybody any more."""
    Node.objects.filter(cluster=cluster).update(up=True)


def incident(cluster: Cluster, partition: str = "x") -> None:
    factories.make_incident(_plan(cluster), partition=partition)


def late(cluster: Cluster, partition: str = "x", fate: str = Fate.OPEN, hours: int = 1, **facts: Any) -> None:
    plan = _plan(cluster, partition)
    Victim.objects.create(
        plan=plan, cluster=cluster, job_id="88", run_start=1, run_restarts=0, user="bob", fate=fate,
        sent_at=timezone.now() - hours * HOUR, **facts,
    )  # fmt: skip


def cycle(cluster: Cluster, partition: str = "x") -> None:
    streak = Streak(partition, "deciding: KeyError: 'x'", timezone.now())
    CycleMeter.objects.update_or_create(cluster=cluster, defaults={"failing": written({partition: streak})})


def approval(cluster: Cluster, partition: str = "x", job: str = "501") -> Plan:
    return _plan(
        cluster, partition, job_id=job, state="proposed", enforcement="approve",
        victims=[{"job": "88", "user": "bob", "how": "requeue"}],
    )  # fmt: skip


def asked(cluster: Cluster, project: str = "alpha") -> UrgencyRequest:
    return UrgencyRequest.objects.create(
        project=Project.objects.get(cluster=cluster, code=project), urgency=9, urgency_by="hand",
        asked_by="pam", asked_at=timezone.now(), reason="<b>Friday</b>",
    )  # fmt: skip


def proposed(cluster: Cluster, code: str = "gamma") -> ProjectProposal:
    entry = {
        "code": code, "name": "Gamma <i>rays</i>", "size": 10, "grade": 2, "urgency": 1, "urgency_by": "hand",
        "slurm_account": "", "managers": ["pam"], "members": ["cy"], "tasks": [],
    }  # fmt: skip
    return ProjectProposal.objects.create(
        cluster=cluster, code=code, document=entry, share="x: 4 nodes", asked_by="pam", asked_at=timezone.now(),
        reason="<b>New money</b>",
    )  # fmt: skip


def paused(cluster: Cluster, partition: str = "x") -> None:
    Pause.objects.create(
        cluster=cluster, partition=partition, since=timezone.now(), by="ada", reason="Rebuild"
    )


def undone(cluster: Cluster, partition: str = "x", job: str = "502", hours: int = 1, **facts: Any) -> Plan:
    why = "502 had not started by the deadline."
    ended = timezone.now() - hours * HOUR
    return _plan(
        cluster, partition, job_id=job, **{"state": "undone", "ended_at": ended, "undo_reason": why, **facts}
    )


def doctor(cluster: Cluster, *findings: Finding) -> None:
    kept = findings or (fail("worker", "doctor.worker.never"),)
    Examination.objects.update_or_create(
        cluster=cluster,
        defaults={"examined_at": timezone.now(), "findings": [each.as_json() for each in kept]},
    )


def node(cluster: Cluster, partition: str = "x") -> None:
    factories.make_node(
        cluster, "n9", up=False, state="DRAINED", state_reason="broken fan", partitions=[partition]
    )


def uneven(cluster: Cluster, partition: str = "x") -> None:
    factories.make_node(cluster, "n8", partitions=[partition])
    factories.make_power_incident(cluster, "n8")


def unconfigured(cluster: Cluster, partition: str = "x", count: int = 20) -> None:
    for i in range(count):
        factories.make_job(cluster, str(700 + i), partition=partition)


MADE: dict[str, Callable[[Cluster], object]] = {
    "incident": incident,
    "late": late,
    "cycle": cycle,
    "approval": approval,
    "paused": paused,
    "undone": undone,
    "doctor": doctor,
    "node": node,
    "uneven": uneven,
    "unconfigured": unconfigured,
}
"""By kind; a manager's own request (`asked`) is an approval for who decides on it."""


def _plan(cluster: Cluster, partition: str = "x", **facts: Any) -> Plan:
    number = cluster.plans.count()
    defaults = {"job_id": str(600 + number), "state": "verified", "partition": partition}
    return factories.make_plan(factories.make_cycle(cluster, 100 + number), **{**defaults, **facts})
