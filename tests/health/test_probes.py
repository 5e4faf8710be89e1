"""Liveness, readiness and the worker's pulse."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from console.cluster.models import Cluster
from console.core import clock
from console.health import selectors
from tests.e2e.processes import clean_environment, process, wait_until
from tests.factories import NOW
from tests.plugins.server_process import free_port
from tests.plugins.servers import PostgresServer


def get(path: str) -> tuple[int, dict[str, Any]]:
    answer = Client().get(path)
    return answer.status_code, answer.json()


def test_a_ready_console_tells_the_workers_pulse(house: Cluster) -> None:
    assert get("/readyz") == (
        200,
        {
            "status": "ok",
            "cycle_age_s": 3.0,
            "cycle": "ok",
            "observation_age_s": 5.0,
            "cluster": "dev",
            "observed": True,
        },
    )
    assert get("/livez") == (200, {"status": "ok"})
    status, told = get("/healthz/cycle")
    assert (status, told["status"]) == (200, "ok")


@pytest.mark.parametrize(("seconds", "late"), [(39, False), (41, True)])
def test_a_late_worker_is_no_reason_to_take_the_pages_away(
    house: Cluster, monkeypatch: pytest.MonkeyPatch, seconds: int, late: bool
) -> None:
    """Ten cycles of a second, and a look that takes its whole 30 s."""
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(seconds=2 + seconds))
    status, told = get("/readyz")
    assert (status, told["status"], told["cycle"]) == (200, "ok", "late" if late else "ok")
    status, told = get("/healthz/cycle")
    assert (status, told["status"]) == ((503, "late") if late else (200, "ok"))


def test_how_late_is_late_follows_the_settings(house: Cluster, settings: Settings) -> None:
    settings.GIVEWAY_CYCLE_S = 0.2
    settings.GIVEWAY_SLURM_TIMEOUT_S = 0.5
    assert get("/healthz/cycle")[0] == 503


def test_a_cluster_that_cannot_be_observed_is_told_and_no_more(house: Cluster) -> None:
    Cluster.objects.update(fault="Unable to contact slurm controller")
    status, told = get("/readyz")
    assert (status, told["status"], told["observed"]) == (200, "ok", False)
    assert get("/healthz/cycle")[0] == 200


def test_before_the_first_cycle(db: None) -> None:
    status, told = get("/readyz")
    assert (status, told["cycle_age_s"], told["cycle"]) == (200, None, "late")
    assert get("/healthz/cycle")[0] == 503
    assert not Cluster.objects.exists()


def test_a_database_without_all_migrations_is_not_ready(house: Cluster) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'steering' AND name LIKE '0003%'")
    assert get("/readyz") == (
        503,
        {"status": "unavailable", "reason": "The database lacks 1 migrations; run manage.py migrate."},
    )


def test_migrations_are_looked_at_once(
    house: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    get("/readyz")
    with django_assert_num_queries(2):
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
@pytest.mark.timeout(300)
def test_a_real_database_that_goes_and_comes_back(tmp_path: Any) -> None:
    """One web server all the while: alive throughout, ready only while PostgreSQL answers."""
    import urllib.error
    import urllib.request

    from tests.e2e.processes import manage

    def status(path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
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
            before = time.monotonic()
            assert status("/readyz") == 503
            assert time.monotonic() - before < 15
            assert status("/livez") == 200
            postgres.start()
            wait_until(lambda: status("/readyz") == 200, "it is ready again", 60, log)
