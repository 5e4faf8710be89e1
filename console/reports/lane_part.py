"""Of many lanes those that the chart shows at first: it is drawn with them while the rest is still read."""

import json
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar, cast

from django.db.models import Model, Q, QuerySet, TextField
from django.db.models.functions import Cast

MANY = 64
"""With more nodes than these each unit is one row (`js/lanes/units.js`)."""
M = TypeVar("M", bound=Model)


class _Lane(Protocol):
    @property
    def group(self) -> str: ...
    @property
    def unit(self) -> str: ...


def lanes_of_rows(lanes: Sequence[_Lane], rows: int) -> int | None:
    """How many lanes stand in the first rows, as the chart has them at first. None: all, as where there are few."""
    if len(lanes) <= MANY:
        return None
    last, seen = None, 0
    for number, lane in enumerate(lanes):
        unit = (lane.group, lane.unit) if lane.unit else None
        if unit is None or unit != last:
            if seen == rows:
                return number
            seen += 1
        last = unit
    return None


def perhaps_on(rows: QuerySet[M], names: Iterable[str]) -> QuerySet[M]:
    """Of rows with a list of `nodes`, as JSON, those that are on one of these alone, and all that are on several."""
    alone = {json.dumps([name], ensure_ascii=is_plain) for name in names for is_plain in (True, False)}
    told = rows.alias(nodes_text=Cast("nodes", TextField()))
    return cast("QuerySet[M]", told.filter(Q(nodes_text__in=alone) | Q(nodes_text__contains=",")))
