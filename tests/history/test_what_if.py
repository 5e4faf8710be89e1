"""What would change, asked of what real cycles have seen: users and jobs that move, stops, starts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from pytest_django import DjangoAssertNumQueries

from console.audit.models import AuditEntry
from console.core import clock
from console.history import what_if as asked
from console.history.changes import HypotheticalChange, file_change, policy_change, project_change
from console.history.models import LatestObservation
from console.history.what_if import NotNowError, WhatIfAnswer, neighbourhoods, what_if
from console.history.wording import sentences
from console.partitions.models import Partition, PolicyRevision
from console.partitions.priority_file import export_config
from console.partitions.selectors import policy_of
from console.projects.models import Project
from console.projects.services import ProjectData, create_project
from console.steering.models import Plan
from console.steering.pausing import pause
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation, ObservedPartition
from scheduler.model.policy import Enforcement, Mode, PartitionPolicy
from scheduler.reconcile.compare import Comparison
from tests import builders
from tests.steering.conftest import Sim

BY_SCORE = [{"name": "P0", "min_score": 50}, {"name": "P1", "min_score": 1}]


def present(name: str = "x") -> tuple[Partition, PartitionPolicy]:
    row = Partition.objects.select_related("revision", "cluster").get(name=name)
    return row, policy_of(row)


def with_policy(name: str = "x", **keys: Any) -> HypotheticalChange:
    row, policy = present(name)
    return policy_change(row, replace(policy, **keys))


def with_project(sim: Sim, code: str, urgency: float) -> HypotheticalChange:
    return project_change(sim.cluster, ProjectData(code, code, 10, 1, urgency, members=(code,)))


def look(sim: Sim) -> None:
    """A cycle in a new minute, so that what is there now is recorded."""
    sim.port.advance(61)
    sim.cycle()


def only(answer: WhatIfAnswer) -> Comparison:
    [found] = answer.touched
    return found


def test_another_mode_stops_whom_the_next_cycle_would_stop(sim: Sim) -> None:
    """The answer is true: putting it in force does exactly what was said."""
    sim.policy(user_overrides={"ann": "P1", "bob": "P1"})
    low = sim.running("ann", 8, name="l3_batch")
    asks = sim.submit("bob", 6, name="l0_eval")
    look(sim)
    assert sim.state(asks) is JobState.PENDING

    row, policy = present()
    found = only(what_if(sim.cluster, policy_change(row, replace(policy, mode=Mode.USER_THEN_TASK))))

    assert [(stop.victim.job, stop.beneficiary.job) for stop in found.stopped] == [(low, asks)]
    assert [start.job.job for start in found.started] == [asks]
    assert (found.users, found.tasks, found.spared, found.kept_waiting) == ((), (), [], [])
    assert not Plan.objects.exists()
    sim.policy(user_overrides={"ann": "P1", "bob": "P1"}, mode="user_then_task")
    sim.cycles(4)
    assert (sim.state(low), sim.state(asks)) == (JobState.PENDING, JobState.RUNNING)


def test_nothing_is_saved_and_nobody_is_asked(
    sim: Sim, django_assert_max_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.submit("bob", 6)
    look(sim)
    monkeypatch.setattr(sim.port, "observe", lambda **_: pytest.fail("the cluster was asked"))
    before = AuditEntry.objects.count(), PolicyRevision.objects.count(), Plan.objects.count()
    with django_assert_max_num_queries(23):
        what_if(sim.cluster, with_policy(user_overrides={"ann": "P0"}))
    assert (AuditEntry.objects.count(), PolicyRevision.objects.count(), Plan.objects.count()) == before


def test_a_projects_urgency_moves_its_people_and_stops_for_them(sim: Sim) -> None:
    sim.policy(levels=BY_SCORE, user_overrides={})
    for code in ("alpha", "beta"):
        data = ProjectData(code, code, 10, 1, 1, members=(code,))
        create_project(actor="pam", cluster=sim.cluster, data=data, reason="Test.")
    low = sim.running("beta", 8)
    asks = sim.submit("alpha", 6)
    look(sim)

    found = only(what_if(sim.cluster, with_project(sim, "alpha", 9)))

    [move] = found.users
    assert (move.who, move.before.name, move.after.name, move.waiting) == ("alpha", "P1", "P0", 1)
    assert [stop.victim.job for stop in found.stopped] == [low]
    assert [start.job.job for start in found.started] == [asks]
    assert Project.objects.get(code="alpha").urgency == 1
    told = sentences(found)
    assert told[0].startswith("Stops 1 more job (of beta), ")
    assert "Starts 1 more waiting job (of alpha)." in told
    assert "Moves 1 user to another level." in told


def test_a_new_project_counts_too(sim: Sim) -> None:
    sim.policy(levels=BY_SCORE, user_overrides={})
    sim.running("ann", 8)
    sim.submit("alpha", 6)
    look(sim)
    found = only(what_if(sim.cluster, with_project(sim, "alpha", 9)))
    assert [move.before.name for move in found.users] == ["unconfigured"]
    assert len(found.stopped) == 1


def test_limits_and_protection_spare(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    low = sim.running("ann", 8)
    waits = sim.submit("cy", 8)
    look(sim)
    for keys in ({"max_stops_per_hour": 0}, {"protected_users": ("ann",)}, {"exempt_s": 9999}):
        found = only(what_if(sim.cluster, with_policy(**keys)))
        assert [stop.victim.job for stop in found.spared] == [low]
        assert [start.job.job for start in found.kept_waiting] == [waits]
        assert sentences(found)[0].startswith("Spares 1 job (of ann)")


def test_a_quota_sends_away_whom_nothing_protects_any_more(sim: Sim) -> None:
    sim.policy(mode="task", enforcement="approve")
    sim.running("ann", 4, name="l0_a")
    sim.running("ann", 4, name="l0_b")
    sim.submit("cy", 4, name="l0_c")
    look(sim)
    found = only(what_if(sim.cluster, with_policy(quotas={"P0": 1})))
    assert [stop.victim.user for stop in found.stopped] == ["ann"]
    assert [start.job.user for start in found.started] == ["cy"]


def test_going_live_says_what_enforcing_does(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    look(sim)
    found = only(what_if(sim.cluster, with_policy(enforcement=Enforcement.ENFORCE)))
    assert [stop.victim.job for stop in found.stopped] == [low]
    asks = only(what_if(sim.cluster, with_policy(enforcement=Enforcement.APPROVE)))
    assert sentences(asks)[-1] == "Nobody is stopped before an administrator has approved the plan."
    plans = only(what_if(sim.cluster, with_policy(user_overrides={"ann": "P0", "cy": "P0"})))
    assert [stop.victim.job for stop in plans.spared] == [low]
    assert sentences(plans)[-1] == "The partition is in shadow: these are plans, and nothing is touched."


def test_while_it_is_paused_nobody_would_be_stopped_either_way(sim: Sim) -> None:
    sim.policy(user_overrides={"ann": "P1", "bob": "P1"})
    sim.running("ann", 8)
    sim.submit("bob", 6)
    look(sim)
    pause(actor="dave", cluster=sim.cluster, partition=present()[0], reason="Maintenance.", request_id="")
    found = only(what_if(sim.cluster, with_policy(user_overrides={"ann": "P1", "bob": "P0"})))
    assert [move.who for move in found.users] == ["bob"]
    assert not (found.stopped or found.started)


def test_what_is_under_way_is_not_done_again(sim: Sim) -> None:
    sim.policy(grace_s=300)
    sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.port.advance(61)
    sim.cycles(2)
    look(sim)
    found = what_if(sim.cluster, with_policy(user_overrides={"ann": "P3", "bob": "P0", "cy": "P0"}))
    assert [stop for each in found.partitions for stop in each.becomes.stops] == []


def test_the_same_again_changes_nothing_and_plans_nothing(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    sim.policy()
    sim.running("ann", 8)
    look(sim)
    monkeypatch.setattr(asked, "decide_all", lambda *_: pytest.fail("planned for nothing"))
    assert what_if(sim.cluster, with_policy()).partitions == ()
    data = ProjectData("ann", "ann", 10, 1, 3, members=("ann",))
    create_project(actor="pam", cluster=sim.cluster, data=data, reason="Test.")
    assert what_if(sim.cluster, with_project(sim, "ann", 3)).partitions == ()


def test_it_says_how_old_the_facts_are_and_when_there_are_none(sim: Sim) -> None:
    sim.policy()
    with pytest.raises(NotNowError, match="has not been seen yet"):
        what_if(sim.cluster, with_policy(exempt_s=5))
    sim.cycle()
    sim.port.advance(40)
    answer = what_if(sim.cluster, with_policy(exempt_s=5))
    assert clock.now() - answer.at == timedelta(seconds=40)
    LatestObservation.objects.update(jobs=asked.MOST_JOBS + 1)
    with pytest.raises(NotNowError, match="takes too long"):
        what_if(sim.cluster, with_policy(exempt_s=5))


def test_when_time_is_over_it_names_what_is_not_known(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    sim.policy()
    sim.running("ann", 2)
    sim.cycle()
    monkeypatch.setattr(asked, "BUDGET_S", -1.0)
    answer = what_if(sim.cluster, with_policy(exempt_s=5))
    assert "x" in answer.left
    assert answer.partitions == ()


def test_one_answer_at_a_time(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    sim.policy()
    sim.cycle()
    monkeypatch.setattr(asked, "PATIENCE_S", 0.01)
    with asked.alone(), pytest.raises(NotNowError, match="another such answer"):
        what_if(sim.cluster, with_policy(exempt_s=5))
    assert what_if(sim.cluster, with_policy(exempt_s=5)).partitions


def test_a_file_is_asked_about_as_a_whole(sim: Sim) -> None:
    sim.policy(levels=BY_SCORE, user_overrides={})
    sim.running("ann", 8)
    sim.submit("alpha", 6)
    look(sim)
    document = export_config(sim.cluster)
    assert what_if(sim.cluster, file_change(sim.cluster, document)).partitions == ()
    document["projects"] = [
        {"code": "alpha", "size": 10, "grade": 1, "urgency": 9, "members": ["alpha"]},
    ]
    assert len(only(what_if(sim.cluster, file_change(sim.cluster, document))).stopped) == 1


def test_what_could_not_be_saved_cannot_be_asked(sim: Sim) -> None:
    sim.policy()
    with pytest.raises(ValidationError) as caught:
        with_policy(quotas={"P9": 1})
    assert "quotas" in caught.value.message_dict
    with pytest.raises(ValidationError) as caught:
        with_project(sim, "alpha", 0)
    assert "urgency" in caught.value.message_dict


def test_partitions_that_share_nodes_or_jobs_are_decided_together() -> None:
    parts = [("a", ("n1",)), ("b", ("n1", "n2")), ("c", ("n3",)), ("d", ("n4",)), ("e", ("n5",))]
    jobs = (builders.observed("1", partitions=("c", "d")),)
    seen = Observation(
        "dev", 0, partitions=tuple(ObservedPartition(name, nodes=nodes) for name, nodes in parts), jobs=jobs
    )
    assert neighbourhoods(seen, frozenset({"b", "d"})) == [frozenset({"a", "b"}), frozenset({"c", "d"})]
    assert neighbourhoods(seen, frozenset({"e", "nowhere"})) == [frozenset({"e"})]
    assert neighbourhoods(seen, frozenset()) == []
