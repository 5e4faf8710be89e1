"""`manage.py run` as a newcomer starts it: ready, preempting by itself, stopped by Ctrl-C, nothing left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from scheduler.adapters.simulator.demo import FIRST_JOB
from tests.e2e.processes import children_of, clean_environment, manage, process, wait_until
from tests.plugins.server_process import free_port

pytestmark = [pytest.mark.e2e]


def test_the_demo_preempts_by_itself_within_a_minute_and_stops_cleanly(tmp_path: Path) -> None:
    port = free_port()
    env = clean_environment(GIVEWAY_HOME=str(tmp_path / "home"), PORT=str(port))
    log = tmp_path / "run.log"
    with process("manage.py", "run", env=env, log=log) as run:
        wait_until(lambda: "Giveway is ready" in log.read_text(), "ready", 100, log)
        words = log.read_text()
        assert f"Giveway is ready at http://127.0.0.1:{port}\n" in words
        assert "giveway-demo" in words
        token = _token(port)
        # First the worker makes up the week before: some seconds' work, more where others are at work, too.
        wait_until(lambda: bool(_made_up(port, token)), "a past is made up", 120, log)
        wait_until(lambda: bool(_verified(port, token)), "a plan is carried out", 75, log)
        plan = _verified(port, token)[0]
        audit = _get(port, f"/api/v1/audit/?plan={plan['id']}", token)["results"]
        assert {"plan.proposed", "plan.verified"} <= {row["action"] for row in audit}
        assert plan["victims"]

        children = children_of(run.pid)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: the whole group gets it
        assert run.wait(180) == 0
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]
    assert log.read_text().endswith("\nStopped.\n")
    said = log.read_text()
    assert not [word for word in ("Traceback", "ERROR", "WARNING") if word in said], said[-6000:]
    verify = manage("audit", "verify", env=env)
    assert verify.returncode == 0, verify.stderr


def test_a_port_in_use_is_said_in_one_line(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "0"],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
    ) as other:
        try:
            assert other.stdout is not None
            port = other.stdout.readline().decode().split("port ")[1].split()[0]
            result = manage("run", env=clean_environment(GIVEWAY_HOME=str(tmp_path / "home"), PORT=port))
        finally:
            other.kill()
    assert result.returncode == 1
    assert (
        result.stderr.strip()
        == f"CommandError: Port {port} is in use; choose another one: PORT=8001 make run"
    )


@pytest.mark.parametrize("port", ["", "http", "0", "70000"])
def test_a_port_that_makes_no_sense_is_named(port: str, tmp_path: Path) -> None:
    result = manage("run", env=clean_environment(GIVEWAY_HOME=str(tmp_path), PORT=port))
    assert result.returncode == 1
    assert f"PORT is '{port}'" in result.stderr


def _token(port: int) -> str:
    body = json.dumps({"username": "admin", "password": "giveway-demo"}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/token/", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        token: str = json.load(answer)["token"]
        return token


def _get(port: int, path: str, token: str) -> dict:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Token {token}"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        loaded: dict = json.load(answer)
        return loaded


def _verified(port: int, token: str) -> list[dict]:
    """Plans of the running demonstration that were carried out, not those of its made-up past."""
    return [plan for plan in _plans(port, token) if _number(plan) >= FIRST_JOB]


def _made_up(port: int, token: str) -> list[dict]:
    return [plan for plan in _plans(port, token) if _number(plan) < FIRST_JOB]


def _plans(port: int, token: str) -> list[dict]:
    plans: list[dict] = _get(port, "/api/v1/plans/?state=verified", token)["results"]
    return plans


def _number(plan: dict) -> int:
    return int(plan["job_id"].partition("_")[0])


@pytest.mark.parametrize(
    ("database", "told"),
    [
        (
            "",
            r"The database \S+/giveway.sqlite3 is not of this version: \d+ migrations are missing\. Set GIVEWAY_HOME",
        ),
        ("postgres://nobody@127.0.0.1:1/none", r"The database does not answer: .*refused"),
    ],
)
def test_a_database_that_cannot_be_used_is_said_in_one_sentence(
    tmp_path: Path, database: str, told: str
) -> None:
    env = clean_environment(GIVEWAY_HOME=str(tmp_path), **({"DATABASE_URL": database} if database else {}))
    result = manage("audit", "verify", env=env)
    assert result.returncode == 1
    assert re.match(told, result.stderr), result.stderr
    assert "Traceback" not in result.stderr
