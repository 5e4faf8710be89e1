"""Slurm's line by level: put in order, left alone where it is, given back whenever that is not wished any more."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from console.audit.models import AuditEntry
from console.partitions.models import Partition
from console.steering.kinds import nice as nice_kind
from console.steering.models import LinePlace, PlanState
from console.steering.pausing import pause, resume
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.model.actions import Action, ActionKind
from scheduler.model.jobs import JobState, Request
from tests.steering.conftest import Sim


@pytest.fixture
def told(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> list[list[Action]]:
    """What is sent to the cluster, call by call."""
    calls: list[list[Action]] = []
    apply = type(sim.port).apply

    def noting(port: Any, actions: list[Action], *rest: Any) -> Any:
        calls.append(list(actions))
        return apply(port, actions, *rest)

    monkeypatch.setattr(type(sim.port), "apply", noting)
    return calls


def line(sim: Sim, partition: str = "x") -> list[str]:
    """Slurm's own order of who waits."""
    waiting = [job for job in sim.port.state.jobs.values() if job.state is JobState.PENDING and not job.held]
    return [job.id for job in sorted(waiting, key=lambda job: job.queue_key) if partition in job.partitions]


def full(sim: Sim, **policy: Any) -> str:
    """A partition whose one node is full of a job that nobody may stop."""
    sim.policy(protected_users=["eve"], **policy)
    return sim.running("eve", 8)


def test_who_waits_stands_by_level_and_inside_a_level_as_before(sim: Sim) -> None:
    full(sim)
    low, none, high, second = (sim.submit(user, 8) for user in ("ann", "dee", "cy", "cy"))

    sim.cycles(4)

    assert line(sim) == [high, second, low, none]
    row = sim.row(high)
    assert (row.line_place, row.line_ordered, row.own_priority) == (1, True, 1000)
    assert [sim.row(job).line_place for job in (second, low, none)] == [2, 3, 4]


def test_a_line_in_order_is_left_alone(sim: Sim, told: list[list[Action]]) -> None:
    full(sim)
    for user in ("ann", "cy", "bob", "dee"):
        sim.submit(user, 8)
    sim.cycles(3)
    told.clear()

    sim.cycles(3)

    assert told == []
    sim.submit("cy", 8)
    sim.cycles(3)
    assert [[action.kind for action in call] for call in told] == [[ActionKind.PLACE]]


def test_at_most_two_commands_a_cycle_and_the_first_in_line_first(sim: Sim, told: list[list[Action]]) -> None:
    full(sim)
    jobs = [sim.submit(user, 8) for user in ("ann", "bob", "cy", "ann", "bob", "cy")]

    sim.cycle()

    assert [{action.value for action in call} for call in told] == [{str(-(4 << 24)), str(-(2 << 24))}]
    assert {action.run.job_id for action in told[0]} == {jobs[1], jobs[2], jobs[4], jobs[5]}
    sim.cycle()
    assert {action.run.job_id for action in told[1]} == {jobs[0], jobs[3]}


def test_each_change_is_written_down(sim: Sim) -> None:
    full(sim)
    job = sim.submit("cy", 8)

    sim.cycle()

    row = AuditEntry.objects.get(action="line.placed")
    assert row.after == {"nice": -(4 << 24), "jobs": [job], "count": 1, "order": "levels"}
    place = LinePlace.objects.get(job_id=job)
    assert (place.nice, place.asked_from, place.own_nice) == (-(4 << 24), 0, 0)
    sim.cycle()
    place.refresh_from_db()
    assert place.asked_from is None


def test_a_users_own_nice_counts_inside_the_level_and_is_kept(sim: Sim) -> None:
    full(sim)
    nicer, other, low = sim.submit("cy", 8, nice=100), sim.submit("cy", 8), sim.submit("ann", 8)

    sim.cycles(4)
    assert line(sim) == [other, nicer, low]
    sim.policy(order="slurm", protected_users=["eve"])
    sim.cycles(4)

    assert [sim.port.job(job).nice for job in (nicer, other, low)] == [100, 0, 0]


