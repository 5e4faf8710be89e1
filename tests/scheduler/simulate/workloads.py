"""Small workloads and policies for tests; every argument has a plain default."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from scheduler.model.policy import Mode
from scheduler.model.snapshot import PartitionRules
from scheduler.simulate.machine import SimulatedTask
from scheduler.simulate.policy import ByPattern, MatchedText, Pattern, Policy, QueueOrder, Scheduler
from scheduler.simulate.replay import SimulationOutcome, replay
from scheduler.simulate.trace import Machines, TraceRow, Workload, fit

BY_GROUP = ByPattern(MatchedText.GROUP, tuple(Pattern(f"g{level}", level) for level in range(4)))
"""A job of group g1 has level 1; other groups are unconfigured."""


def row(job_id: str, submit: int = 0, runtime: int = 100, nodes: int = 1, **fields: Any) -> TraceRow:
    """A row for nodes of one CPU: `nodes` of them for `runtime` seconds, which is also its limit."""
    defaults = {
        "row": 2, "limit": runtime, "cpus": nodes, "gpus": None, "user": "", "group": "", "name": "", "priority": "",
    }  # fmt: skip
    return TraceRow(id=job_id, submit=submit, runtime=runtime, nodes=nodes, **{**defaults, **fields})


def on(nodes: int, rows: Iterable[TraceRow], per_node: Mapping[str, int] | None = None) -> Workload:
    """Rows on so many nodes, of one CPU each where nothing else is said."""
    return fit(rows, Machines(nodes, per_node or {"cpu": 1}))


def policy(scheduler: Scheduler = Scheduler.EASY, **fields: Any) -> Policy:
    """A policy whose levels come from groups."""
    rules = fields.pop("rules", {})
    preempts = scheduler is Scheduler.PREEMPT
    defaults = {
        "partition": PartitionRules("x", Mode.USER, **rules),
        "order": QueueOrder.LEVEL if preempts else QueueOrder.SUBMIT,
        "user_level": BY_GROUP,
        "cycle_s": 1,
    }
    return Policy("policy", scheduler, **{**defaults, **fields})


def run(
    nodes: int, rows: Sequence[TraceRow], chosen: Policy, per_node: Mapping[str, int] | None = None
) -> SimulationOutcome:
    """Simulate rows."""
    return replay(on(nodes, rows, per_node), chosen)


def by_id(outcome: SimulationOutcome) -> dict[str, SimulatedTask]:
    """The jobs of an outcome under their ids."""
    return {task.work.row.id: task for task in outcome.tasks}


def starts(outcome: SimulationOutcome) -> dict[str, int | None]:
    """When each job first started."""
    return {task.work.row.id: task.first_start for task in outcome.tasks}


@st.composite
def rows(
    draw: st.DrawFn, most: int = 25, nodes: int = 5, per_node: Mapping[str, int] | None = None
) -> list[TraceRow]:
    """Rows that fit on an empty cluster of so many nodes; many arrive at once, many runs are short of their limit."""
    has = per_node or {"cpu": 1}
    result = []
    for i in range(draw(st.integers(1, most))):
        count = draw(st.integers(1, nodes))
        limit = draw(st.integers(1, 12))
        amounts = {f"{name}s": count * draw(st.integers(1, amount)) for name, amount in has.items()}
        result.append(
            row(
                str(i + 1),
                draw(st.integers(0, 20)),
                draw(st.integers(0, 15)),
                count,
                limit=limit,
                row=i + 2,
                group=draw(st.sampled_from(["g0", "g1", "g2", ""])),
                **{"cpus": None, "gpus": None, **amounts},
            )
        )
    return result
