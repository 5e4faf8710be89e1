"""Words and tables for a terminal."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator
from datetime import datetime
from typing import Any

WIDEST = 100


def shown(text: Any) -> str:
    """Text of the cluster as it may reach a terminal: nothing in it that a terminal would obey."""
    return "".join(char if char.isprintable() else "?" for char in str(text))


def width() -> int:
    return max(40, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))


def wrap(text: str, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        shown(text), width(), initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def duration(seconds: float) -> str:
    whole = int(seconds)
    for unit, length, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if whole >= length:
            over = whole % length // part
            return f"{whole // length} {unit} {over} {smaller}" if over else f"{whole // length} {unit}"
    return f"{whole // 60} min" if whole >= 60 else f"{whole} s"


def ago(at: datetime | None, now: datetime) -> str:
    """` (2 min ago, 14:02:31)`, in this machine's time zone; nothing for no moment."""
    return "" if at is None else f" ({_age(at, now)}, {_exact(at, now)})"


def then(at: datetime, now: datetime) -> str:
    """`in 2 min (14:02:31)`, the same as a part of a sentence."""
    return f"{_age(at, now)} ({_exact(at, now)})"


def _age(at: datetime, now: datetime) -> str:
    seconds = (now - at).total_seconds()
    # The clocks of two machines, or a second that is not over.
    if abs(seconds) < 1:
        return "now"
    return f"in {duration(-seconds)}" if seconds < 0 else f"{duration(seconds)} ago"


def _exact(at: datetime, now: datetime) -> str:
    local, today = at.astimezone(), now.astimezone().date()
    return f"{local:%H:%M:%S}" if local.date() == today else f"{local:%Y-%m-%d %H:%M:%S}"


def table(rows: list[list[str]], right: set[int]) -> Iterator[str]:
    """Columns as wide as they must be; the last one gives way."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [
            cell.rjust(w) if n in right else cell.ljust(w) for n, (cell, w) in enumerate(zip(row, widths))
        ]
        line = "  ".join([*cells, row[-1]]).rstrip()
        yield line if len(line) <= width() else line[: width() - 1] + "…"


def as_json(body: Any) -> None:
    print(json.dumps(body, indent=1))
