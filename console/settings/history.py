"""What is recorded of the past, and for how long (docs/what-if.md)."""

from typing import Any

from console.settings.env import number

GIVEWAY_HISTORY_EVERY_S = number("GIVEWAY_HISTORY_EVERY_S", 300, 60)
GIVEWAY_HISTORY_DAYS = number("GIVEWAY_HISTORY_DAYS", 7, 0)
GIVEWAY_HISTORY_MB = number("GIVEWAY_HISTORY_MB", 500, 1)
HISTORY_SCHEDULE: dict[str, dict[str, Any]] = {
    "forget-history": {"task": "history.forget", "schedule": 3600.0},
}
