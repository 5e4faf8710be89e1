"""What is told, to whom, and once: from real cycles on the simulated cluster."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Value
from django.db.models.functions import Concat

from console.accounts.models import Role, User
from console.audit.services import SYSTEM
from console.core import clock
from console.notices import tasks, texts
from console.notices.collecting import collect
from console.notices.hook import document
from console.notices.models import Notice
from console.projects.changing import decide_request, withdraw_request
from console.projects.models import UrgencyRequest
from console.projects.proposals import accept, proposed_data, turn_down
from console.projects.services import By
from console.steering.models import Checkpoint, Plan, PlannedAction
from console.steering.pausing import pause
from scheduler.model.actions import ActionKind
from tests import factories, needed
from tests.notices.conftest import MailSink
from tests.steering.conftest import Sim


def told(kind: str) -> list[Notice]:
    return list(Notice.objects.filter(kind=kind))


def test_the_way_of_a_victim_and_of_its_beneficiary(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8, run_time_s=15)
    sim.cycles(4)
    collect()

    stopped, started = told("stopped"), told("started")
    assert [(n.user, n.job_id, n.plan) for n in stopped] == [("ann", low, sim.plan().pk)]
    assert f"to make room for {urgent} (cy) in partition x (plan {sim.plan().pk})" in stopped[0].text
    assert [(n.user, n.job_id) for n in started] == [("cy", urgent)]
    assert f"by stopping {low} (ann)" in started[0].text
    assert told("resumed") == []

    sim.port.advance(30)
    sim.cycles(3)
    collect()
    resumed = told("resumed")
    assert [(n.user, n.job_id) for n in resumed] == [("ann", low)]
    assert "runs again since" in resumed[0].text


def test_each_thing_is_told_once_however_often_one_looks(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.submit("cy", 8, run_time_s=15)
    sim.cycles(4)
    assert collect() == 2
    sim.port.advance(30)
    sim.cycles(3)

    assert [collect(), collect(), collect()] == [1, 0, 0]
    assert Notice.objects.count() == 3


def test_a_job_that_came_back_and_ended_between_two_looks_is_told_of_too(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8, run_time_s=30)
    sim.submit("cy", 8, run_time_s=5)
    sim.cycles(4)
    collect()
    sim.port.advance(10)
    sim.cycles(2)
    sim.port.advance(60)
    sim.cycles(3)
    assert sim.row(low).phase == "ended"

    collect()

    assert [n.job_id for n in told("resumed")] == [low]


def test_what_was_saved_is_told(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(4)
    stop = sim.actions(ActionKind.REQUEUE_HOLD)[0]
    Checkpoint.objects.create(
        plan=stop.plan, cluster=sim.cluster, job_id=low, run_start=stop.run_start, run_restarts=0, user="ann",
        asked_at=clock.now(), acknowledged_at=clock.now(), via="api", saved="epoch=10\x1b[2J",
    )  # fmt: skip
    collect()

    assert told("stopped")[0].text.endswith("It had saved: epoch=10?[2J.")


def test_a_cancelled_job_is_told_that_it_does_not_come_back(sim: Sim) -> None:
    sim.policy(cancel_if_not_requeueable=True)
    sim.running("ann", 8, requeue=False)
    sim.submit("cy", 8)
    sim.cycles(4)
    collect()

    assert "does not come back by itself" in told("stopped")[0].text


def test_who_may_be_cancelled_is_told_from_when_on_once_and_before_that(sim: Sim) -> None:
    sim.policy(not_requeueable="cancel", cancel_notice_s=600)
    stubborn = sim.running("ann", 4, requeue=False)
    sim.running("bob", 4)
    sim.cycle()
    at = clock.from_epoch(sim.port.now + 600)
    sim.cycles(2)
    collect()
    collect()

    [notice] = told("may_end")
    assert (notice.user, notice.job_id, notice.partition) == ("ann", stubborn, "x")
    assert (
        f"{stubborn} (ann_job) cannot be requeued: from {at:%Y-%m-%d %H:%M:%S} UTC on it may be"
        in notice.text
    )


@pytest.mark.parametrize(
    "policy",
    [
        {"not_requeueable": "leave"},
        {"not_requeueable": "requeue"},
        {"not_requeueable": "cancel", "cancel_notice_s": 0},
        {"not_requeueable": "cancel", "enforcement": "shadow"},
        {"not_requeueable": "cancel", "protected_users": ["ann"]},
    ],
    ids=str,
)
def test_who_may_not_be_cancelled_or_at_once_is_told_nothing_of_it(sim: Sim, policy: dict[str, Any]) -> None:
    sim.policy(**policy)
    sim.running("ann", 4, requeue=False)
    sim.cycles(2)
    collect()

    assert told("may_end") == []


def test_an_undone_plan_is_told_to_whom_it_was_to_help(sim: Sim) -> None:
    sim.policy(grace_s=60)
    sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycle()
    Plan.objects.update(deadline=clock.now() - timedelta(seconds=1))
    sim.cycles(4)
    collect()

    assert [(n.user, n.job_id) for n in told("undone")] == [("cy", urgent)]
    assert "had not started by the deadline" in told("undone")[0].text
    assert told("stopped") == [] and told("started") == []


def test_in_shadow_nobody_is_told_anything(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(4)

    assert collect() == 0


def test_a_plan_that_waits_is_told_to_the_partitions_administrators(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    factories.make_administrator()
    factories.make_user("dave", cluster_user="d123")
    partition = sim.cluster.partitions.get(name="x")
    for name in ("dave", "without_account"):
        factories.make_partition_admin(partition, name)
    sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycles(2)
    collect()

    assert sorted(n.user for n in told("approval")) == ["d123", "without_account"]
    assert f"to make room for {urgent} (cy)" in told("approval")[0].text


def test_an_array_is_told_once_and_a_renewed_request_not_again(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    factories.make_administrator()
    for _ in range(4):
        sim.running("ann", 2)
    sim.submit("cy", 2, array_tasks=3)
    sim.cycle()
    collect()
    sim.policy(enforcement="approve", grace_s=60)
    sim.cycle()
    collect()

    assert {plan.version for plan in Plan.objects.all()} == {2}
    assert len(told("approval")) == 1


def test_where_a_partition_has_no_administrator_the_consoles_are_told(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    factories.make_administrator()
    factories.make_user("gone", role=Role.ADMINISTRATOR, is_active=False)
    sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(2)
    collect()

    assert [n.user for n in told("approval")] == ["ada"]


def test_what_is_older_than_a_day_is_no_news(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(4)
    long_ago = clock.now() - timedelta(days=2)
    PlannedAction.objects.update(verified_at=long_ago, issued_at=long_ago)
    Plan.objects.update(started_at=long_ago, ended_at=long_ago)

    assert collect() == 0


def test_off_by_default_nothing_is_due(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(4)

    tasks.tell()

    assert set(Notice.objects.values_list("mail_due", "hook_due")) == {(None, None)}


def test_told_notices_are_forgotten_after_a_month(sim: Sim, by_mail: MailSink) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(4)
    collect()
    Notice.objects.update(made_at=clock.now() - timedelta(days=31))
    tasks.forget()
    assert Notice.objects.count() == 2, "not while they are still to be sent"

    Notice.objects.update(mail_due=None)
    tasks.forget()
    assert Notice.objects.count() == 0


@pytest.mark.parametrize("hostile", ["x\r\nBcc: everybody@hpc.example", "\x1b]0;owned\x07", "a" * 5000])
def test_names_stay_on_one_line(sim: Sim, hostile: str) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(4)
    PlannedAction.objects.update(job_name=hostile)
    Plan.objects.update(job_name=hostile, user=hostile[:64], explain=hostile)
    collect()

    texts = list(Notice.objects.values_list("text", flat=True))
    assert texts and all(text.isprintable() and len(text) < 1500 for text in texts)


def test_a_request_is_told_to_who_decides_and_its_end_to_who_asked(db: None) -> None:
    project = factories.make_project(factories.make_cluster())
    for name in ("ada", "alf", "off"):
        factories.make_administrator(name)
    pam = factories.make_viewer("pam")
    User.objects.filter(username__in=["ada", "pam"]).update(cluster_user=Concat("username", Value("_r")))
    User.objects.filter(username="off").update(is_active=False)
    facts = {"asked_by": "pam", "asked_at": clock.now(), "reason": "A demo\non <b>Friday</b>"}
    one, other = (
        UrgencyRequest.objects.create(project=each, urgency=9, urgency_by="hand", **facts)
        for each in (project, factories.make_project(project.cluster, "beta"))
    )
    assert [collect(), collect()] == [4, 0]
    assert [(n.user, n.key) for n in told("asked")] == [
        ("ada_r", f"asked/{one.pk}/ada"),
        ("alf", f"asked/{one.pk}/alf"),
        ("ada_r", f"asked/{other.pk}/ada"),
        ("alf", f"asked/{other.pk}/alf"),
    ]
    assert "pam asks for an urgency of 9 for project alpha" in told("asked")[0].text
    assert "Reason: A demo on <b>Friday</b>" in told("asked")[0].text
    assert texts.subject(told("asked")[:1]) == "Giveway: a request waits for your decision"
    decide_request(actor="ada", request=one, approve=False, reason="Not this week")
    withdraw_request(actor="pam", request=other, reason="Not needed")
    assert [collect(), collect()] == [1, 0]
    [answer] = told("decided")
    assert answer.user == f"{pam.username}_r" and "ada has rejected the urgency of 9" in answer.text
    assert document(answer)["plan"] is None and document(answer)["job_id"] == ""


def test_a_proposed_project_is_told_to_who_decides_and_its_end_to_who_proposed_it(db: None) -> None:
    cluster = factories.make_cluster()
    factories.make_administrator("ada")
    factories.make_viewer("pam")
    one, other = needed.proposed(cluster), needed.proposed(cluster, "delta")
    assert [collect(), collect()] == [2, 0]
    assert [(n.user, n.key) for n in told("asked")] == [
        ("ada", f"proposal/asked/{one.pk}/ada"),
        ("ada", f"proposal/asked/{other.pk}/ada"),
    ]
    assert told("asked")[0].text == (
        "pam proposes the project gamma (Gamma <i>rays</i>). Reason: <b>New money</b>"
    )
    data = replace(proposed_data(one), code="gamma2")
    accept(proposal=one, data=data, by=By("ada", "Agreed"))
    turn_down(proposal=other, by=By("ada", "No room"))
    assert [collect(), collect()] == [2, 0]
    accepted, rejected = (n.text for n in told("decided"))
    assert "ada has accepted the project gamma that you proposed" in accepted and "as gamma2. " in accepted
    assert rejected == "ada has rejected the project delta that you proposed. Reason: No room"


def test_a_partition_that_giveway_has_paused_is_told_to_its_administrators(sim: Sim) -> None:
    sim.policy()
    sim.policy("q")
    x, q = (sim.cluster.partitions.get(name=name) for name in ("x", "q"))
    factories.make_partition_admin(x, "dave")
    factories.make_administrator("ada")
    why = "three cycles in a row failed, the last in console/steering/cycle.py, line 9 (_run): KeyError: 'x'"
    pause(actor="ada", cluster=sim.cluster, reason="Maintenance")
    for partition in (x, q):
        pause(actor=SYSTEM, cluster=sim.cluster, partition=partition, reason=why)

    assert [collect(), collect()] == [2, 0]

    assert {(n.user, n.partition) for n in told("paused")} == {("dave", "x"), ("ada", "q")}
    text = told("paused")[0].text
    assert "Giveway has paused partition q by itself" in text and f": {why}. Nobody" in text
    assert texts.subject(told("paused")[:1]) == "Giveway: a partition was paused"
