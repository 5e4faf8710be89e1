"""What every page says before anything else: cycles that failed, the pauses that hold, the incidents that are open, and
until when a demonstration's past is made up; in one query."""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import BigIntegerField, DateTimeField, F, QuerySet, TextField, Value
from django.db.models.functions import Cast

from console.accounts.rules import once
from console.cluster.models import Cluster
from console.core.compiled import rows_of
from console.steering.models import CycleMeter, Incident, Pause
from console.steering.streaks import Streak, read, what_holds

_TEXT = partial(Value, output_field=TextField())
_NUMBER = partial(Value, output_field=BigIntegerField())
_PAUSE, _METER, _CLUSTER = 0, -1, -2
"""In the place of an incident's number: what else a row is."""


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
class SteeringNotices:
    """Pauses, and failures on whose account nobody is stopped, the whole cluster's first; open incidents, the latest
    first. `made_up_until`: what is told of before is made up; None but in a demonstration."""

    pauses: tuple[Pause, ...] = ()
    streaks: tuple[Streak, ...] = ()
    incidents: tuple[OpenIncident, ...] = ()
    made_up_until: datetime | None = None


def standing_for(user: Any, cluster_name: str) -> SteeringNotices:
    """The same, read once for each request of a person."""
    return once(user, "steering notices", lambda: standing(cluster_name))


def standing(cluster_name: str) -> SteeringNotices:
    """Read all of it: it is little, and mostly there is none."""
    held, failing, opened, made_up_until = [], {}, [], None
    for pk, *row in rows_of(("standing", cluster_name), lambda: _standing_rows(cluster_name)):
        partition, job_id, by, plan, beneficiary, words, since = row
        if pk == _PAUSE:
            held.append(Pause(partition=partition, by=by, reason=words, since=since))
        elif pk == _METER:
            failing = json.loads(words or "{}")
        elif pk == _CLUSTER:
            made_up_until = since
        else:
            opened.append(OpenIncident(pk, partition, job_id, by, plan, beneficiary, words, since))
    return SteeringNotices(
        tuple(sorted(held, key=lambda pause: pause.partition)),
        tuple(what_holds(read(failing).values())),
        tuple(sorted(opened, key=lambda incident: -incident.pk)),
        made_up_until,
    )


def _standing_rows(cluster_name: str) -> QuerySet[Any, Any]:
    pauses = Pause.objects.filter(cluster__name=cluster_name).order_by().values_list(
        _NUMBER(_PAUSE), F("partition"), _TEXT(""), F("by"), _NUMBER(0), _TEXT(""), F("reason"), F("since"),
    )  # fmt: skip
    incidents = Incident.objects.filter(cluster__name=cluster_name, closed_at=None).order_by().values_list(
        F("id"), F("partition"), F("job_id"), F("user"), F("plan"), F("beneficiary"), F("words"), F("opened_at"),
    )  # fmt: skip
    failing_text, no_moment = Cast("failing", TextField()), Value(None, output_field=DateTimeField())
    meters = CycleMeter.objects.filter(cluster__name=cluster_name).order_by().values_list(
        _NUMBER(_METER), _TEXT(""), _TEXT(""), _TEXT(""), _NUMBER(0), _TEXT(""), failing_text, no_moment,
    )  # fmt: skip
    made_up = Cluster.objects.filter(name=cluster_name, made_up_until__isnull=False).order_by().values_list(
        _NUMBER(_CLUSTER), _TEXT(""), _TEXT(""), _TEXT(""), _NUMBER(0), _TEXT(""), _TEXT(""), F("made_up_until"),
    )  # fmt: skip
    return pauses.union(incidents, meters, made_up, all=True)
