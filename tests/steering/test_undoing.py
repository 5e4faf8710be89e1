"""Plans that are taken back: nobody is stopped needlessly, and who was stopped goes on first."""

from collections.abc import Sequence
from typing import Any

import pytest

from console.core import clock
from console.steering.models import Pause, Plan, PlannedAction
from console.steering.replaying import replay
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.model.actions import Action, ActionKind, ActionOutcome
from scheduler.model.jobs import JobState, Request
from scheduler.model.line import LAST_OF_FRONT, LEVELS, NUMBERS, front, is_front
from tests.steering.conftest import Sim

SLURMS_HIGHEST = 4_294_901_760
"""Where priority/basic begins to count down."""


def test_the_place_of_victims_is_behind_every_beneficiary_and_before_everybody_else() -> None:
    last, first = front((None, None), NUMBERS - 1), front((0, 0), 0)
    assert SLURMS_HIGHEST < LAST_OF_FRONT < last < front((0, LEVELS), 0) < first
    assert is_front(first) and is_front(LAST_OF_FRONT) and not is_front(SLURMS_HIGHEST)


def _undone_after_the_stops(sim: Sim, **policy: Any) -> tuple[str, str]:
    """A victim that was stopped for a job whose user holds it then."""
    sim.policy(**policy)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycle()
    sim.port.hold_by_user(urgent)
    return low, urgent


def test_a_stopped_victim_goes_on_before_a_flood_that_would_take_its_room(sim: Sim) -> None:
    sim.policy(start_deadline_s=5)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycle()
    sim.port.set_partition_state("x", "DOWN")
    flood = [sim.submit("dee", 1, run_time_s=600) for _ in range(20)]
    for job in flood:
        sim.port.job(job).priority = SLURMS_HIGHEST
    sim.cycles(12)
    sim.port.set_partition_state("x", "UP")

    sim.cycles(3)

    assert sim.state(low) is JobState.RUNNING
    assert {sim.state(job) for job in (urgent, *flood)} == {JobState.PENDING}
    plan = Plan.objects.get()
    assert (plan.state, plan.job_id) == ("undone", urgent)
    assert "deadline" in plan.outcome
    assert "undone, and it goes on first" in sim.port.job(low).admin_comment


def test_a_victim_that_cannot_start_gives_its_place_back_after_a_minute(sim: Sim) -> None:
    low, _ = _undone_after_the_stops(sim)
    sim.port.set_node_state("n1", SimNodeState.DRAIN, "fan")

    sim.cycles(20)
    assert sim.port.job(low).priority == LAST_OF_FRONT
    assert Plan.objects.get().state == "executing"
    sim.cycles(20, every_s=3)

    assert 0 < sim.port.job(low).priority < SLURMS_HIGHEST
    assert Plan.objects.get().state == "undone"


def test_a_victim_held_by_its_user_meanwhile_stays_held(sim: Sim) -> None:
    low, _ = _undone_after_the_stops(sim)
    sim.port.set_node_state("n1", SimNodeState.DRAIN, "fan")
    sim.cycles(6)
    sim.port.hold_by_user(low)

    sim.cycles(10)

    assert sim.port.job(low).priority == 0
    assert Plan.objects.get().state == "undone"


def test_a_beneficiary_that_started_elsewhere_has_its_plan_undone_and_nobody_stopped(sim: Sim) -> None:
    sim.policy("wide", grace_s=20)
    fillers = [_on(sim, node, "ann", 8) for node in ("n1", "n2", "n3", "n4")]
    sim.port.advance(2)
    urgent = sim.submit("cy", 8, "wide")
    sim.cycles(3)
    victim = sim.plan().victims[0]["job"]
    sim.port.cancel(next(job for job in fillers if job != victim))

    sim.cycles(6)

    plan = sim.plan()
    assert sim.state(urgent) is JobState.RUNNING
    assert (plan.state, "started elsewhere, on n" in plan.outcome) == ("undone", True)
    assert sim.port.job(victim).restarts == 0
    sim.submit("cy", 8, "wide")
    sim.cycle()
    assert sim.plan() != plan
    assert replay(sim.plan()).differences == (), (
        "what is said of a job that waits is not said of one that runs"
    )