@pytest.mark.parametrize("change", ["outright", "counted"])
def test_a_user_who_changes_the_nice_meanwhile_is_heeded(sim: Sim, change: str) -> None:
    full(sim)
    first, second = sim.submit("cy", 8), sim.submit("cy", 8)
    sim.cycles(2)
    present = sim.port.job(first).nice
    mine = sim.port.job(first)
    value = "50" if change == "outright" else str(present + 50)
    sim.port.apply([Action(ActionKind.PLACE, mine.run, value=value)])

    sim.cycles(3)

    assert line(sim) == [second, first]
    assert sim.port.job(first).nice == present + 50
    assert LinePlace.objects.get(job_id=first).own_nice == 50


@pytest.mark.parametrize("how", ["slurm", "shadow", "approve", "paused", "reset"])
def test_taken_back_everybody_is_where_slurm_has_them(
    sim: Sim, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(sim)
    jobs = [sim.submit(user, 8, nice=nice) for user, nice in (("ann", 0), ("cy", 7), ("dee", 0), ("bob", 0))]
    before = line(sim)
    sim.cycles(4)
    assert line(sim) == [jobs[1], jobs[3], jobs[0], jobs[2]]

    row = Partition.objects.get(name="x")
    if how == "paused":
        pause(actor="dave", cluster=sim.cluster, partition=row, reason="Maintenance.")
    elif how == "reset":
        monkeypatch.setattr("console.steering.management.commands.order.connect", lambda row: sim.port)
        out = StringIO()
        call_command("order", "reset", stdout=out)
        assert "3 jobs have their own nice again." in out.getvalue()
        assert "The next cycle puts the line of x in order again" in out.getvalue()
    else:
        key = {"order": "slurm"} if how == "slurm" else {"enforcement": how}
        sim.policy(protected_users=["eve"], **key)
    if how != "reset":
        sim.cycles(4)

    assert line(sim) == before
    assert [sim.port.job(job).nice for job in jobs] == [0, 7, 0, 0]
    if how == "paused":
        resume(actor="dave", cluster=sim.cluster, partition=row, reason="Over.")
        sim.cycles(4)
        assert line(sim)[0] == jobs[1]


def test_shadow_shows_the_order_that_would_be_and_touches_nothing(sim: Sim, told: list[list[Action]]) -> None:
    full(sim, enforcement="shadow")
    low, high = sim.submit("ann", 8), sim.submit("cy", 8)

    sim.cycles(2)

    assert told == []
    assert [(sim.row(job).line_place, sim.row(job).line_ordered) for job in (high, low)] == [
        (1, False),
        (2, False),
    ]


def test_a_job_that_is_held_is_left_alone_until_it_is_let_go(sim: Sim) -> None:
    full(sim)
    job = sim.submit("cy", 8, held=True)

    sim.cycles(2)
    assert (sim.port.job(job).nice, sim.row(job).line_place) == (0, 0)
    sim.port.release_by_user(job)
    sim.cycles(2)

    assert sim.row(job).line_place == 1


def test_a_priority_that_somebody_has_fixed_is_not_asked_for_again_and_again(
    sim: Sim, told: list[list[Action]]
) -> None:
    full(sim)
    job = sim.submit("cy", 8)
    sim.port.apply([Action(ActionKind.PRIORITISE, sim.port.job(job).run, value="5000")])
    told.clear()

    sim.cycles(8)

    assert len(told) == 3


def test_where_the_whole_line_changes_more_is_done_at_once(sim: Sim, told: list[list[Action]]) -> None:
    full(sim)
    for own in range(12):
        sim.submit("cy", 8, nice=own)

    sim.cycle()

    assert len({action.value for action in told[0]}) == 12 > nice_kind.COMMANDS


def test_a_job_in_two_partitions_stands_in_the_first_that_is_ordered(sim: Sim) -> None:
    full(sim, partition="x")
    sim.policy("wide", protected_users=["eve"], enforcement="shadow")
    request = Request(nodes=1, per_node={"cpu": 8}, only_nodes=frozenset({"n1"}))
    job = sim.port.submit(JobSpec("both", "cy", request, partitions=("wide", "x")))

    sim.cycles(2)

    assert (sim.row(job, "x").line_place, sim.row(job, "wide").line_place) == (1, 0)
    assert sim.port.job(job).nice < 0


# --- Everybody keeps their place --------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["levels", "slurm"])
def test_a_victim_comes_back_before_all_of_its_level_that_came_later(sim: Sim, order: str) -> None:
    sim.policy(order=order)
    victim = sim.running("ann", 8, run_time_s=600)
    later = [sim.submit("ann", 8) for _ in range(3)]
    sim.port.advance(1)
    urgent = sim.submit("cy", 8, run_time_s=20)
    sim.cycles(12)
    assert sim.state(urgent) is JobState.RUNNING
    released = sim.port.job(victim)
    assert not released.held
    assert line(sim)[0] == victim

    sim.cycles(20)

    assert sim.state(victim) is JobState.RUNNING
    assert {sim.state(job) for job in later} == {JobState.PENDING}
    assert sim.plan().state == PlanState.VERIFIED


def test_the_beneficiary_of_a_plan_that_is_undone_has_its_place_and_nice_again(sim: Sim) -> None:
    sim.policy(start_deadline_s=2, grace_s=0)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8, nice=40)
    sim.cycle()
    assert sim.port.job(urgent).fixed
    sim.port.apply([Action(ActionKind.HOLD, sim.port.job(urgent).run)])
    sim.cycles(6)
    sim.port.apply([Action(ActionKind.RELEASE, sim.port.job(urgent).run)])
    sim.cycles(6)

    assert LinePlace.objects.get(job_id=urgent).own_nice == 40
    assert sim.state(low) is not None


