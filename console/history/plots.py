"""Bars as numbers for a template: groups side by side, in each a bar per series. A table beside has the numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

HEIGHT = 120
TOP, BOTTOM = 16, 18
BAR, BETWEEN = 18, 14
LETTER, APART = 6, 5
"""How wide a letter above a bar is at most, and what stands free between two texts."""
LONGEST = 9
"""Letters under a group."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: where it stands, how high it is, and what is written above it."""

    series: int
    x: int
    width: int
    y: float
    height: float
    text: str

    @property
    def middle(self) -> int:
        """Where its text is centred."""
        return self.x + self.width // 2

    @property
    def text_y(self) -> float:
        """The line that its text stands on."""
        return self.y - 3


@dataclass(frozen=True, slots=True)
class Group:
    """Bars that belong together, with what they are of."""

    label: str
    middle: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class BarPlot:
    """All groups. `series` are what the bars of each group mean, in order."""

    title: str
    series: tuple[tuple[int, str], ...]
    groups: tuple[Group, ...]
    width: int

    height = HEIGHT
    base = HEIGHT - BOTTOM
    label_y = HEIGHT - 4


def bars(
    title: str, series: Sequence[str], rows: Iterable[tuple[str, Sequence[float]]], first: int = 0
) -> BarPlot:
    """A plot of numbers not below zero, all on one scale that begins at zero. `first`: the number of the first series,
    where another plot beside it has more of them. Bars are as wide as their texts need."""
    rows = list(rows)
    longest = max((len(number(value)) for _, values in rows for value in values), default=0)
    bar = max(BAR, LETTER * longest + APART)
    most = max((value for _, values in rows for value in values), default=0) or 1
    labels = [label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…" for label, _ in rows]
    group_width = max(bar * len(series) + BETWEEN, max(map(_label_width, labels), default=0) + APART)
    groups = []
    for place, (_label, values) in enumerate(rows):
        left = place * group_width + (group_width - bar * len(series)) // 2
        made = tuple(
            _bar(first + index, left + index * bar, bar, value / most, number(value))
            for index, value in enumerate(values)
        )
        groups.append(Group(labels[place], left + bar * len(series) // 2, made))
    named = tuple(enumerate(series, start=first))
    return BarPlot(title, named, tuple(groups), max(1, len(rows)) * group_width)


def _label_width(label: str) -> int:
    """At 10 px: a Chinese letter is as wide as it is high, others a little more than half of that."""
    return sum(10 if east_asian_width(letter) in "WF" else 6 for letter in label)


def _bar(series: int, x: int, width: int, share: float, text: str) -> Bar:
    height = round(share * (HEIGHT - TOP - BOTTOM), 1)
    return Bar(series, x, width, round(HEIGHT - BOTTOM - height, 1), height, text)


def number(value: float) -> str:
    """Short enough for a bar: 0, 0.4, 12, 1.2k."""
    if value >= 1000:
        return f"{value / 1000:.3g}k"
    return f"{value:.3g}" if value else "0"
