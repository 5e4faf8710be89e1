"""A console with something in every figure."""

from datetime import timedelta

import pytest

from console.cluster.models import Cluster
from console.core import clock
from console.health import selectors
from console.notices.models import Notice
from console.steering import metrics
from console.steering.models import CycleMeter, Pause, SteeringMinute
from tests.factories import (
    NOW,
    make_action,
    make_cluster,
    make_cycle,
    make_job,
    make_partition,
    make_plan,
    make_running_job,
)


@pytest.fixture(autouse=True)
def migrations_are_asked_for() -> None:
    selectors.forget_migrations()


@pytest.fixture
def house(db: None, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Seen 5 s ago; two plans, one of them open; one stop that worked and one that did not; x is paused."""
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(seconds=5))
    cluster = make_cluster(attempted_at=NOW + timedelta(seconds=2), cycle=7)
    for name in ("x", "y"):
        make_partition(cluster, name)
    over = make_plan(make_cycle(cluster), "100", state="verified")
    make_action(over, state="verified", issued_at=NOW)
    make_action(over, "signal", state="verified", issued_at=NOW)
    make_action(make_plan(make_cycle(cluster, 2), "101", state="executing"), job_id="89", state="failed")
    make_running_job(cluster, "90", user_level_name="P1", task_level_name="P0")
    for number in range(3):
        make_job(cluster, f"20{number}", user_level_name="P0", verdict="queue", reason="over_quota_held")
    make_job(cluster, "300", phase="ended", ended_at=NOW)
    Pause.objects.create(cluster=cluster, partition="x", since=NOW, by="dave")
    Notice.objects.create(
        kind="stopped", key="k", user="ann", cluster="dev", partition="x", job_id="88", plan=over.pk,
        text="Stopped.", made_at=NOW, hook_due=NOW,
    )  # fmt: skip
    SteeringMinute.objects.create(
        cluster=cluster, minute=int(NOW.timestamp()) // 60 - 1, source="steering", gaps={"2": 9, "10": 1},
        longest_s=9.5, requests={"queue": 10, "nodes": 10},
        answer_s=6.0, limited=3,
    )  # fmt: skip
    CycleMeter.objects.create(
        cluster=cluster,
        degraded=2,
        failed=1,
        ended_well_at=NOW + timedelta(seconds=1),
        phases={
            "observe": metrics.observe(None, 0.3, metrics.PHASE_BUCKETS),
            metrics.SUBMIT_TO_START: {"x": metrics.observe(None, 7.0, metrics.START_BUCKETS)},
            metrics.WORK: {"x": {"lost": {"cpu": 800.0, "gpu": 5.0}, "saved": {"cpu": 100.0}}},
            metrics.COUNTED: {"starts": [], "stops": []},
        },
    )
    return cluster
