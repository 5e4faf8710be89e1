"""Words and tables for a terminal."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from giveway_client.words import CHINESE, _, used

WIDEST = 100
LEAST_BESIDE = 16
"""The last column of a table has at least so many columns of the terminal, or a line of its own."""
_CLOSING, _OPENING = "，。：；、！？）”》…", "（“《"
_PIECES = re.compile(
    rf"\s*[{_OPENING}]*(?:[\u2e80-\u9fff]|[^\s\u2e80-\u9fff{_CLOSING}{_OPENING}]+|[{_CLOSING}])[{_CLOSING}]*|\s+|."
)
"""What is not parted between two lines: a word, or one Chinese letter, with the marks that belong to it."""


def shown(text: Any) -> str:
    """Text of the cluster as it may reach a terminal: nothing in it that a terminal would obey."""
    return "".join(char if char.isprintable() else "?" for char in str(text))


def width() -> int:
    return max(40, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))


def cells(text: str) -> int:
    """How many columns of a terminal the text takes: a Chinese letter or mark takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def wrap(text: str, first: str = "", rest: str = "") -> str:
    """Lines that fit the terminal; a line of Chinese may end behind each of its letters."""
    said = shown(text)
    if all(cells(each) == len(each) for each in (said, first, rest)):
        return textwrap.fill(
            said, width(), initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
        )
    lines, line = [], first
    for piece in _PIECES.findall(said):
        if cells(line) + cells(piece.rstrip()) > width() and line not in {first, rest}:
            lines.append(line.rstrip())
            line = rest + piece.lstrip()
        else:
            line += piece
    return "\n".join([*lines, line.rstrip()])


def duration(seconds: float) -> str:
    whole = int(seconds)
    for unit, length, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if whole >= length:
            over = whole % length // part
            said = f"{whole // length} {_(unit)}"
            return f"{said} {over} {_(smaller)}" if over else said
    return f"{whole // 60} {_('min')}" if whole >= 60 else f"{whole} {_('s')}"


def ago(at: datetime | None, now: datetime) -> str:
    """` (2 min ago, 14:02:31)`, in this machine's time zone; nothing for no moment."""
    if at is None:
        return ""
    age, exact = _age(at, now), _exact(at, now)
    return f"（{age}，{exact}）" if used() == CHINESE else f" ({age}, {exact})"


def with_age(text: str, at: datetime | None, now: datetime) -> str:
    """A line of an answer with its moment: what ends in a colon where the moment follows at once loses it."""
    return text.rstrip("\N{FULLWIDTH COLON}") + ago(at, now) if at else text


def then(at: datetime, now: datetime) -> str:
    """`in 2 min (14:02:31)`, the same as a part of a sentence."""
    age, exact = _age(at, now), _exact(at, now)
    return f"{age}（{exact}）" if used() == CHINESE else f"{age} ({exact})"


def _age(at: datetime, now: datetime) -> str:
    seconds = (now - at).total_seconds()
    # The clocks of two machines, or a second that is not over.
    if abs(seconds) < 1:
        return _("now")
    text = _("in %(time)s") if seconds < 0 else _("%(time)s ago")
    return text % {"time": duration(abs(seconds))}


def _exact(at: datetime, now: datetime) -> str:
    local, today = at.astimezone(), now.astimezone().date()
    return f"{local:%H:%M:%S}" if local.date() == today else f"{local:%Y-%m-%d %H:%M:%S}"


def table(rows: list[list[str]], right: set[int]) -> Iterator[str]:
    """Columns as wide as they must be. What the last one says goes on below itself, where there is room for it; else it
    stands on lines of its own, below the others."""
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    before = sum(widths) + 2 * len(widths)
    beside = width() - before >= min(LEAST_BESIDE, max(cells(row[-1]) for row in rows))
    for row in rows:
        filled = []
        for n, (cell, wide) in enumerate(zip(row, widths)):
            blank = " " * (wide - cells(cell))
            filled.append(blank + cell if n in right else cell + blank)
        if beside and row[-1]:
            yield from wrap(row[-1], "  ".join([*filled, ""]), " " * before).splitlines()
            continue
        yield from wrap("  ".join(filled).rstrip(), "", "  ").splitlines()
        if row[-1]:
            yield from wrap(row[-1], "    ", "    ").splitlines()


def as_json(body: Any) -> None:
    print(json.dumps(body, indent=1))
