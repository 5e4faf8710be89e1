"""The resources that Giveway knows by name, declared once. All others are counted, planned and shown by their names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """`name`: as in `Amounts`. `label`: one of it, in work and charts. `order`: its place among others, 5 for all that
    are not named here. `is_accelerator`: a cluster that has any counts by these, and not by its CPUs; `is_counted`:
    work is told in it (each has columns of its own in console.insights); `is_drawn`: a partition's page shows it."""

    name: str
    label: str
    order: int
    is_accelerator: bool = False
    is_counted: bool = True
    is_drawn: bool = True


RESOURCE_KINDS = (
    ResourceKind("gpu", "GPU", 0, is_accelerator=True),
    ResourceKind("npu", "NPU", 1, is_accelerator=True),
    ResourceKind("cpu", "CPU", 8),
    ResourceKind("mem", "MB", 9, is_counted=False),
)
ORDER = {kind.name: kind.order for kind in RESOURCE_KINDS}
LABELS = {kind.name: kind.label for kind in RESOURCE_KINDS if kind.is_counted}
COUNTED = tuple(kind.name for kind in RESOURCE_KINDS if kind.is_counted)
"""What work is counted in, the dearest first."""
ACCELERATORS = tuple(kind.name for kind in RESOURCE_KINDS if kind.is_accelerator)
DRAWN = tuple(kind.name for kind in RESOURCE_KINDS if kind.is_drawn)


def count_accelerators(amounts: Mapping[str, int]) -> int:
    """How many of them, of whichever kind."""
    return sum(amounts.get(name, 0) for name in ACCELERATORS)


def accelerator_of(nodes: Iterable[Mapping[str, int]]) -> str:
    """The kind that these nodes have, from what each has; the first one where they have none."""
    has = {name for total in nodes for name, amount in total.items() if amount}
    return next((name for name in ACCELERATORS if name in has), ACCELERATORS[0])


def main_resource(total: Mapping[str, int]) -> str:
    """What a node, or a cluster, is counted by: its accelerators where it has any, else its CPUs."""
    return next((name for name in COUNTED if total.get(name)), "cpu")


def by_worth(name: str) -> tuple[bool, str]:
    """A key that sorts accelerators before all others."""
    return name not in ACCELERATORS, name
