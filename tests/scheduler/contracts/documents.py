"""Documents that are right, to be made wrong in one place by tests."""

import copy
from collections.abc import Callable
from typing import Any

Change = Callable[[dict[str, Any]], object]

SNAPSHOT: dict[str, Any] = {
    "schema": "giveway.snapshot/1",
    "now": 1700000000,
    "partition": {
        "name": "x",
        "mode": "user_then_task",
        "victim_order": "shortest_runtime",
        "bands": None,
        "exempt_s": 0,
        "partial": "spare",
        "give_back": "units",
        "dispatch": "slurm",
        "patience_s": 0,
        "balance": None,
    },
    "nodes": [
        {
            "name": "n1",
            "up": True,
            "total": {"cpu": 8, "gpu": 4, "mem": 64000},
            "features": ["a100"],
            "unit": "switch1",
            "power": {"gpu": 1.00},
            "health": 1.0,
        }
    ],
    "jobs": [
        {
            "id": "101",
            "name": "p2_train",
            "state": "running",
            "user": "ann",
            "user_level": 2,
            "task_level": None,
            "submit": 1699990000,
            "start": 1699990100,
            "alloc": {"n1": {"cpu": 4, "gpu": 2}},
            "preemptable": True,
        },
        {
            "id": "102",
            "name": "p0_eval",
            "state": "pending",
            "user": "bob",
            "user_level": 1,
            "task_level": 0,
            "submit": 1699999990,
            "request": {"nodes": 1, "per_node": {"cpu": 6}, "features": []},
        },
    ],
}

CONFIG: dict[str, Any] = {
    "schema": "giveway.config/1",
    "cluster": "dev",
    "projects": [
        {
            "code": "alpha",
            "name": "Alpha",
            "size": 40,
            "grade": 1,
            "urgency": 3,
            "slurm_account": "alpha",
            "managers": ["pam"],
            "members": ["ann", "bob"],
            "tasks": [{"pattern": "alpha_eval*", "importance": 2}],
        }
    ],
    "partitions": [
        {
            "name": "x",
            "mode": "user_then_task",
            "enforcement": "shadow",
            "admins": ["dave"],
            "levels": [
                {"name": "P0", "min_score": 60, "keyword": "p0"},
                {"name": "P1", "min_score": 20, "keyword": "p1"},
            ],
            "quotas": {"P0": 1, "P1": 3},
            "over_quota": "lowest",
            "user_overrides": {"carol": "P0"},
            "task_overrides": {"release_*": "P0"},
            "bands": None,
            "victim_order": "shortest_runtime",
            "exempt_s": 0,
            "grace_s": 30,
            "checkpoint_signal": "USR1",
            "max_preemptions_per_job": 3,
            "not_requeueable": "requeue",
            "cancel_notice_s": 600,
            "no_requeue_users": [],
        }
    ],
}


def changed(document: dict[str, Any], change: Change) -> dict[str, Any]:
    """A copy with one change."""
    result = copy.deepcopy(document)
    change(result)
    return result


def put(path: str, value: Any) -> Change:
    """Set what a dotted path leads to: `jobs.0.alloc`."""

    def change(document: dict[str, Any]) -> None:
        *way, last = path.split(".")
        here: Any = document
        for step in way:
            here = here[int(step)] if isinstance(here, list) else here[step]
        if isinstance(here, list):
            here[int(last)] = value
        else:
            here[last] = value

    return change


def drop(path: str) -> Change:
    """Take out what a dotted path leads to."""

    def change(document: dict[str, Any]) -> None:
        *way, last = path.split(".")
        here: Any = document
        for step in way:
            here = here[int(step)] if isinstance(here, list) else here[step]
        del here[int(last) if isinstance(here, list) else last]

    return change
