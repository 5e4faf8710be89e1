"""Hours of contention on a simulated cluster, steered by real cycles: stops stay bounded, and work gets done.

Three projects want more than there is, and every few minutes their urgency changes places, so that whoever was at the
bottom is at the top. What happened is read from the cluster's own record, not from what the console believes.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from console.cluster.models import Cluster
from console.core import clock
from console.projects.models import Project
from console.steering import cycle
from console.steering.facts import run_of
from console.steering.models import OPEN_STATES, ActionState, Plan, PlannedAction
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal
from scheduler.adapters.simulator.scenarios import SCENARIOS
from scheduler.adapters.simulator.state import Happening, What
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import Request, RunKey
from tests.factories import make_member, make_project
from tests.steering.conftest import START, Sim

MIN, HOUR = 60, 3600
BUSY = 90 * MIN
STEP = 40
"""Seconds between two cycles; a whole plan takes a few of them."""
TURN = 8 * STEP
"""How long the projects keep their places."""
USERS = {"alpha": ("ann", "abe"), "beta": ("bob",), "gamma": ("cy", "cleo")}
URGENCIES = (8.0, 3.0, 0.5)
ARRIVALS = 0.22
"""How likely a job arrives between two cycles: a third more work than the cluster can do."""
DRAIN = 4 * HOUR
LEVELS = [
    {"name": "P0", "min_score": 60}, {"name": "P1", "min_score": 20}, {"name": "P2", "min_score": 1},
]  # fmt: skip

CAP, COOL_DOWN, PER_HOUR, PER_USER = 3, 15 * MIN, 12, 5
LIMITED: dict[str, Any] = {
    "max_preemptions_per_job": CAP, "cool_down_s": COOL_DOWN, "max_stops_per_hour": PER_HOUR,
    "max_stops_per_user_hour": PER_USER, "exempt_s": 2 * MIN, "min_wait_s": MIN,
}  # fmt: skip
UNLIMITED: dict[str, Any] = {"max_preemptions_per_job": 10_000, "cool_down_s": 0}


@dataclass
class Contention:
    """One simulated cluster, from the first arrival to the end of the last job. The same arrivals every time."""

    sim: Sim
    submitted: dict[str, JobSpec] = field(default_factory=dict)

    def run(self) -> None:
        """Hours with arrivals, then a while without, in which everything must come to its end."""
        chance = Random(20_240_229)
        for seconds in range(0, BUSY, STEP):
            if seconds % TURN == 0:
                self._take_turns(seconds // TURN)
            if chance.random() < ARRIVALS:
                self._arrive(chance)
            self.sim.cycle()
            self.sim.port.advance(STEP)
        for _ in range(DRAIN // STEP):
            if not self.sim.port.state.jobs:
                break
            self.sim.cycle()
            self.sim.port.advance(STEP)
        self.sim.cycles(3, STEP)

    def _take_turns(self, turn: int) -> None:
        for place, code in enumerate(sorted(USERS)):
            urgency = URGENCIES[(place + turn) % len(URGENCIES)]
            Project.objects.filter(cluster=self.sim.cluster, code=code).update(urgency=urgency)

    def _arrive(self, chance: Random) -> None:
        code = chance.choice(sorted(USERS))
        user, cpus = chance.choice(USERS[code]), chance.choice((2, 4, 4, 6, 8))
        spec = JobSpec(
            f"{code}_train",
            user,
            Request(nodes=1, per_node={"cpu": cpus}),
            ("wide",),
            account=code,
            run_time_s=chance.randint(10, 40) * MIN,
            on_signal=OnSignal.CHECKPOINT,
        )
        self.submitted[self.sim.port.submit(spec)] = spec

    @property
    def stops(self) -> list["Stop"]:
        """Every run that was stopped, by the cluster's own record, with the job that the console stopped it for."""
        rows = PlannedAction.objects.filter(
            cluster=self.sim.cluster, kind=ActionKind.REQUEUE_HOLD, state=ActionState.VERIFIED
        )
        stopped_for = {run_of(row): row.plan.job_id for row in rows.select_related("plan")}
        return [
            Stop(
                each.at, each.job, stopped_for[RunKey(each.job, each.start, each.restarts)], self._user(each)
            )
            for each in self.happened(What.STOPPED)
        ]

    def happened(self, what: What) -> list[Happening]:
        """The lines of the cluster's own record that are about this."""
        return [each for each in self.sim.port.state.record if each.what is what]

    def _user(self, each: Happening) -> str:
        return self.submitted[each.job].user


