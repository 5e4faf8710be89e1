"""What is recorded of the past, and for how long (docs/what-if.md)."""

from typing import Any

from console.settings.env import number

GIVEWAY_HISTORY_EVERY_S = number("GIVEWAY_HISTORY_EVERY_S", 300, 60)
GIVEWAY_HISTORY_DAYS = number("GIVEWAY_HISTORY_DAYS", 7, 0)
GIVEWAY_HISTORY_MB = number("GIVEWAY_HISTORY_MB", 500, 1)
# How long a study may take over the recorded looks; evenly spaced ones are taken when there are more.
GIVEWAY_STUDY_S = number("GIVEWAY_STUDY_S", 900, 10)
HISTORY_SCHEDULE: dict[str, dict[str, Any]] = {
    "forget-history": {"task": "history.forget", "schedule": 3600.0},
    # Sends what waits to the worker; asking whether anything does costs three queries.
    "studies": {"task": "history.studies", "schedule": 3.0, "options": {"expires": 10.0}},
}
# Minutes of work that must not stand before steering: a worker of their own takes them.
CELERY_TASK_ROUTES: dict[str, dict[str, Any]] = {"history.study": {"queue": "studies"}}
