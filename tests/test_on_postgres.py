"""The tests of the foundations and of steering once more, on a real PostgreSQL.

By hand, for any tests: `python -m pytest -p tests.plugins.on_postgres tests/steering`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugins.servers import PostgresServer

ROOT = Path(__file__).parents[1]
FOLDERS = ("accounts", "audit", "config", "partitions", "projects", "steering")
TIMEOUT_S = 400


@pytest.mark.postgres
@pytest.mark.timeout(TIMEOUT_S + 20)
def test_the_foundations_hold_on_postgresql(postgres_server: PostgresServer) -> None:
    """Without those tests that run on both databases anyway."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugins.on_postgres", "-p", "no:cacheprovider"]
    # Hours of contention and a script of Slurm's say nothing more on another database.
    command += ["-m", "not postgres", "-k", "not sqlite and not no_thrash and not submit_script"]
    command += [f"tests/{folder}" for folder in FOLDERS]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "DATABASE_URL": postgres_server.url},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    assert "database: postgresql" in done.stdout
