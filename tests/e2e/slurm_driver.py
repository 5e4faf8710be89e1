"""Driving the real thing: a private Slurm, our cycle, and the document's examples typed with sbatch."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pytest_django import Settings

from console.cluster import connect
from console.cluster.connect import configured_cluster
from console.cluster.models import Cluster, Job
from console.core import failpoints
from console.partitions.services import activate_policy, ensure_partition
from console.steering import approvals
from console.steering.cycle import run_cycle
from console.steering.cycle_report import Report
from console.steering.models import Plan
from deploy.private_slurm import PrivateSlurm

READY = "echo ready\n"
"""What a script says when it has set its traps: before that, a signal would just end it."""
SLEEP = f"#!/bin/bash\ntrap : USR1\n{READY}while true; do sleep 600 & wait $!; done\n"
"""Survives its checkpoint signal."""
NAIVE = "#!/bin/bash\nsleep 600\n"
"""Is ended by it, like most scripts."""
PATIENCE_S = 300.0
SOON_S, TIMER_S = 0.2, 1.0
"""Between two cycles: soon at first, then as the worker's timer runs them. A cycle costs as much as a test waits."""


@contextmanager
def at(point: str, do: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Do something when the steering comes to a point, the first time; gives a way to ask whether that was so."""
    due = [do]

    def reached(name: str) -> None:
        if name == point and due:
            due.pop()()

    failpoints.at_point = reached
    try:
        yield lambda: not due
    finally:
        failpoints.at_point = None
    assert not due, f"{point} was not reached"


@dataclass
class Driver:
    """Submits as a user would, steers as the worker would, and waits for what must come."""

    slurm: PrivateSlurm
    cluster: Cluster = field(default_factory=configured_cluster)
    ids: dict[str, str] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)

    def policy(self, partition: str, **keys: Any) -> None:
        """Put a policy in force, as a partition administrator would."""
        row = ensure_partition(cluster=self.cluster, name=partition)
        document = {
            "name": partition,
            "enforcement": "enforce",
            "grace_s": 0,
            "asked_to_save": "everybody",
            **keys,
        }
        activate_policy(
            actor="dave", partition=row, document=document, reason="For this test.", based_on=None
        )

    def submit(self, user: str, name: str, *args: str, script: str = SLEEP) -> str:
        """`sbatch` as `user`; the job is known by its name from then on."""
        self.ids[name] = str(self.slurm.submit(user, "-J", name, *args, script=script))
        return self.ids[name]

    def running(self, user: str, name: str, *args: str, script: str = SLEEP) -> str:
        """Submit and wait until it runs; also until its script has said that it is ready, if it says so."""
        job = self.submit(user, name, *args, script=script)
        self.slurm.wait_for_state(job, "RUNNING")
        if READY in script:
            said = self.slurm.work / user / f"slurm-{job}.out"
            self.slurm.wait_until(
                lambda: said.exists() and READY.split()[1] in said.read_text(), f"{name} is ready"
            )
        return job

    def states(self) -> dict[str, str]:
        """Slurm's own state by the job's name."""
        states = self.slurm.states()
        return {name: states.get(job, "ENDED") for name, job in self.ids.items()}

    def steer(self) -> Report:
        """One cycle; the lease is always free here."""
        report = run_cycle(self.cluster)
        assert report is not None
        self.reports.append(report)
        return report

    def steer_until(self, done: Callable[[], bool], what: str) -> None:
        """Cycles as the timer would run them, until `done`."""
        until = time.monotonic() + PATIENCE_S
        pause = SOON_S
        while not done():
            if time.monotonic() > until:
                raise AssertionError(f"{what}: not within {PATIENCE_S:.0f} s. {self.states()} {self.story()}")
            self.steer()
            time.sleep(pause)
            pause = min(pause * 1.2, TIMER_S)

    def story(self) -> str:
        """What was decided last and what came of each action of each plan: for whoever reads why a test failed."""
        lines = [str(line) for line in self.reports[-1].lines] if self.reports else []
        for plan in Plan.objects.filter(cluster=self.cluster).order_by("id"):
            lines.append(f"plan {plan.pk} for {plan.job_id}: {plan.state} {plan.undo_reason} {plan.outcome}")
            lines += [
                f"  {action.kind} {action.job_id} {action.value}: {action.state} after {action.attempts}, "
                f"{action.outcome} {action.detail}"
                for action in plan.actions.order_by("id")
            ]
        return "\n".join(lines)

    def steer_until_running(self, *names: str) -> None:
        """Cycles until all of these run."""
        self.steer_until(lambda: self._all(names, "RUNNING"), f"{names} run")

    def steer_quietly(self, cycles: int = 5) -> None:
        """A few cycles in which nothing is expected to happen."""
        for _ in range(cycles):
            self.steer()
            time.sleep(0.2)

    def steer_until_settled(self) -> None:
        """Cycles until no plan is open."""
        self.steer_until(lambda: not self.open_plans(), "all plans are over")

    def open_plans(self) -> list[Plan]:
        """Plans that are being carried out."""
        return list(Plan.objects.filter(cluster=self.cluster, state__in=("approved", "executing")))

    def reason(self, name: str) -> str:
        """What the console says of a job, as one of the documented reasons."""
        return str(Job.objects.get(cluster=self.cluster, job_id=self.ids[name]).reason)

    def held(self) -> set[str]:
        """The names of the jobs that Slurm holds."""
        held = {
            line.split()[0] for line in self.slurm.squeue("%i %Q", "-t", "PENDING") if line.split()[1] == "0"
        }
        return {name for name, job in self.ids.items() if job in held}

    def restarts(self) -> dict[str, int]:
        """How often each job was requeued; -1 of one that Slurm has forgotten (it does some minutes after its end)."""
        counts = {}
        for name, job in self.ids.items():
            told = self.slurm.run(["scontrol", "-o", "show", "job", job], check=False)
            assert told.returncode == 0 or "Invalid job id" in told.stderr, told.stderr
            shown = told.stdout
            counts[name] = int(shown.split("Restarts=")[1].split()[0]) if "Restarts=" in shown else -1
        return counts

    def stopped(self) -> set[str]:
        """The names of the jobs that were requeued at least once."""
        return {name for name, count in self.restarts().items() if count > 0}

    def cancel(self, *names: str) -> None:
        """The owner ends a job, as if it were done."""
        self.slurm.run(["scancel", *(self.ids[name] for name in names)])

    def _all(self, names: Iterable[str], state: str) -> bool:
        states = self.states()
        return all(states[name] == state for name in names)


@contextmanager
def attached(slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """A console that is attached to a private Slurm."""
    settings.GIVEWAY_CLUSTER = "slurm"
    # A plan is decided on by what a cycle saw some seconds ago: on a busy machine these are few commands of Slurm.
    monkeypatch.setattr(approvals, "LEAST_FRESH_S", PATIENCE_S)
    for name, value in slurm.env.items():
        monkeypatch.setenv(name, value)
    connect.forget_adapters()
    yield Driver(slurm)
    connect.forget_adapters()
