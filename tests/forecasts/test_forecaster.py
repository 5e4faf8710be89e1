"""What a round of forecasts costs: what has changed since the last, some at a time; and what it holds in memory."""

import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from console.cluster.models import Cluster, Job, JobPhase
from console.forecasts import forecaster
from console.forecasts.forecaster import Forecaster
from console.forecasts.models import JobForecast
from tests.steering.conftest import Sim

DAY = 24 * 3600


def test_a_round_in_which_nothing_has_changed_asks_little_and_writes_nothing(sim: Sim) -> None:
    sim.policy()
    for _ in range(3):
        sim.running("bob", 1, time_limit_s=DAY, run_time_s=DAY)
    for _ in range(3):
        sim.submit("ann", 8)
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    assert known.forecast_jobs() == 6
    before = list(JobForecast.objects.order_by("pk").values())
    Cluster.objects.update(version=F("version") + 1)
    known.forecast_jobs()

    with CaptureQueriesContext(connection) as asked:
        known.refresh()
        assert known.forecast_jobs() == 0

    assert len(asked) <= 3
    assert not any('FROM "cluster_job"' in query["sql"] for query in asked)
    assert list(JobForecast.objects.order_by("pk").values()) == before


def test_only_what_has_changed_is_read_and_written(sim: Sim) -> None:
    sim.policy()
    for _ in range(6):
        sim.running("bob", 1, time_limit_s=DAY, run_time_s=DAY)
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    known.forecast_jobs()
    before = {row["job_id"]: row for row in JobForecast.objects.values()}
    fresh = sim.running("bob", 1, time_limit_s=DAY, run_time_s=DAY)
    sim.cycle()

    assert known.forecast_jobs() == 1

    after = {row["job_id"]: row for row in JobForecast.objects.values()}
    assert {job_id for job_id in after if after[job_id] != before.get(job_id)} == {fresh}


def test_what_does_not_fit_into_a_round_has_its_turn_in_the_next(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecaster, "PORTION", 2)
    monkeypatch.setattr(forecaster, "BUDGET_S", 0.0)
    sim.policy()
    for _ in range(5):
        sim.running("bob", 1, time_limit_s=DAY, run_time_s=DAY)
    sim.cycle()
    known = Forecaster(sim.cluster)
    rounds = [known.forecast_if_due() for _ in range(4)]
    assert rounds == [2, 2, 1, None], "the last one has left nothing over"
    said = list(JobForecast.objects.order_by("pk").values_list("job_id", flat=True))
    assert said == sorted(said, key=int) and len(said) == 5

    sim.port.advance(DAY // 2)
    assert known.forecast_if_due() is None, "an end that is due waits for the next round"
    known.duty.took_s = 0.0
    again = [known.forecast_if_due() for _ in range(4)]
    assert again == [2, 2, 1, None]
    assert set(JobForecast.objects.values_list("renewed", flat=True)) == {sim.port.now}


@pytest.mark.parametrize("fails", ["update_rows", "read_commands"])
def test_a_round_that_fails_is_made_up_for_by_the_next(
    sim: Sim, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    sim.policy()
    runs = sim.running("bob", 1, time_limit_s=DAY, run_time_s=DAY)
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    known.forecast_jobs()
    sim.submit("ann", 8)
    sim.port.advance(3600)
    sim.cycle()
    with monkeypatch.context() as patch:
        patch.setattr(forecaster, fails, failing)
        with pytest.raises(OperationalError):
            known.forecast_jobs()

    known.forecast_jobs()

    assert JobForecast.objects.count() == 2
    assert JobForecast.objects.get(job_id=runs).renewed == sim.port.now


def failing(*_: object) -> None:
    raise OperationalError("database is locked")


def test_a_job_that_was_gone_and_is_there_again_goes_on_with_its_forecast(sim: Sim) -> None:
    sim.policy()
    runs = sim.running("bob", 1, time_limit_s=DAY, run_time_s=DAY)
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    known.forecast_jobs()
    mine = Job.objects.filter(job_id=runs)
    said = {}
    for phase in (JobPhase.ENDED, JobPhase.RUNNING):
        mine.update(phase=phase)
        Cluster.objects.update(version=F("version") + 1)
        said[phase] = known.forecast_jobs()
        assert (JobForecast.objects.get().ended_at is None) is (phase == JobPhase.RUNNING)
    assert said[JobPhase.RUNNING] == 2, "it is there again, and when it ends is said anew"
    assert known.forecast_jobs() == 0


def test_a_process_that_begins_anew_knows_who_runs_and_what_was_said(sim: Sim) -> None:
    sim.policy()
    runs = [sim.running("bob", 1, time_limit_s=DAY, run_time_s=DAY) for _ in range(3)]
    sim.cycle()
    first = Forecaster(sim.cluster)
    first.refresh()
    first.forecast_jobs()
    first.forecast_jobs()

    anew = Forecaster(sim.cluster)
    anew.refresh()
    assert anew.forecast_jobs() == 0

    facts = [forecaster._size_facts(row) for row in JobForecast.objects.all()]
    assert len(runs) == len(facts)
    for each in facts:
        both = [known.model.history.look(each).context.tolist() for known in (first, anew)]
        assert both[0] == both[1] and both[0][0] == 3
