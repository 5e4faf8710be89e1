"""Expected starts, corrected by how the starts came of which the same was said before.

The play of the queue does not know who comes later and passes, nor that a scheduler goes by limits. What that does is
learned from starts that came: for each class of waits (by the middle that was played) by how much the truth was
beside the middle and outside the interval, on a scale of ratios. The interval is conformal: with exchangeable jobs it
misses at either end as often as it is meant to.
"""

from collections import deque
from dataclasses import dataclass, field, replace
from math import ceil, exp, log

from scheduler.forecast.starts import StartForecast

SOFT_S = 60.0
"""Waits are compared as ratios of so much more: below a minute differences say nothing."""
CLASSES = (60.0, 1800.0, 7200.0, 28_800.0)
"""Waits below each of these are a class of their own."""
REMEMBERED = 400
FEWEST = 30
"""With fewer starts of a class nothing is corrected."""
MISSES = 0.05
"""At either end of the interval."""


@dataclass
class _Class:
    """Of the last starts of a class, as logarithms: how the truth was beside the middle, and how far outside."""

    beside: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    below: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    above: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))


class StartCalibration:
    """What was learned so far; it depends only on what it was told, in the order of telling."""

    def __init__(self) -> None:
        self._classes = [_Class() for _ in range(len(CLASSES) + 1)]

    def came(self, said: StartForecast, waited_s: float) -> None:
        """A job has started so long after this was played of it. Without a middle nothing is learned."""
        if said.p50 is None or said.low is None:
            return
        known, truth = self._of(said.p50), _scale(waited_s)
        known.beside.append(truth - _scale(said.p50))
        known.below.append(_scale(said.low) - truth)
        # An open end holds whatever comes.
        known.above.append(-truth if said.high is None else truth - _scale(said.high))

    def corrected(self, said: StartForecast) -> StartForecast:
        """The same with its middle and its interval where the starts came; itself while too little is known."""
        if said.p50 is None or said.low is None:
            return said
        known = self._of(said.p50)
        if len(known.beside) < FEWEST:
            return said
        p50 = _shifted(said.p50, _quantile(known.beside, 0.5))
        low = min(_shifted(said.low, -_quantile(known.below, 1 - MISSES)), p50)
        high = said.high
        if high is not None:
            high = max(_shifted(high, _quantile(known.above, 1 - MISSES)), p50)
        return replace(said, p50=p50, low=low, high=high)

    def _of(self, p50: float) -> _Class:
        return self._classes[sum(p50 >= bound for bound in CLASSES)]


def _scale(seconds: float) -> float:
    return log(max(seconds, 0.0) + SOFT_S)


def _shifted(seconds: float, by: float) -> float:
    return max(0.0, exp(_scale(seconds) + by) - SOFT_S)


def _quantile(values: deque[float], share: float) -> float:
    """Conformal: of n values the one that the next is above with a chance of at most 1 - share."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, ceil(share * (len(ordered) + 1)) - 1)]