@dataclass(frozen=True, slots=True)
class Stop:
    """A job was stopped for another one."""

    at: int
    job: str
    beneficiary: str
    user: str


def soon_after_being_stopped(stops: list[Stop]) -> list[Stop]:
    """Stops for the sake of a job that was stopped itself less than the cool-down before."""
    return [
        stop
        for stop in stops
        if any(o.job == stop.beneficiary and 0 <= stop.at - o.at < COOL_DOWN for o in stops)
    ]


def in_turn(stops: list[Stop]) -> list[Stop]:
    """Stops of a job by what was stopped for it less than the cool-down before."""
    return [
        stop
        for stop in soon_after_being_stopped(stops)
        if any((o.job, o.beneficiary) == (stop.beneficiary, stop.job) for o in stops if o.at < stop.at)
    ]


def most_within_an_hour(stops: list[Stop]) -> int:
    return max((sum(0 <= o.at - stop.at < HOUR for o in stops) for stop in stops), default=0)


@pytest.fixture
def contention(db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Contention]:
    """Runs it under a policy, each time on a cluster of its own."""

    def run(name: str, **limits: Any) -> Contention:
        port = SCENARIOS["empty"].build(START)
        sim = Sim(port, Cluster.objects.create(name=name, kind="simulator"))
        monkeypatch.setattr(cycle, "connect", lambda row: port)
        monkeypatch.setattr(clock, "now", lambda: clock.from_epoch(port.now))
        sim.policy("wide", levels=LEVELS, user_overrides={}, grace_s=STEP, **limits)
        for code, users in USERS.items():
            project = make_project(sim.cluster, code, size=10.0)
            for user in users:
                make_member(project, user)
        made = Contention(sim)
        made.run()
        return made

    return run


@pytest.mark.timeout(600)
def test_hours_of_contention(contention: Callable[..., Contention]) -> None:
    limited, unlimited = contention("limited", **LIMITED), contention("unlimited", **UNLIMITED)
    for each in (limited, unlimited):
        assert_everything_was_done(each)
        assert_no_run_is_stopped_twice(each)

    stops, loose = limited.stops, unlimited.stops
    assert stops, "there is contention, and priorities are enforced"
    assert max(Counter(stop.job for stop in stops).values()) <= CAP
    assert most_within_an_hour(stops) <= PER_HOUR
    for user in {stop.user for stop in stops}:
        assert most_within_an_hour([stop for stop in stops if stop.user == user]) <= PER_USER
    assert in_turn(stops) == []
    assert soon_after_being_stopped(stops) == []

    # Without the limits the same contention does all of that: the limits are what holds it back.
    assert len(loose) > 3 * len(stops)
    assert max(Counter(stop.job for stop in loose).values()) > CAP
    assert most_within_an_hour(loose) > PER_HOUR
    assert in_turn(loose)
    assert len(soon_after_being_stopped(loose)) > len(in_turn(loose))


def assert_everything_was_done(contention: Contention) -> None:
    """Every job has come to its own end, nobody is held, no plan is open."""
    assert contention.sim.port.state.jobs == {}
    assert {each.job for each in contention.happened(What.ENDED)} == contention.submitted.keys()
    open_now = Plan.objects.filter(cluster=contention.sim.cluster, state__in=OPEN_STATES)
    assert list(open_now) == []


def assert_no_run_is_stopped_twice(contention: Contention) -> None:
    runs = Counter((each.job, each.start, each.restarts) for each in contention.happened(What.STOPPED))
    assert set(runs.values()) <= {1}
    starts = Counter(each.job for each in contention.happened(What.STARTED))
    stops = Counter(each.job for each in contention.happened(What.STOPPED))
    assert all(starts[job] == stops[job] + 1 for job in contention.submitted)
