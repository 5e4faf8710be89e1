"""A large installation in the database, for `bench.web`: the mirror by a real cycle, everything else in bulk."""

import random
from datetime import datetime, timedelta
from typing import Any

from bench.web_asked import fill_asked
from bench.web_more import fill_more
from bench.web_pages import Filled

PROJECTS = 60
USERS = 97
PLANS = 2_000
MINUTES = 7 * 24 * 60
CHUNK = 2_000
ACTIONS = (
    ("plan.proposed", "plan", "giveway"),
    ("action.issued", "job", "giveway"),
    ("action.verified", "job", "giveway"),
    ("plan.verified", "plan", "giveway"),
    ("project.changed", "project", "pam"),
    ("policy.activated", "partition", "dave"),
    ("account.signed_in", "account", "ada"),
)


def fill(running: int, pending: int, audit_rows: int) -> Filled:
    """Fill an empty, migrated database. Django must be set up."""
    from console.audit.models import AuditHead
    from console.cluster.models import Job, JobPhase
    from console.steering.models import Plan

    cluster = _mirror(running, pending)
    decided = Plan.objects.filter(cluster=cluster).latest("pk").pk
    _projects(cluster)
    _plans(cluster)
    _minutes(cluster)
    _audit(cluster.name, audit_rows)
    _people()
    numbers = fill_more(cluster, PROJECTS) | fill_asked(cluster, USERS)
    cluster.refresh_from_db()
    jobs = Job.objects.filter(cluster=cluster)
    plan = Plan.objects.filter(cluster=cluster, state="verified").latest("pk")
    return Filled(
        running=plan.victims[0]["job"],
        pending=jobs.filter(phase=JobPhase.PENDING).values_list("job_id", flat=True)[:1].get(),
        plan=plan.pk,
        row=AuditHead.objects.get().sequence - audit_rows // 2,
        project="p7",
        version=cluster.version,
        decided=decided,
        **numbers,
    )


def go_on() -> None:
    """Another cycle of the cluster that `fill` made: ten jobs have ended, ten run, ten have come."""
    from console.cluster.connect import configured_cluster
    from console.steering import cycle

    cluster = configured_cluster()
    memory: Any = getattr(cycle, "connect")(cluster)  # noqa: B009 - as in `_mirror`
    memory.go_on()
    before = cluster.version
    report = cycle.run_cycle(cluster)
    cluster.refresh_from_db()
    if report is None or report.fault or cluster.version == before:
        raise RuntimeError(f"the cycle changed nothing: {report}")


def _mirror(running: int, pending: int) -> Any:
    from bench.cycle import LEVELS, Memory
    from console.cluster.connect import configured_cluster
    from console.partitions.services import activate_policy, ensure_partition
    from console.steering import cycle

    cluster, memory = configured_cluster(), Memory(running, pending)
    row = ensure_partition(cluster=cluster, name="x")
    levels = [{**level, "min_score": 100.0 / (rank + 1)} for rank, level in enumerate(LEVELS)]
    document = {"name": "x", "mode": "user_then_task", "levels": levels, "quotas": {"P0": 400}}
    activate_policy(actor="bench", partition=row, document=document, reason="Measuring.", based_on=None)
    setattr(cycle, "connect", lambda _row: memory)  # noqa: B010 - mypy knows no module's name as a variable
    report = cycle.run_cycle(cluster)
    if report is None or report.fault:
        raise RuntimeError(f"the cycle did not run: {report}")
    return cluster


def _people() -> None:
    from console.accounts.models import Role, User

    User.objects.create(username="ada", role=Role.ADMINISTRATOR)


def _projects(cluster: Any) -> None:
    from console.projects.models import MemberRole, Membership, Project, TaskPattern

    made = Project.objects.bulk_create(
        Project(
            cluster=cluster,
            code=f"p{i}",
            name=f"Project {i}",
            size=10 + i,
            grade=1 + i % 4,
            urgency=1 + i % 5,
        )
        for i in range(PROJECTS)
    )
    Membership.objects.bulk_create(
        Membership(project=made[i % PROJECTS], username=f"user{i}", role=MemberRole.MEMBER)
        for i in range(USERS)
    )
    TaskPattern.objects.bulk_create(
        TaskPattern(project=project, pattern=f"{project.code}_eval*", importance=2.0) for project in made
    )


