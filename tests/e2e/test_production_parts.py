"""The same code on PostgreSQL and Redis, with Celery's own worker and beat as processes."""

import json
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
import redis
from django.conf import settings

from tests.e2e.processes import ROOT, clean_environment, manage, process, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.postgres, pytest.mark.redis]


def typed(page: str, program: str) -> list[tuple[str, ...]]:
    """Celery's commands as the page has them, but that this interpreter runs them."""
    found = re.findall(rf"^(?:nice )?\.venv/bin/celery (.* {program}\b.*)$", page, re.MULTILINE)
    return [("-m", "celery", *shlex.split(each, comments=True)) for each in found]


def test_beat_and_worker_steer_over_postgresql_and_redis(
    migrated_postgres_url: str, redis_url: str, tmp_path: Path
) -> None:
    """The README's commands, typed: they steer, forecasts come, and every queue is served."""
    env = clean_environment(
        DATABASE_URL=migrated_postgres_url, REDIS_URL=redis_url, GIVEWAY_HOME=str(tmp_path / "home")
    )
    seeded = manage("shell", "-v0", "-c", "from console.launch.demo import seed; print(seed())", env=env)
    assert "True" in seeded.stdout, seeded.stderr
    page = (ROOT / "README.md").read_text()
    workers, beats = typed(page, "worker"), typed(page, "beat")
    assert (len(workers), len(beats)) == (3, 1)
    logs = [tmp_path / f"{number}.log" for number in range(4)]
    with ExitStack() as stack:
        for command, log in zip([*workers, *beats], logs, strict=True):
            stack.enter_context(process(*command, env=env, log=log))
        for what, query in (
            ("a plan is carried out", "SELECT count(*) FROM steering_plan WHERE state = 'verified'"),
            ("run times are forecast", "SELECT count(*) FROM forecasts_jobforecast"),
            ("starts are expected", "SELECT count(*) FROM starts_expectedstart"),
        ):
            wait_until(lambda: _count(migrated_postgres_url, query) > 0, what, 90, logs[0])  # noqa: B023
        assert _served(env) == {
            "steer": {"steer"},
            "background": {"celery", "forecasts"},
            "studies": {"studies"},
        }
        with redis.Redis.from_url(redis_url) as client:
            for queue in settings.GIVEWAY_QUEUES:
                wait_until(lambda: client.llen(queue) == 0, f"{queue} is emptied", 60, logs[1])  # noqa: B023
    assert not [log.read_text() for log in logs if "Traceback" in log.read_text()]
    verify = manage("audit", "verify", env=env)
    assert verify.returncode == 0, verify.stderr


def _served(env: dict[str, str]) -> dict[str, set[str]]:
    """The queues of each worker that answers."""
    command = [sys.executable, "-m", "celery", "-A", "console", "inspect", "active_queues", "--json"]
    done = subprocess.run(
        [*command, "--timeout", "20"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300
    )
    answer = json.loads(done.stdout)
    return {name.partition("@")[0]: {queue["name"] for queue in of} for name, of in answer.items()}


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


def _count(url: str, query: LiteralString) -> int:
    """Asked without the console, whose start would take from the processes that are waited for."""
    with psycopg.connect(url) as server:
        row = server.execute(query).fetchone()
    assert row is not None
    return int(row[0])
