"""Amounts and durations as people read them, the same everywhere: explanations, pages, audit rows."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar

from scheduler.model.resource_kinds import ORDER
from scheduler.model.resources import INNER, Amounts

Item = TypeVar("Item")

MB_PER_GB = 1024


def resource_order(name: str) -> int:
    """Where a resource stands among others: accelerators first, memory last; a typed one with its plain one."""
    return ORDER.get(name.partition(":")[0], 5)


def amounts(amounts: Amounts) -> str:
    """`4 × a100, 16 cpu, 32 GB`: GPUs first, memory last; a typed resource stands for its plain one."""
    return _amounts(tuple(amounts.items()))


@lru_cache(maxsize=4096)
def _amounts(of: tuple[tuple[str, int], ...]) -> str:
    """The same; kept, because a plan says a few amounts thousands of times."""
    amounts = dict(of)
    typed = {name.partition(":")[0] for name in amounts if ":" in name}
    shown = {name: n for name, n in amounts.items() if n and not (name in typed or name.startswith(INNER))}
    ordered = sorted(shown.items(), key=lambda item: (resource_order(item[0]), item[0]))
    return ", ".join(_one(name, amount) for name, amount in ordered) or "nothing"


def _one(name: str, amount: int) -> str:
    kind, _, model = name.partition(":")
    if kind == "mem":
        return f"{amount / MB_PER_GB:.3g} GB" if amount >= MB_PER_GB else f"{amount} MB"
    if model:
        return f"{amount} × {model}"
    return f"{amount} {name}"


def duration(seconds: float) -> str:
    """`2 h 14 min`, `3 d 4 h`, `12 min`, `40 s`: two units at most."""
    return " ".join(f"{count} {unit}" for count, unit in duration_parts(seconds))


def duration_parts(seconds: float) -> tuple[tuple[int, str], ...]:
    """The same as numbers with their units (`d`, `h`, `min`, `s`), for whoever says it in another language."""
    whole = max(0, int(seconds))
    for unit, length, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if whole >= length:
            rest = whole % length // part
            return ((whole // length, unit), (rest, smaller)) if rest else ((whole // length, unit),)
    return ((whole // 60, "min"),) if whole >= 60 else ((whole, "s"),)


def moment(seconds: int) -> str:
    """Epoch seconds as `2026-12-01 18:00 UTC`."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def names(items: Iterable[str], limit: int = 6) -> str:
    """`a, b and c`; a long list is cut: `a, b, c and 9 more`."""
    return told(items, str, limit)


def told(items: Iterable[Item], say: Callable[[Item], str], limit: int = 6) -> str:
    """The same of anything; `say` is asked only for what is not cut off."""
    every = list(items)
    if len(every) > limit:
        return f"{', '.join(map(say, every[: limit - 1]))} and {len(every) - limit + 1} more"
    said = list(map(say, every))
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}" if said else "nobody"


def placement(placement: Mapping[str, Amounts]) -> str:
    """`n1 (4 cpu) and n2 (4 cpu)`."""
    return names(f"{node} ({amounts(taken)})" for node, taken in sorted(placement.items()))
