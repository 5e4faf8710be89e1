"""A noisy line to a real Slurm while plans are carried out: no job is lost, stopped twice, or held for ever.

The short form spoils some tens of answers, the long one (`make test-faults`) a thousand per command. Judged by Slurm's
own queue and restart counts, and by what was written down.
"""

import os
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pytest_django import Settings

from console.cluster.connect import connect, connect_anew, forget_adapters
from console.partitions.models import Partition
from console.steering.models import OPEN_STATES, STOP_KINDS, Pause, Plan, PlannedAction
from console.steering.pausing import resume
from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.model.actions import Action, ActionKind
from scheduler.model.jobs import JobState
from tests.e2e.slurm_driver import SLEEP, Driver
from tests.faults.conftest import LONG
from tests.faults.garbling import Line
from tests.faults.tally import Row, note

AT_LEAST = 1000 if LONG else 25
"""Answers to be spoilt, of each program that plans are made with."""
LEAST = 5
PROGRAMS = ("squeue", "scontrol", "scancel")
AT_MOST_S = float(os.environ.get("GIVEWAY_GARBLED_S", "2700" if LONG else "90"))
BUSY_S = 5 * AT_MOST_S
REST_S = float(os.environ.get("GIVEWAY_GARBLED_REST_S", "900"))
"""A release is tried again after up to 5 minutes."""
SEED = int(os.environ.get("GIVEWAY_FAULTS_SEED", "11"))
FIGURES = os.environ.get("GIVEWAY_GARBLED_FIGURES", "")
LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
ONE_CPU = ("-p", "x", "-n", "1", "-c", "1")
NAIVE = "#!/bin/bash\necho ready\nexec sleep 100000\n"
"""Is ended by its checkpoint signal."""
URGENT = "#!/bin/bash\nsleep 2\n"
VICTIMS = 8
WAITING = 4
FEWEST_STOPS = 2 if LONG else 1

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release(always=True),
    pytest.mark.e2e,
    pytest.mark.timeout(BUSY_S + REST_S + 120),
]


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    """A line that is quiet at first."""
    line = Line(SEED)

    def run(runner: CommandRunner, program: str, *arguments: str, timeout_s: float | None = None) -> object:
        return line.run(runner, program, *arguments, timeout_s=timeout_s)

    monkeypatch.setattr(CommandRunner, "run", run)
    return line


