"""Which workers of elastic jobs make a room, without anybody being stopped (spec 4, document 003).

A worker is what an elastic job holds on one node; of a job in units, so many of its units there as are needed.
1. Only jobs that the pending one outranks, neither protected nor exempt, and none below its minimum.
2. One worker that covers all that is missing: the smallest, so that little is left over. Smaller is what holds
   less, summed over its resources as shares of what the partition has of them.
3. If no single one does: as few workers as possible, then as small as possible. Of few workers all combinations
   are tried; of many, those that cover most are taken, then the smallest that covers the rest.
4. What is not needed is given back, the largest first.
5. Of equals: the lower rank, the later submitted.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from scheduler.model.resources import Amounts, add
from scheduler.preemption.pieces import Pieces
from scheduler.preemption.pricing import Loss
from scheduler.preemption.ranking import Reach
from scheduler.preemption.trials import Trial, most
from scheduler.preemption.universe import Place, Runner, Universe

MOST_COMBINED = 6
"""Up to so many workers all combinations are tried (point 3)."""
_SCALE = 10**9


@dataclass(frozen=True, slots=True)
class Worker:
    """What an elastic job may lose on one node: at most `count` pieces. `size`: of one piece (point 2).

    `all`: all that it may lose.
    """

    runner: Runner
    place: Place
    count: int
    size: int
    rank: tuple[int, int, int, int]
    all: Amounts

    def left(self, gone: int) -> "Worker | None":
        """The same when its job has lost so many pieces elsewhere; None when it may lose no more."""
        pieces = self.runner.pieces
        if not gone or pieces is None:
            return self
        count = min(self.count, pieces.surplus - gone)
        if count <= 0:
            return None
        gives = _times(pieces.each[self.place.node.name], count)
        return replace(self, count=count, all=gives)


class Workers:
    """The workers of one universe, and which of them cover what is missing."""

    def __init__(self, universe: Universe) -> None:
        total: dict[str, int] = {}
        for place in universe.places:
            add(total, place.node.total)
        self._total = total
        self._sizes: dict[tuple[tuple[str, int], ...], int] = {}
        self._universe = universe
        self._made: dict[tuple[Runner, int], tuple[int, dict[int, Worker]]] = {}

    def on(self, places: Iterable[Place], reach: Reach) -> list[Worker]:
        """All that may be taken on some nodes."""
        return [
            self._of(runner, reach)[place.order]
            for place in places
            for runner in place.runners
            if may_shrink(runner, reach)
        ]

    def anywhere(self, orders: Container[int], reach: Reach) -> list[Worker]:
        """All that may be taken on nodes that count, which are named by their orders."""
        return [
            worker
            for runner in self._universe.elastic
            if may_shrink(runner, reach)
            for order, worker in self._of(runner, reach).items()
            if order in orders
        ]

    def size(self, amounts: Amounts) -> int:
        """Amounts as shares of what the partition has, added up."""
        key = tuple(amounts.items())
        known = self._sizes.get(key)
        if known is None:
            known = sum(amount * _SCALE // self._total[name] for name, amount in key if amount)
            self._sizes[key] = known
        return known

    def _of(self, runner: Runner, reach: Reach) -> Mapping[int, Worker]:
        """The workers of a job by the orders of its nodes; they are made again when it has lost some."""
        pieces = runner.pieces
        if pieces is None:
            raise ValueError(f"{runner.job.id} is not elastic")
        own_class = reach.class_of(runner.first, runner.second) or 0
        held, known = self._made.get((runner, own_class), (0, {}))
        if held != pieces.held:
            known = {place.order: self._worker(runner, pieces, place, own_class) for place in runner.places}
            self._made[runner, own_class] = pieces.held, known
        return known

    def _worker(self, runner: Runner, pieces: Pieces, place: Place, own_class: int) -> Worker:
        each, count = pieces.each[place.node.name], min(pieces.counts[place.node.name], pieces.surplus)
        rank = (own_class, -runner.job.submit, runner.order, place.order)
        return Worker(runner, place, count, self.size(each), rank, _times(each, count))


def may_shrink(runner: Runner, reach: Reach) -> bool:
    """Whether a pending job may take anything of it (point 1). Limits on stops do not hold it back."""
    pieces = runner.pieces
    return (
        pieces is not None
        and pieces.elastic
        and runner.alive
        and not runner.lasting
        and pieces.surplus > 0
        and reach.class_of(runner.first, runner.second) is not None
    )


def cover(trial: Trial, workers: Sequence[Worker]) -> list[Loss] | None:
    """Which workers, and how much of each, make what a trial is short of (points 2 to 5); None: not even all."""
    single = _smallest(trial, workers)
    if single:
        return [single]
    return (_combined if len(workers) <= MOST_COMBINED else _greedy)(trial, workers)


def _smallest(trial: Trial, workers: Iterable[Worker]) -> Loss | None:
    """Point 2: the smallest single worker."""
    best: tuple[tuple[int, tuple[int, ...]], Loss] | None = None
    able = [worker for worker in workers if trial.may_be_enough(worker.all)]
    for worker in sorted(able, key=_smallest_first):
        if best and worker.size >= best[0][0]:
            break
        count = _needed(trial, worker)
        key = count * worker.size, worker.rank
        if count and (best is None or key < best[0]):
            best = key, (worker.runner, worker.place.node.name, count)
    return best[1] if best else None


def _needed(trial: Trial, worker: Worker) -> int:
    """How many pieces of a worker are enough; 0 when all it may lose is not."""
    trial.pieces(worker.runner, worker.place, worker.count)
    if not trial.enough():
        trial.pieces(worker.runner, worker.place, -worker.count)
        return 0
    needed = worker.count - _spared(trial, worker, worker.count)
    trial.pieces(worker.runner, worker.place, -needed)
    return needed


def _spared(trial: Trial, worker: Worker, taken: int) -> int:
    """How many of the pieces taken it can have back; they are given back on the trial."""

    def fits(count: int) -> bool:
        trial.pieces(worker.runner, worker.place, -count)
        enough = trial.enough()
        trial.pieces(worker.runner, worker.place, count)
        return enough

    back = most(taken, fits, whole=trial.exclusive)
    trial.pieces(worker.runner, worker.place, -back)
    return back


_Taken = list[tuple[Worker, int]]


def _all(trial: Trial, workers: Iterable[Worker], *, until_enough: bool = False) -> _Taken:
    """Take workers in their order, of each what the minimum of its job leaves."""
    left: dict[Runner, int] = {}
    taken: _Taken = []
    for worker in workers:
        runner = worker.runner
        surplus = left.get(runner, runner.pieces.surplus if runner.pieces else 0)
        count = min(worker.count, surplus)
        if count:
            left[runner] = surplus - count
            trial.pieces(runner, worker.place, count)
            taken.append((worker, count))
            if until_enough and trial.enough():
                break
    return taken


def _back(trial: Trial, taken: _Taken) -> None:
    for worker, count in taken:
        trial.pieces(worker.runner, worker.place, -count)


def _trimmed(trial: Trial, taken: _Taken) -> _Taken:
    """Point 4; the trial is as before."""
    result: _Taken = []
    for worker, count in sorted(taken, key=lambda each: (each[0].size, each[0].rank), reverse=True):
        kept = count - _spared(trial, worker, count)
        if kept:
            result.append((worker, kept))
    _back(trial, result)
    return result


def _combined(trial: Trial, workers: Sequence[Worker]) -> list[Loss] | None:
    """Point 3, of few workers: all combinations, the fewest first."""
    every = _all(trial, workers)
    enough = trial.enough()
    _back(trial, every)
    for number in range(2, len(workers) + 1) if enough else ():
        found = []
        for chosen in combinations(workers, number):
            taken = _all(trial, chosen)
            if trial.enough():
                found.append(_trimmed(trial, taken))
            else:
                _back(trial, taken)
        if found:
            return _losses(min(found, key=_harm))
    return None


def _greedy(trial: Trial, workers: Sequence[Worker]) -> list[Loss] | None:
    """Point 3, of many workers."""
    rests = trial.missing_after([(worker.runner, worker.place, worker.count) for worker in workers])
    taken = _all(trial, _by_cover(workers, rests), until_enough=True)
    if not trial.enough():
        _back(trial, taken)
        return None
    last, count = taken.pop()
    trial.pieces(last.runner, last.place, -count)
    used = {(worker.runner, worker.place) for worker, _ in taken}
    able = [
        worker
        for worker in workers
        if trial.may_be_enough(worker.all)
        and (worker.runner, worker.place) not in used
        and _affordable(worker, taken)
    ]
    smallest = _smallest(trial, able)
    if smallest:
        last = next(w for w in able if (w.runner, w.place.node.name) == smallest[:2])
        count = smallest[2]
    trial.pieces(last.runner, last.place, count)
    return _losses(_trimmed(trial, [*taken, (last, count)]))


def _by_cover(workers: Iterable[Worker], rests: Iterable[int]) -> Iterator[Worker]:
    """Those without whom least is missing first, then the smallest; put in order only as far as they are asked for."""
    alike: dict[int, list[Worker]] = {}
    for worker, rest in zip(workers, rests, strict=True):
        alike.setdefault(rest, []).append(worker)
    for rest in sorted(alike):
        yield from sorted(alike[rest], key=_smallest_first)


def _affordable(worker: Worker, taken: _Taken) -> bool:
    """Whether its job may lose all of it beside what is taken already."""
    pieces = worker.runner.pieces
    gone = sum(count for other, count in taken if other.runner is worker.runner)
    return pieces is not None and pieces.surplus - gone >= worker.count


def _smallest_first(worker: Worker) -> tuple[int, tuple[int, int, int, int]]:
    return worker.size, worker.rank


def _times(each: Amounts, count: int) -> Amounts:
    return {name: n * count for name, n in each.items()} if count > 1 else each


def _harm(taken: _Taken) -> tuple[object, ...]:
    size = sum(worker.size * count for worker, count in taken)
    return len(taken), size, sorted(worker.rank for worker, _ in taken)


def _losses(taken: _Taken) -> list[Loss]:
    return [(worker.runner, worker.place.node.name, count) for worker, count in taken]
