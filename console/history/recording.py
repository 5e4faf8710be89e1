"""Recording what a cycle has seen: once a minute lines for plots and the last look, more rarely a look to keep."""

import json
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Length

from console.cluster.models import Cluster
from console.core import clock
from console.core.bulk_update import delete_rows
from console.history.minutes import minute_rows, quota_rows
from console.history.models import (
    OPEN_STUDIES,
    LatestObservation,
    PartitionMinute,
    QuotaMinute,
    RecordedObservation,
    Study,
)
from scheduler.contracts.observation import decode_observation, encode_observation
from scheduler.model.observation import Observation

FIELDS = ("axis", "total", "used", "running", "pending", "started", "stops", "work_lost")
MINUTE = timedelta(minutes=1)
LEVEL = 6
"""Of compression: the next ones take twice as long and save little."""


def record_look(cluster: Cluster, observation: Observation) -> bool:
    """Record the first look of each minute; whether this was one. Two cheap questions a cycle otherwise."""
    now = clock.now()
    minute = now.replace(second=0, microsecond=0)
    before = LatestObservation.objects.filter(cluster=cluster).values_list("at", flat=True).first()
    if before is not None and minute <= before <= now:
        return False
    since = before if before is not None and now - before < 10 * MINUTE else now - MINUTE
    rows = minute_rows(cluster, minute, since=min(since, now), until=now)
    quotas = quota_rows(cluster, minute)
    body = packed(observation)
    with transaction.atomic():
        _write_minutes(rows)
        _write_quotas(quotas)
        _keep(cluster, now, observation, body)
    return True


def packed(observation: Observation) -> bytes:
    """The observation as it is stored."""
    return zlib.compress(encode_observation(observation).encode("ascii"), LEVEL)


def unpacked(body: bytes) -> Observation:
    """The observation that was stored."""
    return decode_observation(json.loads(zlib.decompress(body)))


def _write_minutes(rows: Iterable[PartitionMinute]) -> None:
    PartitionMinute.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["cluster", "partition", "at"],
        update_fields=list(FIELDS),
    )


def _write_quotas(rows: Iterable[QuotaMinute]) -> None:
    QuotaMinute.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["cluster", "partition", "rank", "at"],
        update_fields=["uses"],
    )


def _keep(cluster: Cluster, now: datetime, observation: Observation, body: bytes) -> None:
    values: Mapping[str, object] = {"at": now, "jobs": len(observation.jobs), "body": body}
    LatestObservation.objects.update_or_create(cluster=cluster, defaults=dict(values))
    # A look comes a little later or earlier within its minute: half a minute is no reason to skip it.
    due = now - timedelta(seconds=settings.GIVEWAY_HISTORY_EVERY_S) + MINUTE / 2
    if not RecordedObservation.objects.filter(cluster=cluster, at__gt=due, at__lte=now).exists():
        RecordedObservation.objects.create(cluster=cluster, **values)


# --- Keeping the record small.


MINUTES_KEPT = timedelta(days=30)
QUOTAS_KEPT = timedelta(days=8)
"""A row per level and minute: no longer than the longest span that is drawn, and a day."""
STUDIES_KEPT = timedelta(days=30)
MOST_STUDIES = 1000
"""An answer has a few kilobytes; a question about a whole priority file has more."""
BYTES_PER_MB = 1024 * 1024


def forget_old_record() -> int:
    """Delete what is older than it is kept, and of the observations the oldest when they take too much room."""
    now = clock.now()
    kept = timedelta(days=settings.GIVEWAY_HISTORY_DAYS)
    gone = delete_rows(PartitionMinute.objects.filter(at__lt=now - MINUTES_KEPT))
    gone += delete_rows(QuotaMinute.objects.filter(at__lt=now - QUOTAS_KEPT))
    gone += delete_rows(RecordedObservation.objects.filter(at__lt=now - kept))
    return gone + _forget_old_studies(now) + _forget_what_is_too_much()


def _forget_old_studies(now: datetime) -> int:
    over = Study.objects.exclude(state__in=OPEN_STUDIES)
    beyond = list(over.order_by("-pk").values_list("pk", flat=True)[MOST_STUDIES:])
    gone = over.filter(pk__in=beyond).delete()[0]
    return gone + over.filter(asked_at__lt=now - STUDIES_KEPT).delete()[0]


def _forget_what_is_too_much() -> int:
    room = settings.GIVEWAY_HISTORY_MB * BYTES_PER_MB
    sizes = RecordedObservation.objects.order_by("-at").values_list("pk", Length("body"))
    beyond: list[int] = []
    for pk, size in sizes:
        room -= size
        if room < 0:
            beyond.append(pk)
    return delete_rows(RecordedObservation.objects.filter(pk__in=beyond)) if beyond else 0