@pytest.fixture
def driver(
    db: None, clean_slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    """A console attached to the private Slurm."""
    settings.GIVEWAY_CLUSTER = "slurm"
    for name, value in clean_slurm.env.items():
        monkeypatch.setenv(name, value)
    forget_adapters()
    yield Driver(clean_slurm)
    forget_adapters()


@dataclass
class Story:
    """Low jobs that never end fill a node; urgent ones come and go all the time."""

    driver: Driver
    line: Line
    low: dict[str, str] = field(default_factory=dict)
    urgent: list[str] = field(default_factory=list)
    coming: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    cycles: int = 0
    catching: list[Action] = field(default_factory=list)

    def begin(self) -> None:
        self.driver.policy(
            "x",
            mode="user",
            levels=LEVELS,
            user_overrides={"ann": "P3", "cy": "P0"},
            grace_s=1,
            checkpoint_signal="USR1",
        )
        for number in range(VICTIMS):
            name = f"low{number}"
            script = SLEEP if number % 2 else NAIVE
            self.low[name] = self.driver.running("ann", name, *ONE_CPU, script=script)

    def cycle(self) -> None:
        """One cycle as the worker runs it: what raises is counted, and the next one comes all the same."""
        self.cycles += 1
        try:
            self.driver.steer()
        except Exception as error:  # noqa: BLE001 - the worker goes on too; a test of its own says what may raise
            frames = traceback.extract_tb(error.__traceback__)
            ours = [
                f"{Path(f.filename).name}:{f.lineno}" for f in frames if "site-packages" not in f.filename
            ]
            self.raised[f"{type(error).__name__}: {error} at {' '.join(ours[-3:])}"] += 1
        for pause in Pause.objects.filter(cluster=self.driver.cluster):
            # What was paused by itself, somebody resumes.
            partition = Partition.objects.filter(name=pause.partition).first()
            resume(actor="dave", cluster=self.driver.cluster, partition=partition, reason="Go on.")

    def urge(self) -> None:
        """When all low jobs are back, urgent ones come, one after the other."""
        states = self.driver.slurm.states()
        self.urgent = [job for job in self.urgent if job in states]
        if not self.urgent:
            self.coming = WAITING * (list(states.values()).count("RUNNING") >= VICTIMS - 1)
        if self.coming:
            self.coming -= 1
            self.urgent.append(str(self.driver.slurm.submit("cy", "-J", "urgent", *ONE_CPU, script=URGENT)))

    def knock(self) -> None:
        """One more signal for each job that catches it, as plans send them: a plan sends only one in its life."""
        if self.cycles % 20 == 1:
            self.line.noisy = False
            jobs = connect_anew(self.driver.cluster).observe().jobs
            catching = {job for name, job in self.low.items() if int(name[-1]) % 2}
            self.catching = [
                Action(ActionKind.SIGNAL, job.run, "USR1")
                for job in jobs
                if job.id in catching and job.state is JobState.RUNNING
            ]
            self.line.noisy = True
        for action in self.catching:
            assert len(connect(self.driver.cluster).apply([action])) == 1

    def noise(self) -> None:
        """Until enough answers were spoilt, or the time is up; on a busy machine for as long as the least takes."""
        self.line.noisy = True
        begun = time.monotonic()
        while not self.is_enough():
            spent = time.monotonic() - begun
            if spent > BUSY_S or (spent > AT_MOST_S and self.has_least()):
                break
            self.urge()
            self.cycle()
            self.knock()
        self.line.noisy = False

    def has_least(self) -> bool:
        """Without which the test has shown nothing."""
        spoilt = all(self.line.by_program[program] >= LEAST for program in PROGRAMS)
        return spoilt and self.stops() >= FEWEST_STOPS

    def is_enough(self) -> bool:
        if any(self.line.by_program[program] < AT_LEAST for program in PROGRAMS):
            return False
        return self.stops() >= FEWEST_STOPS

    def stops(self) -> int:
        """How often low jobs were stopped, as Slurm counts."""
        restarts = self.driver.restarts()
        return sum(restarts[name] for name in self.low)

    def rest(self) -> float:
        """Nobody comes any more, and the line is quiet: everything has to come to its end. How long that takes."""
        begun = time.monotonic()
        while not self.is_at_rest() and time.monotonic() < begun + REST_S:
            self.cycle()
            time.sleep(0.3)
        return time.monotonic() - begun

    def is_at_rest(self) -> bool:
        states = self.driver.slurm.states()
        return all(states.get(job) == "RUNNING" for job in self.low.values()) and not self.left()

    # --- judging ---

    def lost(self) -> list[str]:
        """Low jobs that are not in the queue any more: they never end by themselves."""
        states = self.driver.slurm.states()
        return [name for name, job in self.low.items() if states.get(job) not in {"RUNNING", "PENDING"}]

    def held(self) -> list[str]:
        return [line for line in self.driver.slurm.squeue("%i %r") if "held" in line.lower()]

    def history(self, held: list[str]) -> str:
        """What was done to jobs that are held, to find out why."""
        ids = [line.split()[0] for line in held]
        actions = PlannedAction.objects.filter(job_id__in=ids).order_by("job_id", "id")
        return "".join(
            f"\n{a.job_id} run {a.run_start}/{a.run_restarts} plan {a.plan_id} {a.kind} {a.state} "
            f"{a.attempts} {a.outcome} {a.detail!r}"
            for a in actions
        )

    def left(self) -> list[str]:
        """Plans that are not over."""
        return [str(plan) for plan in Plan.objects.filter(state__in=OPEN_STATES).exclude(state="proposed")]

    def stopped_twice(self) -> list[str]:
        """More restarts than runs whose stop was written down; or one plan that stopped two runs of a job."""
        stops = PlannedAction.objects.filter(kind__in=STOP_KINDS, attempts__gt=0)
        runs = set(stops.values_list("job_id", "run_start", "run_restarts"))
        written = Counter(job for job, _, _ in runs)
        restarts = self.driver.restarts()
        found = [
            f"{name}: {restarts[name]} restarts, {written[job]} stops written down"
            for name, job in self.low.items()
            if restarts[name] > written[job]
        ]
        per_plan = Counter(set(stops.values_list("plan_id", "job_id", "run_restarts")))
        twice = Counter((plan, job) for plan, job, _ in per_plan)
        return found + [
            f"{job}: {count} runs by plan {plan}" for (plan, job), count in twice.items() if count > 1
        ]


def tell(what: str) -> None:
    """One line of figures, for docs/reliability.md."""
    if FIGURES:
        with Path(FIGURES).open("a") as file:
            file.write(f"{what}\n")


def test_no_job_is_lost_held_or_stopped_twice_over_a_noisy_line(driver: Driver, line: Line) -> None:
    story = Story(driver, line)
    story.begin()
    story.noise()
    rested = story.rest()

    lost, held, twice, left = story.lost(), story.held(), story.stopped_twice(), story.left()
    version = driver.slurm.run(["squeue", "--version"]).stdout.split()[-1]
    injected = sum(line.spoilt.values())
    note(Row(f"garbled answers of Slurm {version}", injected, len(twice), len(left), len(held) + len(lost)))
    stops = story.stops()
    told = (
        f"{version}: {dict(line.spoilt)}, {story.cycles} cycles, {stops} stops, raised {dict(story.raised)}, "
        f"at rest after {rested:.0f} s: {driver.states()}{story.history(held)}"
    )
    tell(told)
    assert not any((lost, held, twice, left)), f"{lost=} {held=} {twice=} {left=} {told}"
    assert stops >= FEWEST_STOPS, told
    assert all(line.by_program[program] >= LEAST for program in PROGRAMS), told
