"""What every page says before anything else: the pauses that hold and the incidents that are open, in one query."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.db.models import BigIntegerField, F, TextField, Value

from console.steering.models import Incident, Pause

_TEXT = partial(Value, output_field=TextField())


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An incident as a line at the top of a page."""

    pk: int
    partition: str
    job_id: str
    user: str
    plan: int
    beneficiary: str
    words: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """The pauses, the whole cluster's first; the open incidents, the latest first."""

    pauses: tuple[Pause, ...] = ()
    incidents: tuple[OpenIncident, ...] = ()


def standing(cluster_name: str) -> Standing:
    """Read both: they are few, and mostly there is neither."""
    number = partial(Value, output_field=BigIntegerField())
    pauses = Pause.objects.filter(cluster__name=cluster_name).order_by().values_list(
        number(0), F("partition"), _TEXT(""), F("by"), number(0), _TEXT(""), F("reason"), F("since")
    )  # fmt: skip
    incidents = Incident.objects.filter(cluster__name=cluster_name, closed_at=None).order_by().values_list(
        F("id"), F("partition"), F("job_id"), F("user"), F("plan"), F("beneficiary"), F("words"), F("opened_at")
    )  # fmt: skip
    rows = list(pauses.union(incidents, all=True))
    held = [
        Pause(partition=partition, by=by, reason=reason, since=since)
        for pk, partition, _, by, _, _, reason, since in rows
        if not pk
    ]
    opened = [OpenIncident(*row) for row in rows if row[0]]
    return Standing(
        tuple(sorted(held, key=lambda pause: pause.partition)),
        tuple(sorted(opened, key=lambda incident: -incident.pk)),
    )
