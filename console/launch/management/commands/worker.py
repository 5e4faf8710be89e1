"""`manage.py worker`: the embedded worker with its timer in one process, on whatever broker the settings name."""

import os
import signal
import threading
import warnings
from typing import Any

import structlog
from celery.beat import EmbeddedService
from celery.signals import worker_ready
from django.core.management.base import BaseCommand, CommandError

from console.celery import app
from console.core.installation import is_simulated

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    """One process, one task at a time: what `make run` uses. Larger installations run `celery worker` and `beat`."""

    help = "Run the worker and its timer in one process (embedded installations)."

    def handle(self, *args: Any, **options: Any) -> None:
        # As root (a private Slurm needs it) Celery warns of pickled messages; ours are JSON, from this process alone.
        warnings.filterwarnings("ignore", message="(?s).*superuser privileges", module="celery.platforms")
        _make_past()
        timer: Any = EmbeddedService(app, thread=True, scheduler_cls=app.conf.beat_scheduler)
        worker = app.Worker(
            pool="solo",
            concurrency=1,
            queues="celery,steer,studies,forecasts",
            loglevel="WARNING",
            quiet=True,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        # Ctrl-C reaches the whole group; `run` ends us in order. Celery sets its own answer while it starts.
        worker_ready.connect(lambda **_: signal.signal(signal.SIGINT, signal.SIG_IGN), weak=False)
        timer.start()
        threading.Thread(target=_end_with, args=(timer,), daemon=True).start()
        worker.start()
        if not timer.is_alive():
            raise CommandError("The timer ended by itself; see its messages above.")
        timer.service.stop()  # its thread ends with the process


def _make_past() -> None:
    """At a demonstration's first start a week is made up before the first cycle; the web server runs meanwhile."""
    if not is_simulated():
        return
    from console.launch.past.week import make_week

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        make_week()
    except Exception:
        log.exception("no past could be made up: the demonstration begins without one")


def _end_with(timer: threading.Thread) -> None:
    """A worker whose timer has died would look alive and do nothing: end it, so that somebody notices."""
    timer.join()
    os.kill(os.getpid(), signal.SIGTERM)
