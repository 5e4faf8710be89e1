"""The Celery application: JSON messages, ids as arguments, results ignored, a static beat schedule."""

import gc
import os

from celery import Celery
from celery.signals import setup_logging, worker_process_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.local")

app = Celery("giveway")
app.config_from_object("django.conf:settings", namespace="CELERY")


@worker_process_init.connect(weak=False)
def keep_what_is_loaded(**_: object) -> None:
    """What is loaded stays: the garbage collector need not go through it again in the middle of a cycle."""
    gc.set_threshold(50_000, 10, 10)
    gc.collect()
    gc.freeze()


@setup_logging.connect(weak=False)
def keep_our_logging(**_: object) -> None:
    """Celery would replace the handlers: with a receiver it leaves logging as the settings have set it up."""
