"""The Celery application: JSON messages, ids as arguments, results ignored, a static beat schedule."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.local")

app = Celery("giveway")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
