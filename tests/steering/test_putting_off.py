"""A job for which others were stopped in vain is put off, twice as long each time, until it starts or changes."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from console.core import clock
from console.steering.backoff import likeness, putting_off
from console.steering.explanations import why
from console.steering.models import Cycle, Plan, PlannedAction
from scheduler.adapters.simulator import placement, schedule
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.observation import Observation
from tests.steering.conftest import Sim

NEVER = 6
"""So many CPUs are what the cluster of these tests never starts, whatever room there is."""


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Slurm accepts the job, and leaves it pending (Resources) with the room free: 24.11.5, `-n1 --gpus=12`."""
    honest, refuses = placement.place, [True]

    def place(request: Request, *more: Any) -> Any:
        return None if refuses[0] and request.per_node.get("cpu") == NEVER else honest(request, *more)

    monkeypatch.setattr(schedule, "place", place)
    return lambda on: refuses.__setitem__(0, on)


def plans_after(sim: Sim, minutes: int, step: int = 10) -> int:
    """How many plans there are after so many minutes of cycles."""
    sim.cycles(minutes * 60 // step, step)
    return Plan.objects.count()


def test_the_same_jobs_were_stopped_three_times_in_nine_minutes(
    sim: Sim, never: Callable[[bool], None]
) -> None:
    """Seen: 12 jobs stopped for a job that never starts, three times in 9 minutes."""
    sim.policy(max_preemptions_per_job=100)
    for _ in range(4):
        sim.running("ann", 2)
    sim.submit("cy", NEVER)

    assert plans_after(sim, 9) == 2
    stops = PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD, issued_at__isnull=False)
    assert stops.count() <= 2 * 4


@pytest.mark.usefixtures("never")
def test_a_limit_that_is_told_once_there_is_room_gives_the_victim_back_at_once(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm looks at the limits of what is held when it has found room: `Resources` first, then `QOSGrpCpuLimit`."""
    sim.policy(start_deadline_s=3600)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", NEVER)
    observe = sim.port.observe

    def seen(*, quick: bool = False) -> Observation:
        told = observe(quick=quick)
        if any(job.state is not JobState.PENDING for job in told.jobs):
            return told
        jobs = [replace(j, slurm_reason="QOSGrpCpuLimit") if j.id == urgent else j for j in told.jobs]
        return replace(told, jobs=tuple(jobs))

    monkeypatch.setattr(sim.port, "observe", seen)

    sim.cycles(30)

    assert sim.state(low) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1
    plan = Plan.objects.get()
    assert plan.undo_reason == f"{urgent} does not start now: a limit of its QOS is reached (QOSGrpCpuLimit)."
    assert plan.not_started


def test_the_time_doubles_and_ends_at_a_day(sim: Sim) -> None:
    sim.policy()
    now = clock.now()
    sim.running("ann", 8)
    urgent = sim.submit("ann", 8)
    sim.cycle()
    template = _undone(sim, urgent, now)
    for times, wait in ((1, 2), (2, 4), (3, 8), (9, 512), (11, 1440), (20, 1440)):
        Plan.objects.all().delete()
        for number in range(times):
            template.pk, template.ended_at = None, now - timedelta(minutes=times - number)
            template.save()
        found = putting_off(sim.cluster).next_try([template])
        last = Plan.objects.order_by("-ended_at").first()
        assert last is not None and last.ended_at is not None
        # Two minutes are over already when the last was a minute ago.
        assert (found and found - last.ended_at) == timedelta(minutes=wait)


def _undone(sim: Sim, job: str, now: Any) -> Plan:
    """The job's plan as it would be after it was undone in vain."""
    cycle = Cycle.objects.create(cluster=sim.cluster, number=99, started_at=now)
    seen = next(each for each in sim.port.observe().jobs if each.id == job)
    asked = SnapshotJob(job, seen.name, JobState.PENDING, seen.user, 0, 0, seen.submit, request=seen.request)
    return Plan(
        cluster=sim.cluster, cycle=cycle, partition="x", job_id=job, job_name=seen.name, user=seen.user,
        state="undone", not_started=True, likeness=likeness(asked), created_at=now, reason="", explain="",
        enforcement="enforce", mode="user",
    )  # fmt: skip


def test_a_restart_forgets_nothing_and_the_job_page_says_when(
    sim: Sim, never: Callable[[bool], None]
) -> None:
    sim.policy(start_deadline_s=20, max_preemptions_per_job=100)
    sim.running("ann", 8)
    urgent = sim.submit("cy", NEVER)
    plans_after(sim, 5)
    plan = sim.plan()
    assert Plan.objects.count() == 2 and plan.state == "undone"

    row = sim.row(urgent)
    assert (
        row.explain.endswith(
            f"may not start yet: plan {plan.pk} was undone: it had not started by the deadline; "
            "the next try is in 3 min at the earliest."
        )
        or "the next try is in" in row.explain
    )
    answer = why(sim.cluster, urgent)
    assert answer is not None
    again = next(line for line in answer.parts[0].lines if line.text == "A new plan may be made for it")
    assert again.at is not None and plan.ended_at is not None
    assert again.at - plan.ended_at == timedelta(minutes=4)


def test_the_same_job_submitted_again_is_put_off_with_it_and_another_one_is_not(
    sim: Sim, never: Callable[[bool], None]
) -> None:
    sim.policy(start_deadline_s=20, max_preemptions_per_job=100)
    sim.running("ann", 8)
    urgent = sim.submit("cy", NEVER)
    sim.cycles(10, 5)
    assert sim.plan().state == "undone"
    sim.port.cancel(urgent)
    again = sim.submit("cy", NEVER)
    sim.cycles(3)
    assert Plan.objects.count() == 1
    assert "the next try is in" in sim.row(again).explain

    other = sim.submit("cy", 5)
    sim.cycles(6)
    assert sim.state(other) is JobState.RUNNING


def test_the_tasks_of_an_array_are_put_off_together(sim: Sim, never: Callable[[bool], None]) -> None:
    sim.policy(max_preemptions_per_job=100)
    sim.running("ann", 8)
    request = Request(nodes=1, per_node={"cpu": NEVER})
    sim.port.submit(JobSpec("array", "cy", request, partitions=("x",), array_tasks=5))

    assert plans_after(sim, 9) == 2


def test_it_ends_when_the_job_starts(sim: Sim, never: Callable[[bool], None]) -> None:
    sim.policy(start_deadline_s=20, max_preemptions_per_job=100)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", NEVER, run_time_s=30)
    plans_after(sim, 5)
    assert Plan.objects.count() == 2
    never(False)
    sim.port.cancel(low)
    sim.cycles(20)
    assert sim.state(urgent) is JobState.RUNNING
    sim.cycles(15, every_s=2)
    never(True)

    sim.running("ann", 8)
    sim.submit("cy", NEVER)
    sim.cycles(4)
    assert Plan.objects.count() == 3, "this one is not put off"


def test_it_ends_when_the_job_asks_for_something_else(sim: Sim, never: Callable[[bool], None]) -> None:
    sim.policy(start_deadline_s=20, max_preemptions_per_job=100)
    sim.running("ann", 8)
    urgent = sim.submit("cy", NEVER)
    sim.cycles(10, 5)
    assert sim.plan().state == "undone"
    job = sim.port.job(urgent)
    job.spec = replace(job.spec, request=Request(nodes=1, per_node={"cpu": 5}))
    sim.cycles(8)

    assert sim.state(urgent) is JobState.RUNNING
