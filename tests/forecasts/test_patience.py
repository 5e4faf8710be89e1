"""Patience: nobody is stopped for a job that is forecast to start by itself in time; once, and not beyond it."""

from typing import Any

import pytest

from console.forecasts.forecaster import Forecaster
from console.forecasts.models import FinishedSource, KeptRun
from console.steering.backoff import foresee
from console.steering.facts import partition_policies
from console.steering.models import Patience
from scheduler.model.jobs import JobState
from tests.steering.conftest import START, Sim


def habit(sim: Sim, run_s: int, user: str = "ann", cpus: int = 8, times: int = 60) -> None:
    """Jobs of a user that have all run so long."""
    KeptRun.objects.bulk_create(
        KeptRun(
            cluster=sim.cluster, job_id=f"{900_000 + n}", user=user, name=f"{user}_job", partition="x",
            submit=START - 100_000 + n * 600, start=START - 100_000 + n * 600,
            end=START - 100_000 + n * 600 + run_s + n % 3, nodes=1, cpus=cpus, gpus=0,
            limit_s=None, source=FinishedSource.ACCOUNTING,
        )
        for n in range(times)
    )  # fmt: skip


def forecast(sim: Sim) -> None:
    """A round of the forecaster, after a look of the cycle."""
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    known.forecast_jobs()


def stops(sim: Sim, low: str) -> int:
    return sim.port.job(low).restarts if low in sim.port.state.jobs else 0


@pytest.mark.parametrize(("patience_s", "stopped"), [(0, 1), (5, 1), (60, 0)])
def test_nobody_is_stopped_for_a_job_that_starts_by_itself_in_time(
    sim: Sim, patience_s: int, stopped: int
) -> None:
    sim.policy(patience_s=patience_s)
    habit(sim, run_s=20)
    low = sim.running("ann", 8, run_time_s=20)
    forecast(sim)
    urgent = sim.submit("cy", 6, run_time_s=300)
    sim.cycles(3)
    assert stops(sim, low) == stopped
    sim.cycles(30)
    assert sim.state(urgent) is JobState.RUNNING


def test_the_decision_says_when_it_starts_and_what_said_so_is_kept(sim: Sim) -> None:
    sim.policy(patience_s=60)
    habit(sim, run_s=20)
    sim.running("ann", 8, run_time_s=20)
    forecast(sim)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    row = sim.row(urgent)
    assert (row.verdict, row.reason) == ("wait", "starts_soon")
    kept = Patience.objects.get()
    now = sim.port.observe().taken_at
    assert (kept.job_id, kept.partition, kept.version) == (urgent, "x", "")
    assert now - 5 <= kept.since <= now < kept.at <= now + 60


def test_a_start_that_does_not_come_is_waited_for_once(sim: Sim) -> None:
    """Each forecast is renewed when it has passed: without an end to its patience the job would wait for ever."""
    sim.policy(patience_s=70)
    habit(sim, run_s=20)
    low = sim.running("ann", 8, run_time_s=100_000)
    forecast(sim)
    urgent = sim.submit("cy", 6)
    sim.cycles(65)
    assert stops(sim, low) == 0
    sim.cycles(15)
    assert stops(sim, low) == 1
    assert sim.state(urgent) is JobState.RUNNING
    sim.cycle()
    assert not Patience.objects.exists()


def test_a_job_that_left_is_patient_again_when_it_comes_back_under_its_number(sim: Sim) -> None:
    sim.policy(patience_s=60)
    habit(sim, run_s=20)
    sim.running("ann", 8, run_time_s=20)
    forecast(sim)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    assert Patience.objects.filter(job_id=urgent).exists()
    sim.port.cancel(urgent)
    sim.cycles(2)
    assert not Patience.objects.exists()


def test_an_impatient_partition_asks_nothing_about_forecasts(
    sim: Sim, django_assert_num_queries: Any
) -> None:
    sim.policy()
    sim.cycle()
    policies = [each.policy for each in partition_policies(sim.cluster).values()]
    with django_assert_num_queries(0):
        assert not foresee(sim.cluster, policies).ends