# --- A start is carried out -------------------------------------------------------------------------------


def behind_a_wide_one(sim: Sim) -> str:
    """A job with free room that Slurm keeps for a wide job of lower level."""
    sim.policy("wide", order="slurm")
    for _ in range(4):
        sim.submit("ann", 6, "wide")
    sim.port.advance(2)
    sim.port.submit(JobSpec("wide", "ann", Request(nodes=4, per_node={"cpu": 8}), partitions=("wide",)))
    sim.port.advance(1)
    small = sim.submit("cy", 2, "wide")
    sim.port.advance(1)
    return small


def test_a_job_with_free_room_that_slurm_does_not_start_is_put_first(sim: Sim) -> None:
    small = behind_a_wide_one(sim)

    sim.cycles(2)
    assert sim.state(small) is JobState.PENDING
    sim.cycles(3)

    assert sim.state(small) is JobState.RUNNING
    plan = sim.plan()
    assert (plan.job_id, plan.victims, plan.state) == (small, [], PlanState.VERIFIED)
    assert plan.explain.endswith("Slurm has not started it within two cycles: it is put first in line.")
    assert "2 cpu free" in plan.explain


def test_with_the_line_by_level_it_starts_without_a_plan(sim: Sim) -> None:
    small = behind_a_wide_one(sim)
    sim.policy("wide")

    sim.cycles(3)

    assert sim.state(small) is JobState.RUNNING


def test_it_is_not_put_before_a_higher_job_that_waits_for_more_room(sim: Sim) -> None:
    sim.policy("wide", order="slurm", protected_users=["ann"])
    for _ in range(4):
        sim.submit("ann", 6, "wide")
    sim.port.advance(2)
    sim.port.submit(JobSpec("wide", "cy", Request(nodes=4, per_node={"cpu": 8}), partitions=("wide",)))
    sim.port.advance(1)
    small = sim.submit("bob", 2, "wide")

    sim.cycles(6)

    assert sim.state(small) is JobState.PENDING


@pytest.mark.parametrize("hindered", [{"held": True}, {"dependency": "afterany:1"}, {"begin": 1_800_000_000}])
def test_who_is_held_dependent_or_limited_gets_no_such_plan(sim: Sim, hindered: dict[str, Any]) -> None:
    sim.policy("wide", order="slurm")
    sim.running("ann", 6, "wide")
    job = sim.submit("cy", 2, "wide", **hindered)

    sim.cycles(5)

    assert sim.state(job) is JobState.PENDING
    assert not sim.port.job(job).fixed
