"""Short ways to ask the planner, and to read its answers, for tests."""

from collections.abc import Iterable
from typing import Any

from scheduler.model.jobs import Job
from scheduler.model.nodes import Node
from scheduler.model.plan import Decision
from scheduler.model.policy import Mode
from scheduler.preemption.planner import plan
from tests.builders import snapshot


def decisions(
    jobs: Iterable[Job], nodes: Iterable[Node] | None = None, mode: Mode = Mode.USER, **rules: Any
) -> dict[str, Decision]:
    """The decisions by job, in the order in which they were made."""
    made = plan(snapshot(jobs, nodes, mode, **rules))
    return {decision.job: decision for decision in made.decisions}


def decide(*jobs: Job, nodes: Iterable[Node] | None = None, mode: Mode = Mode.USER, **rules: Any) -> Decision:
    """The decision on the only pending job."""
    (decision,) = decisions(jobs, nodes, mode, **rules).values()
    return decision


def stopped(decision: Decision) -> list[str]:
    """The ids of the victims, sorted."""
    return sorted(victim.job for victim in decision.victims)
