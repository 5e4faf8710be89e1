"""How far the quotas were used in the made-up week, added up from who ran when."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from console.cluster.models import Job
from console.core import clock
from console.history.models import QuotaMinute
from console.history.quota_minutes import uses_of_levels
from console.launch.past.job_rows import BATCH, Setting
from console.launch.past.played import PlayedWeek
from console.launch.past.playing import HOUR, MINUTE
from console.partitions.quotas import LevelLimit, Meter, limits_of, take, uses_in

CLOSELY = 6 * HOUR
"""Before the end there is a row for each minute, for the shortest plot; before that for every few of them."""
EVERY = 15 * MINUTE


def write_quotas(setting: Setting, week: PlayedWeek, rows: Iterable[Job]) -> None:
    """A row for each level with a limit and each of these minutes."""
    limits = {name: limits_of(each.policy) for name, each in setting.partitions.items()}
    limits = {name: each for name, each in limits.items() if each}
    if not limits:
        return
    ranks = {row.job_id: row.task_level for row in rows if row.task_level is not None}
    made = [
        row for minute, taken in _taken(week, limits, ranks) for row in _rows(setting, limits, minute, taken)
    ]
    QuotaMinute.objects.bulk_create(made, batch_size=BATCH, ignore_conflicts=True)


def _rows(
    setting: Setting, limits: Mapping[str, list[LevelLimit]], minute: int, taken: Counter[Meter]
) -> Iterator[QuotaMinute]:
    for name, each in limits.items():
        for rank, uses in uses_of_levels(each, uses_in(name, each, taken)):
            at = clock.from_epoch(minute)
            yield QuotaMinute(cluster=setting.cluster, partition=name, at=at, rank=rank, uses=uses)


def _taken(
    week: PlayedWeek, limits: Mapping[str, list[LevelLimit]], ranks: Mapping[str, int]
) -> Iterator[tuple[int, Counter[Meter]]]:
    """What ran in each minute, of the partitions that limit it; to the end of the first hour after the week."""
    end = week.minutes[-1].at + MINUTE
    minutes = list(_minutes(week, end))
    found: dict[int, Counter[Meter]] = {minute: Counter() for minute in minutes}
    for job_id, rank in ranks.items():
        job = week.jobs[job_id]
        if job.partition not in limits:
            continue
        for run in job.runs:
            for minute in _within(minutes, run.start, run.ended or end):
                take(found[minute], (job.partition, rank, job.seen.user), run.held)
    yield from found.items()


def _minutes(week: PlayedWeek, end: int) -> Iterator[int]:
    closely = (end - CLOSELY) // EVERY * EVERY
    yield from range(-(-week.begin // EVERY) * EVERY, closely, EVERY)
    yield from range(closely, end, MINUTE)


def _within(minutes: list[int], start: int, end: int) -> list[int]:
    """Those from the start to before the end."""
    return minutes[bisect_left(minutes, start) : bisect_left(minutes, end)]
