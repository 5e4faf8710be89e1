"""`partial=no`: the waiting jobs of a group are held until there is room for all of them, and never for ever."""

from typing import Any

import pytest

from console.overview.job_columns import part_in_plan
from console.overview.selectors import open_plans
from console.partitions.models import Partition
from console.steering.approvals import approve
from console.steering.explanations import why
from console.steering.models import Plan, PlanKind, PlannedAction
from console.steering.new_plans import LONGEST_HOLD
from console.steering.pausing import pause
from console.steering.requests import mark_of
from scheduler.adapters.simulator.jobs import HeldBy
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim
from tests.steering.test_arrays import array, kinds, running_array, states

PENDING, RUNNING = JobState.PENDING, JobState.RUNNING
ALL = "group=train7 partial=no"


def whole(sim: Sim, count: int = 3, cpus: int = 2, user: str = "cy", **spec: Any) -> list[str]:
    """An array whose user wants all of its tasks or none."""
    return array(sim, user, cpus, count, comment="partial=no", **spec)


def held(sim: Sim, jobs: list[str]) -> list[HeldBy]:
    return [sim.port.job(job).held for job in jobs]


def hold(sim: Sim) -> Plan:
    return Plan.objects.filter(kind=PlanKind.WHOLE).latest("pk")


def waits_for_all(sim: Sim, **keys: Any) -> tuple[list[str], list[str]]:
    """Two tasks of `ann` leave room for one of three tasks of `bob`, who reaches nobody."""
    sim.policy(user_overrides={"ann": "P2", "bob": "P2", "cy": "P0"}, **keys)
    low = running_array(sim, "ann", 3, 2)
    asked = whole(sim, user="bob")
    sim.port.hold_by_user(asked[0])  # Slurm starts it otherwise before anybody looks
    sim.port.hold_by_user(asked[1])
    sim.port.hold_by_user(asked[2])
    for job in asked:
        sim.port.job(job).held = HeldBy.NO
    return low, asked


def test_they_are_held_until_all_fit_and_then_start_together(sim: Sim) -> None:
    low, asked = waits_for_all(sim)
    sim.cycles(4)
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    assert (hold(sim).state, hold(sim).group) == ("executing", asked[0].partition("_")[0])
    assert sim.row(asked[0]).plan == hold(sim).pk
    sim.port.cancel(low[0])
    sim.cycles(1)
    assert states(sim, asked) == [PENDING] * 3, "room for two of three"
    sim.port.cancel(low[1])
    sim.cycles(5)
    assert states(sim, asked) == [RUNNING] * 3
    assert len({sim.port.job(job).start for job in asked}) == 1
    assert {plan.state for plan in Plan.objects.all()} == {"verified"}
    assert kinds(ActionKind.HOLD, *asked) == kinds(ActionKind.RELEASE, *asked) == ["verified"] * 3


def test_they_are_held_in_the_grace_time_and_let_go_right_before_the_stops(sim: Sim) -> None:
    sim.policy(grace_s=20)
    low = running_array(sim, "ann", 3, 2)
    asked = whole(sim)
    sim.cycles(10)
    assert states(sim, asked) == [PENDING] * 3
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    assert states(sim, low) == [RUNNING] * 2
    sim.cycles(20)
    assert states(sim, asked) == [RUNNING] * 3
    starts = [sim.port.job(job).start or 0 for job in asked]
    assert max(starts) - min(starts) <= 3
    assert {(plan.kind, plan.state) for plan in Plan.objects.all()} == {
        ("preempt", "verified"), ("whole", "verified"),
    }  # fmt: skip
    assert sum(sim.port.job(job).restarts for job in low) == 2


def test_jobs_of_a_group_too(sim: Sim) -> None:
    sim.policy(grace_s=20)
    running_array(sim, "ann", 3, 2)
    asked = [sim.submit("cy", 2, name=f"part{n}", comment=ALL) for n in range(3)]
    sim.cycles(5)
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    sim.cycles(25)
    assert states(sim, asked) == [RUNNING] * 3


def test_nobody_is_stopped_where_that_is_not_enough_for_all(sim: Sim) -> None:
    sim.policy(user_overrides={"ann": "P3", "bob": "P0", "cy": "P0"})
    high, low = running_array(sim, "bob", 3, 1), running_array(sim, "ann", 2, 2)
    asked = whole(sim)
    sim.cycles(6)
    assert states(sim, [*high, *low]) == [RUNNING] * 3
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    assert not PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD).exists()


