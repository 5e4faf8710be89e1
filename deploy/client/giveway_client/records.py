"""What the API tells, as plain records. `raw` is the whole of an answer; keys that a record does not name are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, TypeVar

Raw = Mapping[str, Any]
R = TypeVar("R")


def read(record: type[R], raw: Raw, **made: Any) -> R:
    """A record from an answer: `made` are the values that are not as the API has them."""
    values: dict[str, Any] = {"raw": raw, **made}
    for each in fields(record):  # type: ignore[arg-type]
        values.setdefault(each.name, raw.get(each.name))
    return record(**values)


def moment(text: str | None) -> datetime | None:
    """ISO 8601 as the API has it; Python 3.9 knows no Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def moments(raw: Raw, *names: str) -> dict[str, datetime | None]:
    return {name: moment(raw.get(name)) for name in names}


@dataclass(frozen=True)
class Level:
    """0 is the highest rank, None: nothing configured. `origin`: where the level comes from, in words."""

    rank: int | None
    name: str
    origin: str
    raw: Raw = field(repr=False, compare=False, default_factory=dict)


@dataclass(frozen=True)
class Job:
    """A job in one partition, as last observed. `place`: in line, 1 is next."""

    job_id: str
    partition: str
    name: str
    user: str
    account: str
    project: str
    phase: str
    held: bool
    reason: str
    explain: str
    place: int | None
    plan: int | None
    preemptions: int
    user_level: Level
    task_level: Level
    submitted_at: datetime | None
    started_at: datetime | None
    estimated_start_at: datetime | None
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Job:
        levels = {axis: read(Level, raw[axis]) for axis in ("user_level", "task_level")}
        return read(cls, raw, **levels, **moments(raw, "submitted_at", "started_at", "estimated_start_at"))


@dataclass(frozen=True)
class Victim:
    """A job that gives way. `ran_s`: how long it had run."""

    job: str
    how: str
    name: str | None
    user: str | None
    ran_s: int | None
    raw: Raw = field(repr=False, compare=False)

    @property
    def is_stopped(self) -> bool:
        """Whether it ends its run; else it gives a part up, or is a worker of an elastic job, which goes on."""
        return self.how in {"requeue", "cancel"} and not self.raw.get("worker_of")


@dataclass(frozen=True)
class Plan:
    """Who is stopped for which job (`job_id` of `user`), and what came of it."""

    id: int
    partition: str
    kind: str
    state: str
    enforcement: str
    job_id: str
    job_name: str
    user: str
    reason: str
    explain: str
    victims: tuple[Victim, ...]
    created_at: datetime | None
    deadline: datetime | None
    ended_at: datetime | None
    outcome: str
    decided_by: str
    decision_reason: str
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Plan:
        victims = tuple(read(Victim, each) for each in raw["victims"])
        return read(cls, raw, victims=victims, **moments(raw, "created_at", "deadline", "ended_at"))

    @property
    def stops(self) -> int:
        """How many jobs it stops."""
        return sum(victim.is_stopped for victim in self.victims)


@dataclass(frozen=True)
class Question:
    """What a person is asked about a plan. `seen` stands for what was read; `changes`: why yes would be refused."""

    asked: bool
    seen: str
    consequence: str
    changes: list[str]
    raw: Raw = field(repr=False, compare=False)


@dataclass(frozen=True)
class Project:
    """A project; `version` grows with every change."""

    code: str
    name: str
    size: float
    grade: float
    urgency: float
    score: float
    slurm_account: str
    members: list[str]
    managers: list[str]
    version: int
    raw: Raw = field(repr=False, compare=False)


@dataclass(frozen=True)
class Partition:
    """A partition that Giveway steers; `state` is Slurm's word, `enforcement` shadow, approve or enforce."""

    name: str
    state: str
    mode: str | None
    enforcement: str | None
    revision: int | None
    jobs: Mapping[str, int]
    raw: Raw = field(repr=False, compare=False)


@dataclass(frozen=True)
class Pause:
    """Who paused what (partition "": everything), since when and why."""

    partition: str
    by: str
    since: datetime | None
    reason: str
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Pause:
        return read(cls, raw, **moments(raw, "since"))


@dataclass(frozen=True)
class Study:
    """What a change would have done over the last days; `done` of `total` recorded looks are decided."""

    id: int
    asked_by: str
    days: int
    partitions: list[str]
    projects: list[str]
    state: str
    done: int
    total: int
    fault: str
    result: dict[str, Any] | None
    raw: Raw = field(repr=False, compare=False)

    @property
    def open(self) -> bool:
        """Whether it is still to be done."""
        return self.state in {"queued", "running"}
