"""A proposal stands while it would work: it is not replaced every second by a slightly better one."""

from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.steering import intents
from console.steering.models import Plan, PlanState
from tests.steering.conftest import Sim


def shadow(sim: Sim, **keys: Any) -> None:
    sim.policy(enforcement="shadow", **keys)


def proposed(sim: Sim) -> list[Plan]:
    return list(Plan.objects.filter(cluster=sim.cluster, state=PlanState.PROPOSED).order_by("id"))


def victims(plan: Plan) -> list[str]:
    return [victim["job"] for victim in plan.victims]


def better_choice_comes_up(sim: Sim) -> tuple[Plan, str, str]:
    """A plan for an older job; then the younger one, which would be chosen, is no longer protected."""
    shadow(sim, protected_jobs=["young"])
    old = sim.running("ann", 4, name="old")
    young = sim.running("ann", 4, name="young")
    sim.submit("cy", 4)
    sim.cycle()
    [plan] = proposed(sim)
    assert victims(plan) == [old]
    shadow(sim)
    sim.port.advance(5)
    sim.cycle()
    return plan, old, young


def test_a_better_choice_does_not_replace_a_proposal_at_once(sim: Sim) -> None:
    plan, _old, _young = better_choice_comes_up(sim)
    assert [each.pk for each in proposed(sim)] == [plan.pk]


def test_after_a_minute_the_better_choice_takes_its_place(sim: Sim) -> None:
    plan, _old, young = better_choice_comes_up(sim)
    sim.port.advance(60)
    sim.cycle()
    [newer] = proposed(sim)
    assert newer.pk != plan.pk
    assert victims(newer) == [young]


def test_a_victim_that_ranks_differently_ends_it_at_once(sim: Sim) -> None:
    plan, _old, young = better_choice_comes_up(sim)
    shadow(sim, user_overrides={"ann": "P2", "cy": "P0"})
    sim.cycle()
    [newer] = proposed(sim)
    assert newer.pk != plan.pk
    assert victims(newer) == [young]


def test_a_proposal_whose_victim_has_ended_is_replaced_at_once(sim: Sim) -> None:
    shadow(sim)
    old = sim.running("ann", 4)
    young = sim.running("ann", 4)
    sim.submit("cy", 4)
    sim.submit("bob", 4)
    sim.cycle()
    plan = next(each for each in proposed(sim) if each.user == "cy")
    assert victims(plan) == [young]
    sim.port.cancel(young)
    sim.port.advance(1)
    sim.cycle()
    plan.refresh_from_db()
    assert plan.state in (PlanState.EXPIRED, PlanState.SUPERSEDED)
    assert old not in victims(plan)


def test_one_cycle_makes_no_more_than_so_many_proposals(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intents, "PROPOSED_PER_CYCLE", 2)
    shadow(sim)
    for _ in range(4):
        sim.running("ann", 2)
    for _ in range(4):
        sim.submit("cy", 2)
    sim.cycle()
    assert len(proposed(sim)) == 2
    sim.cycle()
    assert len(proposed(sim)) == 4


def test_what_is_carried_out_at_once_is_never_put_off(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intents, "PROPOSED_PER_CYCLE", 2)
    sim.policy()
    for _ in range(4):
        sim.running("ann", 2)
    for _ in range(4):
        sim.submit("cy", 2)
    sim.cycle()
    assert Plan.objects.exclude(state=PlanState.PROPOSED).count() == 4


@pytest.mark.parametrize("enforcement", ["shadow", "approve"])
def test_a_quiet_hour_fills_no_log(sim: Sim, enforcement: str) -> None:
    sim.policy(enforcement=enforcement)
    for _ in range(4):
        sim.running("ann", 2)
    for _ in range(3):
        sim.submit("cy", 2)
    sim.cycle()
    before = AuditEntry.objects.count()
    sim.cycles(30, every_s=120)
    assert AuditEntry.objects.count() == before
    assert {plan.version for plan in Plan.objects.all()} == {1}


def test_a_victim_that_is_not_needed_any_more_ends_it_at_once(sim: Sim) -> None:
    """Two jobs of four had to go for six CPUs; a third one ends, and one of the two is enough."""
    shadow(sim)
    kept = sim.running("cy", 2)
    first, second = sim.running("ann", 3), sim.running("ann", 3)
    sim.submit("cy", 5)
    sim.cycle()
    [plan] = proposed(sim)
    assert sorted(victims(plan)) == sorted([first, second])
    sim.port.cancel(kept)
    sim.port.advance(1)
    sim.cycle()

    [newer] = proposed(sim)
    plan.refresh_from_db()
    assert plan.state == PlanState.SUPERSEDED
    assert "need not be stopped any more. A newer plan takes its place." in plan.outcome
    assert len(victims(newer)) == 1


def test_who_is_asked_has_longer_to_read_when_it_is_only_a_matter_of_which_job(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    job = sim.running("ann", 4)
    other = sim.running("ann", 4)
    sim.submit("cy", 4)
    sim.cycle()
    [plan] = proposed(sim)
    assert victims(plan) == [other]
    # From now on the first job of the same level would be chosen, had nobody been asked already.
    start = Plan.objects.get().victims[0]["start"]
    sim.port.state.jobs[job].start = start + 1
    for _ in range(9):
        sim.port.advance(60)
        sim.cycle()
    assert [each.pk for each in proposed(sim)] == [plan.pk]
    sim.port.advance(60)
    sim.cycle()
    assert [victims(each) for each in proposed(sim)] == [[job]]
