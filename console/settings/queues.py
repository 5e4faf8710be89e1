"""The queues of background work: which task waits in which, and how long it may take (docs/operations.md).

Only `steering.steer` waits in `steer`: whoever serves that queue does nothing else, so that nothing can stand before a
cycle. A task that is not in the table, and a queue that nobody serves, fail a test (tests/launch/test_queues.py).
"""

from typing import Any

from console.settings.history import GIVEWAY_STUDY_S

STEER, SHORT, COMPUTED, LONG = "steer", "celery", "forecasts", "studies"
GIVEWAY_QUEUES = (STEER, SHORT, COMPUTED, LONG)

# Task: its queue, and after how many seconds it is ended.
GIVEWAY_TASKS: dict[str, tuple[str, int]] = {
    # Where slurmctld lets us ask a few times a minute only (rl_enable), an order for many jobs takes long.
    "steering.steer": (STEER, 1800),
    "accounts.follow": (SHORT, 300),
    "console.audit.tasks.anchor": (SHORT, 60),
    "console.audit.tasks.verify": (SHORT, 120),
    "history.forget": (SHORT, 300),
    # Sends what waits to the worker of `studies`; it takes milliseconds.
    "history.studies": (SHORT, 60),
    "insights.forget": (SHORT, 300),
    "notices.forget": (SHORT, 300),
    "notices.tell": (SHORT, 60),
    "setup.end_invitations": (SHORT, 60),
    "setup.examine": (SHORT, 120),
    "steering.housekeep": (SHORT, 300),
    "forecasts.forecast": (COMPUTED, 300),
    "forecasts.forget": (COMPUTED, 300),
    "forecasts.forget_starts": (COMPUTED, 300),
    "forecasts.keep": (COMPUTED, 300),
    "forecasts.risks": (COMPUTED, 300),
    "forecasts.starts": (COMPUTED, 300),
    "forecasts.train": (COMPUTED, 60),
    "insights.sum_up": (COMPUTED, 300),
    "power.count_losses": (COMPUTED, 120),
    "power.measure": (COMPUTED, 120),
    "power.watch": (COMPUTED, 120),
    "forecasts.learn": (LONG, 1800),
    # The looks may take twice as long as planned; reading the facts and one long look come on top.
    "history.study": (LONG, int(2 * GIVEWAY_STUDY_S + 120)),
}
LONGEST_S = max(limit for _, limit in GIVEWAY_TASKS.values())

CELERY_IMPORTS = tuple(
    f"console.{app}.tasks"
    for app in (
        *("accounts", "audit", "forecasts", "history", "insights", "notices", "power", "setup", "starts"),
        "steering",
    )
)
CELERY_TASK_DEFAULT_QUEUE = SHORT
CELERY_TASK_ROUTES: dict[str, dict[str, Any]] = {
    name: {"queue": queue} for name, (queue, _) in GIVEWAY_TASKS.items()
}
CELERY_TASK_ANNOTATIONS: dict[str, dict[str, Any]] = {
    name: {"time_limit": limit} for name, (_, limit) in GIVEWAY_TASKS.items()
}
# Results are ignored: there is nothing to clean up, and no entry of Celery's own in the timer for it.
CELERY_RESULT_EXPIRES = None
