"""Celery's door to steering: shells of a few lines."""

import time
from datetime import timedelta
from typing import Any

from celery import Task, shared_task
from celery.signals import task_postrun, task_prerun
from celery.worker import state
from django.conf import settings

from console.accounts.sessions import forget_ended_sessions
from console.cluster.connect import configured_cluster
from console.cluster.services import forget_ended_jobs
from console.core import clock
from console.core.bulk_update import delete_rows
from console.steering.metrics import forget_old_minutes
from console.steering.models import Cycle, StoredSnapshot
from console.steering.pace import OTHERS, count_requests, note_other_task, steer_for

_begun: dict[str, float] = {}


@shared_task(name="steering.steer")
def steer() -> None:
    """Cycles of the attached cluster as they come due, until shortly before the timer's next call."""
    steer_for(configured_cluster(), 0.9 * settings.GIVEWAY_TICK_S, lambda: state.should_stop is not None)


@task_prerun.connect
def note_begin(task_id: str = "", **_: Any) -> None:
    """When a task began, by the machine's unaltered clock."""
    _begun[task_id] = time.monotonic()


@task_postrun.connect
def note_end(task_id: str = "", task: Task | None = None, **_: Any) -> None:
    """What else than steering a process has done, and asked of the cluster."""
    began = _begun.pop(task_id, None)
    if task is not None and task.name != steer.name and began is not None:
        note_other_task(task.name, time.monotonic() - began)
        count_requests(OTHERS)


@shared_task(name="steering.housekeep")
def housekeep() -> None:
    """Forget what nobody will ask about again: ended sessions, and after a week ended jobs and cycles without plans."""
    forget_ended_sessions()
    week = timedelta(days=7)
    forget_ended_jobs(week)
    forget_old_cycles(week)
    forget_old_minutes(timedelta(days=1))


# Keeping the steering tables small. Plans, actions and the audit log are never deleted.


def forget_old_cycles(older_than: timedelta) -> int:
    """Delete cycles that no plan refers to, and snapshots that none does; returns how many rows."""
    old = delete_rows(Cycle.objects.filter(started_at__lt=clock.now() - older_than, plans__isnull=True))
    return old + delete_rows(StoredSnapshot.objects.filter(plans__isnull=True))
