"""Adding up late, and forgetting: a past that was never summed, and sums that are old."""

from datetime import timedelta

import pytest

from console.core import clock
from console.history.models import PartitionMinute
from console.insights.answers import step_of
from console.insights.models import PartitionDay
from console.insights.summing import KEPT, forget_old_sums, sum_up
from tests.steering.conftest import Sim

pytestmark = pytest.mark.django_db


def test_a_past_that_was_never_summed_is_caught_up_day_by_day(sim: Sim) -> None:
    """Of jobs that the mirror has forgotten, waits come from the record of minutes."""
    sim.policy()
    sim.cycle()
    sim.cluster.refresh_from_db()
    now = clock.now().replace(second=0, microsecond=0)
    for days in (20, 19, 2):
        PartitionMinute.objects.create(
            cluster=sim.cluster, partition="x", at=now - timedelta(days=days), axis="user",
            running={"0": 3, "none": 1}, started={"0": [2, 240]},
        )  # fmt: skip
    sum_up(sim.cluster)
    old, older, young = PartitionDay.objects.filter(job_minutes__gt=0).order_by("day")
    assert [row.job_minutes for row in (old, older, young)] == [4, 4, 4]
    assert old.waits == older.waits == {"0": [0] * step_of(120) + [2]}
    assert young.waits == {}, "the mirror would know that job"


def test_sums_are_forgotten_when_they_are_old(sim: Sim) -> None:
    today = clock.today()
    for days in (1, KEPT.days + 1):
        PartitionDay.objects.create(cluster=sim.cluster, partition="x", day=today - timedelta(days=days))
    assert forget_old_sums() == 1
    assert [row.day for row in PartitionDay.objects.all()] == [today - timedelta(days=1)]
