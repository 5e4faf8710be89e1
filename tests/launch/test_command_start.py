"""What a command loads before it does anything: a cycle in the foreground needs no pages, no API and no Celery; the
worker that steers nothing of what others do, and the one that does that no pages."""

import json
import subprocess
import sys
from pathlib import Path

from tests.e2e.processes import ROOT, clean_environment
from tests.plugins.migrated import copy_migrated_sqlite

STEER = """
import json, os, sys
sys.argv = ["manage.py", "steer", "--once"]
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""
WORKER = """
import json, sys
from celery.apps.worker import Worker
from django.core.management import execute_from_command_line
Worker.start = lambda _worker: sys.exit(json.dumps(sorted(sys.modules)))
sys.argv = ["manage.py", "worker", "%s"]
execute_from_command_line(sys.argv)
"""
EXAMINE = """
import json, sys
import django
django.setup()
from console.health.doctor.run import examine
assert list(examine())
sys.exit(json.dumps(sorted(sys.modules)))
"""
PAGES = {"console.urls", "rest_framework.serializers", "requests", "cryptography", "psycopg"}
FIND_APP = """
import console, sys
loaded = "celery" in sys.modules
from celery.app.utils import find_app
app = find_app("console")
import django
django.setup()
from celery import current_app
import console.steering.tasks as tasks
assert not loaded
assert app.main == "giveway" and current_app._get_current_object() is app
app.loader.import_default_modules()
assert "steering.steer" in app.tasks and tasks.steer.app is app
"""
NOT_NEEDED = (
    "celery",
    "kombu",
    "console.urls",
    "console.celery",
    "rest_framework.views",
    "rest_framework.serializers",
    "requests",
    "urllib3",
    "cryptography",
    "psycopg",
    "ClusterShell",
    "prometheus_client",
)


def run(script: str, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    copy_migrated_sqlite(home / "giveway.sqlite3")
    env = clean_environment(DJANGO_SETTINGS_MODULE="console.settings.local", GIVEWAY_HOME=str(home), **more)
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300
    )


def test_one_cycle_loads_no_pages_no_api_and_no_celery(tmp_path: Path) -> None:
    done = run(STEER, tmp_path)

    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stderr))
    assert "console.steering.cycle" in loaded
    assert loaded.isdisjoint(NOT_NEEDED), loaded & set(NOT_NEEDED)


def loads(script: str, home: Path) -> set[str]:
    """All modules that are there at the end."""
    done = run(script, home)
    assert done.returncode == 1, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_the_worker_that_steers_loads_nothing_that_others_do(tmp_path: Path) -> None:
    loaded = loads(WORKER % "--steer", tmp_path)
    assert "console.steering.cycle" in loaded
    others = {
        "numpy",
        "smtplib",
        "console.forecasts.tasks",
        "console.setup.tasks",
        "console.launch.past.week",
    }
    assert loaded.isdisjoint(PAGES | others), loaded & (PAGES | others)


def test_the_worker_of_the_background_loads_no_pages(tmp_path: Path) -> None:
    loaded = loads(WORKER % "--background", tmp_path)
    assert {"console.forecasts.tasks", "console.setup.tasks"} <= loaded
    assert loaded.isdisjoint(PAGES), loaded & PAGES


def test_nor_does_the_doctor(tmp_path: Path) -> None:
    """It is examined every five minutes, in the worker of the background."""
    loaded = loads(EXAMINE, tmp_path)
    assert loaded.isdisjoint(PAGES), loaded & PAGES


def test_celery_finds_the_application_of_a_package_that_has_not_loaded_it(tmp_path: Path) -> None:
    done = run(FIND_APP, tmp_path)

    assert done.returncode == 0, done.stderr
