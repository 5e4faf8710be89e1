"""Settings of processes whose every queue but `steer` gets a task that computes until it is told to stop."""

import os
from pathlib import Path
from typing import Any

from celery import shared_task

from console.settings.queues import (
    CELERY_IMPORTS,
    CELERY_TASK_ANNOTATIONS,
    GIVEWAY_QUEUES,
    GIVEWAY_TASKS,
    SHORT,
    STEER,
)
from console.settings.test import *  # noqa: F403
from console.settings.test import CELERY_BEAT_SCHEDULE

NAME = "tests.starve"
LONGEST_S = int(os.environ.get("GIVEWAY_STARVE_S", "900"))
STARVED = tuple(queue for queue in GIVEWAY_QUEUES if queue != STEER)

GIVEWAY_TASKS = {**GIVEWAY_TASKS, NAME: (SHORT, LONGEST_S)}
CELERY_IMPORTS = (*CELERY_IMPORTS, "tests.faults.starving")
CELERY_TASK_ANNOTATIONS = {**CELERY_TASK_ANNOTATIONS, NAME: {"time_limit": LONGEST_S}}
CELERY_BEAT_SCHEDULE = {
    **CELERY_BEAT_SCHEDULE,
    **{
        f"starve-{queue}": {"task": NAME, "schedule": 1.0, "options": {"queue": queue, "expires": 60}}
        for queue in STARVED
    },
}


@shared_task(name=NAME, bind=True)
def starve(task: Any) -> None:
    """Compute until there is a file `stop`; once in each queue."""
    home, queue = Path(os.environ["GIVEWAY_HOME"]), task.request.delivery_info["routing_key"]
    begun = home / f"{queue}.computes"
    if begun.exists():
        return
    begun.touch()
    while not (home / "stop").exists():
        sum(range(100_000))
    (home / f"{queue}.done").touch()
