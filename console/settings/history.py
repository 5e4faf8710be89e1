"""What is recorded of the past, and for how long (docs/what-if.md)."""

import os
from typing import Any

from console.settings.env import number

# As in `scheduler/__main__.py`: forecasts take less than half as long without OpenBLAS's threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

GIVEWAY_HISTORY_EVERY_S = number("GIVEWAY_HISTORY_EVERY_S", 300, 60)
GIVEWAY_HISTORY_DAYS = number("GIVEWAY_HISTORY_DAYS", 30, 0)
GIVEWAY_HISTORY_MB = number("GIVEWAY_HISTORY_MB", 500, 1)
# How long a study may take over the recorded looks; evenly spaced ones are taken when there are more.
GIVEWAY_STUDY_S = number("GIVEWAY_STUDY_S", 900, 10)
HISTORY_SCHEDULE: dict[str, dict[str, Any]] = {
    "forget-history": {"task": "history.forget", "schedule": 3600.0, "options": {"expires": 3600.0}},
    # Sends what waits to the worker; asking whether anything does costs a query. What looks for something to do
    # has multiples of five seconds, so that an idle worker wakes once for all of it.
    "studies": {"task": "history.studies", "schedule": 5.0, "options": {"expires": 10.0}},
    # Adds up what has come since the last time, for Insights; six queries.
    "insights": {"task": "insights.sum_up", "schedule": 300.0, "options": {"expires": 300.0}},
    "forget-insights": {"task": "insights.forget", "schedule": 3600.0, "options": {"expires": 3600.0}},
}
# Finished jobs and what was forecast of them (docs/forecasts.md) are kept for so many days.
GIVEWAY_FORECAST_DAYS = number("GIVEWAY_FORECAST_DAYS", 365, 1)
FORECAST_SCHEDULE: dict[str, dict[str, Any]] = {
    "forecast": {"task": "forecasts.forecast", "schedule": 10.0, "options": {"expires": 10.0}},
    "starts": {"task": "forecasts.starts", "schedule": 10.0, "options": {"expires": 10.0}},
    "risks": {"task": "forecasts.risks", "schedule": 30.0, "options": {"expires": 30.0}},
    "keep-finished": {"task": "forecasts.keep", "schedule": 60.0, "options": {"expires": 60.0}},
    "learn": {"task": "forecasts.train", "schedule": 600.0, "options": {"expires": 600.0}},
    "forget-finished": {"task": "forecasts.forget", "schedule": 3600.0, "options": {"expires": 3600.0}},
    "forget-starts": {"task": "forecasts.forget_starts", "schedule": 3600.0, "options": {"expires": 3600.0}},
}