def test_a_limit_holds_back_all(sim: Sim) -> None:
    sim.policy(max_stops_per_hour=1)
    low = running_array(sim, "ann", 2, 4)
    asked = whole(sim)
    sim.cycles(5)
    assert states(sim, low) == [RUNNING] * 4
    assert held(sim, asked) == [HeldBy.ADMIN] * 3


def test_in_shadow_nobody_is_held(sim: Sim) -> None:
    _low, asked = waits_for_all(sim, enforcement="shadow")
    sim.cycles(3)
    assert HeldBy.ADMIN not in held(sim, asked)
    assert not PlannedAction.objects.exists()


def test_where_somebody_decides_they_are_held_and_all_start_by_one_decision(sim: Sim) -> None:
    sim.policy(enforcement="approve", grace_s=5)
    running_array(sim, "ann", 3, 2)
    asked = whole(sim)
    sim.cycles(3)
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    plan = Plan.objects.get(kind=PlanKind.PREEMPT)
    assert (plan.state, plan.whole, sim.row(asked[1]).plan) == ("proposed", True, plan.pk)
    approve(actor="dave", plan=plan, reason="Delivery.", seen=mark_of(plan))
    sim.cycles(15)
    assert states(sim, asked) == [RUNNING] * 3


def test_where_somebody_decides_free_room_needs_no_decision(sim: Sim) -> None:
    low, asked = waits_for_all(sim, enforcement="approve")
    sim.cycles(3)
    for job in low:
        sim.port.cancel(job)
    sim.cycles(5)
    assert states(sim, asked) == [RUNNING] * 3
    assert not Plan.objects.filter(kind=PlanKind.PREEMPT).exists()


# --- Never for ever ----------------------------------------------------------------------------------------------


def to_shadow(sim: Sim, _asked: list[str]) -> None:
    sim.policy(enforcement="shadow")


def without_units(sim: Sim, _asked: list[str]) -> None:
    sim.policy(user_overrides={"ann": "P2", "bob": "P2"}, units=False)


def without_policy(sim: Sim, _asked: list[str]) -> None:
    """Another one takes its name later, in shadow."""
    Partition.objects.filter(name="x").update(name="before")


def another_word(sim: Sim, asked: list[str]) -> None:
    for job in asked:
        sim.port.job(job).comment = ""
    sim.port.state.changed = True


def all_but_one_leave(sim: Sim, asked: list[str]) -> None:
    for job in asked[1:]:
        sim.port.cancel(job)


def a_day_goes_by(sim: Sim, _asked: list[str]) -> None:
    sim.port.advance(int(LONGEST_HOLD.total_seconds()))


@pytest.mark.parametrize(
    "what", [to_shadow, without_units, without_policy, another_word, all_but_one_leave, a_day_goes_by]
)
def test_they_are_let_go(sim: Sim, what: Any) -> None:
    _low, asked = waits_for_all(sim)
    sim.cycles(3)
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    what(sim, asked)
    sim.cycles(6)
    left = [job for job in asked if job in sim.port.state.jobs]
    assert set(held(sim, left)) == {HeldBy.NO}
    assert (hold(sim).state, bool(hold(sim).outcome)) == ("verified", True)
    assert Plan.objects.filter(kind=PlanKind.WHOLE).count() == 1


def test_one_that_has_started_before_anybody_looked_keeps_nobody_from_starting(sim: Sim) -> None:
    """Slurm starts a task in the very second of its submission, in room that is free."""
    sim.policy(grace_s=10, user_overrides={"ann": "P3", "cy": "P0"})
    low = running_array(sim, "ann", 3, 2)
    asked = whole(sim)
    sim.port.advance(1)
    assert states(sim, asked) == [RUNNING, PENDING, PENDING]
    sim.cycles(25)
    assert states(sim, asked) == [RUNNING] * 3
    assert {plan.state for plan in Plan.objects.all()} == {"verified"}
    assert sum(sim.port.job(job).restarts for job in low) == 2


def test_one_that_starts_after_the_look_leaves_its_room_to_nobody_else(sim: Sim) -> None:
    sim.policy(grace_s=10, user_overrides={"ann": "P3", "cy": "P0"})
    low, short = running_array(sim, "ann", 3, 2), sim.running("cy", 2)
    asked = whole(sim)
    sim.cycles(2)
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    sim.port.cancel(short)
    sim.port.job(asked[0]).held = HeldBy.NO  # an administrator lets it go by hand
    sim.port.state.changed = True
    sim.cycles(25)
    assert states(sim, asked) == [RUNNING] * 3
    assert {plan.state for plan in Plan.objects.all()} == {"verified"}
    assert sum(sim.port.job(job).restarts for job in low) == 2


