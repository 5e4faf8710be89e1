"""What shrinking elastic jobs costs on a node at least, whoever asks: so most nodes are never priced.

The bound counts every elastic job as within reach, so one serves all jobs that ask the same of a node. It is
the price itself where the workers of a node are alike and within reach.
"""

from collections.abc import Callable, Sequence

from scheduler.model.resources import Amounts
from scheduler.preemption.pieces import Pieces
from scheduler.preemption.pricing import Cost, missing
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place, Runner, Universe

Size = Callable[[Amounts], int]
_Part = tuple[int, int, Amounts, int]
"""Size of one piece, weight on the first axis, one piece, how many of them may go."""


class Bounds:
    """The least cost of each node for one shape, brought up to date by the universe's log."""

    def __init__(self, universe: Universe, shape: Shape, size: Size) -> None:
        self._universe = universe
        self._shape = shape
        self._size = size
        self._seen = len(universe.log)
        self._known: dict[int, Cost | None] = {}

    def least(self, place: Place) -> Cost | None:
        """At most what any job pays for it; None when all elastic workers there together are not enough."""
        log = self._universe.log
        for order in log[self._seen :]:
            self._known.pop(order, None)
        self._seen = len(log)
        if place.order not in self._known:
            self._known[place.order] = self._worked_out(place)
        return self._known[place.order]

    def _worked_out(self, place: Place) -> Cost | None:
        if self._shape.exclusive:
            return ()
        short = missing(place, self._shape)
        if not short:
            return ()
        name = place.node.name
        parts = [self._part(r.pieces, r.first, name) for r in place.runners if r.pieces and _may_lose(r)]
        fewest = max(_fewest(parts, resource, rest) for resource, rest in short.items())
        if fewest > len(parts):
            return None
        firsts = sorted(first for _, first, _, _ in parts)
        if fewest == 1:
            alone = [(n * part[0], part[1]) for part in parts if (n := _pieces(part, short))]
            if alone:
                return (1, min(alone)[0], 0), (firsts[0], 0, 0)
            fewest = 2
        # Fewer pieces than workers there cannot be, and in all they hold what is missing, but for rounding.
        rounded = len(short) * sum(count for _, _, _, count in parts)
        size = max(self._size(short) - rounded, sum(sorted(size for size, _, _, _ in parts)[:fewest]))
        return (fewest, size, 0), (firsts[min(fewest, len(firsts)) - 1], 0, 0)

    def _part(self, pieces: Pieces, first: int, name: str) -> _Part:
        each = pieces.each[name]
        return self._size(each), first, each, min(pieces.counts[name], pieces.surplus)


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
