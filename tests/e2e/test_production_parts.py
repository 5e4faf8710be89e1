"""The same code on PostgreSQL and Redis, with Celery's own worker and beat as processes."""

from pathlib import Path

import psycopg
import pytest

from tests.e2e.processes import clean_environment, manage, process, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.postgres, pytest.mark.redis]


def test_beat_and_worker_steer_over_postgresql_and_redis(
    migrated_postgres_url: str, redis_url: str, tmp_path: Path
) -> None:
    env = clean_environment(
        DATABASE_URL=migrated_postgres_url, REDIS_URL=redis_url, GIVEWAY_HOME=str(tmp_path / "home")
    )
    seeded = manage("shell", "-v0", "-c", "from console.launch.demo import seed; print(seed())", env=env)
    assert "True" in seeded.stdout, seeded.stderr
    worker_log, beat_log = tmp_path / "worker.log", tmp_path / "beat.log"
    celery = ("-m", "celery", "-A", "console")
    with (
        process(*celery, "worker", "--queues=celery,steer", "--concurrency=1", env=env, log=worker_log),
        process(*celery, "beat", env=env, log=beat_log),
    ):
        wait_until(
            lambda: _verified_plans(migrated_postgres_url) > 0, "a plan is carried out", 90, worker_log
        )
    assert "Traceback" not in worker_log.read_text()
    verify = manage("audit", "verify", env=env)
    assert verify.returncode == 0, verify.stderr


def test_the_production_settings_pass_djangos_own_check(postgres_url: str, tmp_path: Path) -> None:
    env = clean_environment(
        DJANGO_SETTINGS_MODULE="console.settings.production",
        SECRET_KEY="k8s-" + "x7Qz-" * 12,
        ALLOWED_HOSTS="giveway.example.org",
        DATABASE_URL=postgres_url,
        REDIS_URL="redis://127.0.0.1:1/0",
        GIVEWAY_HOME=str(tmp_path),
    )
    result = manage("check", "--deploy", "--fail-level", "WARNING", env=env)
    assert result.returncode == 0, result.stderr
    assert "no issues" in result.stdout + result.stderr


def test_the_production_settings_have_no_insecure_defaults(tmp_path: Path) -> None:
    """What each of them takes: tests/security/test_attacks/test_09_weak_settings.py."""
    env = clean_environment(DJANGO_SETTINGS_MODULE="console.settings.production", GIVEWAY_HOME=str(tmp_path))
    result = manage("check", env=env)
    assert result.returncode != 0
    assert "DATABASE_URL is not set" in result.stderr


def _verified_plans(url: str) -> int:
    """Asked without the console, whose start would take from the processes that are waited for."""
    with psycopg.connect(url) as server:
        row = server.execute("SELECT count(*) FROM steering_plan WHERE state = 'verified'").fetchone()
    assert row is not None
    return int(row[0])
