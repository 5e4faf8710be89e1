"""Everything that is kept about one job, in a fixed number of queries."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from django.db.models import F, Q
from django.db.models.functions import Length

from console.cluster.lives import of_one_life, runs_of
from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock
from console.partitions.models import Partition, PolicyRevision
from console.partitions.selectors import decoded, policy_of
from console.steering.decisions.facts import BACK_OFF, backed_off, why_paused
from console.steering.decisions.putting_off import putting_off
from console.steering.explanations.known import Known
from console.steering.explanations.pace import pace_of
from console.steering.models import (
    Checkpoint,
    ChosenPlace,
    Fate,
    KeptPlace,
    Plan,
    PlannedAction,
    PlanState,
    Victim,
)
from console.steering.operations.standing import standing
from console.steering.served import array_of, plans_for
from scheduler.model.jobs import RunKey
from scheduler.model.policy import Dispatch, Mode, PartitionPolicy
from scheduler.model.reasons import Reason

MOST_PLANS = 50
MOST_ACTIONS = 400
NAMED_AHEAD = 6


def rows_of(cluster: Cluster, job_id: str) -> list[Job]:
    """The job in the mirror, once for each partition that it is in."""
    return of_one_life(list(Job.objects.filter(cluster=cluster, job_id=job_id).order_by("partition")))


def read(
    cluster: Cluster, job_id: str, rows: Sequence[Job] | None = None, partitions: Iterable[Partition] = ()
) -> Known:
    """Read all of it. `rows` (of `rows_of`) and `partitions` (with their revisions) that the caller has already are
    not asked for again."""
    rows = rows_of(cluster, job_id) if rows is None else rows
    since = min((row.first_submit for row in rows), default=0)
    own = [plan for plan in plans_for(cluster, job_id) if _is_of(plan, job_id, since)][:MOST_PLANS]
    acts = PlannedAction.objects.filter(cluster=cluster, job_id=job_id).select_related("plan").order_by("-id")
    done = _done(acts[:MOST_ACTIONS], job_id, since)
    plans = [*own, *(act.plan for act in done)]
    names = {row.partition for row in rows} | {plan.partition for plan in plans}
    asked = Checkpoint.objects.filter(cluster=cluster, job_id=job_id, run_start__gte=since).order_by("-id")
    stands = standing(cluster.name)
    pauses = {pause.partition: pause for pause in stands.pauses}
    policies = _policies(cluster, names, partitions)
    return Known(
        cluster=cluster,
        job_id=job_id,
        now=clock.now(),
        rows=rows,
        own=own,
        acts=done,
        proposals=_proposals(cluster, rows),
        checkpoints=list(asked[:MOST_PLANS]),
        others=_others(cluster, plans, job_id),
        policies=policies,
        revisions=_revisions(cluster, plans),
        ahead=_ahead(rows),
        lowest=_lowest(rows, policies),
        pauses={name: why for name in names if (why := why_paused(name, pauses))},
        streaks=stands.streaks,
        next_try=_next_try(cluster, job_id, own),
        lost=_lost(cluster, job_id) if done and _may_be_lost(rows) else {},
        runs=_runs(cluster, job_id, rows),
        kept=_kept(cluster, job_id, rows, policies),
        placed=_placed(cluster, job_id, rows, policies),
        pace=pace_of(cluster, rows, policies),
    )


def _is_of(plan: Plan, job_id: str, since: int) -> bool:
    """Whether a plan was made for this job, first submitted at `since`, and not for an earlier one of its number."""
    return plan.job_submit is None or plan.job_submit >= since or not _same_number(plan.job_id, job_id)


def _same_number(one: str, other: str) -> bool:
    return (array_of(one) or one) == (array_of(other) or other)


def _done(acts: Iterable[PlannedAction], job_id: str, since: int) -> list[PlannedAction]:
    """What was done to this job. What is done to a waiting one names no run: there its plan tells."""
    return [
        act for act in acts if (act.run_start >= since if act.run_start else _is_of(act.plan, job_id, since))
    ]


def _kept(
    cluster: Cluster, job_id: str, rows: Sequence[Job], policies: Mapping[str, PartitionPolicy]
) -> KeptPlace | None:
    managed = (policy.dispatch is Dispatch.MANAGED or policy.balance for policy in policies.values())
    if not any(managed) or not any(row.phase == JobPhase.PENDING for row in rows):
        return None
    return KeptPlace.objects.filter(cluster=cluster, job_id=job_id, until__gt=0).first()


def _placed(
    cluster: Cluster, job_id: str, rows: Sequence[Job], policies: Mapping[str, PartitionPolicy]
) -> ChosenPlace | None:
    """Asked for only where a rule has jobs placed."""
    if not rows or not any(policy.balance for policy in policies.values()):
        return None
    return ChosenPlace.objects.filter(cluster=cluster, job_id=job_id).first()


def _runs(cluster: Cluster, job_id: str, rows: Sequence[Job]) -> list[JobRun]:
    """Of a job that was never restarted its row has the only one."""
    if not any(row.restarts for row in rows):
        return []
    return runs_of(cluster, job_id, min(row.first_submit for row in rows))


def _may_be_lost(rows: Sequence[Job]) -> bool:
    """One that is in the queue, or runs, is not."""
    return not rows or any(row.held or row.phase == JobPhase.ENDED for row in rows)


def _lost(cluster: Cluster, job_id: str) -> dict[tuple[int, RunKey], Victim]:
    rows = Victim.objects.filter(cluster=cluster, job_id=job_id, fate=Fate.LOST)
    return {(row.plan_id, RunKey(row.job_id, row.run_start, row.run_restarts)): row for row in rows}


def _next_try(cluster: Cluster, job_id: str, own: Sequence[Plan]) -> datetime | None:
    """When a new plan may be made for it, after one that was undone."""
    undone = [plan for plan in own if plan.state == PlanState.UNDONE and plan.ended_at]
    if not undone:
        return None
    if job_id in backed_off(cluster):
        return undone[0].ended_at and undone[0].ended_at + BACK_OFF
    return putting_off(cluster).next_try(undone)


def tasks_of(cluster: Cluster, job_id: str) -> list[str]:
    """The tasks of a job array, if this is the number of one: `41_0`, `41_1`, …"""
    if not job_id.isdecimal():
        return []
    rows = Job.objects.filter(cluster=cluster, job_id__startswith=f"{job_id}_").order_by(
        Length("job_id"), "job_id"
    )
    return list(rows.values_list("job_id", flat=True).distinct()[:MOST_PLANS])


def _proposals(cluster: Cluster, rows: Sequence[Job]) -> list[Plan]:
    """Proposed plans that would stop the job, which runs."""
    running = {(row.partition, row.job_id) for row in rows if row.phase == JobPhase.RUNNING}
    if not running:
        return []
    plans = Plan.objects.filter(
        cluster=cluster,
        state=PlanState.PROPOSED,
        not_now="",
        partition__in=[partition for partition, _ in running],
    )
    return [
        plan
        for plan in plans.order_by("-id")
        if any((plan.partition, victim["job"]) in running for victim in plan.victims)
    ]


def _others(cluster: Cluster, plans: Sequence[Plan], job_id: str) -> dict[tuple[str, str], Job]:
    ids = {plan.job_id for plan in plans} - {job_id}
    rows = Job.objects.filter(cluster=cluster, job_id__in=ids) if ids else ()
    return {(row.partition, row.job_id): row for row in rows}


def _policies(
    cluster: Cluster, names: Collection[str], known: Iterable[Partition]
) -> dict[str, PartitionPolicy]:
    here = {row.name: row for row in known if row.cluster_id == cluster.pk and row.name in names}
    if missing := set(names) - here.keys():
        rows = Partition.objects.filter(cluster=cluster, name__in=missing).select_related("revision")
        here |= {row.name: row for row in rows}
    return {name: policy_of(row) for name, row in here.items() if row.revision_id}


def _revisions(cluster: Cluster, plans: Sequence[Plan]) -> dict[tuple[str, int], PartitionPolicy]:
    wanted = {(plan.partition, plan.policy_revision) for plan in plans if plan.policy_revision}
    if not wanted:
        return {}
    rows = PolicyRevision.objects.filter(
        partition__cluster=cluster,
        partition__name__in={name for name, _ in wanted},
        number__in={number for _, number in wanted},
    ).select_related("partition")
    return {
        (row.partition.name, row.number): decoded(row.document)
        for row in rows
        if (row.partition.name, row.number) in wanted
    }


def _ahead(rows: Sequence[Job]) -> dict[str, list[Job]]:
    """The jobs just before it in line, of each partition where it waits."""
    places = {row.partition: row.place for row in rows if row.place > 1}
    if not places:
        return {}
    near = Q()
    for partition, place in places.items():
        near |= Q(partition=partition, place__gte=max(1, place - NAMED_AHEAD), place__lt=place)
    before = Job.objects.filter(near, cluster=rows[0].cluster_id, phase=JobPhase.PENDING).order_by("-place")
    found: dict[str, list[Job]] = {}
    for row in before:
        found.setdefault(row.partition, []).append(row)
    return found


def _lowest(rows: Sequence[Job], policies: Mapping[str, PartitionPolicy]) -> dict[str, Job]:
    """Where nothing lower runs: who ranks lowest of those that may be stopped."""
    found: dict[str, Job] = {}
    for row in rows:
        policy = policies.get(row.partition)
        if row.reason != Reason.NOTHING_LOWER_RUNS or policy is None:
            continue
        by_user = policy.mode in {Mode.USER, Mode.USER_THEN_TASK}
        axis = F("user_level" if by_user else "task_level").desc(nulls_first=True)
        running = Job.objects.filter(
            cluster=row.cluster_id, partition=row.partition, phase=JobPhase.RUNNING, protected=""
        )
        first = running.order_by(axis, "-start").first()
        if first is not None:
            found[row.partition] = first
    return found
