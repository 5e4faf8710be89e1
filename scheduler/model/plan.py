"""The planner's output: one decision per pending job (contract A)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scheduler.model.reasons import Reason


class DecisionKind(StrEnum):
    """What is to become of a pending job."""

    START = "start"
    PREEMPT = "preempt"
    WAIT = "wait"
    QUEUE = "queue"


class How(StrEnum):
    """How a victim gives way."""

    REQUEUE = "requeue"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Victim:
    """A running job that is stopped for the beneficiary."""

    job: str
    how: How = How.REQUEUE


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A running job that was looked at and left alone, and why."""

    job: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one pending job.

    `nodes`: where it is expected to run (start, preempt). `placement`: what it takes on each of them.
    `at`: epoch second (wait). `passed_over`: for the explanation, not part of contract A's output.
    """

    job: str
    action: DecisionKind
    reason: Reason
    explain: str
    nodes: tuple[str, ...] = ()
    victims: tuple[Victim, ...] = ()
    at: int | None = None
    placement: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    passed_over: tuple[PassedOver, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """All decisions of one partition at one moment, in the order in which they were made."""

    partition: str
    decisions: tuple[Decision, ...]
