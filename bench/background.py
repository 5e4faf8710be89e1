"""What the work beside steering costs: `python -m bench.background [--running 10000] [--waiting 1000] [--changes 10]`.

A new SQLite database with a mirror that has been watched for a week: one user has most of the jobs. The tasks of
forecasts, starts, chances of being stopped, kept runs and Insights run as the beat has it, in simulated time: at first
until all is said of a cluster of which nothing was said yet, then for `--minutes`, while `--changes` jobs a minute end,
as many start, and as many are submitted. Prints processor time by task: of the first attach, and a minute later on;
the longest run of each; and the longest time that one of their transactions kept others from writing. `--learn`: so
many jobs are learned from before (a model in force makes forecasts dearer); what training takes is told apart.
"""

import argparse
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bench.background_data import Mirror, fill

WRITES = ("INSERT", "UPDATE", "DELETE")
MOST_ROUNDS_S = 3 * 3600
"""So long the first attach is waited for, in simulated time."""


@dataclass
class Costs:
    """Of one task, in seconds."""

    runs: int = 0
    spent: float = 0.0
    longest: float = 0.0
    locked: float = 0.0
    queries: int = 0


@dataclass
class Beat:
    """Simulated time: a task that takes long makes the next ones late, as in one worker."""

    mirror: Mirror
    tasks: dict[str, tuple[float, Callable[[], Any]]]
    every_s: float
    now: float
    due: dict[str, float] = field(default_factory=dict)
    costs: dict[str, Costs] = field(default_factory=lambda: defaultdict(Costs))
    changed_at: float = 0.0
    _real: float = 0.0

    def __post_init__(self) -> None:
        self.due = dict.fromkeys(self.tasks, self.now)
        self.changed_at = self.now + self.every_s

    def read_clock(self) -> float:
        """Simulated seconds."""
        return self.now + (time.perf_counter() - self._real if self._real else 0.0)

    def run_until(self, end: float, done: Callable[[], bool] | None = None) -> None:
        """Run what is due, in turn, until a moment, or until `done` says so after a round."""
        while True:
            name = min(self.due, key=lambda each: self.due[each])
            if max(self.now, self.due[name]) >= end or (done is not None and done()):
                return
            self.now = max(self.now, self.due[name])
            while self.changed_at <= self.now:
                self.mirror.go_on(self.changed_at)
                self.changed_at += self.every_s
            self._run(name)
            # What has waited for longer than its interval is sent again and not twice.
            every = self.tasks[name][0]
            while self.due[name] <= self.now:
                self.due[name] += every

    def _run(self, name: str) -> None:
        costs, watched = self.costs[name], Watched()
        before, self._real = time.process_time(), time.perf_counter()
        with watched.watching():
            self.tasks[name][1]()
        self.now, self._real = self.read_clock(), 0.0
        spent = time.process_time() - before
        costs.runs, costs.spent, costs.longest = (
            costs.runs + 1,
            costs.spent + spent,
            max(costs.longest, spent),
        )
        costs.locked, costs.queries = max(costs.locked, watched.locked), max(costs.queries, watched.queries)


