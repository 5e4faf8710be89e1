"""Making jobs requeueable again: of what runs, nothing may get out of reach by a word of its user.

Not a plan: nobody is stopped, and nobody waits for it. The row of the job (`NotRequeued`) is the intent, written before
anything is done; the next cycle sees what came of it. Where a policy enforces this is done at once, and again less and
less often where the user takes it back. Before a stop that is due it is always done.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from console.core import clock
from console.steering.context import CycleContext
from console.steering.facts import PartitionFacts
from console.steering.failures import Failures
from console.steering.journal import tell_not_requeued
from console.steering.ledger import execute
from console.steering.models import ActionState, NotRequeued, Plan, PlanState
from scheduler.model.actions import Action, ActionKind, ActionOutcome
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.policy import Enforcement
from scheduler.reconcile.immunity import to_be_allowed
from scheduler.reconcile.protection import protecting_rule

BATCH = 500
LONGEST_WAIT_S = 60
"""How long a job whose user takes turns with us is let be, at most."""
WORDS = "giveway: this job was submitted requeueable, and is so again"
UNFINISHED = (ActionState.PLANNED, ActionState.EXECUTING)


def allow_requeues(
    context: CycleContext, policies: Mapping[str, PartitionFacts], plans: Iterable[Plan]
) -> None:
    """Make the jobs requeueable again that are not, where the policy wants it."""
    jobs = {job.id: job for job in _due(context, policies, plans)}
    if not jobs:
        return

    def claim() -> list[tuple[NotRequeued, Action]]:
        rows = list(_rows(context, jobs))
        for row in rows:
            row.attempts, row.issued_at, row.outcome, row.detail = row.attempts + 1, clock.now(), "", ""
        NotRequeued.objects.bulk_update(rows, ["attempts", "issued_at", "outcome", "detail"])
        return [(row, Action(ActionKind.ALLOW_REQUEUE, jobs[row.job_id].run, comment=WORDS)) for row in rows]

    execute(context, ActionKind.ALLOW_REQUEUE, claim, _settle)


def _rows(context: CycleContext, ids: Iterable[str]) -> Iterator[NotRequeued]:
    every = list(ids)
    for first in range(0, len(every), BATCH):
        some = every[first : first + BATCH]
        yield from NotRequeued.objects.filter(cluster=context.lease.cluster_id, job_id__in=some)


def _settle(outcomes: Iterable[tuple[NotRequeued, ActionOutcome]]) -> None:
    for row, outcome in outcomes:
        row.outcome, row.detail = outcome.kind.value, outcome.detail[:1000]
        row.save(update_fields=["outcome", "detail"])
        what = "requeue.allowed" if outcome.ok else "requeue.refused"
        tell_not_requeued(row, what, outcome.detail or outcome.kind.value)


def _due(
    context: CycleContext, policies: Mapping[str, PartitionFacts], plans: Iterable[Plan]
) -> Iterator[ObservedJob]:
    """The jobs that are to be made requeueable now."""
    changed = {
        job.id: job
        for job in context.observation.jobs
        if job.was_requeueable
        and not job.requeue
        and any(_wants(policies.get(name), job, context.failures) for name in job.partitions)
    }
    victims = set(_victims(plans)) if changed else set()
    for row in _rows(context, changed):
        if row.job_id in victims or _is_time(row, clock.now()):
            yield changed[row.job_id]


def _victims(plans: Iterable[Plan]) -> Iterator[str]:
    """Jobs whose requeue is about to be issued."""
    for plan in plans:
        if plan.state == PlanState.EXECUTING:
            for action in plan.actions.all():
                if action.kind == ActionKind.REQUEUE_HOLD and action.state in UNFINISHED:
                    yield action.job_id


def _wants(partition: PartitionFacts | None, job: ObservedJob, failures: Failures) -> bool:
    """Whether a partition wants it: it carries its plans out, and does not protect the job anyway."""
    if partition is None or partition.paused or failures.holds(partition.row.name):
        return False
    policy = partition.policy
    return (
        policy.enforcement is Enforcement.ENFORCE
        and job.state in (JobState.PENDING, JobState.RUNNING)
        and not job.not_understood
        and to_be_allowed(job, policy)
        and not protecting_rule(job, policy)
    )


def _is_time(row: NotRequeued, now: datetime) -> bool:
    if row.issued_at is None:
        return True
    wait = min(2 ** min(row.attempts, 10), LONGEST_WAIT_S)
    return abs(now - row.issued_at) >= timedelta(seconds=wait)
