"""What victims save before they are stopped: asked for with the signal, acknowledged, and resumed from.

1. A checkpoint is written down in the transaction that claims its signal: one per run of a job, asked for once.
2. The job acknowledges it by a new word `ckpt:TEXT` in its comment, or over the API. The first answer counts.
3. When every victim that still runs has acknowledged, the plan's grace is over: all its stops are due at once.
4. The job's next run, once seen, is where it resumed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.core import signing
from django.db import transaction
from django.db.models import Exists, OuterRef, Subquery
from django.utils.translation import gettext as _

from console.cluster.models import Cluster, Job
from console.core import clock
from console.steering.facts import run_of
from console.steering.journal import tell_checkpoint
from console.steering.lifecycle import expire
from console.steering.models import STOP_KINDS, ActionState, Checkpoint, Plan, PlanKind, PlannedAction, Via
from console.steering.past import WORD, cleaned, saved_word
from scheduler.model.actions import TO_ALL, TO_STEPS, TO_WHO_SAVES, ActionKind
from scheduler.model.jobs import JobState, ObservedJob, RunKey
from scheduler.model.observation import Observation
from scheduler.model.sentence import say
from scheduler.reconcile.waited_for import ends_waited_for, is_waited_for

Jobs = Mapping[str, ObservedJob]

REMEMBER = timedelta(days=30)
"""How long a checkpoint is watched: what has not come back by then comes back unseen."""
STOPS = frozenset({ActionKind.REQUEUE_HOLD, ActionKind.CANCEL})
UNSENT = frozenset({ActionState.PLANNED, ActionState.EXECUTING})


def ask(signals: Iterable[PlannedAction], jobs: Jobs) -> None:
    """Write down that these runs are being asked to save their state, with their comments of now.

    Must run in the transaction that claims the signals. A run that was asked before keeps what is known of it.
    """
    for signal in signals:
        job = jobs.get(signal.job_id)
        Checkpoint.objects.get_or_create(
            **_run(signal),
            defaults={
                "plan_id": signal.plan_id,
                "user": signal.user,
                "asked_at": clock.now(),
                "comment_before": job.comment if job else "",
            },
        )


def withdraw(signal: PlannedAction) -> None:
    """The signal reached nobody (the run is over, or has no script): nothing was asked."""
    Checkpoint.objects.filter(**_run(signal), plan_id=signal.plan_id, acknowledged_at=None).delete()


def watch(cluster: Cluster, jobs: Jobs) -> None:
    """Note by what is observed who has acknowledged and who has resumed. Must run inside a transaction."""
    rows = Checkpoint.objects.filter(
        cluster=cluster,
        resumed_at=None,
        asked_at__gte=clock.now() - REMEMBER,
        job_id__in=_restarted_or_told(jobs),
    )
    for row in rows:
        job = jobs[row.job_id]
        saved = saved_word(row.comment_before, job.comment)
        if saved and row.acknowledged_at is None and _answers(row, job):
            acknowledge(row, saved, via=Via.COMMENT)
        if job.state == JobState.RUNNING and job.restarts > row.run_restarts:
            Checkpoint.objects.filter(pk=row.pk).update(resumed_at=clock.now(), resumed_restarts=job.restarts)


def asked_of(cluster: Cluster, job_id: str) -> Checkpoint | None:
    """The checkpoint that the job was asked for last; None when there is none, or it has resumed since."""
    rows = Checkpoint.objects.filter(cluster=cluster, job_id=job_id).order_by("-id")
    row = rows.select_related("plan__cluster", "plan__cycle").first()
    return None if row is None or row.resumed_at else row


def acknowledge(
    checkpoint: Checkpoint, saved: str, *, via: Via, actor: str = "", request_id: str = ""
) -> bool:
    """Note that a run has saved its state; False when it had said so before. Must run inside a transaction."""
    changes = {"acknowledged_at": clock.now(), "via": via, "saved": cleaned(saved)}
    if not Checkpoint.objects.filter(pk=checkpoint.pk, acknowledged_at=None).update(**changes):
        return False
    for name, value in changes.items():
        setattr(checkpoint, name, value)
    tell_checkpoint(checkpoint, actor=actor, request_id=request_id)
    return True


def end_grace(plan: Plan, jobs: Jobs) -> bool:
    """Make a plan's stops due at once when nobody is waited for any more; whether it did.

    Who was not asked is not waited for, but whoever is to be cancelled. All together: a plan's victims are stopped
    together or not at all.
    """
    actions = list(plan.actions.all())
    if any(a.kind == ActionKind.SIGNAL and a.state in UNSENT for a in actions):
        return False
    now = clock.now()
    later = [
        action
        for action in actions
        if action.kind in STOPS
        and action.state == ActionState.PLANNED
        and action.not_before is not None
        and action.not_before > now
    ]
    if not later or _runs_still(actions, jobs) & _waited_for(plan, later):
        return False
    for action in later:
        action.not_before = now
    PlannedAction.objects.filter(pk__in=[action.pk for action in later], state=ActionState.PLANNED).update(
        not_before=now
    )
    return True


def _run(action: PlannedAction) -> dict[str, object]:
    return {
        "cluster_id": action.cluster_id,
        "job_id": action.job_id,
        "run_start": action.run_start,
        "run_restarts": action.run_restarts,
    }


def _restarted_or_told(jobs: Jobs) -> list[str]:
    """The jobs of which something may have become new: few, however many there are."""
    return [job.id for job in jobs.values() if job.restarts or WORD in job.comment]


def _answers(row: Checkpoint, job: ObservedJob) -> bool:
    """Whether a comment is the answer of the run that was asked: it runs still, or is on its way back to the queue."""
    if job.restarts == row.run_restarts:
        return (job.start or 0) == row.run_start
    return job.restarts == row.run_restarts + 1 and job.state != JobState.RUNNING


def _runs_still(actions: Iterable[PlannedAction], jobs: Jobs) -> set[RunKey]:
    """The runs that are to be stopped and have not ended by themselves."""
    runs = {run_of(action) for action in actions if action.kind in STOPS}
    return {
        run
        for run in runs
        if (job := jobs.get(run.job_id)) and job.state == JobState.RUNNING and job.run == run
    }


def _waited_for(plan: Plan, stops: Collection[PlannedAction]) -> set[RunKey]:
    """The runs that were asked, by this plan or one before, or are to be cancelled, and have not answered."""
    rows = Checkpoint.objects.filter(
        cluster_id=plan.cluster_id, job_id__in=[action.job_id for action in stops]
    )
    answered = {RunKey(row.job_id, row.run_start, row.run_restarts): row.acknowledged_at for row in rows}
    cancelled = {run_of(action) for action in stops if action.kind == ActionKind.CANCEL}
    return {run for run in cancelled | answered.keys() if answered.get(run) is None}


# The token that a job acknowledges its checkpoints with: signed, for this job only, good for nothing else.
#
# It names the cluster, the job, its user, and its submission as it was when the token was made. Slurm gives a job id
# again some day, and a requeued job a new submit time: a job that has been restarted since must not be older.

SALT = "giveway.checkpoint-token/1"
LIFETIME = timedelta(days=30)


class BadTokenError(Exception):
    """The token is none of ours, has run out, or is another job's. The message is for people."""