class Watched:
    """Sees for how long the database was kept from others: a transaction of SQLite does it from its beginning, as the
    settings have it. By the processor's time: other work on this machine is none of theirs."""

    def __init__(self) -> None:
        self.locked, self.queries, self._since = 0.0, 0, 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        from django.db import connection

        committed, begun = connection._commit, connection._start_transaction_under_autocommit  # noqa: SLF001

        def begin() -> None:
            begun()
            self._since = time.process_time()

        def commit() -> Any:
            result = committed()
            self._note()
            return result

        setattr(connection, "_commit", commit)  # noqa: B010
        setattr(connection, "_start_transaction_under_autocommit", begin)  # noqa: B010
        try:
            with connection.execute_wrapper(self._executed):
                yield
        finally:
            setattr(connection, "_commit", committed)  # noqa: B010
            setattr(connection, "_start_transaction_under_autocommit", begun)  # noqa: B010

    def _executed(self, execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        self.queries += 1
        alone = not self._since and sql.startswith(WRITES)
        if alone:
            self._since = time.process_time()
        result = execute(sql, parameters, many, context)
        if alone:
            self._note()
        return result

    def _note(self) -> None:
        if self._since:
            self.locked = max(self.locked, time.process_time() - self._since)
            self._since = 0.0


def run(asked: argparse.Namespace) -> None:
    """Fill, attach, go on."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from console.core import clock

    began = time.time()
    mirror = fill(asked.running, asked.waiting, asked.changes, asked.days, began)
    if asked.learn:
        _learn(mirror, asked.learn)
    beat = Beat(mirror, _tasks(), 60 / asked.changes if asked.changes else float("inf"), began)
    setattr(time, "monotonic", beat.read_clock)  # noqa: B010 - of this process, for the measurement
    setattr(clock, "now", lambda: datetime.fromtimestamp(beat.read_clock(), UTC))  # noqa: B010
    beat.run_until(began + MOST_ROUNDS_S, lambda: _all_is_said(asked.running))
    print(f"first attach: all was said after {beat.now - began:.0f} s\n")
    _print(beat.costs, 1.0, "in all")
    beat.costs.clear()
    attached = beat.now
    beat.run_until(attached + 60 * asked.minutes)
    minutes = (beat.now - attached) / 60
    print(f"\n{minutes:.1f} minutes later on, {asked.changes} changes a minute\n")
    _print(beat.costs, minutes, "a minute")


def _learn(mirror: Mirror, count: int) -> None:
    """Train a model on the last jobs that have ended; the others come back afterwards."""
    from console.forecasts.learning import learn
    from console.forecasts.models import KeptRun

    first = KeptRun.objects.order_by("-pk").values_list("pk", flat=True)[count - 1 : count].first() or 0
    older = list(KeptRun.objects.filter(pk__lt=first))
    KeptRun.objects.filter(pk__lt=first).delete()
    before = time.process_time()
    made = learn(mirror.cluster)
    spent = time.process_time() - before
    told = (
        f"in force: {made.in_force}, {made.figure:.3f} to {made.figure_medians:.3f}" if made else "no model"
    )
    print(f"learning from {count} jobs: {spent:.1f} s of a core ({told})\n", flush=True)
    KeptRun.objects.bulk_create(older, batch_size=2_000)


def _all_is_said(running: int) -> bool:
    from console.cluster.models import Job
    from console.forecasts.models import JobForecast
    from console.starts.models import ExpectedStart, StopChance

    said = JobForecast.objects.filter(ended_at=None)
    return (
        said.count() >= Job.objects.exclude(phase="ended").count()
        and said.filter(start__isnull=False).count() >= running
        and ExpectedStart.objects.filter(gone_at=None).exists()
        and StopChance.objects.exists()
    )


def _tasks() -> dict[str, tuple[float, Callable[[], Any]]]:
    """Those of forecasts, starts and Insights with their intervals, but for those that forget or train."""
    from console.settings.history import FORECAST_SCHEDULE, HISTORY_SCHEDULE

    return {
        each["task"]: (each["schedule"], _task(each["task"]))
        for each in (*FORECAST_SCHEDULE.values(), *HISTORY_SCHEDULE.values())
        if each["task"].split(".")[0] in {"forecasts", "insights"} and "forget" not in each["task"]
        and each["task"] != "forecasts.train"
    }  # fmt: skip


def _task(name: str) -> Callable[[], Any]:
    from console.celery import app

    app.loader.import_default_modules()
    return app.tasks[name]


def _print(costs: dict[str, Costs], minutes: float, per: str) -> None:
    print(f"| task | runs | seconds of a core {per} | longest run, s | longest lock, ms | most queries |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, each in sorted(costs.items()):
        print(
            f"| {name} | {each.runs} | {each.spent / minutes:.2f} | {each.longest:.2f} | {1000 * each.locked:.0f} "
            f"| {each.queries} |"
        )
    print(f"| all | | {sum(each.spent for each in costs.values()) / minutes:.2f} | | | |", flush=True)


def main() -> None:
    """Read the arguments; a database of its own, thrown away afterwards."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, usual in (
        ("running", 10_000), ("waiting", 1_000), ("changes", 10), ("minutes", 10), ("days", 7), ("learn", 10_000),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="giveway-bench-") as home:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "console.settings.local",
            "LOG_LEVEL": "WARNING",
            "GIVEWAY_HOME": home,
        }
        run(asked)


if __name__ == "__main__":
    main()
