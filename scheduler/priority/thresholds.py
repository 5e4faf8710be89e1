"""Thresholds to begin with: such that the projects that are there stand on different levels, and none below all."""

from collections.abc import Sequence
from decimal import Decimal

STEP = 3.0
"""From one level to the next where no project tells: three times the urgency is one level higher."""
DIGITS = 15


def proposed(scores: Sequence[float], levels: int) -> list[float]:
    """A threshold for each level, the highest first; the lowest is reached by every score.

    1. Scores that are equal stay together. The different ones are cut into as many groups as there are levels, or as
       there are different scores, with as equal a number of projects in each as that allows (quantiles).
    2. A group's threshold is the number of fewest digits that its lowest score reaches and the group below does not.
    3. Groups take the lowest levels. Each level above them begins at three times the one below: nobody is there yet,
       and an urgency that rises leads there. Without projects the lowest level begins at 1.
    """
    ordered = sorted(scores, reverse=True)
    cuts = [round_between(low, next_high) for low, next_high in _gaps(ordered, levels)] or [1.0]
    while len(cuts) < levels:
        highest = ordered[0] if ordered else cuts[0]
        cuts.insert(0, round_between(STEP * max(cuts[0], highest), max(cuts[0], highest)))
    return cuts


def round_between(most: float, above: float) -> float:
    """The number of fewest digits up to `most` that is more than `above`; 0 <= above < most."""
    exact = Decimal(repr(most))
    for digits in range(DIGITS):
        unit = Decimal(1).scaleb(exact.adjusted() - digits)
        rounded = float(exact // unit * unit)
        if above < rounded <= most:
            return rounded
    return most


def _gaps(ordered: Sequence[float], levels: int) -> list[tuple[float, float]]:
    """The lowest score of each group, and the highest of the group below it; 0 below the last."""
    ends = [i for i in range(1, len(ordered)) if ordered[i] < ordered[i - 1]]
    groups = min(levels, len(ends) + 1) if ordered else 0
    chosen: list[int] = []
    for group in range(1, groups):
        first = ends.index(chosen[-1]) + 1 if chosen else 0
        within = ends[first : len(ends) - (groups - 1 - group)]
        wanted = len(ordered) * group / groups
        chosen.append(min(within, key=lambda end: (abs(end - wanted), end)))
    lowest = [(ordered[end - 1], ordered[end]) for end in chosen]
    return [*lowest, (ordered[-1], 0.0)] if ordered else []
