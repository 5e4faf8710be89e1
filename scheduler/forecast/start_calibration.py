"""Expected starts, corrected by how the starts came of which the same was said before.

The play of the queue does not know everything that decides. What that does is learned from starts that came: in each
partition, for those who start at once whatever happens, for those who wait, and of these for each class of waits (by
the middle that was played), by how much the truth was beside the middle and outside the interval, on a scale of ratios.
A class with few starts learns from the same of all partitions; then its ends move out as
those of all who wait have to. The interval is conformal: with
exchangeable jobs it misses at either end as often as it is meant to. Jobs are not exchangeable where the load changes:
each end is moved further out with every start that it missed, and comes back in small steps while it holds (adaptive
conformal inference). The middle is moved only where that has been nearer the truth.
"""

from bisect import bisect_left, insort
from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from math import ceil, exp, inf, log

from scheduler.forecast.starts import StartForecast

SOFT_S = 60.0
"""Waits are compared as ratios of so much more: below a minute differences say nothing."""
AT_ONCE_S = 60.0
"""Who starts sooner in nearly every draw does not wait."""
CLASSES = (1800.0, 7200.0, 28_800.0)
"""Of those who wait, waits below each of these are a class of their own."""
REMEMBERED = 400
FEWEST = 30
"""With fewer starts of a class nothing is corrected."""
MISSES = 0.05
"""At either end of the interval."""
STEP = 0.1
"""How far an end moves out that missed a start, in spreads (`_out`); it comes back by so much times `MISSES` with each
that it held. So in the long run it misses no oftener than it is meant to."""
NEAREST, FURTHEST = -0.5, 3.0
NEAR_S = 600.0
"""A middle that is so far off is half as bad as one that is nowhere near."""

WAITS = -1
"""The class of all who wait, beside 0, at once, and 1 to 4 by the wait."""
_Group = tuple[str | None, int]
"""A partition (None: all), and a class."""


class _Last:
    """The last `REMEMBERED` values."""

    def __init__(self) -> None:
        self._values: deque[float] = deque()
        self._ordered: list[float] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: float) -> None:
        if len(self._values) == REMEMBERED:
            del self._ordered[bisect_left(self._ordered, self._values.popleft())]
        self._values.append(value)
        insort(self._ordered, value)

    def quantile(self, share: float) -> float:
        """Conformal: of n values the one that the next is above with a chance of at most 1 - share."""
        count = len(self._ordered)
        return self._ordered[min(count - 1, ceil(share * (count + 1)) - 1)]


@dataclass
class _Class:
    """Of the last starts of a class, as logarithms: how the truth was beside the middle, and how far outside."""

    beside: _Last = field(default_factory=_Last)
    below: _Last = field(default_factory=_Last)
    above: _Last = field(default_factory=_Last)
    low_out: float = 0.0
    high_out: float = 0.0
    """How much further out the ends are than those starts alone tell, in spreads."""
    gains: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """By how much the moved middle was better than the one that was played."""

    @property
    def moves(self) -> bool:
        """Whether the middle is moved: it is while nothing is known of that."""
        return sum(self.gains) >= 0


class StartCalibration:
    """What was learned so far; it depends only on what it was told, in the order of telling."""

    def __init__(self) -> None:
        self._classes: dict[_Group, _Class] = defaultdict(_Class)

    def came(self, said: StartForecast, waited_s: float, partition: str = "") -> None:
        """A job has started so long after this was played of it. Without a middle nothing is learned."""
        if said.p50 is None or said.low is None:
            return
        truth = _scale(waited_s)
        for group in dict.fromkeys(_groups(said, partition)):
            known = self._classes[group]
            if len(known.beside) >= FEWEST:
                self._held(known, _corrected(said, known, wider=group[1] == WAITS), waited_s)
                moved = _shifted(said.p50, known.beside.quantile(0.5))
                known.gains.append(_loss(said.p50, waited_s) - _loss(moved, waited_s))
            known.beside.add(truth - _scale(said.p50))
            known.below.add(_scale(said.low) - truth)
            # An open end holds whatever comes.
            known.above.add(-truth if said.high is None else truth - _scale(said.high))

    def corrected(self, said: StartForecast, partition: str = "") -> StartForecast:
        """The same with its middle and its interval where the starts came; itself while too little is known."""
        if said.p50 is None or said.low is None:
            return said
        for group in _groups(said, partition):
            known = self._classes.get(group)
            if known is not None and len(known.beside) >= FEWEST:
                return _corrected(said, known, wider=group[1] == WAITS)
        return said

    @staticmethod
    def _held(known: _Class, told: StartForecast, waited_s: float) -> None:
        early = told.low is not None and waited_s < told.low
        late = told.high is not None and waited_s > told.high
        known.low_out = min(FURTHEST, max(NEAREST, known.low_out + STEP * (early - MISSES)))
        known.high_out = min(FURTHEST, max(NEAREST, known.high_out + STEP * (late - MISSES)))


def _corrected(said: StartForecast, known: _Class, *, wider: bool) -> StartForecast:
    """`wider`: other waits have taught it: the middle stays, and no end comes nearer."""
    if said.p50 is None or said.low is None:
        return said
    least = 0.0 if wider else -inf
    moves = known.moves and not wider
    p50 = _shifted(said.p50, known.beside.quantile(0.5)) if moves else said.p50
    low = min(_shifted(said.low, -max(least, _out(known.below, known.low_out))), p50)
    high = said.high
    if high is not None:
        high = max(_shifted(high, max(least, _out(known.above, known.high_out))), p50)
    return replace(said, p50=p50, low=low, high=high)


def _groups(said: StartForecast, partition: str) -> tuple[_Group, ...]:
    """Those that a forecast belongs to, the nearest first."""
    if said.high is not None and said.high < AT_ONCE_S:
        return (partition, 0), (None, 0)
    number = 1 + sum((said.p50 or 0) >= bound for bound in CLASSES)
    return (partition, number), (None, number), (partition, WAITS), (None, WAITS)


def _loss(middle: float, truth: float) -> float:
    """0 where it is right, towards 1 the further it is off."""
    off = abs(middle - truth)
    return off / (off + NEAR_S)


def _scale(seconds: float) -> float:
    return log(max(seconds, 0.0) + SOFT_S)


def _shifted(seconds: float, by: float) -> float:
    return max(0.0, exp(_scale(seconds) + by) - SOFT_S)


def _out(misses: _Last, more: float) -> float:
    """How far out an end belongs by what was missed, and so many spreads more: from the middle to the quantile."""
    far = misses.quantile(1 - MISSES)
    return far + more * (far - misses.quantile(0.5))
