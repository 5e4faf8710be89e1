"""Countable resources of a partition: CPU, GPU (typed or not), memory, anything Slurm counts.

Amounts map a resource's name to an integer >= 0 (memory in MB). A typed resource stands under both
names, in totals, allocations and requests alike: `{"gpu": 8, "gpu:a100": 8}` (contract A).
"""

from collections.abc import Iterable, Mapping

Amounts = Mapping[str, int]

INNER = "~"
"""How names begin of what is only counted to plan with, and shown to nobody: the cards of a node, and what a partition
may use of it."""


def covers(have: Amounts, want: Amounts) -> bool:
    """Whether `have` holds at least `want` of every resource named in `want`."""
    return all(have.get(name, 0) >= amount for name, amount in want.items())


def add(into: dict[str, int], amounts: Amounts) -> None:
    """Add `amounts` to `into`, in place."""
    for name, amount in amounts.items():
        into[name] = into.get(name, 0) + amount


def subtract(into: dict[str, int], amounts: Amounts) -> None:
    """Take `amounts` off `into`, in place; below zero is kept (an overcommitted node has none free)."""
    for name, amount in amounts.items():
        into[name] = into.get(name, 0) - amount


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    """The sum of several amounts."""
    result: dict[str, int] = {}
    for part in parts:
        add(result, part)
    return result
