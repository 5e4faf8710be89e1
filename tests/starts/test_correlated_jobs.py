"""Who runs longer or shorter than forecast together, read from what was forecast of jobs that are over."""

from datetime import timedelta
from typing import Any

import pytest

from console.core import clock
from console.forecasts.models import JobForecast
from console.starts.correlated_jobs import read_correlated_jobs
from console.starts.queue_replay import read_queue_replay
from scheduler.forecast.draws import USUAL, Bond
from tests.starts.test_expecting import now, sure_end, watched
from tests.steering.conftest import Sim

__all__ = ["watched"]

ANN = ("ann", None, 1, 8, 0)
RUNS = {"p10": 400.0, "p50": 1000.0, "p90": 3000.0, "low": 200.0, "high": 6000.0}


def over(sim: Sim, user: str, count: int, **changed: Any) -> None:
    """Jobs of one user that waited together and failed within a minute, of which far more was forecast."""
    values = {"partition": "x", "nodes": 1, "cpus": 8, "gpus": 0, "ran_s": 40, "ended_at": clock.now()}
    JobForecast.objects.bulk_create(
        JobForecast(
            cluster=sim.cluster, job_id=f"{user}-{number}", submit=now() - 600, user=user,
            made_at=clock.now(), **RUNS, **(values | changed),
        )
        for number in range(count)
    )  # fmt: skip


def test_those_who_wait_and_run_are_played_as_what_is_over_shows(sim: Sim) -> None:
    runs = sim.running("ann", 8, time_limit_s=3600)
    waits = sim.submit("ann", 8, time_limit_s=3600)
    unknown = sim.submit("bob", 8, time_limit_s=600)
    sim.cycle()
    sure_end(sim, runs, 1200)
    sure_end(sim, waits, 1200)
    over(sim, "ann", 200)

    queue = read_queue_replay(sim.cluster).queue

    alike = {job.id: job.alike for job in queue.waiting}
    assert [job.alike for job in queue.running] == [alike[waits]]
    told = alike[waits]
    assert told is not None and told.kind == ANN and told.strength > 0.9
    assert alike[unknown] is None


@pytest.mark.parametrize(
    "changed",
    [{"ran_s": None}, {"ended_at": None}, {"submit": 0}],
    ids=["not counted", "still there", "one after the other"],
)
def test_nothing_is_learned_of_what_says_nothing(sim: Sim, changed: dict[str, Any]) -> None:
    over(sim, "ann", 200)
    if "submit" in changed:
        for number, row in enumerate(JobForecast.objects.all()):
            row.submit = now() - 60 * (200 - number)
            row.ended_at = clock.now() - timedelta(seconds=60 * (199 - number))
            row.save()
    else:
        JobForecast.objects.update(**changed)
    assert read_correlated_jobs(sim.cluster).together.of(ANN) == Bond(ANN, USUAL)


def test_two_queries_tell_it(sim: Sim, django_assert_num_queries: Any) -> None:
    over(sim, "ann", 20)
    with django_assert_num_queries(2):
        assert read_correlated_jobs(sim.cluster).together.of(ANN).strength > USUAL
