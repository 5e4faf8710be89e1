"""A proposal is read once while it stands as it did, and anew as soon as anything of it is different."""

from datetime import timedelta
from typing import Any

import pytest

from console.core import clock
from console.steering import cycle
from console.steering.deciding import OpenPlans, open_plans
from console.steering.models import Plan, PlanState
from tests.steering.conftest import Sim

CHANGES: list[dict[str, Any]] = [
    {"victims": []},
    {"placement": {}},
    {"explain": "Otherwise."},
    {"not_now": "No room."},
    {"alternatives": [{"kind": "wait"}]},
    {"created_at": clock.from_epoch(1_700_000_000)},
    {"job_restarts": 7},
    {"state": PlanState.APPROVED},
]


def one_proposed(sim: Sim) -> Plan:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycle()
    return Plan.objects.get()


def begun(sim: Sim, plans: OpenPlans) -> list[Plan]:
    plans.begin(sim.cluster)
    return plans.now()


def test_one_that_stands_is_the_same_object_in_the_next_cycle(sim: Sim) -> None:
    one_proposed(sim)
    plans = OpenPlans()
    [first] = begun(sim, plans)
    assert plans.now()[0] is first
    [second] = begun(sim, plans)
    [third] = begun(sim, plans)
    assert third is second
    assert third == open_plans(sim.cluster)[0]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_one_of_which_anything_is_different_is_read_anew(sim: Sim, change: dict[str, Any]) -> None:
    one_proposed(sim)
    plans = OpenPlans()
    begun(sim, plans)
    [before] = begun(sim, plans)
    Plan.objects.update(**change)
    [after] = begun(sim, plans)
    assert after is not before
    assert {name: getattr(after, name) for name in change} == change


@pytest.mark.parametrize("change", [{"version": 2}, {"state": PlanState.APPROVED}])
def test_one_that_was_renewed_or_approved_meanwhile_is_read_anew(sim: Sim, change: dict[str, Any]) -> None:
    one_proposed(sim)
    plans = OpenPlans()
    [before] = begun(sim, plans)
    Plan.objects.update(victims=[], **change)
    [after] = plans.now()
    assert after is not before
    assert not after.victims
    assert not plans.now()[0].victims


def test_one_that_is_over_is_there_no_more(sim: Sim) -> None:
    one_proposed(sim)
    plans = OpenPlans()
    begun(sim, plans)
    Plan.objects.update(state=PlanState.EXPIRED)
    assert plans.now() == begun(sim, plans) == []


def test_one_that_was_just_made_is_known(sim: Sim) -> None:
    plan = one_proposed(sim)
    plans = OpenPlans()
    plans.begin(sim.cluster)
    plans.add([plan])
    assert plans.now()[0] is plan


def test_nothing_is_known_after_a_cycle_that_failed(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has changed in memory was rolled back in the database."""
    one_proposed(sim)
    assert sim.cluster.pk in cycle._PLANS
    with monkeypatch.context() as patch:
        patch.setattr(cycle, "note_cycle", lambda *_args, **_named: 1 / 0)
        sim.may_fail = True
        sim.cycle()
    assert sim.cluster.pk not in cycle._PLANS
    sim.cycle()
    assert sim.cluster.pk in cycle._PLANS


def test_cycles_go_on_with_what_stands_in_the_database(sim: Sim) -> None:
    """A proposal whose victims somebody has changed is not kept as it was remembered."""
    plan = one_proposed(sim)
    sim.cycle()
    Plan.objects.update(victims=[], created_at=clock.now() - timedelta(minutes=2))
    sim.cycle()
    newer = Plan.objects.get(state=PlanState.PROPOSED)
    assert newer.pk != plan.pk
    assert newer.victims
