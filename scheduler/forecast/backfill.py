"""One draw of a queue, played forward the way a backfilling scheduler starts jobs.

Jobs end as drawn. The scheduler does not know that: it counts on `planned` ends, as a rule those of the users' limits.
At every moment at which something ends, jobs are looked at in their order:

1. who fits starts, unless that may delay somebody who has a reservation: with what the scheduler counts on, it has to
   end by then, or to leave those nodes alone;
2. the first of each line that does not fit gets a reservation: so many nodes, at the earliest moment at which they are
   free by what the scheduler counts on. Of these it takes the ones that come free last. It is made anew each time.

What is only tried takes nothing. Once it is the first of its line it starts when those who run then have ended, if it
has not found room before.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.draws import Places, TimeLine
from scheduler.forecast.history import Floats
from scheduler.forecast.nodes_ahead import Nodes, NodesAhead

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RequestRows:
    """Who waits, in the order in which the scheduler looks at them. One entry per request in every array.

    `kinds`: what each wants on a node, a number that `Nodes` knows. `lines`: of each line the first that does not fit
    holds a reservation. `takes`: false of what is only tried. `asked`: the play is over when the first so many have
    started; who comes after them may never.
    """

    kinds: Places
    needs: Places
    after_s: Floats
    lines: Places
    takes: Bools
    asked: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the requests run in a draw, how long the scheduler counts on, and which way each end is rounded."""

    runs: Floats
    planned: Floats
    chances: Floats


class BackfillDraw:
    """Plays one draw."""

    def __init__(
        self,
        nodes: Nodes,
        line: TimeLine,
        requests: RequestRows,
        lengths: Lengths,
        ends: Places,
        planned: Floats,
    ) -> None:
        """`ends`: at which moment each running share ends; `planned`: when the scheduler counts on it, in seconds."""
        self.requests = requests
        self.moments: list[float] = line.moments.tolist()
        self.lengths = lengths
        self.ahead = NodesAhead(nodes, line.moments, ends, planned)
        self.waiting = np.ones(len(requests.kinds), np.bool_)
        self.starts = np.full(len(requests.kinds), np.inf)
        self.where: list[tuple[int, ...]] = [()] * len(requests.kinds)
        self.latest: dict[int, tuple[float, Places]] = {}
        """Of what is tried and was first of its line: when and where it starts at the latest."""
        self._wakes = set(np.searchsorted(line.moments, requests.after_s).tolist())

    def play(self) -> None:
        """Fill `starts`, in seconds (inf: not within the line of time), and `where`."""
        for moment, now in enumerate(self.moments):
            if not self.waiting[: self.requests.asked].any():
                break
            for row in [row for row, (start, _) in self.latest.items() if start <= now]:
                self.begin(row, moment, self.latest[row][1], self.latest[row][0])
            changed = self.ahead.release(moment)
            if changed or moment in self._wakes:
                _Pass(self, moment).run()
        for row, (start, nodes) in self.latest.copy().items():
            self.begin(row, 0, nodes, start)

    def _end_of(self, row: int, now: float) -> int:
        """The moment before or after, the nearer the likelier (`TimeLine.place`)."""
        moments, end = self.moments, now + float(self.lengths.runs[row])
        before = min(max(bisect_right(moments, end) - 1, 0), len(moments) - 2)
        width = moments[before + 1] - moments[before]
        return before + (float(self.lengths.chances[row]) < (end - moments[before]) / width)

    def begin(self, row: int, moment: int, nodes: Places, start: float) -> None:
        """A request starts on these nodes; one that is only tried is noted."""
        requests = self.requests
        self.waiting[row] = False
        self.starts[row], self.where[row] = start, tuple(nodes.tolist())
        self.latest.pop(row, None)
        end = self._end_of(row, start) if requests.takes[row] else moment
        if end > moment:
            self.ahead.take(nodes, int(requests.kinds[row]), end, start + float(self.lengths.planned[row]))


