"""The command of a job: asked for once, kept with its forecast and its run, and forecast by."""

import logging

import pytest

from console.cluster import connect
from console.forecasts import forecaster
from console.forecasts.forecaster import Forecaster
from console.forecasts.learning import ended_job
from console.forecasts.models import JobForecast, KeptRun
from console.forecasts.recording import keep_seen
from scheduler.adapters.slurm import commanded
from scheduler.adapters.slurm.errors import SlurmUnavailableError
from tests.steering.conftest import Sim


def test_it_is_asked_for_once_and_kept_with_the_run(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def read(row: object, job_ids: list[str]) -> dict[str, str]:
        asked.append(job_ids)
        return dict.fromkeys(job_ids, "train.sh")

    monkeypatch.setattr(forecaster, "read_commands", read)
    sim.policy()
    job = sim.running("ann", 4, run_time_s=20, time_limit_s=3600)
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    for _ in range(2):
        known.forecast_jobs()
    assert [ids for ids in asked if ids] == [[job]]
    assert JobForecast.objects.get().command == "train.sh"
    sim.port.advance(30)
    sim.cycle()
    keep_seen(sim.cluster)
    kept = KeptRun.objects.get()
    assert kept.command == ended_job(kept).facts.command == "train.sh"
    # The one that was said of the run is of the same command, too.
    known.forecast_jobs()
    assert {facts.command for facts, _ in known._leaving.values()} == {"train.sh"}


def test_a_slurm_that_does_not_answer_leaves_commands_unknown(
    sim: Sim, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*arguments: object, **options: object) -> dict[str, str]:
        raise SlurmUnavailableError("no slurmdbd")

    monkeypatch.setattr(commanded, "look", away)
    assert connect.read_commands(sim.cluster, ["7"]) == {}
    sim.cluster.kind = "slurm"
    with caplog.at_level(logging.WARNING):
        assert connect.read_commands(sim.cluster, ["7"]) == {}
    assert "no slurmdbd" in caplog.text
