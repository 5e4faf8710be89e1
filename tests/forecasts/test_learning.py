"""Models of run times: in force only where they are better on jobs that they had not seen."""

import random

import pytest

from console.forecasts import learning
from console.forecasts.forecaster import Forecaster
from console.forecasts.learning import is_due, learn, learn_if_due, load
from console.forecasts.models import FinishedSource, JobForecast, KeptRun, RunTimeModel
from scheduler.forecast.facts import INNER
from tests.steering.conftest import START, Sim

DAY = 24 * 3600


def ended(sim: Sim, count: int, first: int = 0, seed: int = 1) -> None:
    """Two users with a habit each: what a job is called says how long it runs, about."""
    chance = random.Random(seed)
    rows = []
    for n in range(first, first + count):
        user, name = chance.choice([("ann", "train"), ("ann", "test"), ("bob", "sweep")])
        usual = {"train": 7200, "test": 90, "sweep": 1500}[name]
        submit = START - 30 * DAY + n * 1800
        run_s = int(usual * chance.lognormvariate(0, 0.2))
        rows.append(
            KeptRun(
                cluster=sim.cluster, job_id=str(900_000 + n), user=user, account="lab", name=name, partition="x",
                submit=submit, start=submit + 5, end=submit + 5 + run_s, nodes=1, cpus=4, gpus=0, limit_s=DAY,
                source=FinishedSource.ACCOUNTING,
            )
        )  # fmt: skip
    KeptRun.objects.bulk_create(rows)


def test_a_model_is_trained_compared_on_later_jobs_and_put_in_force(sim: Sim) -> None:
    ended(sim, 400)
    assert is_due(sim.cluster)
    made = learn_if_due(sim.cluster)
    assert made is not None
    assert made.later_jobs == 60
    assert made.figure > 0.7
    assert made.in_force is (made.figure > made.figure_medians)
    assert not is_due(sim.cluster)


def test_with_too_few_jobs_nothing_is_learned(sim: Sim) -> None:
    ended(sim, 60)
    assert not is_due(sim.cluster)
    assert learn(sim.cluster) is None
    assert not RunTimeModel.objects.exists()


@pytest.fixture
def better(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Who is told to be better, one after the other; the jobs that judged are real."""
    told: list[bool] = []
    real = learning.beats  # type: ignore[attr-defined]

    class Told:
        def __init__(self, verdict: object, wins: bool) -> None:
            self.candidate, self.in_force, self.median = verdict.candidate, verdict.in_force, verdict.median  # type: ignore[attr-defined]
            self.better = wins

    def judge(*arguments: object) -> Told:
        return Told(real(*arguments), told.pop(0))  # type: ignore[arg-type]

    monkeypatch.setattr(learning, "beats", judge)
    return told


def test_one_that_is_not_better_is_kept_with_its_figures_and_not_used(sim: Sim, better: list[bool]) -> None:
    better += [True, False]
    ended(sim, 300)
    first = learn(sim.cluster)
    ended(sim, 100, first=300, seed=2)
    second = learn(sim.cluster)
    assert first is not None
    assert second is not None
    assert second.figure_before is not None
    rows = dict(RunTimeModel.objects.values_list("pk", "in_force"))
    assert rows == {first.pk: True, second.pk: False}
    assert RunTimeModel.objects.get(pk=second.pk).body is None


def test_a_model_is_judged_only_on_jobs_that_the_one_in_force_was_not_told_of(
    sim: Sim, better: list[bool]
) -> None:
    better += [True, True]
    ended(sim, 300)
    learn(sim.cluster)
    ended(sim, 20, first=300)
    assert learn(sim.cluster) is None
    ended(sim, 40, first=320)
    made = learn(sim.cluster)
    assert made is not None
    assert made.later_jobs == 54
    assert RunTimeModel.objects.filter(in_force=True).get() == made
    assert RunTimeModel.objects.filter(body__isnull=False).count() == 1


def test_the_model_in_force_is_read_again_and_told_what_has_ended_since(sim: Sim, better: list[bool]) -> None:
    better.append(True)
    ended(sim, 300)
    row = learn(sim.cluster)
    assert row is not None
    before = len(load(row).history)
    ended(sim, 10, first=300)
    assert len(load(row).history) == before + 10
    known = Forecaster(sim.cluster)
    known.refresh()
    assert known.version == row.version
    ended(sim, 5, first=310)
    known.refresh()
    assert len(known.model.history) == before + 15


def test_a_body_that_is_not_as_it_was_written_is_refused(sim: Sim, better: list[bool]) -> None:
    better.append(True)
    ended(sim, 300)
    row = learn(sim.cluster)
    assert row is not None
    row.body = None
    with pytest.raises(ValueError, match="is gone"):
        load(row)


def test_every_job_is_forecast_once_and_compared_with_the_truth(sim: Sim) -> None:
    sim.policy()
    ended(sim, 200)
    waiting = [sim.submit("bob", 4, name="sweep", time_limit_s=DAY, run_time_s=100) for _ in range(3)]
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    assert known.forecast_jobs() >= 3
    assert known.forecast_jobs() == 0
    said = JobForecast.objects.get(job_id=waiting[2])
    assert 1000 < said.p50 < 2200
    assert said.low <= said.p10 <= said.p50 <= said.p90 <= said.high
    assert said.end_p50 is None
    assert said.end_inner == []
    assert said.inner == sorted(said.inner)
    assert len(said.inner) == len(INNER)
    sim.port.advance(2)
    sim.cycle()
    known.forecast_jobs()
    runs = JobForecast.objects.get(job_id=waiting[0])
    assert runs.start is not None
    assert runs.end_low is not None
    assert runs.end_p50 is not None
    assert runs.end_p80 is not None
    assert runs.start < runs.end_low <= runs.end_p50 <= runs.end_p80
    assert len(runs.end_inner) == len(INNER)
    assert runs.start < runs.end_inner[0] <= runs.end_inner[-1]


def test_an_end_that_has_passed_is_said_anew(sim: Sim) -> None:
    sim.policy()
    ended(sim, 200)
    job = sim.running("bob", 4, name="sweep", time_limit_s=DAY, run_time_s=DAY)
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    known.forecast_jobs()
    first = JobForecast.objects.get(job_id=job)
    sim.port.advance(3000)
    sim.cycle()
    assert known.forecast_jobs() == 1
    later = JobForecast.objects.get(job_id=job)
    assert first.end_p50 is not None
    assert later.end_p50 is not None
    assert first.end_p50 < sim.port.now < later.end_p50
    assert (later.p50, later.made_at) == (first.p50, first.made_at)


def test_what_was_forecast_is_compared_when_the_end_is_told_and_forgotten_by_the_model(sim: Sim) -> None:
    sim.policy()
    ended(sim, 200)
    job = sim.running("ann", 4, name="test", time_limit_s=DAY, run_time_s=100)
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    known.forecast_jobs()
    sim.port.advance(120)
    sim.cycle()
    known.forecast_jobs()
    assert JobForecast.objects.get(job_id=job).ran_s is None
    row = JobForecast.objects.get(job_id=job)
    KeptRun.objects.create(
        cluster=sim.cluster, job_id=job, user="ann", partition="x", submit=row.submit, start=row.start or 0, nodes=1,
        end=(row.start or 0) + 100, cpus=4, gpus=0, source=FinishedSource.ACCOUNTING,
    )  # fmt: skip
    known.refresh()
    known.forecast_jobs()
    assert JobForecast.objects.get(job_id=job).ran_s == 100
    sim.port.advance(2 * 3600)
    known.forecast_jobs()
    assert not known.model._waiting
    assert not known.model.history._running
