"""What shrinking elastic jobs costs on a node at least, whoever asks: so most nodes are never priced.

What it takes is worked out with every elastic job within reach, so it serves all jobs that ask the same of a node; that
the lowest of so many workers may be out of a job's reach is seen from their weights alone.
"""

from collections.abc import Callable, Sequence

from scheduler.model.resources import Amounts
from scheduler.preemption.pieces import Pieces
from scheduler.preemption.pricing import Cost, missing
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place, Runner, Universe

Size = Callable[[Amounts], int]
_Part = tuple[int, tuple[int, int], Amounts, int]
"""Size of one piece, weights on the axes, one piece, how many of them may go."""
_Least = tuple[int, int, int, int]
"""The fewest workers, the least size, and of the lowest so many workers the highest weights."""
_NOTHING = (0, 0, 0, 0)


class Bounds:
    """The least cost of each node for one shape, brought up to date by the universe's log."""

    def __init__(self, universe: Universe, shape: Shape, size: Size) -> None:
        self._universe = universe
        self._shape = shape
        self._size = size
        self._seen = len(universe.log)
        self._known: dict[int, _Least | None] = {}

    def least(self, place: Place, reach: Reach) -> tuple[Cost, int] | None:
        """At most what a job pays for it, and how many workers; None when those in its reach are not enough."""
        log = self._universe.log
        for order in log[self._seen :]:
            self._known.pop(order, None)
        self._seen = len(log)
        if place.order not in self._known:
            self._known[place.order] = self._worked_out(place)
        known = self._known[place.order]
        if known is None:
            return None
        fewest, size, first, second = known
        if not fewest:
            return (), 0
        highest = reach.class_of(first, second)
        if highest is None:
            return None if first >= reach.first else (((fewest, size, 0), (first, 0, 0)), fewest)
        return ((fewest, size, 0), (highest, 0, 0)), fewest

    def _worked_out(self, place: Place) -> _Least | None:
        if self._shape.exclusive:
            return _NOTHING
        short = missing(place, self._shape)
        if not short:
            return _NOTHING
        name = place.node.name
        parts = [self._part(r.pieces, r, name) for r in place.runners if r.pieces and _may_lose(r)]
        fewest = max(_fewest(parts, resource, rest) for resource, rest in short.items())
        if fewest > len(parts):
            return None
        weights = sorted(part[1] for part in parts)
        if fewest == 1:
            alone = [n * part[0] for part in parts if (n := _pieces(part, short))]
            if alone:
                return 1, min(alone), *weights[0]
            fewest = 2
        # Fewer pieces than workers there cannot be, and in all they hold what is missing, but for rounding.
        rounded = len(short) * sum(count for _, _, _, count in parts)
        size = max(self._size(short) - rounded, sum(sorted(size for size, _, _, _ in parts)[:fewest]))
        return fewest, size, *weights[min(fewest, len(weights)) - 1]

    def _part(self, pieces: Pieces, runner: Runner, name: str) -> _Part:
        each = pieces.each[name]
        weights = runner.first, runner.second
        return self._size(each), weights, each, min(pieces.counts[name], pieces.surplus)


def _may_lose(runner: Runner) -> bool:
    pieces = runner.pieces
    return (
        pieces is not None and pieces.elastic and runner.alive and not runner.lasting and pieces.surplus > 0
    )


def _fewest(parts: Sequence[_Part], resource: str, rest: int) -> int:
    """How many workers it takes at least for one resource; more than there are when all are not enough."""
    for number, gives in enumerate(sorted((p[2].get(resource, 0) * p[3] for p in parts), reverse=True), 1):
        rest -= gives
        if rest <= 0:
            return number
    return len(parts) + 1


def _pieces(part: _Part, short: Amounts) -> int:
    """How many pieces of one worker cover what is missing; 0 when all that may go do not."""
    _, _, each, count = part
    if any(not each.get(name) for name in short):
        return 0
    needed = max(-(-rest // each[name]) for name, rest in short.items())
    return needed if needed <= count else 0
