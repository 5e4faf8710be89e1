"""When a cycle is due: the bell, the counters, a person, time; and what may be asked of slurmctld."""

import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from console.cluster.models import Cluster, JobPhase
from console.partitions.services import ensure_partition
from console.steering import pace
from console.steering.cycle_report import Report
from console.steering.metrics import read_cadence
from console.steering.models import CyclePace, KeptPlace, SteeringMinute
from console.steering.pace import Pacer
from console.steering.pausing import pause
from scheduler.model.observation import Glance, RequestUse
from scheduler.ports import ClusterUnavailableError
from tests.factories import make_cluster, make_job

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
LOOK = Counter({"nodes": 1, "partitions": 3, "reservations": 1, "queue": 1})


@dataclass
class World:
    """A Slurm that only counts, a clock that is set, and cycles that cost a look and do nothing."""

    cluster: Cluster
    now: datetime = NOON
    submitted: int = 0
    moved: int = 0
    glances: int = 0
    cycles: list[float] = field(default_factory=list)
    use: RequestUse = field(default_factory=RequestUse)
    report: Report = field(default_factory=lambda: Report(number=1))
    look: Counter[str] = field(default_factory=lambda: Counter(LOOK))
    answer_s: dict[str, float] = field(default_factory=lambda: {"queue": 0.0002, "counters": 0.0003})
    limit: tuple[int, float] = (0, 0.0)
    down: bool = False

    def glance(self) -> Glance:
        self.glances += 1
        self.use.requests["counters"] += 1
        if self.down:
            raise ClusterUnavailableError("sdiag is not on the PATH of this process")
        return Glance(self.submitted, (self.moved,), self.answer_s)

    def take(self) -> RequestUse:
        taken, self.use = self.use, RequestUse()
        return taken

    def cycle(self, cluster: Cluster) -> Report:
        self.cycles.append((self.now - NOON).total_seconds())
        self.use.requests.update(self.look)
        return self.report

    def pass_time(self, seconds: float) -> None:
        """As the worker does, one task after the other, each a second long at most."""
        until = self.now + timedelta(seconds=seconds)
        while self.now < until:
            pacer = Pacer(self.cluster, run_cycle=self.cycle)
            if pacer.is_due():
                pacer.run()
            pause = max(0.1, min(1.0, pacer._until_next(self.now)))
            self.now = min(until, self.now + timedelta(seconds=pause))
        pace.count_requests(pace.STEERING, self.cluster)

    def asked(self, minutes: float) -> float:
        """Requests a minute of all that was written down."""
        return sum(sum(row.requests.values()) for row in SteeringMinute.objects.all()) / minutes


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(make_cluster(kind="slurm"))
    monkeypatch.setattr("console.core.clock.now", lambda: world.now)
    monkeypatch.setattr(pace, "connect", lambda _: world)
    monkeypatch.setattr(pace, "take_requests", world.take)
    monkeypatch.setattr(pace, "allowed_requests", lambda _: world.limit)
    monkeypatch.setattr(pace, "_instead", {})
    return world


@pytest.fixture
def bell(world: World, settings: Settings, tmp_path: Path) -> Path:
    settings.GIVEWAY_SUBMIT_RULES = str(tmp_path / "rules")
    return tmp_path / "rules.bell"


def ring(bell: Path, world: World) -> None:
    moment = int(world.now.timestamp() * 1e9)
    os.utime(bell, ns=(moment, moment))


def test_an_idle_cluster_is_asked_less_than_once_a_second(world: World) -> None:
    world.pass_time(120)
    assert world.asked(2) <= 60
    assert [round(each) for each in world.cycles] == [0, 30, 60, 90]


def test_with_a_bell_an_idle_cluster_is_asked_twelve_times_a_minute(world: World, bell: Path) -> None:
    world.pass_time(5)
    ring(bell, world)
    world.submitted += 1
    world.pass_time(60)
    SteeringMinute.objects.all().delete()
    world.pass_time(180)
    assert world.asked(3) <= 12


def test_a_submission_has_a_cycle_run_at_once(world: World) -> None:
    world.pass_time(20)
    world.submitted += 1
    before = len(world.cycles)
    world.pass_time(2.2)
    assert len(world.cycles) == before + 1
    assert world.cycles[-1] - 20 <= 2.1


def test_a_bell_is_heard_at_once_and_the_counters_are_waited_for(world: World, bell: Path) -> None:
    world.pass_time(20)
    ring(bell, world)
    world.pass_time(0.3)
    cycles, glances = len(world.cycles), world.glances
    world.submitted += 1  # the script rings before the job is there
    world.pass_time(0.4)
    assert len(world.cycles) == cycles + 1 and world.glances > glances
    assert CyclePace.objects.get().bell_heard_at is not None


def test_a_bell_that_never_stops_costs_glances_within_the_budget_and_no_cycle(
    world: World, bell: Path
) -> None:
    world.pass_time(1)
    for _ in range(300):
        ring(bell, world)
        world.pass_time(0.1)
    assert world.asked(0.5) <= 480
    assert len(world.cycles) <= 2


