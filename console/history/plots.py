"""Bars as numbers for a template: groups side by side, in each a bar per series. A table beside has the numbers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

HEIGHT = 120
TOP, BOTTOM = 16, 18
BAR, BETWEEN = 18, 14
LETTER, WIDE, APART = 6, 10, 5
"""How wide a letter is at most, a Chinese one (as wide as it is high), and what stands free between two texts."""
SMALLEST = 0.01
"""A smaller number than this is not told more exactly."""
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


def number(value: float) -> str:
    """Short enough for a bar: 0, 0.08, 4.3, 12, 1.2k. What is more exact than that says nothing more."""
    if value >= 1000:
        return f"{value / 1000:.3g}k"
    if 0 < value < SMALLEST:
        return f"< {SMALLEST}"
    return f"{value:.{2 if value < 1 else 1}f}".rstrip("0").rstrip(".") if value < 100 else f"{value:.0f}"


def bars(
    title: str,
    series: Sequence[str],
    rows: Iterable[tuple[str, Sequence[float]]],
    first: int = 0,
    words: Callable[[float], str] = number,
) -> BarPlot:
    """A plot of numbers not below zero, all on one scale that begins at zero. `first`: the number of the first series,
    where another plot beside it has more of them. `words`: what is written above a bar; bars are as wide as that
    needs."""
    rows = list(rows)
    longest = max((_width(words(value)) for _, values in rows for value in values), default=0)
    bar = max(BAR, longest + APART)
    most = max((value for _, values in rows for value in values), default=0) or 1
    labels = [label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…" for label, _ in rows]
    group_width = max(bar * len(series) + BETWEEN, max(map(_width, labels), default=0) + APART)
    groups = []
    for place, (_label, values) in enumerate(rows):
        left = place * group_width + (group_width - bar * len(series)) // 2
        made = tuple(
            _bar(first + index, left + index * bar, bar, value / most, words(value))
            for index, value in enumerate(values)
        )
        groups.append(Group(labels[place], left + bar * len(series) // 2, made))
    named = tuple(enumerate(series, start=first))
    return BarPlot(title, named, tuple(groups), max(1, len(rows)) * group_width)


def _width(label: str) -> int:
    """Of a text of 10 px or smaller."""
    return sum(WIDE if east_asian_width(letter) in "WF" else LETTER for letter in label)


def _bar(series: int, x: int, width: int, share: float, text: str) -> Bar:
    height = round(share * (HEIGHT - TOP - BOTTOM), 1)
    return Bar(series, x, width, round(HEIGHT - BOTTOM - height, 1), height, text)
