"""`manage.py worker`: embedded workers, each with its timer in one process, on whatever broker the settings name."""

import os
import signal
import threading
import warnings
from collections.abc import Iterable
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.cluster.connect import configured_cluster
from console.core.installation import is_simulated
from console.launch.supervisor import Launch, become_supervisor

log = structlog.get_logger(__name__)

WORKERS = {
    "steering worker": ["manage.py", "worker", "--steer"],
    "background worker": ["manage.py", "worker", "--background"],
}
"""Every queue has one of them. Steering has a process in which nothing else runs."""
NICE = 10
"""What is not steering waits when the machine is busy."""
TOLD_AGAIN_S = 5.0
"""A task that catches the end of its time gets it again after so long."""


class TaskTooLongError(Exception):
    """A task has had its time (`GIVEWAY_TASKS`)."""


class Command(BaseCommand):
    """Two processes: one steers, one does all else. Larger installations run `celery worker` and `beat`."""

    help = "Run the workers and their timers on this machine (embedded installations)."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        only = parser.add_mutually_exclusive_group()
        only.add_argument("--steer", action="store_true", help="only the worker that steers, in this process")
        only.add_argument("--background", action="store_true", help="only the one that does everything else")
        only.add_argument("--past", action="store_true", help="make up a demonstration's past, and end")

    def handle(self, *args: Any, steer: bool, background: bool, past: bool, **options: Any) -> None:
        if past:
            make_past()
        elif steer:
            serve(queues_of("--steer"), ["console.steering.tasks"])
        elif background:
            os.nice(NICE)
            _bound_tasks()
            serve(queues_of("--background"), settings.CELERY_IMPORTS)
        else:
            become_supervisor(Launch(past=past_command(), workers=WORKERS))


def queues_of(option: str) -> list[str]:
    """The queues that the worker with this option serves."""
    alone = settings.GIVEWAY_TASKS["steering.steer"][0]
    return [queue for queue in settings.GIVEWAY_QUEUES if (queue == alone) == (option == "--steer")]


def entries_of(queues: Iterable[str]) -> dict[str, Any]:
    """What the timer sends into these queues."""
    return {
        name: entry
        for name, entry in settings.CELERY_BEAT_SCHEDULE.items()
        if (entry.get("options", {}).get("queue") or settings.GIVEWAY_TASKS[entry["task"]][0]) in queues
    }


def serve(queues: list[str], modules: Iterable[str]) -> None:
    """One task at a time, with a timer for these queues, until somebody ends it."""
    # What was checked when it was prepared is not checked again: that would load all pages.
    os.environ["CELERY_SKIP_CHECKS"] = "1"
    from celery.beat import EmbeddedService
    from celery.signals import worker_ready

    from console.celery import app

    # As root (a private Slurm needs it) Celery warns of pickled messages; ours are JSON, from this process alone.
    warnings.filterwarnings("ignore", message="(?s).*superuser privileges", module="celery.platforms")
    app.conf.update(
        imports=tuple(modules), beat_schedule=entries_of(queues), worker_enable_remote_control=False
    )
    timer: Any = EmbeddedService(app, thread=True, scheduler_cls=app.conf.beat_scheduler)
    worker = app.Worker(
        pool="solo",
        concurrency=1,
        queues=",".join(queues),
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker_ready.connect(_begin, weak=False)
    if settings.GIVEWAY_TASKS["steering.steer"][0] in queues:
        # The timer's first call comes when its time is over.
        worker_ready.connect(lambda **_: app.send_task("steering.steer"), weak=False)
    timer.start()
    threading.Thread(target=_end_with, args=(timer,), daemon=True).start()
    worker.start()
    if not timer.is_alive():
        raise CommandError("The timer ended by itself; see its messages above.")
    timer.service.stop()  # its thread ends with the process


def _begin(**_: object) -> None:
    """Ctrl-C reaches the whole group; `run` ends us in order. Celery has set its own answer while it started."""
    from console.celery import keep_what_is_loaded

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_what_is_loaded()


def past_command() -> list[str]:
    """How a past is made up, where this is a demonstration's first start. A process of its own: nothing of it stays."""
    if not is_simulated():
        return []
    from console.launch.demo import is_first_start

    return ["manage.py", "worker", "--past"] if is_first_start(configured_cluster()) else []


def make_past() -> None:
    """At a demonstration's first start a week is made up before the first cycle; the web server runs meanwhile."""
    from console.launch.past.week import make_week

    try:
        make_week()
    except Exception:
        log.exception("no past could be made up: the demonstration begins without one")


def _bound_tasks() -> None:
    """Celery's own time limits do not hold in a process that works its tasks off itself: an alarm ends them."""
    from celery.signals import task_postrun, task_prerun

    def begin(task: Any, **_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, task.time_limit or 0, TOLD_AGAIN_S)

    def end(**_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def too_long(number: int, frame: object) -> None:
        raise TaskTooLongError

    signal.signal(signal.SIGALRM, too_long)
    task_prerun.connect(begin, weak=False)
    task_postrun.connect(end, weak=False)


def _end_with(timer: threading.Thread) -> None:
    """A worker whose timer has died would look alive and do nothing: end it, so that somebody notices."""
    timer.join()
    os.kill(os.getpid(), signal.SIGTERM)
