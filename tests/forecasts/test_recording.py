"""Finished jobs: from the cycles, from accounting, once each."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.cluster.models import Cluster
from console.forecasts import recording
from console.forecasts.models import AccountingRead, KeptRun
from console.forecasts.recording import AGAIN, PORTION_S, forget_old_history, keep_accounted, keep_seen
from scheduler.model.finished import FinishedRun, FinishedRuns
from tests.steering.conftest import START, Sim

HOUR = 3600


def run(job_id: str, end: int, **fields: object) -> FinishedRun:
    """A run of ten minutes on one CPU."""
    known = {
        "user": "ann", "account": "lab", "name": "train", "partition": "x", "qos": "normal", "submit": end - 700,
        "start": end - 600, "nodes": 1, "cpus": 1, "gpus": 0, "memory_mb": 100,
    }  # fmt: skip
    return FinishedRun(job_id=job_id, end=end, **{**known, **fields})  # type: ignore[arg-type]


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> list[FinishedRun]:
    """What slurmdbd has; asked for a span, it answers with what ended in it."""
    runs: list[FinishedRun] = []

    def read(row: Cluster, since: int, until: int) -> FinishedRuns:
        return FinishedRuns(kept=True, runs=tuple(run for run in runs if since <= run.end < until))

    monkeypatch.setattr(recording, "read_finished", read)
    return runs


def test_a_job_that_the_cycles_saw_end_is_kept_once_with_its_request(sim: Sim) -> None:
    sim.policy()
    job = sim.running("ann", 4, run_time_s=20, time_limit_s=HOUR)
    sim.cycle()
    sim.port.advance(30)
    sim.cycle()
    assert keep_seen(sim.cluster) == 1
    assert keep_seen(sim.cluster) == 0
    kept = KeptRun.objects.get()
    assert (kept.job_id, kept.user, kept.cpus, kept.gpus, kept.nodes) == (job, "ann", 4, 0, 1)
    assert (kept.limit_s, kept.source) == (HOUR, "cycles")
    assert kept.submit <= kept.start < kept.end


def test_a_job_that_was_stopped_and_went_on_is_not_learned_from(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8, run_time_s=60)
    sim.submit("cy", 6, run_time_s=10)
    sim.cycles(40)
    sim.cycles(20, every_s=10)
    assert low not in sim.port.state.jobs
    keep_seen(sim.cluster)
    assert [kept.user for kept in KeptRun.objects.all()] == ["cy"]


def test_accounting_is_read_on_from_where_it_ended_and_the_last_minutes_again(
    sim: Sim, account: list[FinishedRun]
) -> None:
    account.append(run("1", START - HOUR))
    assert keep_accounted(sim.cluster) is not None
    # slurmdbd hears of this end only later.
    account.append(run("2", START - 60))
    sim.port.advance(30)
    keep_accounted(sim.cluster)
    assert sorted(KeptRun.objects.values_list("job_id", flat=True)) == ["1", "2"]
    account.append(run("3", START - int(AGAIN.total_seconds()) - HOUR))
    keep_accounted(sim.cluster)
    assert not KeptRun.objects.filter(job_id="3").exists()


def test_a_reading_that_fails_keeps_what_was_read_and_goes_on_there(
    sim: Sim, account: list[FinishedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    account += [run("1", START - 3 * PORTION_S), run("2", START - PORTION_S // 2)]
    read, asked = recording.read_finished, []  # type: ignore[attr-defined]

    def failing(row: Cluster, since: int, until: int) -> FinishedRuns:
        asked.append((since, until))
        return (
            FinishedRuns(kept=True, fault="slurmdbd is away") if len(asked) == 29 else read(row, since, until)
        )

    monkeypatch.setattr(recording, "read_finished", failing)
    stuck = keep_accounted(sim.cluster)
    assert stuck is not None
    assert (stuck.fault, stuck.until) == ("slurmdbd is away", asked[-1][0])
    assert KeptRun.objects.count() == 1
    whole = keep_accounted(sim.cluster)
    assert whole is not None
    assert asked[29][0] == stuck.until - AGAIN.total_seconds()
    assert (whole.fault, whole.until, KeptRun.objects.count()) == ("", int(sim.port.now), 2)


def test_a_reading_that_takes_long_goes_on_in_the_next_round(sim: Sim, account: list[FinishedRun]) -> None:
    account += [run("1", START - 29 * PORTION_S), run("2", START - HOUR)]
    first = keep_accounted(sim.cluster, within_s=0)
    second = keep_accounted(sim.cluster, within_s=0)
    assert first is not None and second is not None
    assert second.until == first.until + PORTION_S - AGAIN.total_seconds()
    assert KeptRun.objects.get().job_id == "1"
    while (read := keep_accounted(sim.cluster, within_s=0)) and read.until < sim.port.now:
        pass
    assert KeptRun.objects.count() == 2


def test_what_is_kept_is_not_read_again(sim: Sim, django_assert_num_queries: Any) -> None:
    sim.policy()
    for _ in range(3):
        sim.running("ann", 1, run_time_s=20)
    sim.cycle()
    sim.port.advance(60)
    sim.cycle()
    assert keep_seen(sim.cluster) == 3
    with django_assert_num_queries(2):
        assert keep_seen(sim.cluster) == 0


def test_a_longer_past_is_imported_by_command_with_its_progress(sim: Sim, account: list[FinishedRun]) -> None:
    account += [run("1", START - 90 * PORTION_S), run("2", START - HOUR)]
    out = StringIO()
    call_command("history", "import", "--since", "2023-08-01", stdout=out)
    assert KeptRun.objects.count() == 2
    lines = out.getvalue().splitlines()
    assert len(lines) == 106
    assert lines[-1].endswith("2 jobs kept")
    with pytest.raises(CommandError, match="is not in the past"):
        call_command("history", "import", "--since", "2024-08-01")


def test_a_cluster_without_accounts_says_so(sim: Sim) -> None:
    assert keep_accounted(sim.cluster) is None
    assert not AccountingRead.objects.exists()
    with pytest.raises(CommandError, match="keeps no accounts"):
        call_command("history", "import", "--since", "2023-08-01")


def test_history_is_forgotten_when_it_is_old(sim: Sim, account: list[FinishedRun], settings: object) -> None:
    account += [run("1", START - 20 * PORTION_S), run("2", START - HOUR)]
    keep_accounted(sim.cluster)
    settings.GIVEWAY_FORECAST_DAYS = 10  # type: ignore[attr-defined]
    assert forget_old_history() == 1
    assert KeptRun.objects.get().job_id == "2"
