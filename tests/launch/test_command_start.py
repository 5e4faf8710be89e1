"""What a command loads before it does anything: a cycle in the foreground needs no pages, no API and no Celery."""

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


def test_celery_finds_the_application_of_a_package_that_has_not_loaded_it(tmp_path: Path) -> None:
    done = run(FIND_APP, tmp_path)

    assert done.returncode == 0, done.stderr
