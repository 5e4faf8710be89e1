"""The five shades of squares, from pale to strong, and what they mean."""

from typing import NamedTuple

from django.utils.functional import Promise

SHADES = 5
"""`sq-0`, pale, to `sq-4`, strong."""


class Shade(NamedTuple):
    """What a class means."""

    css: str
    label: Promise | str


def part_shade(part: float, whole: float) -> str:
    """Nothing is the palest and everything the strongest; between them there are three more."""
    if part <= 0 or whole <= 0:
        return "sq-0"
    return f"sq-{SHADES - 1}" if part >= whole else f"sq-{1 + int((SHADES - 2) * part / whole)}"


def spread_shade(above: float, spread: float) -> str:
    """How far above the least a figure is, of the spread between the least and the most."""
    return "sq-0" if spread <= 0 else f"sq-{min(SHADES - 1, int(SHADES * above / spread))}"


def ends_of_scale(least: str, most: str) -> list[Shade]:
    """The five shades, of which only the first and the last have words."""
    between = [Shade(f"sq-{strength}", "") for strength in range(1, SHADES - 1)]
    return [Shade("sq-0", least), *between, Shade(f"sq-{SHADES - 1}", most)]