@dataclass(frozen=True, slots=True)
class JobToken:
    """What a token says."""

    cluster: str
    job: str
    user: str
    submit: int
    restarts: int

    def is_of(self, job: Job) -> bool:
        """Whether `job` (in the mirror) is the job that the token was made for."""
        same = (self.cluster, self.job, self.user) == (job.cluster.name, job.job_id, job.user)
        if self.restarts == job.restarts == 0:
            return same and self.submit == job.submit
        return same and self.submit <= job.submit and self.restarts <= job.restarts


def make_token(job: Job) -> tuple[str, datetime]:
    """A token for the job, and when it runs out."""
    says = JobToken(job.cluster.name, job.job_id, job.user, job.submit, job.restarts)
    return signing.dumps(asdict(says), salt=SALT), clock.now() + LIFETIME


def read_token(token: str) -> JobToken:
    """What the token says. Raises `BadTokenError`."""
    try:
        return JobToken(**signing.loads(token, salt=SALT, max_age=LIFETIME))
    except signing.SignatureExpired as error:
        raise BadTokenError(_("This token has run out; get a new one.")) from error
    except (signing.BadSignature, TypeError) as error:
        raise BadTokenError(_("This is no checkpoint token of this console.")) from error


# The grace time begins when the checkpoint signal is sent, however long ago the plan was made.
#
# A worker may have died, or the database may have been away, between the plan and the signal; a signal of which nobody
# knows whether it was sent is sent again. Each time all stops of the plan wait for the full grace time from then on.


