"""Elastic jobs of several nodes: they become smaller by a restart, or give nodes back while they run."""

from dataclasses import replace
from typing import Any

import pytest

from console.steering.approvals import approve
from console.steering.facts import recent_stops
from console.steering.models import Fate, Plan, Victim
from console.steering.replaying import replay
from console.steering.requests import mark_of
from scheduler.adapters.simulator import lifecycle
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal, SimJob
from scheduler.model.actions import ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import JobState, Request
from scheduler.model.line import LAST_OF_FRONT
from scheduler.model.observation import Resizing
from tests.steering.conftest import Sim

PENDING, RUNNING = JobState.PENDING, JobState.RUNNING
RESTART = "elastic:min=2,wish=4,how=restart"
INPLACE = "elastic:min=2,how=inplace"


def wide(sim: Sim, user: str = "ann", nodes: int = 4, cpus: int = 8, **spec: Any) -> str:
    """A running job of several nodes of the partition."""
    request = Request(nodes=nodes, per_node={"cpu": cpus})
    job = sim.port.submit(JobSpec(f"{user}_wide", user, request, partitions=("wide",), **spec))
    sim.port.advance(2)
    assert sim.state(job) is RUNNING
    return job


def shrunk(
    sim: Sim, words: str = RESTART, cycles: int = 1, run_time_s: int = 30, **keys: Any
) -> tuple[Plan, str, str]:
    """`ann` holds all nodes; `cy` asks for one."""
    sim.policy("wide", **keys)
    job = wide(sim, comment=words, completing_s=3)
    urgent = sim.submit("cy", 8, "wide", run_time_s=run_time_s)
    sim.cycles(cycles)
    return sim.plan(), job, urgent


def test_by_restart_it_goes_on_with_fewer_nodes(sim: Sim) -> None:
    plan, job, urgent = shrunk(sim)
    assert plan.reason == "shrinks"
    (victim,) = plan.victims
    assert (victim["by"], len(victim["nodes"]), len(victim["keeps"]), victim["least"]) == ("restart", 1, 3, 2)
    sim.cycles(12)
    assert (sim.state(urgent), sim.state(job)) == (RUNNING, RUNNING)
    assert len(sim.port.job(job).alloc) == 3
    plan.refresh_from_db()
    assert (plan.state, Victim.objects.get().fate) == ("verified", Fate.RETURNED)
    kinds = [action.kind for action in plan.actions.order_by("id")]
    assert kinds == ["prioritise", "requeue_hold", "resize", "release"]
    assert {action.state for action in plan.actions.all()} == {"verified"}


def test_it_stays_held_until_the_other_runs_and_then_goes_first(sim: Sim) -> None:
    _, job, urgent = shrunk(sim, cycles=3)
    while sim.state(urgent) is not RUNNING:
        assert sim.state(job) is not RUNNING
        sim.cycles(1)
    sim.cycles(8)
    assert sim.state(job) is RUNNING
    assert sim.actions(ActionKind.RELEASE)[0].value == str(LAST_OF_FRONT)


def test_the_other_may_start_on_a_node_that_it_is_to_keep(sim: Sim) -> None:
    """Slurm chooses among all nodes that the restart leaves free."""
    plan, job, urgent = shrunk(sim)
    (victim,) = plan.victims
    (meant,), other = plan.placement, victim["keeps"][0]
    plan.placement = {other: plan.placement[meant]}
    victim["nodes"], victim["keeps"] = [other], [meant, *victim["keeps"][1:]]
    plan.save(update_fields=["placement", "victims"])

    sim.cycles(12)

    assert list(sim.port.job(urgent).alloc) == [meant]
    assert (sim.state(job), len(sim.port.job(job).alloc)) == (RUNNING, 3)
    plan.refresh_from_db()
    assert plan.state == "verified"


def test_undone_it_comes_back_with_all_its_nodes(sim: Sim) -> None:
    _, job, urgent = shrunk(sim, start_deadline_s=8)
    while not sim.actions(ActionKind.REQUEUE_HOLD)[0].issued_at:
        sim.cycles(1)
    sim.port.set_partition_state("wide", "DOWN")
    sim.cycles(14)
    assert [(action.value, action.state) for action in sim.actions(ActionKind.RESIZE)] == [
        ("3", "verified"),
        ("4", "verified"),
    ]
    sim.port.cancel(urgent)
    sim.port.set_partition_state("wide", "UP")
    sim.cycles(12)
    assert sim.plan().state == "undone"
    assert len(sim.port.job(job).alloc) == 4


