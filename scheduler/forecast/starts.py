"""The nodes of one draw: what is free, who fits where, and when what is held comes free.

For every kind of request the nodes where it fits are kept up to date, as shares of nodes are taken and given back. When
a node comes free for a kind is worked out when it is asked for, and then again for nodes that have changed only.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.draws import Bond, PastJobs, Places, Strata, TimeLine, drawn
from scheduler.forecast.facts import Forecast
from scheduler.forecast.history import Floats

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]


class Nodes:
    """What all draws begin with. Axes: resources first, then kinds, nodes, slots (a share that is held has one)."""

    def __init__(
        self,
        free: Sequence[tuple[int, ...]],
        amounts: Sequence[tuple[int, ...]],
        among: Sequence[frozenset[int] | None],
    ) -> None:
        """`amounts`, `among`: what each kind wants on a node, and which nodes it may use (None: all)."""
        self.free = np.array(free, np.int64).reshape(len(free), -1).T.copy()
        self.amounts = np.array(amounts, np.int64).reshape(len(amounts), -1).T.copy()
        self.among = np.ones((len(among), len(free)), np.bool_)
        for kind, nodes in enumerate(among):
            if nodes is not None:
                self.among[kind] = False
                self.among[kind, list(nodes)] = True
        self.fits = self.among & (self.free[:, None] >= self.amounts[:, :, None]).all(axis=0)
        self.shares = (np.zeros(0, np.int64),) * 3
        self.holds = np.zeros((len(self.free), len(free), 1), np.int64)

    def hold(self, nodes: Sequence[tuple[int, ...]], holds: Sequence[tuple[int, ...]]) -> None:
        """Running jobs, each with so much on each of its nodes."""
        jobs = np.repeat(np.arange(len(nodes)), [len(each) for each in nodes])
        at = np.array([node for each in nodes for node in each], np.int64)
        order = np.argsort(at, kind="stable")
        first = np.searchsorted(at[order], at[order])
        slots = np.empty(len(at), np.int64)
        slots[order] = np.arange(len(at)) - first
        self.shares = jobs, at, slots
        self.holds = np.zeros((len(self.free), self.free.shape[1], int(slots.max(initial=0)) + 1), np.int64)
        if len(at):
            self.holds[:, at, slots] = np.array(holds, np.int64).T[:, jobs]


class NodesAhead:
    """Changes as a draw is played. `fits`: by kind and node; `counts`: by kind, how many nodes."""

    def __init__(self, nodes: Nodes, moments: Floats, ends: Places, planned: Floats) -> None:
        """`ends`: of each running job, a moment; `planned`: seconds."""
        self._nodes, self._moments = nodes, moments
        self.count = nodes.free.shape[1]
        self._free, self.fits = nodes.free.copy(), nodes.fits.copy()
        self.counts: Counts = self.fits.sum(axis=1)
        self._holds = nodes.holds.copy()
        jobs, at, slots = nodes.shares
        self._ends = np.full(self._holds.shape[1:], np.inf)
        self._planned = self._ends.copy()
        self._ends[at, slots] = moments[ends[jobs]]
        self._planned[at, slots] = planned[jobs]
        order = np.argsort(ends[jobs], kind="stable")
        self._first = np.searchsorted(ends[jobs][order], np.arange(len(moments) + 1))
        self._at, self._slots = at[order], slots[order]
        self._started: dict[int, list[tuple[Places, Places]]] = {}
        self._changed: list[Places] = []
        self._when: dict[tuple[bool, int], tuple[int, Floats]] = {}

    def release(self, moment: int) -> bool:
        """What ends then is given back; whether anything does. True at the first moment."""
        part = slice(self._first[moment], self._first[moment + 1])
        ended = [(self._at[part], self._slots[part]), *self._started.pop(moment, ())]
        nodes = np.concatenate([at for at, _ in ended])
        if not len(nodes):
            return moment == 0
        slots = np.concatenate([slots for _, slots in ended])
        for room, holds in zip(self._free, self._holds, strict=True):
            np.add.at(room, nodes, holds[nodes, slots])
        self._holds[:, nodes, slots] = 0
        self._ends[nodes, slots] = self._planned[nodes, slots] = np.inf
        self._note(np.unique(nodes))
        return True

    def take(self, nodes: Places, kind: int, end: int, planned: float) -> None:
        """A request of a kind starts on these nodes and ends at a moment; the scheduler counts on `planned`."""
        slots = self._empty(nodes)
        self._ends[nodes, slots], self._planned[nodes, slots] = self._moments[end], planned
        amounts = self._nodes.amounts[:, kind, None]
        self._holds[:, nodes, slots] = amounts
        self._free[:, nodes] -= amounts
        self._started.setdefault(end, []).append((nodes, slots))
        self._note(nodes)

    def tightest(self, nodes: Places, need: int) -> Places:
        """So many of some nodes, those with the least left first."""
        return nodes[np.argsort(self._free[-1, nodes], kind="stable")[:need]]

    def fitting_by_level(self, levels_of: Floats, levels: Sequence[float]) -> Counts:
        """By level and kind, on how many of the nodes of that level it fits."""
        return np.stack([self.fits[:, np.flatnonzero(levels_of == level)].sum(axis=1) for level in levels])

    def free_at(self, kind: int) -> Floats:
        """When each node has room for a kind, in seconds: 0 where it has now, inf where it never has."""
        return self._looked_up(self._ends, kind, planned=False)

    def planned_at(self, kind: int) -> Floats:
        """The same, by what the scheduler counts on."""
        return self._looked_up(self._planned, kind, planned=True)

    def _looked_up(self, ends: Floats, kind: int, *, planned: bool) -> Floats:
        seen, when = self._when.get((planned, kind), (-1, np.zeros(0)))
        if seen < 0:
            when = self._comes_free(np.arange(self.count), kind, ends)
        elif seen < len(self._changed):
            nodes = np.unique(np.concatenate(self._changed[seen:]))
            when[nodes] = self._comes_free(nodes, kind, ends)
        self._when[planned, kind] = len(self._changed), when
        return when

    def _comes_free(self, nodes: Places, kind: int, ends: Floats) -> Floats:
        theirs = ends[nodes]
        order = np.argsort(theirs, axis=1, kind="stable")
        fits = np.ones((len(nodes), order.shape[1] + 1), np.bool_)
        for room, holds, amounts in zip(self._free, self._holds, self._nodes.amounts, strict=True):
            given = np.take_along_axis(holds[nodes], order, axis=1).cumsum(axis=1)
            fits &= np.column_stack([room[nodes], room[nodes, None] + given]) >= amounts[kind]
        first = fits.argmax(axis=1)
        rows = np.arange(len(nodes))
        times = np.column_stack([np.zeros(len(nodes)), np.take_along_axis(theirs, order, axis=1)])
        return np.where(fits[rows, first] & self._nodes.among[kind, nodes], times[rows, first], np.inf)

    def _empty(self, nodes: Places) -> Places:
        """A slot of each node that nobody has."""
        empty = np.isinf(self._ends[nodes])
        if not empty.any(axis=1).all():
            more = self._ends.shape[1]
            self._ends, self._planned = (
                np.pad(each, ((0, 0), (0, more)), constant_values=np.inf)
                for each in (self._ends, self._planned)
            )
            self._holds = np.pad(self._holds, ((0, 0), (0, 0), (0, more)))
            empty = np.isinf(self._ends[nodes])
        return np.asarray(empty.argmax(axis=1))

    def _note(self, nodes: Places) -> None:
        self._changed.append(nodes)
        wants = self._nodes.amounts[:, :, None]
        fits = self._nodes.among[:, nodes] & (self._free[:, None, nodes] >= wants).all(axis=0)
        self.counts += fits.sum(axis=1) - self.fits[:, nodes].sum(axis=1)
        self.fits[:, nodes] = fits


# --- When waiting jobs start, and where: the queue played forward in many draws of how long everybody runs.
#
# In a draw all run times are fixed, and jobs end by them. Who starts when is decided as the scheduler does, which knows
# limits only: in order, and past those who do not fit where nobody with a reservation may be delayed. A job
# with kept nodes has its reservation there, before all others.


# --- One draw of a queue, played forward the way a backfilling scheduler starts jobs ---
# Jobs end as drawn. The scheduler does not know that: it counts on `planned` ends, as a rule those of the users'
# limits.
# At every moment at which something ends, jobs are looked at in their order:
#
# 1. who fits starts, unless that may delay somebody who has a reservation: with what the scheduler counts on, it has
# to
#    end by then, or to leave those nodes alone;
# 2. the first of each line that does not fit gets a reservation: so many nodes, at the earliest moment at which they
# are
#    free by what the scheduler counts on. Of these it takes the ones that come free last. It is made anew each time.
#
# What is only tried takes nothing. Once it is the first of its line it starts when those who run then have ended, if
# it has not found room before.


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


MOST_DRAWS, USUAL_DRAWS, FEWEST_DRAWS = 96, 48, 12
NEAR_S, NEAR_PART = 600.0, 6
"""Draws are near each other that are ten minutes apart, or a sixth of what half of them lie within."""
JOBS_PLAYED = 26_000
"""Waiting jobs and a tenth of the running ones × draws; of long queues fewer draws are played."""
FEW_PLAYED = 2900
"""More than the usual draws are played while it stays within this: of few draws the likeliest start is itself a matter
of chance, and each takes longer on the finer line of time that short queues have."""


@dataclass(frozen=True, slots=True)
class RunningShare:
    """A running job: by node (its number) what it holds there, and a forecast of what is left.

    `planned_s`: what the scheduler counts on, as a rule what its limit leaves; None: it knows what is drawn.
    `alike`: with which others, running or waiting, it runs longer or shorter than forecast; None: with nobody.
    """

    nodes: tuple[int, ...]
    holds: tuple[int, ...]
    left: Forecast
    planned_s: float | None = None
    alike: Bond | None = None


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A waiting job: so many nodes, on each of which it wants `wants`. `among`: the nodes it may use; None for all.

    `after_s`: it starts no sooner, for example because it is to begin at a time. `planned_s`: for how long the
    scheduler counts on it, as a rule its limit; None: it knows what is drawn. `line`: where it stands in line, a
    partition for example; the first of each that does not fit holds a reservation. `alike`: as of a running job.
    """

    id: str
    nodes: int
    wants: tuple[int, ...]
    run: Forecast
    among: frozenset[int] | None = None
    after_s: float = 0.0
    planned_s: float | None = None
    line: str = ""
    alike: Bond | None = None


