"""Waits as histograms: few numbers a day, of which a median is right to within a tenth."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import ceil, log

RATIO = 1.2
"""How much longer the end of a step is than its beginning, from one second on."""

Histogram = Sequence[int]
"""Jobs by step, from the first: a list, for half a year of them is read at once."""


def step_of(seconds: float) -> int:
    """The number of the step that a wait falls in; 0 is less than a second."""
    return 0 if seconds < 1 else 1 + int(log(seconds) / log(RATIO) + 1e-9)


def counted(histogram: list[int], seconds: float, jobs: int = 1) -> None:
    """Some more jobs with this wait."""
    step = step_of(seconds)
    histogram.extend([0] * (step + 1 - len(histogram)))
    histogram[step] += jobs


def _begin(step: int) -> float:
    return RATIO ** (step - 1) if step else 0.0


def quantile(histogram: Histogram, share: float) -> float | None:
    """The wait that this share of the jobs did not exceed; within a step, waits are taken as evenly spread."""
    jobs = sum(histogram)
    if not jobs:
        return None
    left = max(1, ceil(share * jobs))
    for step, inside in enumerate(histogram):
        if left <= inside:
            begin, end = _begin(step), RATIO**step if step else 0.0
            return begin + (end - begin) * (left - 0.5) / inside
        left -= inside
    raise AssertionError("a histogram has as many jobs as its steps")


def merged(into: dict[str, list[int]], more: Mapping[str, Histogram]) -> None:
    """Add the histograms of some levels to others."""
    for level, histogram in more.items():
        pairs = zip_longest(into.get(level, ()), histogram, fillvalue=0)
        into[level] = list(map(sum, pairs))
