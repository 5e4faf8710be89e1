"""Liveness, readiness and the worker's pulse."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from console.cluster.models import Cluster
from console.core import clock
from console.health import selectors
from console.steering.failures import Streak, written
from console.steering.models import CycleMeter
from tests.e2e.processes import clean_environment, process, wait_until
from tests.factories import NOW
from tests.plugins.server_process import free_port
from tests.plugins.servers import PostgresServer


def get(path: str) -> tuple[int, dict[str, Any]]:
    answer = Client().get(path)
    return answer.status_code, answer.json()


def failing(words: str = "console/steering/ledger.py, line 88 (act): ValueError: odd") -> None:
    """A cycle has failed, and none has ended well since."""
    streaks = {"": Streak("", words, NOW)}
    CycleMeter.objects.update(failing=written(streaks))


def test_a_ready_console_tells_the_workers_pulse(house: Cluster) -> None:
    assert get("/readyz") == (
        200,
        {
            "status": "ok",
            "cycle_age_s": 3.0,
            "cycle_gap_s": {"p50": 2.0, "p99": 10.0, "longest": 9.5},
            "cycle": "ok",
            "good_cycle_age_s": 4.0,
            "observation_age_s": 5.0,
            "cluster": "dev",
            "observed": True,
        },
    )
    assert get("/livez") == (200, {"status": "ok"})
    assert get("/healthz/web") == (200, {"status": "ok"})
    status, told = get("/healthz/cycle")
    assert (status, told["status"]) == (200, "ok")


@pytest.mark.parametrize(("seconds", "late"), [(9, False), (11, True), (22, True)])
def test_a_late_worker_is_no_reason_to_take_the_pages_away(
    house: Cluster, monkeypatch: pytest.MonkeyPatch, seconds: int, late: bool
) -> None:
    """At a cycle age of 22 s it used to say ok."""
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(seconds=2 + seconds))
    status, told = get("/readyz")
    assert (status, told["status"], told["cycle"]) == (200, "ok", "late" if late else "ok")
    status, told = get("/healthz/cycle")
    assert (status, told["status"]) == ((503, "late") if late else (200, "ok"))


def test_a_clock_that_was_put_back_hides_no_worker_that_died(
    house: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For an hour after that hour it said ok, whatever became of the worker."""
    monkeypatch.setattr(clock, "now", lambda: NOW - timedelta(hours=1))
    status, told = get("/healthz/cycle")
    assert (status, told["status"]) == (503, "late")
    monkeypatch.setattr(clock, "now", lambda: NOW - timedelta(seconds=20))
    assert get("/healthz/cycle")[0] == 200, "the clocks of two machines"


@pytest.mark.parametrize(("every_s", "seconds", "late"), [(0.2, 11, True), (10, 29, False), (10, 31, True)])
def test_how_late_is_late_follows_the_cycles_own_interval(
    house: Cluster,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    every_s: float,
    seconds: int,
    late: bool,
) -> None:
    settings.GIVEWAY_CYCLE_S = every_s
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(seconds=2 + seconds))
    assert get("/healthz/cycle")[0] == (503 if late else 200)


def test_a_cluster_that_cannot_be_observed_for_a_moment_is_told_and_no_more(house: Cluster) -> None:
    Cluster.objects.update(fault="Unable to contact slurm controller")
    status, told = get("/readyz")
    assert (status, told["status"], told["observed"]) == (200, "ok", False)
    assert get("/healthz/cycle")[0] == 200


def test_a_cluster_that_cannot_be_observed_for_long_is_told_by_the_cycles_probe(house: Cluster) -> None:
    Cluster.objects.update(fault="Unable to contact slurm controller")
    CycleMeter.objects.update(ended_well_at=NOW - timedelta(seconds=6))
    status, told = get("/healthz/cycle")
    assert (status, told["status"]) == (503, "degraded")
    assert "slurm controller" not in str(told), "it may have names in it"
    status, told = get("/readyz")
    assert (status, told["cycle"]) == (200, "degraded")


def test_a_cycle_that_failed_is_told_by_both_and_the_pages_stay(house: Cluster) -> None:
    """They said ok while the cycle crashed every second."""
    failing()
    for path in ("/readyz", "/healthz/cycle"):
        status, told = get(path)
        assert (status, told["status"], told["cycle"]) == (503, "failed", "failed")
        assert told["reason"] == (
            "The cycle failed in console/steering/ledger.py, line 88 (act): ValueError."
        )
    assert get("/healthz/web")[0] == 200, "the pages are where it is seen, and where people resume"
    CycleMeter.objects.update(failing=written({"": Streak("", "x", NOW, holds=False)}))
    assert get("/readyz")[0] == 200


def test_before_the_first_cycle(db: None) -> None:
    status, told = get("/readyz")
    assert (status, told["cycle_age_s"], told["cycle"]) == (200, None, "late")
    assert get("/healthz/cycle")[0] == 503
    assert not Cluster.objects.exists()


def test_a_database_without_all_migrations_is_not_ready(house: Cluster) -> None:
    MigrationRecorder.Migration.objects.filter(app="steering").latest("name").delete()
    for path in ("/readyz", "/healthz/web"):
        status, told = get(path)
        assert (status, told["status"]) == (503, "unavailable")
        assert re.fullmatch(r"The database lacks \d+ migrations; run manage.py migrate\.", told["reason"])


def test_migrations_are_looked_at_once(
    house: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    get("/readyz")
    with django_assert_num_queries(4):
        get("/readyz")


@pytest.mark.parametrize("path", ["/readyz", "/healthz/cycle"])
def test_a_database_that_fails_meanwhile(house: Cluster, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    def gone() -> None:
        raise OperationalError("the password is sesame")

    monkeypatch.setattr(selectors, "pulse", gone)
    status, told = get(path)
    assert (status, told) == (503, {"status": "unavailable", "reason": "The database does not answer."})


@pytest.mark.e2e
@pytest.mark.postgres
def test_a_real_database_that_goes_and_comes_back(tmp_path: Any) -> None:
    """One web server all the while: alive throughout, ready only while PostgreSQL answers."""
    import urllib.error
    import urllib.request

    from tests.e2e.processes import manage

    def status(path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=120) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    port = free_port()
    with PostgresServer() as postgres:
        env = clean_environment(DATABASE_URL=postgres.url, GIVEWAY_HOME=str(tmp_path))
        log = tmp_path / "web.log"
        gunicorn = ("-m", "gunicorn", "console.wsgi", f"--bind=127.0.0.1:{port}", "--threads=4")
        with process(*gunicorn, env=env, log=log):
            wait_until(lambda: status("/livez") == 200, "it is alive", 60, log)
            assert status("/readyz") == 503  # no table is there yet
            assert manage("migrate", "-v0", env=env).returncode == 0
            assert status("/readyz") == 200
            postgres.stop()
            assert status("/readyz") == 503
            assert status("/livez") == 200
            postgres.start()
            wait_until(lambda: status("/readyz") == 200, "it is ready again", 60, log)
