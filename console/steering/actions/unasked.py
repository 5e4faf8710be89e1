"""Who is not sent the checkpoint signal: a job for whose end others wait, unless it is known to catch signals.

A script that does not catch it is ended by it, and counts as failed until it is put back: by then Slurm has cancelled
those that wait for its success, or started those that wait for its end. Requeued without the signal it keeps them
waiting (`scheduler/reconcile/waited_for.py`). It is stopped when its grace time is over, like one that says nothing.
"""

from collections.abc import Sequence

from django.db import transaction

from console.steering.acknowledging import WORD
from console.steering.actions.undoing import expire
from console.steering.models import ActionState, Checkpoint, PlannedAction
from scheduler.model.observation import Observation
from scheduler.model.sentence import say
from scheduler.reconcile.waited_for import ends_waited_for, is_waited_for


def asked(signals: Sequence[PlannedAction], observation: Observation) -> list[PlannedAction]:
    """The signals that are to be sent; the others expire."""
    ends = ends_waited_for(observation.jobs)
    jobs = observation.jobs_by_id
    waited = [a for a in signals if (job := jobs.get(a.job_id)) is not None and is_waited_for(job, ends)]
    with transaction.atomic():
        for action in waited:
            if WORD not in jobs[action.job_id].comment and not _has_acknowledged(action):
                expire(action, say("action.unasked"))
    return [action for action in signals if action.state == ActionState.PLANNED]


def _has_acknowledged(signal: PlannedAction) -> bool:
    """Whether this user's job has said before that it has saved its state."""
    told = Checkpoint.objects.filter(cluster=signal.cluster_id, job_id=signal.job_id, user=signal.user)
    return told.exclude(acknowledged_at=None).exists()
