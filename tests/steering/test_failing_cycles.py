"""A cycle that raises is a degraded cycle: it stops nobody until one has ended well, and three in a row pause."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from structlog.testing import capture_logs

from console.audit.models import AuditEntry
from console.partitions.models import Partition
from console.steering import cycle, deciding, failures
from console.steering.failures import EVERYWHERE, LONGEST_SAID, Streak, place_and_words
from console.steering.models import Cycle, CycleMeter, Pause, Plan, PlannedAction
from console.steering.pausing import pause, resume
from console.steering.requests import standing
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import OnSignal
from scheduler.model.actions import Action, ActionKind, ActionOutcome
from scheduler.model.jobs import JobState
from scheduler.model.plan import PlanningResult as CorePlan
from scheduler.model.snapshot import Snapshot
from tests.steering.conftest import Sim

BEGUN = {"prioritise", "signal", "requeue_hold", "cancel", "hold"}


@pytest.fixture(autouse=True)
def nothing_is_remembered(sim: Sim) -> None:
    failures._unwritten.clear()
    sim.may_fail = True


@contextmanager
def broken(owner: Any, name: str) -> Iterator[None]:
    """A defect: the function raises ValueError."""

    def raises(*_: object, **__: object) -> None:
        raise ValueError(f"a defect in {name}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, raises)
        yield


@contextmanager
def apply_raises(sim: Sim, *kinds: ActionKind, job: str = "") -> Iterator[None]:
    """The adapter raises for these kinds, as `recover` did for an exit code of 0:10."""
    honest = type(sim.port).apply

    def apply(port: SimulatedCluster, actions: Sequence[Action], *rest: Any) -> Sequence[ActionOutcome]:
        if any(action.kind in kinds and job in ("", action.run.job_id) for action in actions):
            raise ValueError("invalid literal for int() with base 10: '0:10'")
        return honest(port, actions, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(sim.port), "apply", apply)
        yield


def begun() -> int:
    """How many actions were issued that take somebody something, or prepare it."""
    return PlannedAction.objects.filter(kind__in=BEGUN, issued_at__isnull=False).count()


def stops_of(job: str) -> int:
    return PlannedAction.objects.filter(kind="requeue_hold", job_id=job, issued_at__isnull=False).count()


def meter() -> CycleMeter:
    return CycleMeter.objects.get()


def holding(sim: Sim) -> list[Streak]:
    return list(standing(sim.cluster.name).streaks)


def paused() -> list[str]:
    return list(Pause.objects.order_by("partition").values_list("partition", flat=True))


def full_q(sim: Sim) -> str:
    """Both nodes of q are taken; the job that would be the first to go."""
    sim.policy("q")
    sim.running("bob", 8, "q")
    return sim.running("ann", 8, "q")


def killed_by_its_signal(sim: Sim) -> str:
    """A victim that its checkpoint signal has ended, about to be put back."""
    sim.policy(grace_s=5)
    low = sim.running("ann", 8, on_signal=OnSignal.DIE)
    sim.submit("cy", 6)
    sim.cycle()
    assert sim.state(low) is not JobState.RUNNING
    return low


# --- Nobody is stopped ----------------------------------------------------------------------------------------


def test_recover_raises_every_second_and_nobody_else_is_stopped(sim: Sim) -> None:
    """As on 24.11.5: the cycle crashed 480 times and went on stopping jobs."""
    low = killed_by_its_signal(sim)
    other = full_q(sim)
    before = begun()

    reports = []
    with apply_raises(sim, ActionKind.RECOVER):
        for number in range(8):
            if number == 2:
                sim.submit("cy", 8, "q")
            reports.append(sim.cycle())
            sim.port.advance(1)

    failed = [report for report in reports if report.has_failed]
    assert len(failed) >= 6 and reports[-1].has_failed
    assert "console/steering/ledger.py, line " in failed[0].fault
    assert "(execute): ValueError: invalid literal" in failed[0].fault
    assert begun() == before
    assert sim.state(other) is JobState.RUNNING and sim.port.job(other).restarts == 0
    assert meter().failed == meter().degraded == len(failed)
    resume(actor="ada", cluster=sim.cluster, partition=Partition.objects.get(name="x"))
    sim.cycles(20)
    assert sim.port.job(low).restarts == 1, "what was begun is taken back when it can be"
    assert meter().failing == {}


PARTS = ("connect", "verify", "free_orphaned_holds", "gather", "decide_all", "intend_in_partition", "rows",
         "note_cycle", "act", "count", "write_submit_rules")  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_wherever_it_raises_the_next_cycle_begins_nothing_and_the_one_after_goes_on(
    sim: Sim, part: str
) -> None:
    sim.policy(grace_s=3)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()  # a plan is being carried out, its signal is sent
    number = sim.cluster.cycle

    with broken(cycle, part), capture_logs() as logs:
        report = sim.cycle()
    sim.port.advance(5)  # now the stop is due

    assert report.has_failed and f"ValueError: a defect in {part}" in report.fault
    assert [entry["exc_info"] for entry in logs if entry["event"] == "cycle failed"]
    sim.cluster.refresh_from_db()
    assert sim.cluster.cycle == number + 1
    assert [each.sentence for each in holding(sim)] == [report.fault]
    assert AuditEntry.objects.get(action="cycle.failed").reason == report.fault
    assert not sim.cycle().fault
    assert stops_of(low) == 0
    assert holding(sim) == []
    sim.cycles(4)
    assert stops_of(low) == 1 and sim.state(urgent) is JobState.RUNNING
    assert meter().failing == {}
    assert AuditEntry.objects.filter(action="cycle.recovered").count() == 1


def test_while_it_is_held_nothing_new_is_begun_anywhere(sim: Sim) -> None:
    sim.policy()
    low, other = sim.running("ann", 8), full_q(sim)
    sim.cycle()
    with broken(cycle, "free_orphaned_holds"):
        sim.cycle()
        sim.submit("cy", 6)
        sim.submit("cy", 6, "q")
        sim.cycle()
    assert not Plan.objects.exists()
    sim.cycle()
    assert not Plan.objects.exists(), "the first good one only lifts the hold"
    sim.cycles(3)
    assert (stops_of(low), stops_of(other)) == (1, 1)


def test_a_worker_that_is_started_again_knows_of_it(sim: Sim) -> None:
    """It is in the database: nothing of the process is needed."""
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    with broken(cycle, "decide_all"):
        sim.cycle()
    assert meter().failing[EVERYWHERE]["holds"]
    assert failures._unwritten == {}
    sim.cycle()
    assert stops_of(low) == 0


def test_what_raises_for_one_does_not_keep_the_others_from_being_let_go(sim: Sim) -> None:
    """Promise 3 of docs/reliability.md: no victim stays held for ever, whatever raises beside it."""
    sim.policy()
    low, other = sim.running("ann", 8), full_q(sim)
    urgent = sim.submit("cy", 6, run_time_s=9)
    second = sim.submit("cy", 6, "q", run_time_s=9)
    sim.cycles(2)
    assert (stops_of(low), stops_of(other)) == (1, 1)

    with apply_raises(sim, ActionKind.RELEASE, job=low):
        sim.cycles(15)
        assert sim.state(other) is JobState.RUNNING
        assert sim.port.job(low).held
    sim.cycles(15)

    assert sim.state(low) is JobState.RUNNING
    assert sim.state(urgent) is sim.state(second) is None
    assert [sim.port.job(job).restarts for job in (low, other)] == [1, 1]


def test_a_plan_that_cannot_be_verified_does_not_hold_up_the_others(sim: Sim) -> None:
    sim.policy()
    low, other = sim.running("ann", 8), full_q(sim)
    sim.submit("cy", 6, run_time_s=9)
    sim.submit("cy", 6, "q", run_time_s=9)
    sim.cycles(2)
    honest = vars(cycle)["verify"]

    def verify(plans: Sequence[Plan], *rest: Any) -> None:
        if plans[0].partition == "x":
            raise KeyError("odd")
        honest(plans, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycle, "verify", verify)
        sim.cycles(15)
        assert sim.state(other) is JobState.RUNNING
        assert paused() == ["x"]
    sim.cycles(15)
    assert sim.state(low) is JobState.RUNNING


def test_what_dies_is_not_kept(sim: Sim) -> None:
    sim.policy()
    for dies in (KeyboardInterrupt, SystemExit):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cycle, "act", lambda *_, dies=dies: (_ for _ in ()).throw(dies))
            with pytest.raises(dies):
                sim.cycle()
    assert not sim.cycle().fault and meter().failed == 0


# --- One partition alone --------------------------------------------------------------------------------------


@contextmanager
def cannot_decide(*partitions: str) -> Iterator[None]:
    honest = vars(deciding)["decide"]

    def decide(snapshot: Snapshot) -> CorePlan:
        if snapshot.partition.name in partitions:
            raise IndexError("list index out of range")
        return honest(snapshot)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deciding, "decide", decide)
        yield


def test_a_partition_that_cannot_be_decided_on_holds_up_no_other(sim: Sim) -> None:
    sim.policy(grace_s=3)
    low, other = sim.running("ann", 8), full_q(sim)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    second = sim.submit("cy", 6, "q")

    with cannot_decide("x"):
        reports = []
        for _ in range(6):
            reports.append(sim.cycle())
            sim.port.advance(1)

        assert all(report.has_failed for report in reports)
        assert stops_of(low) == 0 and sim.state(low) is JobState.RUNNING
        assert sim.state(second) is JobState.RUNNING and stops_of(other) == 1
        row = sim.row(urgent)
        assert (row.verdict, row.reason) == ("queue", "not_decided")
        assert row.explain == (
            "Giveway could not decide on the jobs of x; until it can, nobody is stopped there."
        )
        assert sim.row(low).phase == "running", "the mirror goes on"
        assert paused() == ["x"]
        assert holding(sim)[0].sentence.startswith("x could not be decided on; the cycle failed in console/")
    assert resume(actor="dave", cluster=sim.cluster, partition=Partition.objects.get(name="x"))
    sim.cycles(3)
    assert holding(sim) == [] and sim.row(urgent).reason != "not_decided"


def test_its_plans_stay_as_they_are(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycle()
    proposed = Plan.objects.get()
    with cannot_decide("x"):
        sim.cycles(2)
    assert [(plan.pk, plan.state) for plan in Plan.objects.all()] == [(proposed.pk, "proposed")]


# --- The pause ------------------------------------------------------------------------------------------------


def fail(sim: Sim, times: int, part: str = "free_orphaned_holds") -> None:
    with broken(cycle, part):
        sim.cycles(times)


def test_three_in_a_row_pause_every_partition_that_stops_jobs(sim: Sim) -> None:
    sim.policy()
    sim.policy("q", enforcement="approve")
    sim.policy("idle", enforcement="shadow")
    fail(sim, 2)
    assert paused() == []
    fail(sim, 1)
    assert paused() == ["q", "x"]
    row = Pause.objects.get(partition="x")
    assert (row.by, row.by_whom) == ("giveway", "Giveway")
    assert row.reason.startswith("three cycles in a row failed, the last in console/steering/cycle.py, line ")
    told = AuditEntry.objects.filter(action="pause.set").order_by("sequence")
    assert [(each.actor, each.partition) for each in told] == [("giveway", "q"), ("giveway", "x")]


def test_a_pause_stays_until_a_person_resumes_it(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    fail(sim, 3)
    urgent = sim.submit("cy", 6)
    sim.cycles(4)
    assert holding(sim) == [] and meter().failing == {}, "good cycles clear the state"
    assert paused() == ["x"] and stops_of(low) == 0, "and not the pause"
    assert "Giveway paused the partition x: three cycles in a row failed" in sim.row(urgent).explain

    resume(actor="dave", cluster=sim.cluster, partition=Partition.objects.get(name="x"))
    sim.cycles(4)
    assert sim.state(urgent) is JobState.RUNNING


def test_after_a_person_has_resumed_it_takes_three_more(sim: Sim) -> None:
    sim.policy()
    x = Partition.objects.get(name="x")
    fail(sim, 5)
    resume(actor="dave", cluster=sim.cluster, partition=x)
    fail(sim, 2)
    assert paused() == []
    fail(sim, 1)
    assert paused() == ["x"]
    assert AuditEntry.objects.filter(action="cycle.failed").count() == 1, "one streak is told once"


def test_a_partition_that_a_person_has_paused_stays_theirs(sim: Sim) -> None:
    sim.policy()
    pause(actor="ada", cluster=sim.cluster, reason="Maintenance")
    fail(sim, 4)
    assert [(row.partition, row.by) for row in Pause.objects.all()] == [("", "ada")]


def test_two_and_a_good_day_are_not_three(sim: Sim) -> None:
    sim.policy()
    for _ in range(3):
        fail(sim, 2)
        sim.cycles(2)
    assert paused() == [] and meter().failed == 6


def test_what_raises_only_when_somebody_is_stopped_comes_to_three_as_well(sim: Sim) -> None:
    """The cycles between are well because nothing is begun in them; they do not count for a good one."""
    sim.policy()
    sim.policy("q")
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    with apply_raises(sim, ActionKind.REQUEUE_HOLD):
        sim.cycles(12)
    assert paused() == ["x"], "it is known which partition was being worked on"
    assert meter().failed == 3
    assert sim.port.job(low).restarts == 0


def test_the_database_away_pauses_nobody_and_nothing_is_lost(sim: Sim) -> None:
    """Not even where the failure itself cannot be written down."""
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6)

    def gone(*_: object, **__: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycle, "act", gone)
        patch.setattr(failures, "_write", gone)
        for _ in range(4):
            assert sim.cycle().has_failed
    assert meter().failed == 0 and failures._unwritten
    assert not sim.cycle().fault
    assert stops_of(low) == 0, "this process remembers"
    assert meter().failed == 1 and paused() == []
    sim.cycles(2)
    assert stops_of(low) == 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycle, "gather", gone)
        sim.cycles(5)
    assert holding(sim) and paused() == []


def test_an_audit_log_that_raises_does_not_undo_the_hold(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    with broken(failures, "pause"):
        fail(sim, 4)
    assert holding(sim) and paused() == []
    sim.submit("cy", 6)
    fail(sim, 1)
    assert paused() == ["x"], "the pause is tried again"
    assert stops_of(low) == 0


# --- In words -------------------------------------------------------------------------------------------------


def test_the_row_of_the_cycle_says_how_it_ended(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    sim.running("ann", 8)
    sim.submit("cy", 6)
    with broken(cycle, "act"):
        report = sim.cycle()
    row = Cycle.objects.get()
    assert row.outcome in {"running", "failed"}
    assert report.fault.startswith("The cycle failed in console/steering/cycle.py, line ")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("x" * 500), f"ValueError: {'x' * (LONGEST_SAID - 1)}…"),
        (ValueError("one\n\x1b[31mtwo\t three"), "ValueError: one [31mtwo three"),
        (
            ValueError("password=sesame8 is wrong. Try again."),
            "ValueError: password=[hidden] is wrong; Try again",
        ),
        (ValueError(), "ValueError"),
    ],
)
def test_its_words_are_short_printable_and_without_secrets(error: Exception, words: str) -> None:
    assert place_and_words(error) == f"code that is not Giveway's: {words}"


def test_steer_once_ends_with_status_1_and_says_where(sim: Sim) -> None:
    with broken(cycle, "gather"), pytest.raises(CommandError, match="The cycle failed in console/") as error:
        call_command("steer", "--once")
    assert error.value.returncode == 1
