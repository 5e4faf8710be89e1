"""Simulating the past: the same submissions without Giveway and with the policy, a few times, within bounds.

The first run has the jobs as they were submitted. In each further one they come up to ten minutes earlier or later,
those of one user and one second together: what changes with that hangs on chance, and becomes the range.
"""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext_noop

from console.cluster.models import Cluster
from console.cluster.selectors import seen_nodes
from console.core import clock
from console.history.hindsight.figures import (
    SCHEMA,
    BothWays,
    ReplayedJobs,
    RunFiguresOfAll,
    groups,
    measured,
    not_followed,
    past_jobs,
    standings,
    with_policy,
    without_giveway,
)
from console.history.models import PartitionMinute
from console.history.what_if import NotNowError
from console.projects.selectors import core_projects
from scheduler.model.policy import PartitionPolicy
from scheduler.model.resource_kinds import accelerator_of
from scheduler.simulate.policy import Policy, evenly
from scheduler.simulate.replay import SimulationOutcome, replay
from scheduler.simulate.trace import LeftOut, Machines, TraceRow, Workload, fit

# --- The nodes on which the past is simulated: equal ones, as many as were usually up ---


@dataclass(frozen=True, slots=True)
class PartitionNodes:
    """`machines`: what is simulated. `has`: how many such nodes the partition has today, those that are down too;
    `alike`: its nodes are really equal."""

    machines: Machines
    has: int
    alike: bool

    def facts(self) -> dict[str, Any]:
        """As the answer of the study has them."""
        per_node = dict(self.machines.per_node)
        return {"count": self.machines.nodes, "has": self.has, "per_node": per_node, "alike": self.alike}


