"""From readings to the figure in force of each processor: the median of the last three.

What was read before a figure was typed or imported, or under another driver or firmware, does not count any more.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from statistics import median
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from console.cluster.models import Cluster
from console.core import clock
from console.power.models import Measurement, PowerReading, Processor, Source

LAST = 3


@dataclass(frozen=True, slots=True)
class NewReading:
    """What is told of one processor. `seconds`: above 0."""

    node: str
    resource: str
    device: int
    seconds: float
    driver: str = ""
    firmware: str = ""


def record(
    cluster: Cluster,
    told: Iterable[NewReading],
    source: Source,
    *,
    by: str = "",
    measurement: Measurement | None = None,
) -> list[Processor]:
    """Keep readings, and put the figures in force that follow from them. Must run inside a transaction."""
    changed = []
    for each in told:
        PowerReading.objects.create(
            cluster=cluster,
            node=each.node,
            resource=each.resource,
            device=each.device,
            seconds=each.seconds,
            driver=each.driver,
            firmware=each.firmware,
            source=source,
            taken_at=clock.now(),
            by=by,
            measurement=measurement,
        )
        changed.append(_put_in_force(cluster, each))
    return changed


def in_force(readings: Iterable[PowerReading]) -> tuple[float, int]:
    """The figure that follows from a processor's readings, the latest first, and from how many of them."""
    rows = list(readings)
    last = rows[0]
    same = takewhile(lambda row: (row.driver, row.firmware) == (last.driver, last.firmware), rows)
    counted: list[float] = []
    for row in same:
        counted.append(row.seconds)
        if row.source != Source.MEASURED or len(counted) == LAST:
            break
    return median(counted), len(counted)


def _put_in_force(cluster: Cluster, told: NewReading) -> Processor:
    key: dict[str, Any] = {
        "cluster": cluster,
        "node": told.node,
        "resource": told.resource,
        "device": told.device,
    }
    latest = list(PowerReading.objects.filter(**key).order_by("-id")[:LAST])
    figure, count = in_force(latest)
    last = latest[0]
    known = Processor.objects.filter(**key).first()
    facts = {
        "figure": figure,
        "before": known.figure if known else None,
        "readings": count,
        "source": last.source,
        "taken_at": last.taken_at,
        "driver": last.driver,
        "firmware": last.firmware,
    }
    return Processor.objects.update_or_create(**key, defaults=facts)[0]


COLUMNS = ("node", "resource", "device", "seconds")
MOST = 20_000


def read_table(text: str) -> list[NewReading]:
    """The rows of a table, with or without its head. Raises `ValidationError` that names the first bad line."""
    rows = []
    lines = csv.reader(text.splitlines())
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line]
        if not any(cells) or (number == 1 and tuple(cells) == COLUMNS):
            continue
        rows.append(_row(number, cells))
        if len(rows) > MOST:
            raise ValidationError(_("At most %(n)s lines at once.") % {"n": MOST})
    if not rows:
        raise ValidationError(_("There is no line. Write node,resource,device,seconds."))
    return rows


def _row(number: int, cells: Iterable[str]) -> NewReading:
    try:
        node, resource, device, seconds = cells
        return NewReading(node, resource, int(device), float(seconds))
    except ValueError:
        words = _("Line %(n)s is not node,resource,device,seconds, as in n1,gpu,0,12.5.") % {"n": number}
        raise ValidationError(words) from None