def begin_grace(signals: Iterable[PlannedAction]) -> None:
    """Put off the stops, and the deadline, by what the signals are late. Must run inside the claim's transaction.

    A signal's `not_before` says since when the stops' was counted.
    """
    late: dict[Plan, timedelta] = {}
    for signal in signals:
        if signal.issued_at and signal.not_before and signal.issued_at > signal.not_before:
            delay = signal.issued_at - signal.not_before
            late[signal.plan] = max(delay, late.get(signal.plan, delay))
            signal.not_before = signal.issued_at
            signal.save(update_fields=["not_before"])
    for plan, delay in late.items():
        _put_off(plan, delay)


def _put_off(plan: Plan, delay: timedelta) -> None:
    stops = [
        action
        for action in plan.actions.all()
        if action.kind in STOP_KINDS and action.state == ActionState.PLANNED and action.not_before
    ]
    for stop in stops:
        stop.not_before = stop.not_before and stop.not_before + delay
    PlannedAction.objects.bulk_update(stops, ["not_before"])
    if plan.deadline:
        plan.deadline += delay
        plan.save(update_fields=["deadline"])


# Who is sent the checkpoint signal. A script that does not catch it is ended by it, and counts as failed until it is
# put back. So where the policy says `who_saves` only those are sent it that say so in their comment, or that have
# acknowledged one under this name and were not ended by one since. The others are requeued, without an end that anybody
# sees.
#
# And a job for whose end others wait is not sent it in any case, unless it is known to catch signals: by then Slurm has
# cancelled those that wait for its success, or started those that wait for its end. Requeued without the signal it
# keeps them waiting (`scheduler/reconcile/waited_for.py`).


def asked(signals: Sequence[PlannedAction], observation: Observation) -> list[PlannedAction]:
    """The signals that are to be sent, each with whom it goes to; the others expire. Whoever is not asked is not waited
    for."""
    ends = ends_waited_for(observation.jobs)
    jobs = observation.jobs_by_id
    words = {a.job_id: _said(jobs[a.job_id].comment) for a in signals if a.job_id in jobs}
    silent = {a.user for a in signals if a.value.endswith(TO_WHO_SAVES) and not words.get(a.job_id)}
    listens = _who_listens(signals[0].cluster_id, silent) if silent else {}
    with transaction.atomic():
        for action in signals:
            job = jobs.get(action.job_id)
            says = words.get(action.job_id, frozenset())
            if action.value.endswith(TO_WHO_SAVES):
                action.value = action.value.removesuffix(TO_WHO_SAVES)
                if not says and not listens.get((action.user, action.job_name), False):
                    expire(action, say("action.does_not_save"))
                    continue
            action.value += next((to for to in (TO_STEPS, TO_ALL) if f"ckpt{to}" in says), "")
            waited = job is not None and is_waited_for(job, ends)
            if waited and not says and not _has_acknowledged(action):
                expire(action, say("action.unasked"))
        for plan in {
            a.plan for a in signals if a.state == ActionState.EXPIRED and a.plan.kind != PlanKind.GROW
        }:
            end_grace(plan, jobs)
    return [action for action in signals if action.state == ActionState.PLANNED]


def _said(comment: str) -> frozenset[str]:
    """The words `ckpt` and `ckpt:…` of a comment."""
    return frozenset(word for word in comment.split() if word.partition(":")[0] == "ckpt")


def _who_listens(cluster: int, users: Collection[str]) -> dict[tuple[str, str], bool]:
    """By user and name of a job: whether the last that became of a signal was an answer, and not the end of its run."""
    same = PlannedAction.objects.filter(
        cluster=cluster, job_id=OuterRef("job_id"), run_start=OuterRef("run_start")
    )
    signals = same.filter(kind=ActionKind.SIGNAL).values("job_name")[:1]
    known = Checkpoint.objects.filter(
        cluster=cluster, user__in=users, asked_at__gte=clock.now() - REMEMBER
    ).annotate(name=Subquery(signals), ended=Exists(same.filter(kind=ActionKind.RECOVER)))
    listens: dict[tuple[str, str], bool] = {}
    rows = known.order_by("id").values_list("user", "name", "acknowledged_at", "ended")
    for user, name, acknowledged_at, ended in rows:
        if acknowledged_at or ended:
            listens[user, name] = acknowledged_at is not None
    return listens


def _has_acknowledged(signal: PlannedAction) -> bool:
    """Whether this user's job has said before that it has saved its state."""
    told = Checkpoint.objects.filter(cluster=signal.cluster_id, job_id=signal.job_id, user=signal.user)
    return told.exclude(acknowledged_at=None).exists()
