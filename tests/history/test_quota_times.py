"""Quota use over time: what cycles record of it, how minutes become steps, and how it is forgotten."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import Max
from pytest_django import DjangoAssertNumQueries

from console.core import clock
from console.history.minutes import FULLEST, QuotaTimes, quota_rows, read_quota_times
from console.history.models import QuotaMinute
from console.history.recording import forget_old_record
from console.partitions.selectors import policy_of
from tests import factories
from tests.steering.conftest import Sim

NOW = datetime(2026, 3, 2, 12, 7, 30, tzinfo=UTC)
LIMITS: dict[str, Any] = {
    "quotas": {"P1": 3},
    "quota_amounts": {"P1": {"cpu": 4}},
    "quota_totals": {"P0": {"cpu": 6}},
}


def test_a_cycle_records_each_level_that_has_a_quota(sim: Sim) -> None:
    sim.policy(enforcement="shadow", mode="task_then_user", **LIMITS)
    sim.running("ann", 3, name="l1_train")
    sim.running("bob", 4, name="l1_train")
    sim.cycles(40, every_s=2)

    rows = QuotaMinute.objects.filter(partition="x", at=QuotaMinute.objects.aggregate(at=Max("at"))["at"])
    assert {row.rank: row.uses for row in rows} == {
        0: {"quota_totals": {"cpu": [6, 0, {"": 0}]}},
        1: {
            "quotas": {"": [3, 0, {"ann": 1, "bob": 1}]},
            "quota_amounts": {"cpu": [4, 1, {"bob": 4, "ann": 3}]},
        },
    }
    minutes = sorted(set(QuotaMinute.objects.values_list("at", flat=True)))
    assert len(minutes) == 2 and minutes[1] - minutes[0] == timedelta(minutes=1)


def test_a_line_does_not_grow_with_the_users(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    cluster = factories.make_cluster()
    factories.make_partition(cluster, "x", quotas={"P1": 2})
    factories.make_partition(cluster, "y", quotas={}, quota_totals={"P0": {"cpu": 9}})
    for i in range(30):
        factories.make_running_job(cluster, str(i), user=f"u{i % 20:02}", task_level=1)
    with django_assert_num_queries(2):
        x, y = sorted(quota_rows(cluster, NOW), key=lambda row: row.partition)
    [[most, full, users]] = x.uses["quotas"].values()
    assert (most, full, len(users)) == (2, 10, FULLEST)
    assert users == {f"u{i:02}": 2 for i in range(FULLEST)}, "the fullest, and of these by name"
    assert y.uses == {"quota_totals": {"cpu": [9, 0, {"": 0}]}}


# --- From minutes to steps --------------------------------------------------------------------------------


class Record:
    """Minutes of a partition whose level P1 has a limit for each user."""

    def __init__(self) -> None:
        self.cluster = factories.make_cluster()
        self.partition = factories.make_partition(self.cluster, "x")

    def minute(self, ago: int, cpu: list[Any] | None = None, *, rank: int = 1, **kinds: Any) -> None:
        uses = kinds or {"quota_amounts": {"cpu": cpu}}
        at = NOW.replace(second=0) - timedelta(minutes=ago)
        QuotaMinute.objects.create(cluster=self.cluster, partition="x", at=at, rank=rank, uses=uses)

    def read(self, span: str = "24h") -> QuotaTimes:
        return read_quota_times(self.partition, policy_of(self.partition), 1, span)


@pytest.fixture
def record(db: None, monkeypatch: pytest.MonkeyPatch) -> Record:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    return Record()


def test_a_step_has_the_mean_the_peak_and_how_long_somebody_had_all_of_it(record: Record) -> None:
    record.minute(1, [8, 1, {"ann": 8, "bob": 2}])
    record.minute(2, [8, 1, {"bob": 8, "ann": 2}])
    record.minute(3, [8, 0, {"ann": 2}])
    record.minute(4, [4, 0, {}])
    record.minute(5, [8, 0, {"ann": 8}], rank=0)
    record.minute(60 * 25, [8, 1, {"zoe": 8}])

    [line] = record.read().lines
    step = line.steps[-1]
    assert (step.minutes, step.full, step.share) == (4, 2, (8 + 8 + 2) / 28)
    assert step.peak is not None and line.use(step.peak).text == "8 / 8 cpu"
    assert line.steps[-2].share is None, "nobody looked"
    assert [(time.peak.user, time.peak.used, time.full) for time in line.nearest] == [
        ("ann", 8, 1),
        ("bob", 8, 1),
    ]
    assert (line.full, line.limit.most, line.limit.level) == (2, 8, "P1")


def test_limits_come_in_their_order_and_a_limit_of_nothing_is_used_up(record: Record) -> None:
    record.minute(
        1,
        quota_totals={"cpu": [9, 0, {"": 3}]},
        quota_amounts={"mem": [9, 0, {}], "gpu": [0, 0, {}]},
        quotas={"": [2, 0, {"ann": 1}]},
    )
    lines = record.read("6h").lines
    assert [(line.limit.kind.value, line.limit.resource) for line in lines] == [
        ("quotas", ""), ("quota_amounts", "gpu"), ("quota_amounts", "mem"), ("quota_totals", "cpu"),
    ]  # fmt: skip
    assert [line.steps[-1].share for line in lines] == [0.5, 1.0, 0.0, 1 / 3]
    assert lines[1].peak is None
    assert lines[3].peak is not None and lines[3].use(lines[3].peak).text == "3 / 9 cpu"


def test_of_a_limit_that_was_raised_the_share_is_of_what_it_was(record: Record) -> None:
    record.minute(40, [2, 1, {"ann": 2}])
    record.minute(1, [8, 0, {"ann": 2}])
    [line] = record.read().lines
    assert [step.share for step in line.steps if step.minutes] == [1.0, 0.25]
    assert line.limit.most == 8
    assert line.peak is not None and line.use(line.peak).text == "2 / 2 cpu"


def test_a_week_is_kept_and_a_little_more(record: Record) -> None:
    for days in (6, 7, 9):
        record.minute(days * 24 * 60, [8, 0, {}])
    assert forget_old_record() == 1
    assert QuotaMinute.objects.count() == 2
