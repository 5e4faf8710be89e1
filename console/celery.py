"""The Celery application: JSON messages, ids as arguments, results ignored, a static beat schedule."""

import os

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.local")

app = Celery("giveway")
app.config_from_object("django.conf:settings", namespace="CELERY")


@setup_logging.connect(weak=False)
def keep_our_logging(**_: object) -> None:
    """Celery would replace the handlers: with a receiver it leaves logging as the settings have set it up."""
