"""Figures as a table: `node,resource,device,seconds`, a line each."""

import csv
from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from console.power.figures import NewReading

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