@dataclass(frozen=True, slots=True)
class TriedStart:
    """A request that does not wait, or that a waiting job might have made instead: when would it start?

    It stands before the waiting job of the number `before` (as many as wait: behind all), and delays nobody.
    `instead_of`: the number of the waiting job that it stands for; both run for the same time in a draw, as far as the
    request lets it.
    """

    request: WaitingRequest
    before: int
    instead_of: int | None = None


@dataclass(frozen=True, slots=True)
class StartForecast:
    """Seconds from now; `low` to `high` is meant to hold 90 %. None: not within the time that is looked at.

    `p50`: the middle, the start of the draw that has most of the others near it. That is near the median, but stays
    with the likelier of two outcomes instead of going between them. `nodes`: those of most draws near it. `draws`: the
    starts of all draws, in their order (inf where there is none).
    """

    id: str
    p50: float | None
    low: float | None
    high: float | None
    nodes: tuple[int, ...]
    draws: tuple[float, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Queue:
    """What is played. `free`: of each node what is free now, as many resources as in `holds` and `wants`.

    `kept`: by waiting job, the nodes that are kept for it. `past`: who came before now, the oldest first, so many
    seconds ago, as the requests of then; such jobs come again, and stand behind all who wait.
    """

    free: Sequence[tuple[int, ...]]
    running: Sequence[RunningShare]
    waiting: Sequence[WaitingRequest]
    kept: Mapping[str, frozenset[int]] = field(default_factory=dict)
    past: Sequence[tuple[float, WaitingRequest]] = ()


def sure(seconds: float) -> Forecast:
    """A run time that is known."""
    return Forecast(*(5 * (seconds,)))


def forecast_starts(
    queue: Queue, *, draws: int | None = None, seed: int = 0, line: TimeLine | None = None
) -> list[StartForecast]:
    """The starts of all waiting jobs, in the order given. The same queue and seed give the same answer."""
    return forecast_with_trials(queue, (), draws=draws, seed=seed, line=line)[0]


def forecast_with_trials(
    queue: Queue,
    trials: Sequence[TriedStart],
    *,
    draws: int | None = None,
    seed: int = 0,
    line: TimeLine | None = None,
) -> tuple[list[StartForecast], list[StartForecast]]:
    """The same, and the starts of what is tried, in the order given. Trials change nothing for those who wait."""
    if not queue.waiting and not trials:
        return [], []
    requests = [*queue.waiting, *(trial.request for trial in trials)]
    played = len(requests) + len(queue.running) // 10
    # What is tried changes no moment of those who wait.
    line = line or TimeLine.for_jobs(played - len(trials))
    draws = draws or _draws_for(max(1, played))
    turns = _in_turn(queue, trials)
    starts, where = _played(
        queue, [requests[row] for row in turns], draws, line, _Drawn(queue, trials, turns, draws, seed)
    )
    said: list[StartForecast | None] = [None] * len(requests)
    for turn, row in enumerate(turns):
        said[row] = _said(requests[row].id, starts[turn], where[turn])
    found = [each for each in said if each is not None]
    return found[: len(queue.waiting)], found[len(queue.waiting) :]


def _draws_for(played: int) -> int:
    usual = max(FEWEST_DRAWS, min(USUAL_DRAWS, JOBS_PLAYED // played))
    return max(usual, min(MOST_DRAWS, FEW_PLAYED // played))


class _Drawn:
    """All that is left to chance: (jobs, draws). RequestRows stand in their turn."""

    def __init__(
        self, queue: Queue, trials: Sequence[TriedStart], turns: Sequence[int], draws: int, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        strata = Strata(draws, rng)
        parts = strata.of([job.alike for job in queue.running])
        self.left = drawn([job.left for job in queue.running], draws, rng, parts)
        self.left_chances = rng.random(self.left.shape)
        runs, chances = _runs(queue, trials, strata, rng)
        self.runs, self.chances = runs[turns], chances[turns]
        self.takes = np.array(turns, np.int64) < len(queue.waiting)
        past, other = PastJobs([ago for ago, _ in queue.past]), np.random.default_rng((seed, 1))
        # Of its own chance: who comes is the same whatever is tried.
        self.coming = [past.drawn(other) for _ in range(draws)]


class _Asked:
    """Everybody who waits, is tried or came before: as the play knows them."""

    def __init__(self, queue: Queue, requests: Sequence[WaitingRequest], chance: _Drawn) -> None:
        everybody = [*requests, *(job for _, job in queue.past)]
        kept = [queue.kept.get(job.id) for job in requests] + [None] * len(queue.past)
        kinds: dict[tuple[tuple[int, ...], frozenset[int] | None], int] = {}
        wants = [(job.wants, nodes or job.among) for job, nodes in zip(everybody, kept, strict=True)]
        self.chance, self._count = chance, len(requests)
        self._kinds = np.array([kinds.setdefault(want, len(kinds)) for want in wants])
        self._needs = np.array([job.nodes for job in everybody])
        self._after_s = np.array([job.after_s for job in everybody])
        self._lines = lines_of(
            [(job.line, job.id if nodes else None) for job, nodes in zip(everybody, kept, strict=True)]
        )
        self._planned = _counted_on([job.planned_s for job in requests], chance.runs)
        runs = np.array([job.run.p50 for _, job in queue.past]).reshape(-1, 1)
        self._past_runs = runs[:, 0]
        self._past_planned = _counted_on([job.planned_s for _, job in queue.past], runs)[:, 0]
        self.nodes = Nodes(queue.free, [wants for wants, _ in kinds], [among for _, among in kinds])

    def of(self, draw: int) -> tuple[RequestRows, Lengths]:
        coming, chance, count = self.chance.coming[draw], self.chance, self._count
        again = np.array([job for _, job in coming], np.int64)
        rows = np.concatenate([np.arange(count), count + again])
        after = np.concatenate([self._after_s[:count], [at for at, _ in coming]])
        takes = np.concatenate([chance.takes, np.ones(len(again), np.bool_)])
        return RequestRows(
            self._kinds[rows], self._needs[rows], after, self._lines[rows], takes, count
        ), Lengths(
            np.concatenate([chance.runs[:, draw], self._past_runs[again]]),
            np.concatenate([self._planned[:, draw], self._past_planned[again]]),
            np.concatenate([chance.chances[:, draw], np.full(len(again), 0.5)]),
        )


def _played(
    queue: Queue, requests: Sequence[WaitingRequest], draws: int, line: TimeLine, chance: _Drawn
) -> tuple[Floats, list[list[tuple[int, ...]]]]:
    """By request and draw, the start (inf where there is none) and the nodes."""
    asked = _Asked(queue, requests, chance)
    asked.nodes.hold([job.nodes for job in queue.running], [job.holds for job in queue.running])
    # Somebody who runs now has not ended now.
    ends = np.maximum(line.place(chance.left, chance.left_chances), 1)
    left = _counted_on([job.planned_s for job in queue.running], chance.left)
    starts = np.full((len(requests), draws), np.inf)
    where: list[list[tuple[int, ...]]] = [[()] * draws for _ in requests]
    for draw in range(draws):
        play = BackfillDraw(asked.nodes, line, *asked.of(draw), ends[:, draw], left[:, draw])
        play.play()
        starts[:, draw] = play.starts[: len(requests)]
        for row, chosen in enumerate(play.where[: len(requests)]):
            where[row][draw] = chosen
    return starts, where


def _counted_on(planned: Iterable[float | None], drawn_s: Floats) -> Floats:
    """What the scheduler counts on, in each draw."""
    known = np.array([np.nan if each is None else each for each in planned], np.float64)
    return np.where(np.isnan(known)[:, None], drawn_s, known[:, None])


def _runs(
    queue: Queue, trials: Sequence[TriedStart], strata: Strata, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """How long each runs in each draw, and its chance of being put on the moment before or after."""
    draws, parts = strata.count, strata.of([job.alike for job in queue.waiting])
    runs = drawn([job.run for job in queue.waiting], draws, rng, parts)
    chances = rng.random(runs.shape)
    tried = drawn([trial.request.run for trial in trials], draws, rng)
    theirs = rng.random(tried.shape)
    for row, trial in enumerate(trials):
        if trial.instead_of is not None:
            tried[row] = np.minimum(runs[trial.instead_of], trial.request.run.high)
            theirs[row] = chances[trial.instead_of]
    return np.concatenate([runs, tried]), np.concatenate([chances, theirs])


def _in_turn(queue: Queue, trials: Sequence[TriedStart]) -> list[int]:
    """The rows in the order in which they are placed: those with kept nodes first, what is tried before its place."""
    waiting = range(len(queue.waiting))
    kept = [row for row in waiting if queue.waiting[row].id in queue.kept]
    turns = [(row, 1, row) for row in waiting if queue.waiting[row].id not in queue.kept]
    turns += [(trial.before, 0, len(queue.waiting) + number) for number, trial in enumerate(trials)]
    return [*kept, *(row for _, _, row in sorted(turns))]


def _said(job_id: str, starts: Floats, where: Sequence[tuple[int, ...]]) -> StartForecast:
    low, median, high = (
        float(value) if np.isfinite(value) else None
        for value in np.quantile(starts, [0.05, 0.5, 0.95], method="inverted_cdf")
    )
    order = np.argsort(starts, kind="stable")
    if median is None:
        return StartForecast(
            job_id, None, low, None, where[order[(len(order) - 1) // 2]], tuple(starts.tolist())
        )
    finite = starts[order][: np.count_nonzero(np.isfinite(starts))]
    middle, near = _likeliest(finite)
    p50 = max(low or 0.0, middle if high is None else min(middle, high))
    nodes = Counter(where[draw] for draw in order[: len(finite)] if abs(starts[draw] - middle) <= near)
    return StartForecast(job_id, p50, low, high, nodes.most_common(1)[0][0], tuple(starts.tolist()))


def _likeliest(starts: Floats) -> tuple[float, float]:
    """Which of some starts has most of the others near it, and what is near."""
    quarter, three = np.quantile(starts, [0.25, 0.75])
    near = max(NEAR_S, (three - quarter) / NEAR_PART)
    return float(starts[np.exp(-0.5 * ((starts[:, None] - starts) / near) ** 2).sum(axis=1).argmax()]), near