def test_a_refused_number_of_nodes_keeps_nobody_held(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on as it was, and counts as not elastic from then on."""
    monkeypatch.setattr(
        "scheduler.adapters.simulator.acting._restart_with",
        lambda *_: ActionOutcome(OutcomeKind.REFUSED, "no"),
    )
    plan, job, urgent = shrunk(sim, run_time_s=10)
    sim.cycles(15, every_s=2)
    plan.refresh_from_db()
    assert (plan.state, sim.actions(ActionKind.RESIZE)[0].state) == ("verified", "failed")
    assert sim.state(urgent) is None
    assert len(sim.port.job(job).alloc) == 4
    sim.submit("cy", 8, "wide")
    sim.cycles(2)
    assert sim.plan().reason != "shrinks"


def test_another_minimum_in_the_grace_time_spares_it(sim: Sim) -> None:
    plan, job, _ = shrunk(sim, grace_s=20, cycles=3)
    sim.port.job(job).comment = "elastic:min=4"
    sim.port.advance(20)
    sim.cycles(2)
    plan.refresh_from_db()
    assert f"elastic job {job} has 3 other workers left and needs 4" in str(plan.undo_reason)
    assert len(sim.port.job(job).alloc) == 4


def test_a_restart_counts_as_a_stop_of_the_hour(sim: Sim) -> None:
    plan, _, _ = shrunk(sim, cycles=6, max_stops_per_hour=1)
    assert recent_stops(sim.cluster).within_hour == {"wide": {"ann": 1}}
    other = sim.submit("cy", 8, "wide")
    sim.cycles(6)
    assert sim.state(other) is PENDING
    assert Plan.objects.count() == 1
    assert plan.reason == "shrinks"


def test_without_a_stop_left_nobody_is_restarted(sim: Sim) -> None:
    sim.policy("wide", max_stops_per_hour=0)
    job = wide(sim, comment=RESTART)
    sim.submit("cy", 8, "wide")
    sim.cycles(3)
    assert not Plan.objects.exists()
    assert len(sim.port.job(job).alloc) == 4


def test_in_shadow_its_work_is_counted_and_nothing_is_touched(sim: Sim) -> None:
    plan, job, _ = shrunk(sim, cycles=3, enforcement="shadow")
    assert (plan.state, plan.reason) == ("proposed", "shrinks")
    assert plan.victims[0]["amounts"]["cpu"] == 32
    assert len(sim.port.job(job).alloc) == 4


@pytest.mark.parametrize("words", [RESTART, INPLACE])
def test_a_person_approves_and_it_can_be_decided_again(sim: Sim, words: str) -> None:
    plan, job, urgent = shrunk(sim, words, enforcement="approve")
    assert (plan.state, replay(plan).differences) == ("proposed", ())
    approve(actor="dave", plan=plan, reason="Delivery.", seen=mark_of(plan))
    sim.cycles(12)
    assert (sim.state(urgent), len(sim.port.job(job).alloc)) == (RUNNING, 3)


def test_in_place_nothing_is_stopped(sim: Sim) -> None:
    plan, job, urgent = shrunk(sim, INPLACE, grace_s=30)
    assert plan.reason == "shrinks"
    run = sim.port.job(job).run
    sim.cycles(6)
    assert sim.state(urgent) is RUNNING
    assert (sim.port.job(job).run, len(sim.port.job(job).alloc)) == (run, 3)
    plan.refresh_from_db()
    assert plan.state == "verified"
    assert [action.kind for action in plan.actions.order_by("id")] == ["prioritise", "shrink"]
    assert plan.victims[0]["amounts"]["cpu"] == 8
    assert plan.victims[0]["kept"]["cpu"] > 0
    assert not Victim.objects.exists()
    assert recent_stops(sim.cluster).within_hour == {}


def test_in_place_goes_on_to_the_minimum_and_no_further(sim: Sim) -> None:
    _, job, _ = shrunk(sim, INPLACE, cycles=6)
    sim.submit("cy", 8, "wide")
    sim.cycles(6)
    assert len(sim.port.job(job).alloc) == 2
    sim.submit("cy", 8, "wide")
    sim.cycles(1)
    assert sim.plan().reason != "shrinks"


def test_where_it_can_be_done_once_the_second_time_is_by_restart(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = replace(sim.port.describe(), resizing=frozenset({Resizing.IN_PLACE_ONCE, Resizing.RESTART}))
    monkeypatch.setattr(SimulatedCluster, "describe", lambda _: info)
    _, job, _ = shrunk(sim, INPLACE, cycles=6)
    assert len(sim.port.job(job).alloc) == 3
    sim.submit("cy", 8, "wide")
    sim.cycles(1)
    assert sim.plan().victims[0]["by"] == "restart"


@pytest.mark.parametrize(
    "words", ["elastic:min=4,how=restart", "elastic:min=2,how=tasks", "elastic:min=2,how=x"]
)
def test_rigid_ones_are_stopped_as_ever(sim: Sim, words: str) -> None:
    plan, _, _ = shrunk(sim, words)
    assert plan.reason != "shrinks"
    assert plan.victims[0]["how"] == "requeue"


def test_a_cluster_that_cannot_has_only_rigid_ones(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    info = replace(sim.port.describe(), resizing=frozenset())
    monkeypatch.setattr(SimulatedCluster, "describe", lambda _: info)
    plan, _, _ = shrunk(sim)
    assert plan.reason != "shrinks"


def test_one_that_goes_on_is_taken_before_one_that_starts_again(sim: Sim) -> None:
    sim.policy("wide")
    again = wide(sim, nodes=2, comment="elastic:min=1,how=restart")
    goes_on = wide(sim, nodes=2, comment="elastic:min=1,how=inplace")
    sim.submit("cy", 8, "wide")
    sim.cycles(1)
    assert [victim["job"] for victim in sim.plan().victims] == [goes_on]
    assert len(sim.port.job(again).alloc) == 2


def test_types_of_gpus_that_nobody_asked_for_may_differ(sim: Sim) -> None:
    """Two of the four nodes have one type of GPU, the others another one."""
    sim.policy("wide")
    request = Request(nodes=4, per_node={"cpu": 2, "gpu": 2})
    job = sim.port.submit(JobSpec("gpus", "ann", request, partitions=("wide",), comment=RESTART))
    sim.port.advance(2)
    assert len({tuple(share) for share in sim.port.job(job).alloc.values()}) == 2
    sim.submit("cy", 8, "wide", run_time_s=30)
    sim.cycles(12)
    assert sim.plan().victims[0]["by"] == "restart"
    assert len(sim.port.job(job).alloc) == 3


def test_one_that_its_signal_ends_gets_its_number_also_when_the_other_runs_before_it_is_gone(
    sim: Sim,
) -> None:
    """Slurm starts others on nodes on which the last processes of a job are still ending."""
    sim.policy("wide", grace_s=20, checkpoint_signal="USR1")
    job = wide(sim, cpus=4, comment=RESTART, completing_s=8, on_signal=OnSignal.DIE)
    own = {
        next(iter(sim.port.job(other).alloc)): other
        for other in [sim.running("cy", 4, "wide") for _ in range(4)]
    }
    urgent = sim.submit("cy", 4, "wide", run_time_s=30)
    while sim.state(job) is not JobState.COMPLETING:
        sim.cycles(1)
    (node,) = sim.plan().placement
    sim.port.cancel(own[node])
    sim.cycles(2)
    assert (sim.state(urgent), sim.state(job)) == (RUNNING, JobState.COMPLETING)
    sim.cycles(20)
    assert [(action.value, action.state) for action in sim.actions(ActionKind.RESIZE)] == [("3", "verified")]
    assert len(sim.port.job(job).alloc) == 3
    sim.plan().refresh_from_db()
    assert sim.plan().state == "verified"


def test_one_that_ends_at_its_signal_after_a_while_gets_its_number_too(sim: Sim) -> None:
    """Its script saves, says so with a word of its own, and ends, while the other has found room already."""
    sim.policy("wide", grace_s=20, checkpoint_signal="USR1")
    job = wide(sim, cpus=4, comment=RESTART)
    own = [sim.running("cy", 4, "wide") for _ in range(4)]
    urgent = sim.submit("cy", 4, "wide", run_time_s=30)
    sim.cycles(5)
    assert sim.actions(ActionKind.SIGNAL)[0].state == "verified"
    for other in own:
        sim.port.cancel(other)
    lifecycle.signal(sim.port.state, replaced_script(sim, job))
    sim.cycles(25)
    assert sim.state(urgent) is RUNNING
    assert [action.value for action in sim.actions(ActionKind.RESIZE) if action.state == "verified"] == ["3"]
    assert len(sim.port.job(job).alloc) == 3


def replaced_script(sim: Sim, job_id: str) -> SimJob:
    """A job of which the next signal is the end, three seconds later."""
    job = sim.port.job(job_id)
    job.spec = replace(job.spec, on_signal=OnSignal.DIE, completing_s=3)
    return job
