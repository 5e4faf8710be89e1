"""How good expected starts and chances of being stopped were, now that it is known what came of them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import fmean, median
from typing import NamedTuple

from django.db.models import QuerySet

from console.cluster.models import Cluster
from console.core import clock
from console.core.ttl_cache import recall_answer
from console.starts.models import ExpectedStart, StopTally

DAYS = 28
MOST_STARTS = 5_000
NEAR_S = 600
MOST_S = 60 * 86_400
"""An error is at most so long: no start had been in sight."""
SEEN_S = 60
"""Moments are played a minute apart, and a cycle passes before a start is seen: so much is no error."""


@dataclass(frozen=True, slots=True)
class StartScore:
    """`near`: share of starts within ten minutes of the middle. `within`: share between `low` and `high`, 0.9 is meant.

    `error_s`: the median of the errors. `slurm_…`: the same of Slurm's own expectation, of the jobs that it had one of.
    Counted are jobs that waited when they were looked at first: who starts at once is not forecast.
    """

    jobs: int
    near: float
    within: float
    error_s: int
    slurm_jobs: int
    slurm_near: float | None
    slurm_error_s: int | None


@dataclass(frozen=True, slots=True)
class StartQuality:
    """All of it; `total` is None while no job with an expected start has started."""

    total: StartScore | None = None
    partitions: tuple[tuple[str, StartScore], ...] = ()
    is_cut: bool = False


class _Begun(NamedTuple):
    """What is counted of an expected start that has come; there are thousands."""

    partition: str
    first_p50: int | None
    first_low: int | None
    first_high: int | None
    first_slurm: int | None
    started: int


def start_quality(cluster: Cluster, partitions: Iterable[str]) -> StartQuality:
    """The jobs that started within the last weeks in some partitions, by what was first said of them. Two queries."""
    since, names = clock.now() - timedelta(days=DAYS), tuple(partitions)
    begun = ExpectedStart.objects.filter(
        cluster=cluster, partition__in=names, gone_at__gte=since, started__isnull=False
    ).order_by("-gone_at")
    key = (cluster.pk, names, since.date(), begun.values_list("pk", "gone_at", "started").first())
    return recall_answer("start quality", key, lambda: _quality(begun))


def _quality(begun: QuerySet[ExpectedStart]) -> StartQuality:
    found = list(begun.values_list(*_Begun._fields)[: MOST_STARTS + 1])
    rows = [_Begun(*row) for row in found[:MOST_STARTS]]
    if not rows:
        return StartQuality()
    parts: dict[str, list[_Begun]] = defaultdict(list)
    for row in rows:
        parts[row.partition].append(row)
    return StartQuality(
        total=_score(rows),
        partitions=tuple((name, _score(parts[name])) for name in sorted(parts)),
        is_cut=len(found) > MOST_STARTS,
    )


@dataclass(frozen=True, slots=True)
class StopScore:
    """How far the chances of being stopped were off in a partition. `jobs`, `stopped`: of so many running jobs an hour
    is over, so many were stopped in it. `brier`: the mean square of the errors; `base`: of the share that was stopped
    before, told to everybody. `below`: by how much ours is smaller, as a share. `shown`: whether chances are shown."""

    jobs: int
    stopped: int
    brier: float
    base: float
    below: float | None
    shown: bool


def stop_quality(cluster: Cluster, partitions: Iterable[str]) -> list[tuple[str, StopScore]]:
    """What came of the chances, by partition, since Giveway has said any. One query."""
    rows = StopTally.objects.filter(cluster=cluster, partition__in=list(partitions), jobs__gt=0)
    return [(row.partition, _stop_score(row)) for row in rows.order_by("partition")]


def stop_scores() -> dict[tuple[str, ...], StopScore]:
    """The same by names of cluster and partition, of all. One query."""
    rows = StopTally.objects.filter(jobs__gt=0).select_related("cluster")
    return {(row.cluster.name, row.partition): _stop_score(row) for row in rows}


def _stop_score(row: StopTally) -> StopScore:
    below = 1 - row.squares / row.base_squares if row.base_squares else None
    brier, base = row.squares / row.jobs, row.base_squares / row.jobs
    return StopScore(row.jobs, row.stopped, brier, base, below, row.is_proven)


def _score(rows: Sequence[_Begun]) -> StartScore:
    started = [(row, row.started) for row in rows]
    errors = [_error(row.first_p50, truth) for row, truth in started]
    slurm = [_error(row.first_slurm, truth) for row, truth in started if row.first_slurm is not None]
    return StartScore(
        jobs=len(rows),
        near=fmean(error <= NEAR_S for error in errors),
        within=fmean(_holds(row, truth) for row, truth in started),
        error_s=int(min(median(errors), MOST_S)),
        slurm_jobs=len(slurm),
        slurm_near=fmean(error <= NEAR_S for error in slurm) if slurm else None,
        slurm_error_s=int(median(slurm)) if slurm else None,
    )


def _error(said: int | None, truth: int) -> float:
    return float("inf") if said is None else abs(said - truth)


def _holds(row: _Begun, truth: int) -> bool:
    low, high = row.first_low, row.first_high
    return low is not None and low - SEEN_S <= truth and (high is None or truth <= high + SEEN_S)
