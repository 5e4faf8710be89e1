"""The resource that counts on a node, and how much of it a job could have."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.utils.functional import Promise

from scheduler.model.resource_kinds import main_resource

# --- The five shades of squares, from pale to strong, and what they mean ---


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


def drawn_resource(total: Mapping[str, int], held: Iterable[Mapping[str, int]]) -> str:
    """What a node's bar counts: the main resource; CPUs while no job there holds any of it, so that jobs are seen."""
    main = main_resource(total)
    if main == "cpu":
        return main
    jobs = list(held)
    return "cpu" if jobs and "cpu" in total and not any(job.get(main) for job in jobs) else main


def lacks_cpus(total: Mapping[str, int], used: Mapping[str, int]) -> bool:
    """Whether all CPUs of a node are taken: then nothing starts there, however many GPUs are free."""
    cpus = total.get("cpu", 0)
    return 0 < cpus <= used.get("cpu", 0)
