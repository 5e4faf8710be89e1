"""Recording what a cycle has seen: once a minute lines for plots and the last look, more rarely a look to keep."""

import json
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from console.cluster.models import Cluster
from console.core import clock
from console.history.minutes import minute_rows, quota_rows
from console.history.models import LatestObservation, PartitionMinute, QuotaMinute, RecordedObservation
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
