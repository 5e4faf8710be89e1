"""Which workers of elastic jobs make a room, without anybody being stopped (spec 4, document 003).

1. Only jobs that the pending one outranks, neither protected nor exempt, and none below its minimum.
2. One worker that covers all that is missing: the smallest, so that little is left over. Smaller is what holds
   less, summed over its resources as shares of what the partition has of them.
3. If no single one does: as few workers as possible, then as small as possible. Of few workers all combinations
   are tried; of many, those that cover most are taken, then the smallest that covers the rest.
4. What is not needed is given back, the largest first.
5. Of equals: the lower rank, the later submitted.

Of workers that are alike only the lowest is tried, as long as nothing is taken from its node: the others would do
the same, and come after it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain, combinations, islice

from scheduler.preemption.elastic.on_node import Worker
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.pricing import Loss
from scheduler.preemption.units.trials import PieceTrial, most

MOST_COMBINED = 6
"""Up to so many workers all combinations are tried (point 3)."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Workers that are as large as each other, and of each of which any number of pieces makes the same room.

    In one row after the other they are ordered by rank, and no row is empty.
    """

    rows: Sequence[Sequence[Worker]]

    @property
    def lowest(self) -> Worker:
        """The one that goes before the others."""
        return self.rows[0][0]

    def __iter__(self) -> Iterator[Worker]:
        return chain.from_iterable(self.rows)


@dataclass(frozen=True, slots=True)
class WorkerChoice:
    """All workers that may be taken. `on`: those on a node, by its order, for the nodes that count."""

    groups: Sequence[Alike]
    number: int
    on: Callable[[int], Iterable[Worker]]


def on_one_node(workers: Sequence[Worker]) -> WorkerChoice:
    """The choice among a few workers on one node."""
    return WorkerChoice([Alike(((worker,),)) for worker in workers], len(workers), lambda _: workers)


_Taken = list[tuple[Worker, int]]


def cover(trial: PieceTrial, choice: WorkerChoice, fewest: int = 1) -> list[Loss] | None:
    """Which workers, and how much of each, make what a trial is short of (points 2 to 5); None: not even all.

    `fewest`: it is known that it takes so many.
    """
    single = _smallest(trial, choice, []) if fewest == 1 else None
    if single:
        return _losses([single])
    if choice.number > MOST_COMBINED:
        return _greedy(trial, choice)
    workers = [worker for group in choice.groups for worker in group]
    return _combined(trial, sorted(workers, key=_in_order_of_jobs), max(2, fewest))


def _smallest(trial: PieceTrial, choice: WorkerChoice, taken: _Taken) -> tuple[Worker, int] | None:
    """Point 2: the smallest single worker, when some are taken already."""
    best: tuple[tuple[int, tuple[int, ...]], tuple[Worker, int]] | None = None
    for worker in sorted(_candidates(trial, choice, taken), key=smallest_first):
        if best and worker.size >= best[0][0]:
            break
        count = _needed(trial, worker)
        key = count * worker.size, worker.rank
        if count and (best is None or key < best[0]):
            best = key, (worker, count)
    return best[1] if best else None


def _candidates(trial: PieceTrial, choice: WorkerChoice, taken: _Taken) -> Iterator[Worker]:
    """Those that may be enough alone: the lowest of each group, and everybody where something is taken already."""
    touched = {worker.place.order for worker, _ in taken}
    used = {(worker.runner, worker.place) for worker, _ in taken}
    gone = Counter[RunningJob]()
    for worker, count in taken:
        gone[worker.runner] += count
    for group in choice.groups:
        if trial.may_be_enough(group.lowest.lot.all):
            rest = (w for w in group if w.place.order not in touched and _affordable(w, gone))
            yield from islice(rest, 1)
    for worker in chain.from_iterable(map(choice.on, touched)):
        if (
            (worker.runner, worker.place) not in used
            and _affordable(worker, gone)
            and trial.may_be_enough(worker.lot.all)
        ):
            yield worker


def _affordable(worker: Worker, gone: Mapping[RunningJob, int]) -> bool:
    """Whether its job may lose all of it beside what is taken already."""
    pieces = worker.runner.pieces
    return pieces is not None and pieces.surplus - gone.get(worker.runner, 0) >= worker.count


def _needed(trial: PieceTrial, worker: Worker) -> int:
    """How many pieces of a worker are enough; 0 when all it may lose is not."""
    trial.pieces(worker.runner, worker.place, worker.count)
    if not trial.enough():
        trial.pieces(worker.runner, worker.place, -worker.count)
        return 0
    needed = worker.count - _spared(trial, worker, worker.count)
    trial.pieces(worker.runner, worker.place, -needed)
    return needed


def _spared(trial: PieceTrial, worker: Worker, taken: int) -> int:
    """How many of the pieces taken it can have back; they are given back on the trial."""

    def fits(count: int) -> bool:
        trial.pieces(worker.runner, worker.place, -count)
        enough = trial.enough()
        trial.pieces(worker.runner, worker.place, count)
        return enough

    back = most(taken, fits, whole=trial.exclusive)
    trial.pieces(worker.runner, worker.place, -back)
    return back


def _all(trial: PieceTrial, workers: Iterable[Worker], *, until_enough: bool = False) -> _Taken:
    """Take workers in their order, of each what the minimum of its job leaves."""
    left: dict[RunningJob, int] = {}
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


def _back(trial: PieceTrial, taken: _Taken) -> None:
    for worker, count in taken:
        trial.pieces(worker.runner, worker.place, -count)


def _trimmed(trial: PieceTrial, taken: _Taken) -> _Taken:
    """Point 4; the trial is as before."""
    result: _Taken = []
    for worker, count in sorted(taken, key=lambda each: (each[0].size, each[0].rank), reverse=True):
        kept = count - _spared(trial, worker, count)
        if kept:
            result.append((worker, kept))
    _back(trial, result)
    return result


def _combined(trial: PieceTrial, workers: Sequence[Worker], fewest: int) -> list[Loss] | None:
    """Point 3, of few workers: all combinations, the fewest first."""
    every = _all(trial, workers)
    # Where a job's minimum leaves it one of two, the other one may be what is enough.
    enough = trial.enough() or sum(count for _, count in every) < sum(worker.count for worker in workers)
    _back(trial, every)
    for number in range(fewest, len(workers) + 1) if enough else ():
        found = []
        for chosen in combinations(workers, number):
            taken = _all(trial, chosen)
            if trial.enough():
                found.append(_trimmed(trial, taken))
            else:
                _back(trial, taken)
        if found:
            return _losses(min(found, key=_cost))
    return None


def _greedy(trial: PieceTrial, choice: WorkerChoice) -> list[Loss] | None:
    """Point 3, of many workers."""
    taken = _all(trial, _by_cover(trial, choice.groups), until_enough=True)
    if not trial.enough():
        _back(trial, taken)
        return None
    last, count = taken.pop()
    trial.pieces(last.runner, last.place, -count)
    last, count = _smallest(trial, choice, taken) or (last, count)
    trial.pieces(last.runner, last.place, count)
    return _losses(_trimmed(trial, [*taken, (last, count)]))


def _by_cover(trial: PieceTrial, groups: Sequence[Alike]) -> Iterator[Worker]:
    """Those without whom least is missing first, then the smallest; put in order only as far as they are asked for."""
    lowest = [group.lowest for group in groups]
    rests = trial.missing_after((worker.runner, worker.place, worker.count) for worker in lowest)
    equal: dict[tuple[int, int], list[Alike]] = {}
    for group, worker, rest in zip(groups, lowest, rests, strict=True):
        equal.setdefault((rest, worker.size), []).append(group)
    for key in sorted(equal):
        yield from merge(*equal[key], key=_rank)


def _rank(worker: Worker) -> tuple[int, ...]:
    return worker.rank


def smallest_first(worker: Worker) -> tuple[int, tuple[int, ...]]:
    """In which order single workers are looked at."""
    return worker.size, worker.rank


def _in_order_of_jobs(worker: Worker) -> tuple[int, int]:
    """Of a job that may not lose all of two workers, the first one in the order of its nodes loses first."""
    return worker.runner.order, worker.runner.places.index(worker.place)


def _cost(taken: _Taken) -> tuple[object, ...]:
    size = sum(worker.size * count for worker, count in taken)
    return len(taken), size, sorted(worker.rank for worker, _ in taken)


def _losses(taken: _Taken) -> list[Loss]:
    return [(worker.runner, worker.place.node.name, count) for worker, count in taken]