class _Pass:
    """One look at the queue."""

    def __init__(self, play: BackfillDraw, moment: int) -> None:
        self._play, self._moment = play, moment
        self._ahead = play.ahead
        self._now = play.moments[moment]
        requests = play.requests
        self._rows = np.flatnonzero(play.waiting & (requests.after_s <= self._now))
        self._kinds, self._needs = requests.kinds[self._rows], requests.needs[self._rows]
        self._ends = self._now + play.lengths.planned[self._rows]
        self._lines = requests.lines[self._rows]
        self._open = np.ones(len(self._rows), np.bool_)
        """Those of lines of which nobody holds a reservation yet."""
        self._kept_from = np.full(self._ahead.count, np.inf)
        self._kept_to = np.zeros(self._ahead.count)
        self._levels: list[float] = []

    def run(self) -> None:
        """Start whoever may."""
        at, may = 0, self._may()
        while at < len(self._rows):
            able, stuck = may[at:], self._open[at:]
            turn = at + int((able | stuck).argmax())
            if not (may[turn] or self._open[turn]):
                return
            if may[turn]:
                self._start(turn)
            else:
                self._block(turn)
            at, may = turn + 1, self._may()

    def _may(self) -> Bools:
        """Who fits, beside the reservations."""
        counts = self._ahead.counts
        if not self._levels:
            return np.asarray(counts[self._kinds] >= self._needs)
        less = self._ahead.fitting_by_level(self._kept_from, self._levels)
        beside = np.concatenate([counts[None], counts[None] - less.cumsum(axis=0)])
        passed = np.searchsorted(self._levels, self._ends)
        return np.asarray(beside[passed, self._kinds] >= self._needs)

    def _start(self, turn: int) -> None:
        fits = self._ahead.fits[self._kinds[turn]] & (self._kept_from >= self._ends[turn])
        chosen = self._ahead.tightest(np.flatnonzero(fits), int(self._needs[turn]))
        self._play.begin(int(self._rows[turn]), self._moment, chosen, self._now)

    def _block(self, turn: int) -> None:
        """The first of its line does not fit."""
        row, kind, need = int(self._rows[turn]), int(self._kinds[turn]), int(self._needs[turn])
        if not self._play.requests.takes[row]:
            if row not in self._play.latest:
                free_at = np.maximum(self._ahead.free_at(kind), self._kept_to)
                nodes = self._first(free_at, need)
                self._play.latest[row] = float(free_at[nodes].max()) if len(nodes) else np.inf, nodes
            return
        planned = np.maximum(self._ahead.planned_at(kind), self._kept_to)
        nodes = self._last_of_the_first(planned, need)
        if not len(nodes):
            self._play.waiting[row] = False  # It never fits, and stands in nobody's way.
            return
        self._open &= self._lines != self._lines[turn]
        begins = max(self._now, float(planned[nodes].max()))
        self._kept_from[nodes] = np.minimum(self._kept_from[nodes], begins)
        self._kept_to[nodes] = begins + float(self._play.lengths.planned[row])
        self._levels = sorted({*self._levels, begins})

    @staticmethod
    def _first(at: Floats, need: int) -> Places:
        nodes = np.argsort(at, kind="stable")[:need]
        return nodes if len(nodes) == need and np.isfinite(at[nodes[-1]]) else nodes[:0]

    @staticmethod
    def _last_of_the_first(at: Floats, need: int) -> Places:
        """Of the nodes that are free when there are enough, those that come free last."""
        if need > len(at):
            return np.zeros(0, np.int64)
        when = np.partition(at, need - 1)[need - 1]
        if not np.isfinite(when):
            return np.zeros(0, np.int64)
        nodes = np.flatnonzero(at <= when)
        return nodes[np.argsort(at[nodes], kind="stable")[len(nodes) - need :]]


def lines_of(names: Sequence[object]) -> Places:
    """Numbers for lines, the same for the same name."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
