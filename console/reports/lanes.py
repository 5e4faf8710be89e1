"""A partition's lanes: who ran on which node and when, who runs, who is expected, for whom stops made room.

What is kept says what is drawn. A running job is where the mirror has it; a run that is over is where it was when it
began (`JobRun`), with the name and the level that its job had last. Jobs of other partitions on shared nodes are not
among them, nor what an elastic job gave up while it ran on. Moments are epoch seconds.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol, Self

from django.db.models import Q
from django.utils.translation import gettext as _

from console.cluster.selectors import SeenNode, seen_nodes
from console.core import clock, l10n_format
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.reports.lane_bars import LaneBar, LanePlace, read_bars
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

SCHEMA = "giveway.lanes/1"
AROUND_S = 1800
"""So far back and so far ahead, unless told."""
LONGEST_S = 8 * 86_400
FARTHEST_S = 366 * 86_400
"""Nothing is kept from so long ago, and nothing is expected so far ahead."""
MOST_MARKS = 5_000
MANY = 64
"""With more nodes than these each unit is one row (`js/lanes/units.js`)."""
TALL, TALL_OF_UNITS = 14, 19
"""So many lanes fill the chart; the second where there are many (`js/lanes/data.js`)."""
ROUND_S, SLACK_S = 300, 60
AIMED = (ActionState.PLANNED, ActionState.EXECUTING)
DONE = (ActionState.ISSUED, ActionState.VERIFIED)


class BadWindowError(ValueError):
    """A window that makes no sense. `key`: which end, `from` or `to`."""

    def __init__(self, key: str, words: str) -> None:
        super().__init__(words)
        self.key = key


class LaneWindow(NamedTuple):
    """Epoch seconds; `now` may lie outside."""

    start: int
    end: int
    now: int

    @classmethod
    def around(cls, now: int, start: int | None = None, end: int | None = None) -> Self:
        """From `start` to `end`, or half an hour on each side of now. Raises `BadWindowError`."""
        begins = start if start is not None else min(now, end if end is not None else now) - AROUND_S
        ends = end if end is not None else max(now, begins) + AROUND_S
        for key, moment in (("from", begins), ("to", ends)):
            if abs(moment - now) > FARTHEST_S:
                raise BadWindowError(key, _("Must be within a year of now."))
        if ends <= begins:
            raise BadWindowError("to", _("Must be later than `from`."))
        if ends - begins > LONGEST_S:
            raise BadWindowError("to", _("Must be at most 8 days later than `from`."))
        return cls(begins, ends, now)

    @classmethod
    def usual(cls, start: int | None = None, end: int | None = None) -> Self:
        """The same, by the clock."""
        return cls.around(int(clock.now().timestamp()), start, end)


class FirstLanes(NamedTuple):
    """What the chart asks for first, epoch seconds: its first view and as far again (`js/lanes/source.js`), or, of many
    nodes, what is seen of it, on the first `rows`."""

    start: int
    end: int
    rows: int | None

    @classmethod
    def of(cls, nodes: int) -> Self:
        """Of a partition with so many."""
        now, is_many = int(clock.now().timestamp()), nodes > MANY
        reach = AROUND_S + (SLACK_S if is_many else AROUND_S)
        start, end = (now - reach) // ROUND_S * ROUND_S, -(-(now + reach) // ROUND_S) * ROUND_S
        return cls(start, end, TALL_OF_UNITS + 1 if is_many else None)

    @property
    def query(self) -> str:
        """As the API is asked."""
        rows = "" if self.rows is None else f"&rows={self.rows}"
        return f"from={self.start}&to={self.end}{rows}"

    def document(self, partition: Partition, nodes: Sequence[SeenNode]) -> dict[str, Any]:
        """What the API would answer. `nodes`: the partition's."""
        window = LaneWindow.usual(self.start, self.end)
        return lanes_document(partition, read_lanes(partition, window, self.rows, nodes))


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
    if nodes is None:
        nodes = [node for node in seen_nodes(partition.cluster) if partition.name in node.partitions]
    lanes = _in_order(partition, nodes)
    begun = Plan.objects.filter(
        cluster=partition.cluster_id,
        partition=partition.name,
        state__in=BEGUN_STATES,
        kind=PlanKind.PREEMPT,
    ).only("id", "job_id", "job_name", "user", "placement", "victims")
    first = None if rows is None else lanes_of_rows(lanes, rows)
    places = {lane.name: number for number, lane in enumerate(lanes)}
    found = read_bars(LanePlace(partition, policy, *window, places, first), list(begun))
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


