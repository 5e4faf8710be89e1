"""Elastic jobs whose workers are tasks: they shrink before anybody is stopped, and grow back afterwards."""

from typing import Any

import pytest

from console.cluster.elastic import WorkerCounter
from console.projects.selectors import elastic_patterns
from console.steering.approvals import approve
from console.steering.facts import recent_stops
from console.steering.models import Fate, Plan, PlannedAction, Victim
from console.steering.replaying import replay
from console.steering.requests import mark_of
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests import factories
from tests.steering.conftest import Sim
from tests.steering.test_arrays import array, states, victims

PENDING, RUNNING = JobState.PENDING, JobState.RUNNING
WORDS = "elastic:min=2,wish=4"


def shrunk(sim: Sim, *, words: str = WORDS, cycles: int = 1, **keys: Any) -> tuple[Plan, list[str], str]:
    """Four workers of 2 CPUs fill the node of 8; `cy` asks for 2. The plan, the workers, the urgent job."""
    sim.policy(**keys)
    workers = array(sim, "ann", 2, 4, comment=words)
    sim.port.advance(2)
    assert states(sim, workers) == [RUNNING] * 4
    job = sim.submit("cy", 2, run_time_s=30)
    sim.cycles(cycles)
    return sim.plan(), workers, job


def test_one_worker_goes_and_comes_back(sim: Sim) -> None:
    plan, workers, job = shrunk(sim)
    assert plan.reason == "shrinks"
    (taken,) = plan.victims
    assert (taken["worker_of"], taken["least"]) == (workers[0].partition("_")[0], 2)
    sim.cycles(8)
    assert sim.state(job) is RUNNING
    assert states(sim, workers).count(RUNNING) == 3
    assert not sim.port.job(taken["job"]).held
    sim.cycles(20, every_s=2)
    assert sim.state(job) is None
    assert states(sim, workers) == [RUNNING] * 4
    plan.refresh_from_db()
    assert (plan.state, Victim.objects.get().fate) == ("verified", Fate.RETURNED)
    assert PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD).count() == 1


def test_a_group_of_jobs_shrinks_as_an_array_does(sim: Sim) -> None:
    sim.policy()
    workers = [sim.submit("ann", 2, comment=f"{WORDS} group=train") for _ in range(4)]
    sim.port.advance(2)
    job = sim.submit("cy", 4)
    sim.cycles(8)
    assert sim.plan().reason == "shrinks"
    assert sim.state(job) is RUNNING
    assert states(sim, workers).count(RUNNING) == 2


def test_nobody_is_stopped_for_a_worker_that_wants_to_come_back(sim: Sim) -> None:
    sim.policy(user_overrides={"ann": "P2", "cy": "P0", "low": "P3"})
    workers = array(sim, "ann", 2, 4, comment=WORDS)
    sim.port.advance(2)
    sim.submit("cy", 2, run_time_s=20)
    sim.cycles(8)
    low = sim.submit("low", 2)
    sim.cycles(4)
    assert sim.state(low) is PENDING
    assert {plan.reason for plan in Plan.objects.all()} == {"shrinks"}
    sim.cycles(15, every_s=2)
    assert states(sim, workers) == [RUNNING] * 4
    assert sim.state(low) is PENDING


@pytest.mark.parametrize("words", ["elastic:min=4", "elastic:min=2,how=restart", "elastic:min=2,wish=1", ""])
def test_rigid_ones_are_stopped_as_ever(sim: Sim, words: str) -> None:
    plan, _, _ = shrunk(sim, words=words)
    assert plan.reason != "shrinks"
    assert not any(victim.get("worker_of") for victim in plan.victims)


def test_a_worker_that_ended_by_itself_in_the_grace_time_counts(sim: Sim) -> None:
    sim.policy(grace_s=20)
    workers = array(sim, "ann", 2, 4, comment="elastic:min=3", completing_s=60)
    sim.port.advance(2)
    sim.submit("cy", 2)
    sim.cycles(3)
    plan = sim.plan()
    taken = victims(plan)
    other = next(each for each in workers if each not in taken)
    sim.port.cancel(other)
    sim.port.advance(20)
    sim.cycles(2)
    plan.refresh_from_db()
    assert plan.undo_reason.startswith(f"The elastic job {workers[0].partition('_')[0]} has 2 other workers")
    assert [action.state for action in sim.actions(ActionKind.REQUEUE_HOLD)] == ["expired"]
    assert states(sim, taken) == [RUNNING]


def test_switched_off_in_the_grace_time_nothing_is_taken(sim: Sim) -> None:
    plan, workers, _ = shrunk(sim, grace_s=20, cycles=2)
    sim.policy(grace_s=20, elastic=False)
    sim.port.advance(25)
    sim.cycles(1)
    plan.refresh_from_db()
    assert "No job counts as elastic" in str(plan.undo_reason)
    assert states(sim, workers) == [RUNNING] * 4


def test_a_shrink_does_not_count_as_a_stop(sim: Sim) -> None:
    shrunk(sim, cycles=4, max_stops_per_hour=0)
    assert sim.actions(ActionKind.REQUEUE_HOLD)[0].state in ("issued", "verified")
    assert recent_stops(sim.cluster).within_hour == {}


def test_a_person_approves_a_shrink_and_it_can_be_decided_again(sim: Sim) -> None:
    plan, workers, job = shrunk(sim, enforcement="approve")
    assert (plan.state, replay(plan).differences) == ("proposed", ())
    approve(actor="dave", plan=plan, reason="Delivery.", seen=mark_of(plan))
    sim.cycles(8)
    assert sim.state(job) is RUNNING
    assert states(sim, workers).count(RUNNING) == 3


def test_in_shadow_nothing_is_touched(sim: Sim) -> None:
    plan, workers, _ = shrunk(sim, enforcement="shadow", cycles=3)
    assert (plan.state, plan.reason) == ("proposed", "shrinks")
    assert states(sim, workers) == [RUNNING] * 4


def test_a_pattern_of_the_project_makes_jobs_elastic_and_one_group(sim: Sim) -> None:
    """The second look at the minimum must count the same group as the planner: here it may take just one."""
    sim.policy()
    project = factories.make_project(sim.cluster, "beta", slurm_account="")
    factories.make_member(project, "ann")
    factories.make_task_pattern(project, "w_*", importance=1, one_request=True, elastic_min=3, elastic_wish=4)
    workers = [sim.submit("ann", 2, name=f"w_{n}") for n in range(4)]
    sim.port.advance(2)
    job = sim.submit("cy", 2, run_time_s=30)
    sim.cycles(8)
    plan = sim.plan()
    assert (plan.reason, plan.victims[0]["worker_of"], plan.victims[0]["least"]) == ("shrinks", "w_*@ann/", 3)
    assert sim.state(job) is RUNNING and states(sim, workers).count(RUNNING) == 3
    counter = WorkerCounter(sim.cluster, {}, elastic_patterns(sim.cluster))
    assert str(counter.said_of(sim.row(workers[0])).range) == "3 to 4 workers (from its project), 3 now"
