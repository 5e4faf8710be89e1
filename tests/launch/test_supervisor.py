"""The small process that keeps an embedded installation running: order, restarts, signals, and nothing of Django."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from console.launch.supervisor import Launch
from tests.e2e.processes import ROOT, children_of, wait_until

SLEEPS = ["-c", "import time; time.sleep(600)"]
BECOMES = """
import json, sys
from console.launch.supervisor import Launch, become_supervisor
become_supervisor(Launch(**json.loads(sys.argv[1])))
"""


@contextmanager
def supervised(launch: Launch, **streams: Any) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", BECOMES, json.dumps(asdict(launch))]
    with subprocess.Popen(command, cwd=ROOT, text=True, start_new_session=True, **streams) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def writes(path: Path, *, then: str = "") -> list[str]:
    """A process that says that it was there."""
    return ["-c", f"open({str(path)!r}, 'a').write('x')\n{then}"]


def test_who_is_killed_is_started_again_and_all_end_with_it(tmp_path: Path) -> None:
    started = tmp_path / "started"
    workers = {"one": SLEEPS, "other": writes(started, then=SLEEPS[1])}
    with supervised(Launch(workers=workers, farewell="Stopped."), stdout=subprocess.PIPE) as process:
        wait_until(lambda: started.exists() and len(children_of(process.pid)) == 2, "both run", 60)
        (other,) = [
            pid
            for pid in children_of(process.pid)
            if str(started) in Path(f"/proc/{pid}/cmdline").read_text()
        ]
        os.kill(other, signal.SIGKILL)
        wait_until(lambda: started.read_text() == "xx", "it was started again", 60)
        left = children_of(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(60) == 0
        assert process.stdout is not None and process.stdout.read() == "\nStopped.\n"
    assert not [pid for pid in left if Path(f"/proc/{pid}").exists()]


def test_all_end_when_it_is_killed(tmp_path: Path) -> None:
    started = tmp_path / "started"
    with supervised(Launch(workers={"one": writes(started, then=SLEEPS[1])})) as process:
        wait_until(started.exists, "it runs", 60)
        left = children_of(process.pid)
        process.kill()
    wait_until(lambda: not [pid for pid in left if Path(f"/proc/{pid}").exists()], "it has ended", 60)


@pytest.mark.parametrize("killed", [False, True], ids=["at once", "killed the first time"])
def test_workers_wait_for_the_past(tmp_path: Path, killed: bool) -> None:
    """A first cycle before it would be in the middle of it."""
    past, worker = tmp_path / "past", tmp_path / "worker"
    kills = f"import os, time\nif open({str(past)!r}).read() == 'x': os.kill(os.getpid(), 9)\n"
    waits = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.02)"
    launch = Launch(
        past=writes(past, then=(kills if killed else "") + waits),
        workers={"worker": writes(worker, then=SLEEPS[1])},
    )
    with supervised(launch) as process:
        wait_until(lambda: past.exists() and past.read_text() == ("xx" if killed else "x"), "it is made", 60)
        assert not worker.exists()
        (tmp_path / "go").touch()
        wait_until(worker.exists, "the worker runs", 60)
        process.terminate()
        assert process.wait(60) == 0
    assert past.read_text() == ("xx" if killed else "x")


def test_it_waits_without_asking(tmp_path: Path) -> None:
    started = tmp_path / "started"
    with supervised(Launch(workers={"one": writes(started, then=SLEEPS[1])})) as process:
        wait_until(started.exists, "it runs", 60)
        wait_until(lambda: _sleeps(process.pid), "it sleeps", 60)
        before = _switches(process.pid)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        assert _switches(process.pid) == before
        process.terminate()
        process.wait(60)


def test_it_loads_no_django() -> None:
    loads = "import sys, console.launch.supervisor; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", loads], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"django", "celery", "structlog", "urllib.request", "asyncio"}.isdisjoint(done.stdout.split())


def test_what_ends_again_and_again_ends_it(tmp_path: Path) -> None:
    launch = Launch(workers={"worker": ["-c", "raise SystemExit(3)"]})
    with supervised(launch, stderr=subprocess.PIPE) as process:
        assert process.wait(300) == 1
        assert process.stderr is not None
        said = process.stderr.read()
    assert said.endswith("CommandError: The worker ended by itself with status 3; see its messages above.\n")
    assert said.count("started again") == 5


def _sleeps(pid: int) -> bool:
    return "State:\tS" in Path(f"/proc/{pid}/status").read_text()


def _switches(pid: int) -> str:
    """How often it has given up the processor by itself: whoever waits for something wakes for it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("voluntary_ctxt_switches"))
