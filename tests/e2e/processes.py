"""Real processes of the console for the end-to-end tests: started on free ports, ended by pid, bounded in time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEAST_S = 300
OURS = (
    "GIVEWAY_",
    "DJANGO_ALLOW_ASYNC_UNSAFE",
    "DATABASE_URL",
    "REDIS_URL",
    "DJANGO_SETTINGS_MODULE",
    "SLURM_CONF",
    "PORT",
    "PYTEST",
)


def clean_environment(**values: str) -> dict[str, str]:
    """A newcomer's environment: nothing of the test run's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, **values}


@contextmanager
def process(*argv: str, env: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`python argv…` in the project's folder; ended at the end, however the block ends."""
    with log.open("wb") as out:
        child = subprocess.Popen(
            [sys.executable, *argv],
            cwd=ROOT,
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield child
        finally:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
                try:
                    child.wait(60)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()


def manage(*argv: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A management command, as typed."""
    return subprocess.run(
        [sys.executable, "manage.py", *argv], cwd=ROOT, env=env, capture_output=True, text=True, timeout=500
    )


def wait_until(done: Callable[[], bool], what: str, seconds: float, log: Path | None = None) -> None:
    """Poll until `done`; fails with the log's end. It has `LEAST_S` at least: a machine may be busy with ten others."""
    seconds = max(seconds, LEAST_S)
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            tail = log.read_text(errors="replace")[-3000:] if log else ""
            raise AssertionError(f"{what}: not within {seconds:.0f} s\n{tail}")
        time.sleep(0.2)


def children_of(pid: int) -> list[int]:
    """Pids of the living children of a process, from /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we were looking
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found