def test_beneficiaries_that_take_each_others_room_have_got_what_was_made_for_them(sim: Sim) -> None:
    sim.policy("wide", exempt_s=1)
    for _ in range(4):
        sim.running("ann", 8, "wide")
    urgent = [sim.submit("cy", 5, "wide") for _ in range(2)]
    sim.cycle()
    first, second = Plan.objects.order_by("id")
    first.placement, second.placement = second.placement, first.placement
    for plan in (first, second):
        plan.save(update_fields=["placement"])

    sim.cycles(6)

    assert [sim.state(job) for job in urgent] == [JobState.RUNNING] * 2
    assert [plan.state for plan in Plan.objects.all()] == ["verified"] * 2


def test_a_stop_just_done_is_not_held_against_the_rest_of_its_plan(sim: Sim) -> None:
    """One is requeued and one cancelled, in two calls, where a job may be stopped only once."""
    sim.policy(max_preemptions_per_job=1, cancel_if_not_requeueable=True)
    requeued = sim.running("ann", 4)
    cancelled = sim.running("ann", 4, requeue=False)
    urgent = sim.submit("cy", 8)

    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING
    assert (sim.port.job(requeued).restarts, sim.state(cancelled)) == (1, None)
    assert sim.plan().state == "verified"


def test_a_beneficiary_held_in_the_grace_has_nobody_stopped(sim: Sim) -> None:
    sim.policy(grace_s=5)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycles(2)
    sim.port.hold_by_user(urgent)

    sim.cycles(10)

    assert sim.port.job(low).restarts == 0
    assert "held" in sim.plan().outcome


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"user_overrides": {"ann": "P0", "cy": "P0"}}, "no longer ranks below"),
        ({"user_overrides": {"ann": "P3", "cy": "P3"}}, "no longer ranks below"),
        ({"max_preemptions_per_job": 0}, "may no longer be stopped"),
        ({"protected_users": ["ann"]}, "may no longer be stopped"),
        ({"enforcement": "approve"}, "no longer enforces"),
    ],
)
def test_a_policy_that_changes_in_the_grace_saves_the_victim(
    sim: Sim, policy: dict[str, Any], words: str
) -> None:
    sim.policy(grace_s=5)
    low = sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(2)
    sim.policy(**{"grace_s": 5, **policy})

    sim.cycles(10)

    assert sim.port.job(low).restarts == 0
    plan = Plan.objects.order_by("id")[0]
    assert (plan.state, words in plan.outcome) == ("undone", True), plan.outcome


def test_a_pause_that_is_set_within_the_cycle_is_heeded(sim: Sim) -> None:
    """The switch is read anew just before anybody is stopped."""
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 8)
    honest = type(sim.port).apply

    def pauses(port: SimulatedCluster, actions: Sequence[Action], *rest: Any) -> Sequence[ActionOutcome]:
        if actions[0].kind is ActionKind.PRIORITISE:
            Pause.objects.get_or_create(
                cluster=sim.cluster, partition="", defaults={"since": clock.now(), "by": "dave"}
            )
        return honest(port, actions, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(sim.port), "apply", pauses)
        sim.cycle()
    sim.cycles(5)

    assert sim.port.job(low).restarts == 0
    assert "dave paused all partitions" in Plan.objects.get().outcome
    assert not PlannedAction.objects.filter(kind="requeue_hold").exclude(state="expired").exists()


def _on(sim: Sim, node: str, user: str, cpus: int) -> str:
    wanted = Request(nodes=1, per_node={"cpu": cpus}, only_nodes=frozenset({node}))
    return sim.port.submit(JobSpec(f"{user}_{node}", user, wanted, partitions=("wide",)))
