"""What Giveway asks of slurmctld: how many requests each command is, counted by kind, and what slurmctld allows.

How many requests a command is was counted with `sdiag` on 22.05.8, 24.11.5 and 26.05.5 (docs/slurm-versions.md). What
sacct and sacctmgr ask goes to slurmdbd.
"""

import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scheduler.model.observation import RequestUse

QUEUE, JOB, NODES, PARTITIONS, RESERVATIONS = "queue", "job", "nodes", "partitions", "reservations"
CONFIGURATION, COUNTERS, ORDERS, OTHER = "configuration", "counters", "orders", "other"
KINDS = (QUEUE, JOB, NODES, PARTITIONS, RESERVATIONS, CONFIGURATION, COUNTERS, ORDERS, OTHER)
LOOK = Counter({NODES: 1, PARTITIONS: 3, RESERVATIONS: 1, QUEUE: 1})
"""What one look at the whole cluster asks, without questions about single jobs."""

RPC_OF = {
    QUEUE: "REQUEST_JOB_INFO",
    JOB: "REQUEST_JOB_INFO_SINGLE",
    NODES: "REQUEST_NODE_INFO",
    PARTITIONS: "REQUEST_PARTITION_INFO",
    RESERVATIONS: "REQUEST_RESERVATION_INFO",
    CONFIGURATION: "REQUEST_BUILD_INFO",
    COUNTERS: "REQUEST_STATS_INFO",
    ORDERS: "REQUEST_UPDATE_JOB",
}
"""Slurm's name for a request of each kind, of orders for the most frequent; under it sdiag tells how long they take."""

_SHOWN = {
    "node": {NODES: 1, PARTITIONS: 1},
    "nodes": {NODES: 1, PARTITIONS: 1},
    "partitions": {PARTITIONS: 1},
    "reservations": {RESERVATIONS: 1},
    "config": {CONFIGURATION: 1, OTHER: 1},
}
_JOB_VERBS = frozenset({"hold", "release", "requeue", "requeuehold"})


def requests_of(program: str, arguments: Sequence[str]) -> Mapping[str, int]:
    """The requests to slurmctld that a command is, by kind."""
    if program == "squeue":
        return _of_squeue(arguments)
    if program == "scontrol":
        return _of_scontrol([each for each in arguments if not each.startswith("--")])
    if program == "scancel":
        named = sum(not each.startswith("--") for each in arguments)
        return {QUEUE: 1, OTHER: 1, ORDERS: named} if "--batch" in arguments else {ORDERS: named}
    return {"sdiag": {COUNTERS: 1}, "sbatch": {ORDERS: 1}}.get(program, {})


def _of_squeue(arguments: Sequence[str]) -> Mapping[str, int]:
    if "--version" in arguments:
        return {}
    ids = next((each for each in arguments if each.startswith("--jobs=")), ",")
    return {QUEUE if "," in ids else JOB: 1, PARTITIONS: 1}


def _of_scontrol(words: Sequence[str]) -> Mapping[str, int]:
    verb = words[0] if words else ""
    if verb == "show":
        if words[1] == "job":
            return {JOB: 1, NODES: 1, OTHER: 1} if len(words) > 2 else {QUEUE: 1, NODES: 1}
        return _SHOWN.get(words[1], {OTHER: 1})
    if verb in _JOB_VERBS:
        return {ORDERS: words[1].count(",") + 1}
    if verb == "update":
        return {ORDERS: next((each.count(",") + 1 for each in words if each.startswith("JobId=")), 1)}
    return {ORDERS if verb in {"create", "delete"} else OTHER: 1}


@dataclass
class RequestMeter:
    """What the commands of this process asked, since it was asked last. For several threads."""

    _use: RequestUse = field(default_factory=RequestUse)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, requests: Mapping[str, int], took_s: float, *, limited: bool) -> None:
        """Count a command that has ended."""
        with self._lock:
            self._use.requests.update(requests)
            if total := sum(requests.values()):
                for kind, number in requests.items():
                    self._use.took_s[kind] = self._use.took_s.get(kind, 0.0) + took_s * number / total
            self._use.limited += limited

    def take(self) -> RequestUse:
        """What was counted since the last time."""
        with self._lock:
            taken, self._use = self._use, RequestUse()
        return taken


METER = RequestMeter()
"""This process's."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How often slurmctld lets one account ask (`rl_enable`): so many at once, and so many in a minute.

    A command that asks more sleeps and tries again by itself, and says nothing of it.
    """

    burst: int = 0
    per_minute: float = 0.0
    period_s: float = 0.0

    def patience_s(self, requests: int) -> float:
        """How much longer a command of so many requests may take, where all are used up before it."""
        return requests * 60.0 / self.per_minute + 1.2 * self.period_s + 2.0 if self.per_minute else 0.0

    def has_waited(self, took_s: float) -> bool:
        """Whether a command that took so long was made to wait: the shortest of its sleeps is a second."""
        return bool(self.per_minute) and took_s >= 1.0


NO_LIMIT = RateLimit()


def rate_limit(facts: Mapping[str, str]) -> RateLimit:
    """What `SlurmctldParameters` says; `NO_LIMIT` where it limits nobody. Slurm's defaults: 30, and 2 each second."""
    parts = [part.strip().lower() for part in facts.get("SlurmctldParameters", "").split(",")]
    if "rl_enable" not in parts:
        return NO_LIMIT
    words = dict(part.split("=", 1) for part in parts if "=" in part)

    def number(name: str, default: int) -> int:
        text = words.get(name, "")
        return int(text) if text.isdecimal() and int(text) > 0 else default

    period_s = number("rl_refill_period", 1)
    per_minute = number("rl_refill_rate", 2) * 60.0 / period_s
    return RateLimit(number("rl_bucket_size", 30), per_minute, float(period_s))


def own_limit(facts: Mapping[str, str]) -> RateLimit:
    """The limit for the account of this process. root and SlurmUser (`slurm(64030)`) have none."""
    uid, owner = os.geteuid(), facts.get("SlurmUser", "")
    return NO_LIMIT if uid == 0 or owner.endswith(f"({uid})") else rate_limit(facts)