def nodes_of(cluster: Cluster, partition: str, since: int, until: int) -> PartitionNodes | None:
    """The partition's nodes as equal ones; None where it has none. Two queries.

    Of several kinds the one with most accelerators in all (or CPUs) counts, and so many of it as have them all
    together. Where minutes of this time were recorded, no more count than were up in half of them.
    """
    nodes = [node.total for node in seen_nodes(cluster) if partition in node.partitions]
    accelerator = accelerator_of(nodes)
    kinds = Counter((total.get("cpu", 0), total.get(accelerator, 0)) for total in nodes)
    main = 1 if any(amount for _, amount in kinds) else 0
    having = {kind: count for kind, count in kinds.items() if kind[main]}
    if not having:
        return None
    kind = max(having, key=lambda each: (each[main] * having[each], each))
    has = max(1, sum(each[main] * many for each, many in having.items()) // kind[main])
    names = ("cpu", accelerator)
    up = _usually_up(cluster, partition, names[main], since, until)
    count = has if up is None else min(has, max(1, round(up / kind[main])))
    per_node = {name: amount for name, amount in zip(names, kind, strict=True) if amount}
    return PartitionNodes(Machines(count, per_node), has, len(kinds) == 1)


def _usually_up(cluster: Cluster, partition: str, resource: str, since: int, until: int) -> float | None:
    """How much of it was on nodes that were up, in half of the recorded minutes; None where none is recorded."""
    between = (clock.from_epoch(since), clock.from_epoch(until))
    minutes = PartitionMinute.objects.filter(cluster=cluster, partition=partition, at__range=between)
    amounts = [total.get(resource, 0) for total in minutes.values_list("total", flat=True).iterator()]
    return statistics.median(amounts) if amounts else None


RUNS = 5
SHIFT_S = 600
TELL_S = 1.0
MOST_NAMED = 10
EMPTY = gettext_noop(
    "No finished job of this partition is known in that time. Import them from Slurm’s accounting, or wait until some"
    " have ended."
)
NO_NODES = gettext_noop("The nodes of this partition have not been seen yet.")
TOO_LARGE = gettext_noop(
    "Every job of that time is larger than this partition is today: nothing can be simulated."
)
TOO_LONG = gettext_noop("There was no time for one run with the policy: ask about fewer days.")

Tell = Callable[[int, int], object]
"""How far it is, and of how much; what it raises ends the study."""


class _OverTimeError(Exception):
    """There is no time for this run."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one study simulates. Of a run only its figures are kept: all its jobs take a hundred megabytes."""

    past: ReplayedJobs
    policies: tuple[Policy, Policy]
    machines: Machines
    measure: Callable[[SimulationOutcome], RunFiguresOfAll]


def hindsight(
    cluster: Cluster, policy: PartitionPolicy, days: int, *, budget_s: float, tell: Tell
) -> dict[str, Any]:
    """The answer (`figures.SCHEMA`). Raises `NotNowError` with a sentence that is kept in English.

    `budget_s`: after so long no further run is begun, and one that is not done is left out; the first must be done.
    """
    until = int(clock.now().timestamp())
    past, nodes = _facts(cluster, policy.name, until - days * 24 * 3600, until)
    machines = nodes.machines
    known = standings(past.rows, policy, core_projects(cluster), until)
    both = without_giveway(policy, known), with_policy(policy, known)
    as_it_was = fit(past.rows, machines)
    ids = past.counted.intersection(work.row.id for work in as_it_was.jobs)
    if not ids:
        raise NotNowError(TOO_LARGE)
    asked = _Asked(past, both, machines, lambda outcome: measured(outcome, ids, known))
    runs = _runs(asked, time.monotonic() + budget_s, tell)
    names = [rule.name for rule in policy.levels]
    return {
        "schema": SCHEMA,
        "partition": policy.name,
        "since": clock.from_epoch(past.since).isoformat(),
        "until": clock.from_epoch(until).isoformat(),
        "days": days,
        "cut": past.cut,
        "nodes": nodes.facts(),
        "runs": len(runs),
        "runs_meant": RUNS,
        "shift_s": SHIFT_S,
        "not_followed": list(not_followed(policy)),
        "left_out": _left_out(as_it_was.left_out, past, machines.accelerator),
        **groups([row for row in past.rows if row.id in ids], known, names, runs),
    }


def _facts(cluster: Cluster, partition: str, since: int, until: int) -> tuple[ReplayedJobs, PartitionNodes]:
    past = past_jobs(cluster, partition, since, until)
    if not past.counted:
        raise NotNowError(EMPTY)
    nodes = nodes_of(cluster, partition, since, until)
    if nodes is None:
        raise NotNowError(NO_NODES)
    return past, nodes


class _Progress:
    """Tells how far all runs are, once a second, and ends the one for which there is no time."""

    def __init__(self, jobs: int, until: float, tell: Tell) -> None:
        self._jobs, self._until, self._tell = jobs, until, tell
        self._done, self._told = 0, time.monotonic()
        tell(0, 2 * RUNS * jobs)

    @property
    def over(self) -> bool:
        """Whether there is no time for more."""
        return time.monotonic() >= self._until

    def watch(self, arrived: int) -> None:
        now = time.monotonic()
        if now - self._told < TELL_S:
            return
        self._told = now
        self._tell(self._done * self._jobs + arrived, 2 * RUNS * self._jobs)
        if self.over:
            raise _OverTimeError

    def next(self) -> None:
        self._done += 1


def _runs(asked: _Asked, until: float, tell: Tell) -> list[BothWays]:
    """Each run both ways, as many as there is time for."""
    progress = _Progress(len(asked.past.rows), until, tell)
    done: list[BothWays] = []
    for number in range(RUNS):
        workload = _moved(asked.past, asked.machines, number)
        pair: list[RunFiguresOfAll] = []
        try:
            for policy in asked.policies:
                pair.append(asked.measure(replay(workload, policy, progress.watch)))
                progress.next()
        except _OverTimeError:
            break
        done.append(BothWays(*pair))
        if progress.over:
            break
    if not done:
        raise NotNowError(TOO_LONG)
    return done


def _moved(past: ReplayedJobs, machines: Machines, number: int) -> Workload:
    """The submissions of one run; those of the first as they were."""
    if not number:
        return fit(past.rows, machines)
    return fit((_shifted(row, number) if row.id in past.counted else row for row in past.rows), machines)


def _shifted(row: TraceRow, number: int) -> TraceRow:
    part = 2 * evenly(f"run {number}", f"{row.submit} {row.user}") - 1
    return replace(row, submit=row.submit + round(part * SHIFT_S))


def _left_out(left: Sequence[LeftOut], past: ReplayedJobs, accelerator: str) -> dict[str, Any]:
    """Jobs that the partition could not run today, and those of which nothing is known to simulate."""
    rows = [each.row for each in left if each.row.id in past.counted]
    large = sorted((row for row in rows if row.cpus or row.gpus), key=_size, reverse=True)
    named = [
        {"job": row.id, "nodes": row.nodes, "cpu": row.cpus, accelerator: row.gpus}
        for row in large[:MOST_NAMED]
    ]
    return {"too_large": len(large), "asks_nothing": len(rows) - len(large), "largest": named}


def _size(row: TraceRow) -> tuple[int, int, int]:
    return row.nodes or 0, row.gpus or 0, row.cpus or 0
