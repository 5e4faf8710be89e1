"""Waits as histograms: few numbers a day, of which a median is right to within a tenth."""

from collections import Counter
from collections.abc import Mapping
from math import ceil, log

RATIO = 1.2
"""How much longer the end of a step is than its beginning, from one second on."""

Histogram = Mapping[str, int]


def step_of(seconds: float) -> str:
    """The number of the step that a wait falls in, as text; 0 is less than a second."""
    return "0" if seconds < 1 else str(1 + int(log(seconds) / log(RATIO) + 1e-9))


def _begin(step: int) -> float:
    return RATIO ** (step - 1) if step else 0.0


def quantile(histogram: Histogram, share: float) -> float | None:
    """The wait that this share of the jobs did not exceed; within a step, waits are taken as evenly spread."""
    jobs = sum(histogram.values())
    if not jobs:
        return None
    left = max(1, ceil(share * jobs))
    for step in sorted(map(int, histogram)):
        inside = histogram[str(step)]
        if left <= inside:
            begin, end = _begin(step), RATIO**step if step else 0.0
            return begin + (end - begin) * (left - 0.5) / inside
        left -= inside
    raise AssertionError("a histogram has as many jobs as its steps")


def merged(into: dict[str, Counter[str]], more: Mapping[str, Histogram]) -> None:
    """Add the histograms of some levels to others."""
    for level, histogram in more.items():
        into.setdefault(level, Counter()).update(histogram)