def test_a_pause_keeps_them_held_and_free_room_still_starts_them(sim: Sim) -> None:
    low, asked = waits_for_all(sim)
    sim.cycles(3)
    pause(actor="dave", cluster=sim.cluster, partition=Partition.objects.get(name="x"), reason="Test.")
    sim.cycles(3)
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    for job in low:
        sim.port.cancel(job)
    sim.cycles(5)
    assert states(sim, asked) == [RUNNING] * 3


def test_who_holds_a_job_himself_keeps_it_and_the_others_go_on_without_it(sim: Sim) -> None:
    low, asked = waits_for_all(sim)
    sim.port.hold_by_user(asked[0])
    sim.cycles(3)
    assert held(sim, asked) == [HeldBy.USER, HeldBy.ADMIN, HeldBy.ADMIN]
    for job in low:
        sim.port.cancel(job)
    sim.cycles(5)
    assert states(sim, asked) == [PENDING, RUNNING, RUNNING]
    assert held(sim, asked[:1]) == [HeldBy.USER]


def test_who_holds_a_job_himself_while_we_do_keeps_it(sim: Sim) -> None:
    _low, asked = waits_for_all(sim)
    sim.cycles(3)
    sim.port.job(asked[0]).held = HeldBy.USER
    sim.port.state.changed = True
    sim.port.advance(1)
    sim.policy(enforcement="shadow")
    sim.cycles(5)
    assert held(sim, asked) == [HeldBy.USER, HeldBy.NO, HeldBy.NO]
    assert hold(sim).state == "verified"


def test_a_hold_that_takes_effect_after_its_plan_is_over_is_let_go_all_the_same(sim: Sim) -> None:
    _low, asked = waits_for_all(sim)
    sim.cycles(3)
    sim.policy(enforcement="shadow")
    sim.cycles(4)
    PlannedAction.objects.filter(job_id=asked[1], kind=ActionKind.RELEASE).update(state="expired")
    sim.port.job(asked[1]).held = HeldBy.ADMIN
    sim.port.state.changed = True
    sim.cycles(5)
    assert held(sim, asked) == [HeldBy.NO] * 3
    assert hold(sim).state == "verified"


def test_a_hold_of_an_administrator_is_not_ours_to_take_back(sim: Sim) -> None:
    _low, asked = waits_for_all(sim)
    sim.cycles(3)
    sim.policy(enforcement="shadow")
    sim.cycles(4)
    sim.port.job(asked[1]).held = HeldBy.ADMIN
    sim.port.state.changed = True
    sim.cycles(5)
    assert held(sim, asked) == [HeldBy.NO, HeldBy.ADMIN, HeldBy.NO]


def test_jobs_that_join_are_held_with_the_others(sim: Sim) -> None:
    sim.policy(user_overrides={"ann": "P2", "bob": "P2"})
    low = running_array(sim, "ann", 4, 2)
    asked = [sim.submit("bob", 2, comment=ALL) for _ in range(2)]
    sim.cycles(3)
    asked.append(sim.submit("bob", 2, comment=ALL))
    sim.cycles(3)
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    assert Plan.objects.filter(kind=PlanKind.WHOLE).count() == 1
    sim.port.cancel(low[0])
    sim.cycles(3)
    assert states(sim, asked) == [PENDING] * 3
    sim.port.cancel(low[1])
    sim.cycles(5)
    assert states(sim, asked) == [RUNNING] * 3


def test_after_a_plan_that_came_to_nothing_they_are_held_again(sim: Sim) -> None:
    sim.policy(grace_s=10)
    low = running_array(sim, "ann", 3, 2)
    asked = whole(sim)
    sim.cycles(3)
    Plan.objects.filter(kind=PlanKind.PREEMPT).update(undo_reason="Test.")
    sim.cycles(6)
    assert held(sim, asked) == [HeldBy.ADMIN] * 3
    assert states(sim, low) == [RUNNING] * 2


def test_its_page_says_so(sim: Sim) -> None:
    _low, asked = waits_for_all(sim)
    sim.cycles(3)
    open_now = {plan.pk: plan for plan in open_plans(sim.cluster).values()}
    assert "held until all fit" in str(part_in_plan(sim.row(asked[1]), open_now)), "in every list of jobs"
    told = str(why(sim.cluster, asked[1]))
    assert "It is held until all 3 jobs of its group fit at once (partial=no)." in told
    assert f"Plan {hold(sim).pk} lets them go in any case" in told
    assert sim.port.job(asked[1]).admin_comment.startswith(
        f"giveway: plan {hold(sim).pk} holds this job until all"
    )