def _plans(cluster: Any) -> None:
    """Plans of the last days, each with one victim, its steps and its checkpoint."""
    from console.steering.models import Checkpoint, Cycle, Plan, PlannedAction

    cycle, now = Cycle.objects.filter(cluster=cluster).latest("pk"), _now()
    victims = [str(1000 + i) for i in range(PLANS)]
    plans = Plan.objects.bulk_create(_plan(cluster, cycle, i, now) for i in range(PLANS))
    run = {"run_start": int(now.timestamp()) - 90_000, "run_restarts": 0}
    PlannedAction.objects.bulk_create(
        PlannedAction(
            plan=plan, cluster=cluster, kind=kind, order=order, job_id=job, job_name="p3_train",
            user=f"user{int(job) % USERS}", state="verified", issued_at=plan.created_at, verified_at=plan.ended_at,
            **run,
        )
        for plan, job in zip(plans, victims, strict=True)
        for order, kind in ((10, "signal"), (20, "requeue_hold"))
    )  # fmt: skip
    Checkpoint.objects.bulk_create(
        Checkpoint(
            plan=plan, cluster=cluster, job_id=job, user="user5", asked_at=plan.created_at,
            acknowledged_at=plan.ended_at, via="api", saved="epoch=10", **run,
        )
        for plan, job in zip(plans, victims, strict=True)
    )  # fmt: skip


def _plan(cluster: Any, cycle: Any, i: int, now: datetime) -> Any:
    from console.steering.models import Plan

    at = now - timedelta(minutes=5 * i)
    victim = {
        "job": str(1000 + i), "name": "p3_train", "user": f"user{(1000 + i) % USERS}", "how": "requeue",
        "user_level": "P3", "task_level": "P3", "resources": "1 cpu", "amounts": {"cpu": 1}, "ran_s": 3_000,
        "start": int(now.timestamp()) - 90_000, "restarts": 0,
    }  # fmt: skip
    return Plan(
        cluster=cluster, cycle=cycle, partition="x", state="verified", enforcement="enforce", mode="user_then_task",
        job_id=str(900_000 + i), job_name="p0_eval", user="user1", reason="lower_user", victims=[victim],
        explain="It needs 1 cpu on one node; a job of a lower level gives it.", placement={"n1": {"cpu": 1}},
        created_at=at, started_at=at + timedelta(seconds=9), ended_at=at + timedelta(seconds=10),
        outcome="The job runs.", policy_revision=1,
    )  # fmt: skip


def _minutes(cluster: Any) -> None:
    from console.history.models import PartitionMinute

    start = _now().replace(second=0, microsecond=0) - timedelta(minutes=MINUTES)
    jobs = {"0": 900, "1": 2_000, "2": 3_000, "3": 4_000}
    PartitionMinute.objects.bulk_create(
        (
            PartitionMinute(
                cluster=cluster, partition="x", at=start + timedelta(minutes=i), axis="user", total={"cpu": 10_500},
                used={"cpu": 9_000 + i % 1_400}, running=jobs, pending={"2": 500 + i % 90}, stops=i % 7 // 6,
                started={"1": [3, 700]}, work_lost={"cpu": 900.0} if i % 7 == 6 else {},
            )
            for i in range(MINUTES)
        ),
        batch_size=CHUNK,
        ignore_conflicts=True,  # of a minute that the cycles above have recorded
    )  # fmt: skip


def _audit(cluster: str, rows: int) -> None:
    """Append rows that make a true chain, as `record` would."""
    from console.audit.canonical import GENESIS, row_hash
    from console.audit.models import AuditEntry, AuditHead

    head, _ = AuditHead.objects.get_or_create(pk=1, defaults={"hash": GENESIS})
    chance, start = random.Random(1), _now() - timedelta(days=90)
    entries: list[Any] = []
    for i in range(rows):
        facts = _facts(cluster, i, chance)
        facts |= {"sequence": head.sequence + 1, "previous_hash": head.hash}
        facts["at"] = start + timedelta(days=90) * (i / rows)
        head.sequence, head.hash = head.sequence + 1, row_hash(facts)
        entries.append(AuditEntry(id=head.sequence, hash=head.hash, **facts))
        if len(entries) == CHUNK or i == rows - 1:
            AuditEntry.objects.bulk_create(entries)
            entries = []
    head.save()


def _facts(cluster: str, i: int, chance: random.Random) -> dict[str, Any]:
    action, kind, actor = ACTIONS[i % len(ACTIONS)]
    number, project = chance.randrange(PLANS), f"p{chance.randrange(PROJECTS)}"
    job = str(1000 + number) if kind in {"plan", "job"} else ""
    name = {"plan": str(number + 1), "job": f"{job}@1#0", "project": project, "partition": "x"}.get(
        kind, actor
    )
    return {
        "actor": actor, "action": action, "object_type": kind, "object_id": name, "object_label": f"{kind} {name}",
        "cluster": cluster, "partition": "x" if kind != "project" else "",
        "project": project if kind == "project" else "", "job_id": job,
        "before": {"urgency": 3, "note": "x" * 100} if kind in {"project", "partition"} else None,
        "after": {"urgency": 5, "victims": [job], "explain": "It needs 1 cpu on one node. " * 8},
        "reason": "The date has moved." if actor != "giveway" else "", "cycle": i + 1,
        "plan": number + 1 if job else None, "policy_revision": 1, "request_id": f"{i:032x}" if not job else "",
    }  # fmt: skip


def _now() -> datetime:
    from console.core import clock

    return clock.now()
