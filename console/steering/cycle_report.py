"""What a cycle did, as it tells it."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from console.steering.models import Plan
from scheduler.model.sentence import facts_of


@dataclass(slots=True)
class Report:
    """What a cycle did. `lines`: one per decision, for people and scripts."""

    number: int
    fault: str = ""
    has_failed: bool = False
    """`fault` is an exception that was raised, and not what kept the cluster from being observed."""
    lines: list[str] = field(default_factory=list)
    planned: int = 0
    issued: int = 0
    placed: int = 0
    """Jobs that got another nice."""
    kept: int = 0
    """Jobs that nodes were asked to be kept for, or no longer."""
    begun: int = 0
    """Jobs that were asked to begin on chosen nodes, or later."""
    phases: dict[str, float] = field(default_factory=dict)
    open_before: list[tuple[int, str]] = field(default_factory=list)
    """Plans that were open when the cycle began, with their states."""
    asked_before: list[tuple[object, ...]] = field(default_factory=list)
    """What was asked of people then."""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure one phase, in seconds."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = round(time.perf_counter() - before, 4)


def shown(plans: Iterable[Plan]) -> list[tuple[int, str]]:
    """What pages show of plans first: which there are, in which states."""
    return [(plan.pk, plan.state) for plan in plans]


def asked(plans: Iterable[Plan]) -> list[tuple[object, ...]]:
    """What is asked of people in them. Durations grow by themselves, and are no news."""
    return [(plan.pk, plan.version, facts_of(plan.not_now), len(plan.alternatives)) for plan in plans]
