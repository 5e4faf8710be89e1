"""The people, projects and rules that belong to the simulator's scenarios, as priority files (contract B).

Plain data: whoever sets up a console for a scenario imports one of these. The names are those that the jobs
of the scenarios carry: users, Slurm accounts and the beginnings of job names.
"""

from typing import Any

from scheduler.model.kind import KIND_LIMITS, kind_bands

Config = dict[str, Any]

DEMO_PARTITION_ADMINS = ("dave",)
"""Administrators of the demo's partitions."""

DEMO_USERS = ["ann", "bob", "cy", "dee", "eve", "finn", "gil", "hao", "ivy", "jan"]
"""All users of projects: the demo shows what a keyword does, and lets nobody else use one."""

DEMO_PROJECTS: list[dict[str, Any]] = [
    {
        "code": "alpha",
        "name": "Alpha: release of the assistant",
        "size": 40,
        "grade": 1,
        "urgency": 3,
        "slurm_account": "alpha",
        "managers": ["pam"],
        "members": ["ann", "bob"],
        "tasks": [{"pattern": "alpha_eval*", "importance": 2}],
    },
    {
        "code": "beta",
        "name": "Beta: speech model",
        "size": 30,
        "grade": 1,
        "urgency": 1,
        "slurm_account": "beta",
        "managers": ["pam"],
        "members": ["cy", "dee"],
        "tasks": [{"pattern": "beta_train*", "importance": 1}],
    },
    {
        "code": "gamma",
        "name": "Gamma: basic research",
        "size": 20,
        "grade": 2,
        "urgency": 1,
        "slurm_account": "gamma",
        "managers": ["pam"],
        "members": ["eve", "finn"],
        "tasks": [{"pattern": "gamma_sweep*", "importance": 0.5}],
    },
    {
        "code": "delta",
        "name": "Delta: weather model, with a delivery",
        "size": 24,
        "grade": 2,
        "urgency": 1,
        "slurm_account": "delta",
        "managers": ["pam"],
        "members": ["gil", "hao"],
        "tasks": [{"pattern": "delta_ensemble*", "importance": 1}],
    },
    {
        "code": "epsilon",
        "name": "Epsilon: materials by chance",
        "size": 12,
        "grade": 1,
        "urgency": 1,
        "slurm_account": "epsilon",
        "managers": ["pam"],
        "members": ["ivy"],
        "tasks": [{"pattern": "epsilon_mc*", "importance": 1}],
    },
    {
        "code": "zeta",
        "name": "Zeta: teaching",
        "size": 12,
        "grade": 2,
        "urgency": 1,
        "slurm_account": "zeta",
        "managers": ["pam"],
        "members": ["jan"],
    },
]

_DEMO_LEVELS = [
    {"name": "P0", "min_score": 60, "keyword": "p0", "keyword_users": DEMO_USERS},
    {"name": "P1", "min_score": 20, "keyword": "p1", "keyword_users": DEMO_USERS},
    {"name": "P2", "min_score": 5, "keyword": "p2", "keyword_users": DEMO_USERS},
]

_KIND = {**KIND_LIMITS, "bands": [list(band) for band in kind_bands(len(_DEMO_LEVELS)) or ()]}

DEMO_PARTITIONS: list[dict[str, Any]] = [
    {
        "name": "demo",
        "mode": "user_then_task",
        "enforcement": "enforce",
        "admins": ["dave"],
        "levels": _DEMO_LEVELS,
        "quotas": {"P0": 3, "P1": 12},
        "over_quota": "lowest",
        "user_overrides": {},
        "task_overrides": {"*_release": "P0"},
        **_KIND,
        "victim_order": "shortest_runtime",
        "grace_s": 2,
        "checkpoint_signal": "USR1",
        "asked_to_save": "everybody",
        "max_preemptions_per_job": 3,
        "not_requeueable": "requeue",
    },
    {
        "name": "cpu",
        "mode": "task_then_user",
        "enforcement": "shadow",
        "admins": ["dave"],
        "levels": _DEMO_LEVELS,
        "quotas": {},
        "over_quota": "lowest",
        "user_overrides": {},
        "task_overrides": {},
        **_KIND,
        "victim_order": "least_lost_work",
        "grace_s": 30,
        "checkpoint_signal": "USR1",
        "asked_to_save": "everybody",
        "max_preemptions_per_job": 3,
        "not_requeueable": "requeue",
    },
]

DEMO_CONFIG: Config = {
    "schema": "giveway.config/1",
    "cluster": "demo",
    "projects": DEMO_PROJECTS,
    "partitions": DEMO_PARTITIONS,
}
"""What belongs to the scenario `demo`."""

_TEN_GPUS_USERS = ["a", "b", "c", *DEMO_USERS]

TEN_GPUS_CONFIG: Config = {
    "schema": "giveway.config/1",
    "cluster": "patent",
    "projects": [],
    "partitions": [
        {
            "name": "q",
            "mode": "task",
            "enforcement": "enforce",
            "admins": [],
            "levels": [
                {"name": "P0", "min_score": None, "keyword": "p0", "keyword_users": _TEN_GPUS_USERS},
                {"name": "P1", "min_score": None, "keyword": "p1", "keyword_users": _TEN_GPUS_USERS},
                {"name": "P2", "min_score": None, "keyword": "p2", "keyword_users": _TEN_GPUS_USERS},
            ],
            "quotas": {"P0": 1, "P1": 3, "P2": 5},
            "grace_s": 1,
        }
    ],
}
"""What belongs to the scenario `patent_ten_gpus` (document 000, ¶200 and ¶201)."""

USER_THEN_TASK_CONFIG: Config = {
    "schema": "giveway.config/1",
    "cluster": "patent",
    "projects": [],
    "partitions": [
        {
            "name": "x",
            "mode": "user_then_task",
            "enforcement": "enforce",
            "admins": [],
            "levels": [
                {"name": "P0", "min_score": None, "keyword": "l0", "keyword_users": DEMO_USERS},
                {"name": "P1", "min_score": None, "keyword": "l1", "keyword_users": DEMO_USERS},
                {"name": "P2", "min_score": None, "keyword": "l2", "keyword_users": DEMO_USERS},
                {"name": "P3", "min_score": None, "keyword": "l3", "keyword_users": DEMO_USERS},
            ],
            "user_overrides": {"ann": "P1", "bob": "P3", "cy": "P1"},
            "grace_s": 1,
        }
    ],
}
"""What belongs to the scenario `patent_user_then_task` (document 000, ¶81)."""
