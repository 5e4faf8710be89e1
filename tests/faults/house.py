"""The whole house as real processes, each started again when it dies, as a service manager does."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from scheduler.adapters.simulator import stored
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal
from scheduler.adapters.simulator.state import What
from scheduler.adapters.simulator.stored import StoredSimulator
from scheduler.model.jobs import Request
from tests.e2e.processes import ROOT, clean_environment, manage, wait_until
from tests.faults.oracle import Line
from tests.faults.worlds import POLICY
from tests.plugins.migrated import copy_migrated_sqlite

STARTED_AGAIN_S = 1.0
CELERY = ("-m", "celery", "-A", "console")
ROLES: dict[str, tuple[str, ...]] = {
    "worker": (*CELERY, "worker", "--queues=steer", "--concurrency=1", "--loglevel=WARNING"),
    "beat": (*CELERY, "beat", "--loglevel=WARNING"),
    "embedded": ("manage.py", "worker"),
    "steer": ("manage.py", "steer"),
}
SEED = """
import json, sys
from console.cluster.connect import configured_cluster
from console.partitions.services import activate_policy, ensure_partition
row = ensure_partition(cluster=configured_cluster(), name="x")
activate_policy(actor="dave", partition=row, document=json.loads('''%s'''), reason="Test.",
                based_on=row.revision.number if row.revision else None)
"""
PLANS = "SELECT id, job_id, state, outcome FROM steering_plan"
STOPS = (
    "SELECT job_id, run_start, run_restarts FROM steering_plannedaction"
    " WHERE kind IN ('requeue_hold', 'cancel', 'recover') AND attempts > 0"
)
OPEN = {"proposed", "approved", "executing"}


@dataclass
class House:
    """A console with a database of its own, over a simulated cluster that keeps a record."""

    home: Path
    env: dict[str, str]
    policy: dict[str, Any] = field(default_factory=lambda: {**POLICY, "grace_s": 1})
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.port = StoredSimulator(self.home / "simulator-dev.json", "empty", name="dev")
        self.port.record_path.touch()

    def prepare(self) -> None:
        """The policy; tables too, if the database is an SQLite file (others have them)."""
        url = self.env["DATABASE_URL"]
        if url.startswith("sqlite"):
            copy_migrated_sqlite(Path(url.removeprefix("sqlite:///")))
        self.seed()

    def seed(self) -> None:
        """The policy."""
        seeded = manage("shell", "-v0", "-c", SEED % json.dumps(self.policy), env=self.env)
        assert seeded.returncode == 0, seeded.stderr

    def start(self, name: str, role: str, fault: str = "") -> None:
        """Start a process; `fault`: at which point it dies, once. `keep` starts it again."""
        self.roles[name] = role
        armed = {"GIVEWAY_FAULT": fault, "GIVEWAY_FAULT_LOG": str(self.home / f"{name}.points")}
        with (self.home / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, *ROLES[role]],
                cwd=ROOT,
                env={**self.env, **(armed if fault else {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def keep(self) -> None:
        """Start again what has died, a moment later."""
        for name, process in list(self.running.items()):
            if process.poll() is None:
                continue
            since = self.ended.setdefault(name, time.monotonic())
            if time.monotonic() - since >= STARTED_AGAIN_S:
                del self.ended[name]
                self.deaths[name] += 1
                self.start(name, self.roles[name])

    def kill(self, name: str) -> None:
        """As the kernel does when memory runs out."""
        self.running[name].kill()

    def until(self, done: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
        """Wait, keeping all processes alive."""

        def kept() -> bool:
            self.keep()
            return done()

        logs = sorted(self.home.glob("*.log"), key=lambda path: path.stat().st_mtime)
        wait_until(kept, f"{what} ({self.ask(PLANS)})", seconds, logs[-1] if logs else None)

    def stop(self) -> None:
        """End everything, with what it has started."""
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    # --- users ---

    def submit(self, name: str, user: str, cpus: int, run_time_s: int | None = None) -> str:
        """Queue a job on x."""
        request = Request(nodes=1, per_node={"cpu": cpus})
        spec = JobSpec(
            name, user, request, ("x",), run_time_s=run_time_s, on_signal=OnSignal.IGNORE, completing_s=1
        )
        return self.port.submit(spec)

    def lines(self, what: What, job: str) -> list[Line]:
        """The cluster's record of one kind of happening to a job; but for a line in the middle of being written."""
        whole = self.port.record_path.read_text().rpartition("\n")[0]
        lines = (Line(**json.loads(line)) for line in whole.splitlines())
        return [line for line in lines if line.what == what and line.job == job]

    def has(self, what: What, job: str, times: int = 1) -> Callable[[], bool]:
        """Whether something has happened to a job (the cluster's clock goes on by being looked at)."""

        def happened() -> bool:
            with self.port.opened():
                pass
            return len(self.lines(what, job)) >= times

        return happened

    # --- judging ---

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """What the database says, asked without the console."""
        url = self.env["DATABASE_URL"]
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60)) as connection:
                return connection.execute(query).fetchall()
        with psycopg.connect(url) as server:
            return server.execute(query.encode()).fetchall()

    def settle(self, seconds: float = 120.0) -> None:
        """Wait until every plan is over."""
        self.until(
            lambda: not any(plan[2] in OPEN for plan in self.ask(PLANS)), "every plan is over", seconds
        )

    def judge(self, victims: list[str]) -> tuple[list[str], list[str], list[str]]:
        """Double stops, lost plans, stuck jobs; `victims` may have been stopped once each."""
        self.settle()
        written = set(self.ask(STOPS))
        with self.port.opened() as cluster:
            stuck = [f"{job.id} is held ({job.held})" for job in cluster.state.jobs.values() if job.held]
        double = []
        for job in victims:
            stops = self.lines(What.STOPPED, job)
            double += [f"{job} was stopped {len(stops)} times"] if len(stops) > 1 else []
            double += [f"{line.run} was never named" for line in stops if line.run not in written]
        lost = [f"plan {plan}" for plan in self.ask(PLANS) if plan[2] not in {"verified", "undone"}]
        verify = manage("audit", "verify", env=self.env)
        lost += [] if verify.returncode == 0 else [verify.stderr]
        return double, lost, stuck


@contextmanager
def house(home: Path, **env: str) -> Iterator[House]:
    """A house whose processes are gone afterwards."""
    home.mkdir(exist_ok=True)
    env.setdefault("DATABASE_URL", f"sqlite:///{home / 'giveway.sqlite3'}")
    environment = clean_environment(
        DJANGO_SETTINGS_MODULE="console.settings.test",
        GIVEWAY_HOME=str(home),
        GIVEWAY_SCENARIO="empty",
        LOG_LEVEL="WARNING",
        **env,
    )
    built = House(home, environment)
    with pytest.MonkeyPatch.context() as patch:
        # The test is one of several who take turns at the cluster's file: it waits, where a worker's cycle gives up.
        patch.setattr(stored, "LOCK_WAIT_S", 300.0)
        try:
            built.prepare()
            yield built
        finally:
            built.stop()
