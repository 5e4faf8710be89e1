"""What a change would have done over the recorded past of real cycles."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from console.history import past as past_module
from console.history.changes import HypotheticalChange, policy_change, project_change
from console.history.models import RecordedObservation
from console.history.past import PastStudy, over_days
from console.history.what_if import NotNowError
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.services import ProjectData
from console.steering.models import Plan
from scheduler.model.jobs import JobState
from scheduler.model.policy import Enforcement
from tests.steering.conftest import Sim

LOOK_S = 300


def with_policy(**keys: Any) -> HypotheticalChange:
    row = Partition.objects.select_related("revision", "cluster").get(name="x")
    return policy_change(row, replace(policy_of(row), **keys))


def record(sim: Sim, looks: int) -> None:
    """So many looks, five minutes apart."""
    for _ in range(looks):
        sim.cycle()
        sim.port.advance(LOOK_S)


def waited(past: PastStudy, side: str) -> dict[str, float]:
    return {level.name: seconds for level, seconds in getattr(past.total, side).waited.items()}


def test_enforcing_would_have_stopped_each_run_once_and_given_the_room_to_one_job(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    low = sim.running("ann", 8, run_time_s=10**6)
    sim.port.advance(3600)
    urgent = sim.submit("cy", 8)
    record(sim, 6)
    assert (sim.state(low), sim.state(urgent)) == (JobState.RUNNING, JobState.PENDING)

    past = over_days(sim.cluster, with_policy(enforcement=Enforcement.ENFORCE), 7)

    assert (past.partitions, past.used, past.looks, past.cut) == (("x",), 6, 6, False)
    assert (past.total.done.stops, past.total.present.stops, past.total.changed.stops) == (0, 0, 1)
    assert past.total.changed.jobs == 1
    assert past.total.changed.work["cpu"] == pytest.approx(8 * 3600, rel=0.01)
    assert waited(past, "present") == {"P0": 5 * LOOK_S}
    assert waited(past, "changed") == {}
    assert [day.changed.stops for _, day in past.days] == [1]


def test_the_next_job_is_not_given_the_same_room_again(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8, run_time_s=10**6)
    sim.submit("cy", 8)
    sim.submit("cy", 8)
    record(sim, 4)
    past = over_days(sim.cluster, with_policy(enforcement=Enforcement.ENFORCE), 7)
    assert (past.total.changed.stops, past.total.changed.jobs) == (1, 1)
    assert waited(past, "changed") == {"P0": 3 * LOOK_S}


def test_what_really_was_stopped_stands_beside_it(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8, run_time_s=10**6)
    sim.cycle()
    sim.port.advance(LOOK_S)
    sim.submit("cy", 8, run_time_s=10**6)
    sim.cycles(10)
    record(sim, 4)
    assert Plan.objects.filter(state="verified").exists()

    past = over_days(sim.cluster, with_policy(protected_users=("ann",)), 7)

    assert past.total.done.stops == 1
    assert past.total.done.work["cpu"] > 0
    assert past.total.changed.stops == 0


def test_two_policies_in_shadow_are_compared_by_their_plans(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8, run_time_s=10**6)
    sim.submit("cy", 8)
    record(sim, 3)
    past = over_days(sim.cluster, with_policy(user_overrides={"ann": "P0", "cy": "P0"}), 7)
    assert (past.total.present.stops, past.total.changed.stops) == (1, 0)
    assert waited(past, "changed") == {"P0": 2 * LOOK_S}


def test_the_hourly_limit_holds_over_the_looks(sim: Sim) -> None:
    sim.policy(enforcement="shadow", partition="wide")
    sim.policy(enforcement="shadow")
    for _ in range(4):
        sim.running("ann", 2, run_time_s=10**6)
    for _ in range(3):
        sim.submit("cy", 2)
    record(sim, 5)
    free = with_policy(enforcement=Enforcement.ENFORCE)
    assert over_days(sim.cluster, free, 7).total.changed.stops == 3
    held = with_policy(enforcement=Enforcement.ENFORCE, max_stops_per_hour=2)
    assert over_days(sim.cluster, held, 7).total.changed.stops == 2


def test_a_project_is_asked_about_in_all_partitions(sim: Sim) -> None:
    levels = [{"name": "P0", "min_score": 50}, {"name": "P1", "min_score": 1}]
    sim.policy(levels=levels, user_overrides={})
    sim.running("ann", 8, run_time_s=10**6)
    sim.submit("cy", 8)
    record(sim, 3)
    change = project_change(sim.cluster, ProjectData("gamma", "gamma", 10, 1, 9, members=("cy",)))
    past = over_days(sim.cluster, change, 7)
    assert past.partitions == ("q", "wide", "x")
    assert (past.total.present.stops, past.total.changed.stops) == (0, 1)
    assert waited(past, "present") == {"unconfigured": 2 * LOOK_S}


def test_only_the_days_asked_for_and_only_while_there_was_a_record(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8, run_time_s=10**7)
    sim.submit("ann", 8)
    record(sim, 3)
    sim.port.advance(2 * 86400)
    record(sim, 3)
    change = with_policy(exempt_s=9)
    assert over_days(sim.cluster, change, 1).looks == 3
    both = over_days(sim.cluster, change, 7)
    assert both.looks == 6
    assert len(both.days) == 2
    # nobody looked for two days: they do not count as waiting
    assert both.total.changed.job_hours * 3600 == 2 * LOOK_S + 3 * LOOK_S + 2 * LOOK_S


def test_with_too_little_time_it_takes_evenly_spaced_looks_and_says_how_many(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8, run_time_s=10**6)
    sim.submit("ann", 8)
    record(sim, 13)
    ticks = iter(range(1000))
    monkeypatch.setattr(past_module, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    past = over_days(sim.cluster, with_policy(exempt_s=9), 7)
    assert (past.looks, past.used, past.cut) == (13, 7, False)
    assert past.total.changed.job_hours * 3600 == 12 * LOOK_S

    slow = iter(range(0, 100000, 7))
    monkeypatch.setattr(past_module, "time", SimpleNamespace(monotonic=lambda: float(next(slow))))
    cut = over_days(sim.cluster, with_policy(exempt_s=9), 7)
    assert cut.cut
    assert cut.used < 7
    assert cut.until < RecordedObservation.objects.latest("at").at


def test_without_a_record_there_is_no_answer(sim: Sim) -> None:
    sim.policy()
    sim.cycle()
    with pytest.raises(NotNowError, match="Too little is recorded yet"):
        over_days(sim.cluster, with_policy(exempt_s=9), 7)
