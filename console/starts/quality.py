"""How good expected starts were, now that the jobs have started; beside them what Slurm expected."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import fmean, median

from console.cluster.models import Cluster
from console.core import clock
from console.starts.models import ExpectedStart

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


def start_quality(cluster: Cluster, partitions: Iterable[str]) -> StartQuality:
    """The jobs that started within the last weeks in some partitions, by what was first said of them. One query."""
    since = clock.now() - timedelta(days=DAYS)
    found = ExpectedStart.objects.filter(
        cluster=cluster, partition__in=list(partitions), gone_at__gte=since, started__isnull=False
    ).order_by("-gone_at")[: MOST_STARTS + 1]
    rows = list(found)[:MOST_STARTS]
    if not rows:
        return StartQuality()
    parts: dict[str, list[ExpectedStart]] = defaultdict(list)
    for row in rows:
        parts[row.partition].append(row)
    return StartQuality(
        total=_score(rows),
        partitions=tuple((name, _score(parts[name])) for name in sorted(parts)),
        is_cut=len(found) > MOST_STARTS,
    )


def _score(rows: Sequence[ExpectedStart]) -> StartScore:
    started = [(row, row.started or 0) for row in rows]
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


def _holds(row: ExpectedStart, truth: int) -> bool:
    low, high = row.first_low, row.first_high
    return low is not None and low - SEEN_S <= truth and (high is None or truth <= high + SEEN_S)
