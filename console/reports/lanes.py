"""A partition's lanes: who ran on which node and when, who runs, who is expected, for whom stops made room.

What is kept says what is drawn. A running job is where the mirror has it; a run that is over is where it was when it
began (`JobRun`), with the name and the level that its job had last. Jobs of other partitions on shared nodes are not
among them, nor what an elastic job gave up while it ran on. Moments are epoch seconds.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.utils.translation import get_language

from console.cluster.selectors import SeenNode, seen_nodes
from console.core import clock, kept_queries, l10n_format
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.reports.lane_bar import LaneBar
from console.reports.lane_bars import bars_of
from console.reports.lane_part import lanes_of_rows
from console.reports.lane_rows import Place
from console.reports.lane_window import MOST_MARKS, LaneWindow
from console.steering.models import (
    BEGUN_STATES,
    STOP_KINDS,
    ActionState,
    Checkpoint,
    Plan,
    PlanKind,
    PlannedAction,
)
from scheduler.model.resource_kinds import COUNTED
from scheduler.priority.order import natural

AIMED = (ActionState.PLANNED, ActionState.EXECUTING)
DONE = (ActionState.ISSUED, ActionState.VERIFIED)
_STOP = (
    *("job_id", "run_start", "run_restarts", "kind", "state", "issued_at", "not_before"),
    *("plan_id", "plan__job_id", "plan__user"),
)


class StopSaid(NamedTuple):
    """A stop as the database has it (`_STOP`); `served` is the job for which it makes room."""

    job: str
    start: int
    restarts: int
    how: str
    state: str
    issued_at: datetime | None
    not_before: datetime | None
    plan: int
    served: str
    served_user: str


class Lane(NamedTuple):
    """A node. `group`: what it is, in words; lanes of one group stand together, and in it those of one compute unit
    (`unit`, empty where none is known)."""

    name: str
    up: bool
    state: str
    group: str
    unit: str = ""


class LaneStop(NamedTuple):
    """A run that was cut, or is to be (not `done`), and the job for which it made room (`served`)."""

    at: int
    job: str
    start: int
    restarts: int
    how: str
    done: bool
    plan: int
    served: str
    served_user: str


class LaneSave(NamedTuple):
    """A checkpoint: a job said that its state is saved, as `what`."""

    at: int
    job: str
    start: int
    restarts: int
    what: str
    plan: int


@dataclass(frozen=True, slots=True)
class Lanes:
    """All that a chart draws. `left_out`: runs beyond the bound; `unplaced`: expected of which no node is known.

    `of_lanes`: bars and marks are of the first so many lanes only, and nothing is counted as left out or unplaced.
    """

    window: LaneWindow
    levels: list[str]
    lanes: list[Lane]
    bars: list[LaneBar]
    stops: list[LaneStop]
    checkpoints: list[LaneSave]
    left_out: int
    unplaced: int
    of_lanes: int | None = None


def read_lanes(
    partition: Partition,
    window: LaneWindow,
    rows: int | None = None,
    nodes: Sequence[SeenNode] | None = None,
) -> Lanes:
    """The lanes of a partition: a fixed number of queries, whatever there is.

    `rows`: of many lanes only what is on those that stand in the chart's first so many rows. `nodes`: the partition's,
    where they have been read.
    """
    policy = policy_of(partition)
    lanes = _lanes(partition, nodes)
    begun = kept_queries.rows(_begun, partition.cluster_id, partition.name)
    first = None if rows is None else lanes_of_rows(lanes, rows)
    places = {lane.name: number for number, lane in enumerate(lanes)}
    found = bars_of(Place(partition, policy, window, places, first), begun)
    only = None if first is None else {bar.job for bar in found.bars}
    return Lanes(
        window=window,
        levels=[rule.name for rule in policy.levels],
        lanes=lanes,
        bars=found.bars,
        stops=_stops(partition, window, only),
        checkpoints=_checkpoints(partition, window, only),
        left_out=found.left_out,
        unplaced=found.unplaced,
        of_lanes=first,
    )


def _begun(cluster: int, partition: str) -> QuerySet[Plan]:
    """The plans that make room and are under way."""
    rows = Plan.objects.filter(
        cluster=cluster, partition=partition, state__in=BEGUN_STATES, kind=PlanKind.PREEMPT
    )
    return rows.only("id", "job_id", "job_name", "user", "placement", "victims")


def _lanes(partition: Partition, nodes: Sequence[SeenNode] | None) -> list[Lane]:
    """GPUs first, the larger kinds first; then by unit, those in none last, and by name, numbers as numbers: as the
    node map has them."""
    if nodes is None:
        nodes = [node for node in seen_nodes(partition.cluster) if partition.name in node.partitions]
    key = (partition.pk, get_language())
    before, lanes = _last.get(key, ([], []))
    # What a node holds changes all the time, and no lane shows it.
    shown = [(node.name, node.up, node.state, node.total, node.unit_in(partition.name)) for node in nodes]
    if shown != before:
        if len(_last) >= MOST_KEPT:
            _last.clear()
        lanes = _in_order(partition, nodes)
        _last[key] = (shown, lanes)
    return lanes


MOST_KEPT = 16
_last: dict[Any, tuple[list[tuple[Any, ...]], list[Lane]]] = {}
"""The lanes of the last look at each partition, and what was shown of its nodes."""


def _in_order(partition: Partition, nodes: Sequence[SeenNode]) -> list[Lane]:
    kinds = _kinds(nodes)
    units = {node.name: node.unit_in(partition.name) for node in nodes}
    places = {unit: (not unit, natural(unit)) for unit in set(units.values())}

    def order(node: SeenNode) -> tuple[Any, ...]:
        return kinds[id(node.total)], places[units[node.name]], natural(node.name)

    return [
        Lane(node.name, node.up, node.state, kinds[id(node.total)][2], units[node.name])
        for node in sorted(nodes, key=order)
    ]


def _kinds(nodes: Iterable[SeenNode]) -> dict[int, tuple[bool, int, str]]:
    """The place and the words of each kind, by the identity of what its nodes have: what is alike is shared."""
    alike = {id(node.total): node.total for node in nodes}
    return {key: _kind(total) for key, total in alike.items()}


def _kind(total: Mapping[str, int]) -> tuple[bool, int, str]:
    main = next((name for name in COUNTED if total.get(name)), "cpu")
    return (
        main == "cpu",
        -total.get(main, 0),
        l10n_format.amounts({name: n for name, n in total.items() if name != "mem"}),
    )


def _stops(partition: Partition, window: LaneWindow, only: Collection[str] | None) -> list[LaneStop]:
    """Those that were made, and those of plans under way that are still to be made. `only`: of these jobs."""
    found = _marks(_stop_rows, partition, window, only)
    stops = (_stop(StopSaid(*row), window) for row in found)
    return sorted(stop for stop in stops if window.start <= stop.at <= window.end)


def _stop_rows(cluster: int, partition: str, start: datetime, end: datetime) -> QuerySet[PlannedAction, Any]:
    made = Q(state__in=DONE, issued_at__range=(start, end))
    aimed = Q(state__in=AIMED, plan__state__in=BEGUN_STATES)
    rows = PlannedAction.objects.filter(cluster=cluster, plan__partition=partition, kind__in=STOP_KINDS)
    return rows.filter(made | aimed).order_by("-id").values_list(*_STOP)[:MOST_MARKS]


def _marks(
    build: Callable[..., QuerySet[Any, Any]],
    partition: Partition,
    window: LaneWindow,
    only: Collection[str] | None,
) -> list[tuple[Any, ...]]:
    """Rows that begin with their job, the latest. What a page has asked first is the same for minutes, and kept."""
    asked = (partition.cluster_id, partition.name, *window.moments)
    if only is None:
        return list(build(*asked))
    return [row for row in kept_queries.rows(build, *asked) if row[0] in only]


def _stop(said: StopSaid, window: LaneWindow) -> LaneStop:
    """One that is not made yet is due now, or when its grace time is over."""
    done = said.state in DONE and said.issued_at is not None
    due = said.issued_at if done else said.not_before
    at = window.now if due is None else int(due.timestamp())
    return LaneStop(
        at if done else max(at, window.now),
        said.job,
        said.start,
        said.restarts,
        said.how,
        done,
        said.plan,
        said.served,
        said.served_user,
    )


def _checkpoints(partition: Partition, window: LaneWindow, only: Collection[str] | None) -> list[LaneSave]:
    found = _marks(_checkpoint_rows, partition, window, only)
    return sorted(
        LaneSave(int(at.timestamp()), job, start, restarts, what, plan)
        for job, at, start, restarts, what, plan in found
    )


def _checkpoint_rows(
    cluster: int, partition: str, start: datetime, end: datetime
) -> QuerySet[Checkpoint, Any]:
    rows = Checkpoint.objects.filter(
        cluster=cluster, plan__partition=partition, acknowledged_at__range=(start, end)
    ).order_by("-acknowledged_at")
    told = rows.values_list("job_id", "acknowledged_at", "run_start", "run_restarts", "saved", "plan_id")
    return told[:MOST_MARKS]


def usual_window(start: int | None = None, end: int | None = None) -> LaneWindow:
    """Half an hour back and half an hour ahead, unless told."""
    now = int(clock.now().timestamp())
    return LaneWindow.around(now, start, end)
