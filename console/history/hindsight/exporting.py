"""An answer as a file for spreadsheets: a line for all jobs, for each level and for each project."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from console.audit.exporting import BOM, safe_cell
from console.steering.selectors import SECONDS_PER_HOUR
from scheduler.model.resource_kinds import COUNTED

RANGE = ("value", "low", "high")
WAITS = ("mean_s", "median_s", "p90_s")


def as_csv(doc: Mapping[str, Any]) -> str:
    """Waits in seconds, lost work in hours; of each simulated figure its value, the lowest and the highest."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    rows = [_row("all", "", doc["all"])]
    rows += [_row("level", each["name"], each) for each in doc["levels"]]
    rows += [_row("project", each["project"], each) for each in doc["projects"]]
    writer.writerow([name for name, _ in rows[0]])
    for row in rows:
        writer.writerow([safe_cell(cell) for _, cell in row])
    return BOM + text.getvalue()


def _row(of: str, name: str, group: Mapping[str, Any]) -> list[tuple[str, Any]]:
    row: list[tuple[str, Any]] = [("of", of), ("name", name), ("jobs", group["jobs"])]
    row += [(f"recorded_{key}", group["recorded"][key]) for key in WAITS]
    for side in ("without", "with_policy"):
        for key in WAITS:
            row += _ranged(f"{side}_{key}", group[side][key], 1)
    row += _ranged("stops", group["stops"], 1)
    nothing = dict.fromkeys(RANGE, 0)
    for what in COUNTED:
        row += _ranged(f"{what}_hours_lost", group["lost_s"].get(what, nothing), SECONDS_PER_HOUR)
    return row


def _ranged(name: str, found: Mapping[str, float], unit: int) -> Iterable[tuple[str, float]]:
    for which in RANGE:
        value = found[which]
        yield name if which == "value" else f"{name}_{which}", value if unit == 1 else round(value / unit, 4)
