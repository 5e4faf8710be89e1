"""An answer as a file for spreadsheets: a line per row, work in a column per resource, in hours."""

import csv
import io
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from console.audit.exporting import BOM, safe_cell
from console.insights.answers import (
    CauseOfLoss,
    ForecastNearness,
    Insights,
    LevelWaits,
    ProjectBalance,
    ProjectUnevenness,
    StopRate,
)
from console.steering.selectors import hours
from scheduler.model.resource_kinds import COUNTED

ROWS: dict[str, type[Any]] = {
    "waits": LevelWaits,
    "work": CauseOfLoss,
    "projects": ProjectBalance,
    "stops": StopRate,
    "forecasts": ForecastNearness,
    "unevenness": ProjectUnevenness,
}
_WORK = ("lost", "saved", "lost_before", "saved_before", "room")
"""The fields that hold work."""


def as_csv(found: Insights, question: str) -> str:
    """The answer to one question; the columns are those of the API, in its order."""
    names = [each.name for each in fields(ROWS[question])]
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([column for name in names for column in _columns(name)])
    for row in getattr(found, question):
        writer.writerow([safe_cell(cell) for name in names for cell in _cells(name, getattr(row, name))])
    return BOM + text.getvalue()


def _columns(name: str) -> Iterable[str]:
    return [f"{name}_{what}_hours" for what in COUNTED] if name in _WORK else [name]


def _cells(name: str, value: Any) -> Iterable[Any]:
    return [hours(value, what) for what in COUNTED] if name in _WORK else [value]