def lanes_document(partition: Partition, found: Lanes) -> dict[str, Any]:
    """What the API tells of the lanes of a partition."""
    seen = partition.cluster.observed_at
    return {
        "schema": SCHEMA,
        "partition": partition.name,
        "now": found.window.now,
        "observed": None if seen is None else int(seen.timestamp()),
        "start": found.window.start,
        "end": found.window.end,
        "levels": found.levels,
        "lanes": [lane._asdict() for lane in found.lanes],
        "bars": [bar._asdict() for bar in found.bars],
        "stops": [stop._asdict() for stop in found.stops],
        "checkpoints": [saved._asdict() for saved in found.checkpoints],
        "left_out": found.left_out,
        "unplaced": found.unplaced,
        "of_lanes": found.of_lanes,
    }


class _OfUnit(Protocol):
    @property
    def group(self) -> str: ...
    @property
    def unit(self) -> str: ...


def lanes_of_rows(lanes: Sequence[_OfUnit], rows: int) -> int | None:
    """How many lanes stand in the first rows, as the chart has them at first. None: all, as where there are few."""
    if len(lanes) <= MANY:
        return None
    last, seen = None, 0
    for number, lane in enumerate(lanes):
        unit = (lane.group, lane.unit) if lane.unit else None
        if unit is None or unit != last:
            if seen == rows:
                return number
            seen += 1
        last = unit
    return None


def _in_order(partition: Partition, nodes: Sequence[SeenNode]) -> list[Lane]:
    """GPUs first, the larger kinds first; then by unit, those in none last, and by name, numbers as numbers: as the
    node map has them."""
    # By the identity of what nodes have: what is alike is shared.
    kinds = {key: _kind(total) for key, total in {id(node.total): node.total for node in nodes}.items()}
    units = {node.name: node.unit_in(partition.name) for node in nodes}
    places = {unit: (not unit, natural(unit)) for unit in set(units.values())}

    def order(node: SeenNode) -> tuple[Any, ...]:
        return kinds[id(node.total)], places[units[node.name]], natural(node.name)

    return [
        Lane(node.name, node.up, node.state, kinds[id(node.total)][2], units[node.name])
        for node in sorted(nodes, key=order)
    ]


def _kind(total: Mapping[str, int]) -> tuple[bool, int, str]:
    """Its place and its words."""
    main = next((name for name in COUNTED if total.get(name)), "cpu")
    words = l10n_format.amounts({name: n for name, n in total.items() if name != "mem"})
    return main == "cpu", -total.get(main, 0), words


def _stops(partition: Partition, window: LaneWindow, only: Collection[str] | None) -> list[LaneStop]:
    """Those that were made, and those of plans under way that are still to be made: due now, or when their grace time
    is over. `only`: of these jobs."""
    made = Q(state__in=DONE, issued_at__range=_moments(window))
    aimed = Q(state__in=AIMED, plan__state__in=BEGUN_STATES)
    rows = PlannedAction.objects.filter(
        made | aimed, cluster=partition.cluster_id, plan__partition=partition.name, kind__in=STOP_KINDS
    )
    told = rows.order_by("-id").values_list(
        *("state", "issued_at", "not_before", "job_id", "run_start", "run_restarts", "kind"),
        *("plan_id", "plan__job_id", "plan__user"),
    )
    stops = []
    for state, issued_at, not_before, job, start, restarts, how, *served in told[:MOST_MARKS]:
        done = state in DONE and issued_at is not None
        due = issued_at if done else not_before
        at = window.now if due is None else int(due.timestamp())
        stop = LaneStop(at if done else max(at, window.now), job, start, restarts, how, done, *served)
        if window.start <= stop.at <= window.end and (only is None or job in only):
            stops.append(stop)
    return sorted(stops)


def _checkpoints(partition: Partition, window: LaneWindow, only: Collection[str] | None) -> list[LaneSave]:
    rows = Checkpoint.objects.filter(
        cluster=partition.cluster_id,
        plan__partition=partition.name,
        acknowledged_at__range=_moments(window),
    ).order_by("-acknowledged_at")
    told = rows.values_list("acknowledged_at", "job_id", "run_start", "run_restarts", "saved", "plan_id")
    return sorted(
        LaneSave(int(at.timestamp()), job, start, restarts, what, plan)
        for at, job, start, restarts, what, plan in told[:MOST_MARKS]
        if at and (only is None or job in only)
    )


def _moments(window: LaneWindow) -> tuple[datetime, datetime]:
    return clock.from_epoch(window.start), clock.from_epoch(window.end)