def test_a_bell_that_does_not_ring_loses_nothing(world: World, bell: Path) -> None:
    world.pass_time(5)
    ring(bell, world)
    world.submitted += 1
    world.pass_time(60)
    before = len(world.cycles)
    world.submitted += 1  # unheard
    world.pass_time(16)
    assert before < len(world.cycles) <= before + 2
    world.pass_time(60)
    assert not Pacer(world.cluster)._hears(), "from now on it is not relied upon"


def test_other_changes_have_a_cycle_run_too_but_not_more_often_than_slurmctld_bears(world: World) -> None:
    world.answer_s = {"queue": 0.08}  # 10,000 jobs
    world.pass_time(70)
    world.cycles.clear()
    for _ in range(60):
        world.moved += 1
        world.pass_time(1)
    assert 4 <= len(world.cycles) <= 8
    assert read_cadence(world.cluster).share <= 0.02


def test_what_a_person_changes_counts_at_once(world: World) -> None:
    world.pass_time(12)
    before = len(world.cycles)
    partition = ensure_partition(cluster=world.cluster, name="x")
    pause(actor="dave", cluster=world.cluster, partition=partition, reason="Test.")
    world.pass_time(1.2)
    assert len(world.cycles) == before + 1
    world.pass_time(5)
    assert len(world.cycles) == before + 1


def test_while_an_order_is_to_be_seen_to_work_cycles_come_every_second(world: World) -> None:
    world.report.issued = 1
    world.pass_time(10)
    assert len(world.cycles) == 10


def test_what_is_under_way_for_long_stretches_within_the_budget(world: World) -> None:
    world.report.issued = 1
    world.pass_time(400)
    assert world.asked(400 / 60) <= 280
    assert SteeringMinute.objects.filter(stretched__gt=0).exists()
    assert read_cadence(world.cluster).late_s == 0, "the budget is no finding"


def test_a_plan_of_many_victims_puts_no_later_cycle_off(world: World) -> None:
    world.pass_time(5)
    world.look = LOOK + Counter({"orders": 513, "job": 2})
    world.report = Report(number=2, issued=257)
    world.submitted += 1
    world.pass_time(3)
    before = len(world.cycles)
    world.pass_time(20)
    assert len(world.cycles) - before >= 15
    world.report, world.look = Report(number=3), Counter(LOOK)
    world.pass_time(60)
    before = len(world.cycles)
    world.submitted += 1
    world.pass_time(4)
    assert len(world.cycles) > before


def test_jobs_that_wait_are_looked_at_more_often(world: World) -> None:
    make_job(world.cluster, phase=JobPhase.PENDING)
    world.pass_time(60)
    assert [round(each) for each in world.cycles] == [0, 20, 40]


def test_what_ends_by_itself_is_renewed_in_time(world: World) -> None:
    kept = {"nodes": ["n1"], "at": 0, "since": 0, "until": 1, "moved": 0, "asked": 0}
    KeptPlace.objects.create(cluster=world.cluster, partition="x", job_id="7", user="ann", **kept)
    world.pass_time(30)
    assert [round(each) for each in world.cycles] == [0, 5, 10, 15, 20, 25]


def test_without_counters_the_timer_alone_is_enough(world: World) -> None:
    world.down = True
    world.pass_time(30)
    assert [round(each) for each in world.cycles[1:4]] == [5, 10, 15]
    assert "sdiag" in CyclePace.objects.get().fault
    world.down = False
    world.pass_time(60)
    assert not CyclePace.objects.get().fault


def test_a_limited_account_asks_no_more_than_it_is_allowed(world: World) -> None:
    world.limit = (40, 4.0)
    world.pass_time(360)
    assert world.asked(6) <= 6
    assert len(world.cycles) >= 3


def test_a_gap_names_what_ran_instead(world: World) -> None:
    world.report.issued = 1
    world.pass_time(3)
    pace.note_other_task("forecasts.forecast", 7.5)
    world.now += timedelta(seconds=8)
    world.pass_time(2)
    told = read_cadence(world.cluster)
    assert told.longest_s > 8 and told.late_s > 6
    assert told.instead[0][0] == "forecasts.forecast"


def test_a_clock_that_is_put_back_makes_a_cycle_due(world: World) -> None:
    world.pass_time(3)
    world.now -= timedelta(hours=1)
    world.cycles.clear()
    world.pass_time(1)
    assert len(world.cycles) == 1


def test_a_worker_that_finds_nothing_due_says_that_it_is_there(world: World) -> None:
    world.pass_time(28)
    world.cluster.refresh_from_db()
    assert world.cluster.attempted_at is not None
    assert (world.now - world.cluster.attempted_at).total_seconds() <= 6
    assert world.cluster.observed_at is not None


def test_counters_that_begin_anew_lose_nothing(world: World) -> None:
    world.submitted = 900
    world.pass_time(5)
    before = len(world.cycles)
    world.submitted = 0
    world.pass_time(3)
    assert len(world.cycles) == before + 1
