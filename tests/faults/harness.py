"""Playing a story again and again, with a death at every step of it."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.e2e.processes import ROOT, clean_environment
from tests.faults.oracle import Verdict
from tests.faults.worlds import Stage
from tests.plugins.migrated import copy_migrated_sqlite

KILLED = -9


@dataclass
class Told:
    """How a story went: how each process ended, which points were reached in order, and what was lost."""

    folder: Path
    ends: list[int] = field(default_factory=list)
    points: list[str] = field(default_factory=list)
    verdict: Verdict = field(default_factory=Verdict)

    @property
    def deaths(self) -> int:
        """Processes that were killed."""
        return self.ends.count(KILLED)

    @property
    def log(self) -> str:
        """What the processes said."""
        path = self.folder / "log"
        return path.read_text()[-3000:] if path.exists() else ""


class Harness:
    """Tells stories in folders below `home`. One process answers (see `steerer`), and forks the others."""

    def __init__(self, home: Path, shared: Path) -> None:
        self.home = home
        self._shared = shared
        self._count = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        env = clean_environment(
            DJANGO_SETTINGS_MODULE="console.settings.test", GIVEWAY_HOME=str(self.home), LOG_LEVEL="ERROR"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.steerer"],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            try:
                self._process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()

    def ask(self, **request: Any) -> dict[str, Any]:
        """One request to the forking process, and its answer."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        if request.get("do") == "build" and answer.get("status") != 0:
            raise AssertionError((Path(request["folder"]) / "log").read_text())
        return answer

    def undisturbed(self, world: str) -> tuple[str, ...]:
        """The points of a story in which nothing goes wrong, in the order in which they are first reached."""

        def tell(file: Path) -> None:
            told = self.tell(world)
            assert (told.ends, bool(told.verdict)) == ([0], False), (told.verdict, told.log)
            file.write_text(json.dumps(list(dict.fromkeys(told.points))))

        return tuple(json.loads(self._once(f"{world}.points", tell).read_text()))

    def _once(self, name: str, make: Callable[[Path], None]) -> Path:
        """What one of the test processes makes for all of them."""
        made = self._shared / name
        with (self._shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                begun = made.with_suffix(".begun")
                make(begun)
                begun.rename(made)
        return made

    def _built(self, world: str) -> Path:
        """The folder in which a story has not begun."""

        def build(folder: Path) -> None:
            folder.mkdir()
            copy_migrated_sqlite(folder / "giveway.sqlite3")
            self.ask(do="build", folder=str(folder), worlds=[world])
            Stage(folder, world).begin()

        return self._once(f"template-{world}", build)

    def stage(self, world: str) -> Path:
        """A new folder in which the story has not begun."""
        self._count += 1
        folder = self.home / f"{world}-{self._count}"
        shutil.copytree(self._built(world), folder)
        return folder

    def tell(self, world: str, faults: Sequence[str] = (), asleep_s: int = 3, **more: Any) -> Told:
        """The whole story: a process for each fault, which dies of it, and one that comes to the end.

        `asleep_s`: how long nobody steers after a death.
        """
        told = Told(self.stage(world))
        common = {"do": "steer", "folder": str(told.folder), "world": world, **more}
        for number, fault in enumerate(faults):
            told.ends.append(self.ask(fault=fault, asleep_s=asleep_s * bool(number), **common)["status"])
            if told.ends[-1] != KILLED:
                break
        if told.deaths == len(faults):
            told.ends.append(self.ask(fault="", asleep_s=asleep_s * bool(faults), **common)["status"])
        return self.judged(told, world)

    def interrupted(self, world: str, point: str) -> Told:
        """A process is paused at `point` until its lease has run out and another one has come to the end."""
        told = Told(self.stage(world))
        common = {"folder": str(told.folder), "world": world}
        paused = self.ask(do="steer", fault=f"{point}:1:STOP", **common)
        if not paused.get("stopped"):
            told.ends.append(paused["status"])
            return self.judged(told, world)
        self.ask(do="expire", **common)
        told.ends.append(self.ask(do="steer", **common)["status"])
        os.kill(paused["pid"], signal.SIGCONT)
        told.ends.append(self.ask(wait=paused["pid"])["status"])
        return self.judged(told, world)

    def crowd(self, world: str, size: int = 2, **more: Any) -> Told:
        """Several processes steer at once."""
        told = Told(self.stage(world))
        common = {"do": "steer", "folder": str(told.folder), "world": world, "fault": "", **more}
        pids = [self.ask(later=True, **common)["pid"] for _ in range(size)]
        told.ends += [self.ask(wait=pid)["status"] for pid in pids]
        return self.judged(told, world)

    def judged(self, told: Told, world: str) -> Told:
        """What was lost; the folder is removed when that is nothing."""
        answer = self.ask(do="judge", folder=str(told.folder), world=world)
        assert answer["status"] == 0, told.log
        told.verdict = Verdict(**json.loads((told.folder / "verdict").read_text()))
        points = told.folder / "points"
        lines = points.read_text().splitlines() if points.exists() else []
        told.points = [line for line in lines if not line.endswith(" struck")]
        for end in told.ends:
            if end == 3:
                told.verdict.lost_plans.append("it did not come to an end")
            elif end not in (0, KILLED):
                told.verdict.lost_plans.append(f"a process ended with status {end}: {told.log}")
        if not told.verdict:
            shutil.rmtree(told.folder)
        return told
