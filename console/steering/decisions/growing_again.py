"""Looking again before a job is signalled or stopped to start again on more nodes: may it be, and is it worth it?"""

from console.core import clock
from console.steering.models import Checkpoint, Plan
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import Elastic, JobState, ObservedJob, RunKey
from scheduler.model.observation import Observation
from scheduler.model.sentence import Seconds, say
from scheduler.preemption.restart_worth import restart_worth
from scheduler.reconcile.still import still_makes_room


def checkpoint_of(plan: Plan) -> Checkpoint | None:
    """The checkpoint that the plan has asked its job for, once that has acknowledged it."""
    return Checkpoint.objects.filter(plan=plan, acknowledged_at__isnull=False).first()


def why_not_grow(plan: Plan, observation: Observation, elastic: Elastic | None) -> str:
    """Why the job must not be disturbed for it any more, in words; empty when it may. `elastic`: as it says now.

    Without a checkpoint that it has acknowledged it is not stopped; what it has done since counts as a cost.
    """
    (victim,) = plan.victims
    job = next((job for job in observation.jobs if job.id == plan.job_id), None)
    run = RunKey(victim["job"], victim["start"], victim["restarts"])
    if (
        job is None
        or job.state is not JobState.RUNNING
        or job.run != run
        or len(job.alloc) != victim["before"]
    ):
        return say("regrow.not_its_run", job=plan.job_id)
    if elastic is None or elastic.by is None:
        return say("regrow.rigid", job=plan.job_id)
    if why := still_makes_room(observation, plan.placement, frozenset()):
        return why
    asked = any(a.kind == ActionKind.SIGNAL and a.attempts for a in plan.actions.all())
    return _why_not_stopped(plan, job, observation.taken_at) if asked else ""


def _why_not_stopped(plan: Plan, job: ObservedJob, now: int) -> str:
    saved = checkpoint_of(plan)
    if saved is None or saved.acknowledged_at is None:
        return say("regrow.no_checkpoint", job=plan.job_id)
    (victim,) = plan.victims
    unsaved = max(0, int((clock.now() - saved.acknowledged_at).total_seconds()))
    worth = restart_worth(
        victim["before"], victim["after"], victim["ends_at"] - now, victim["restart_s"], unsaved
    )
    if worth.pays:
        return ""
    return say("regrow.not_worth", job=job.id, cost=Seconds(worth.cost_s), gain=Seconds(worth.gain_s))
