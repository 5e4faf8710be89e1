"""`manage.py plan replay`: the same comes out of the stored snapshot, and a changed outcome is told field by field."""

import json
import zlib
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command

from console.steering import replaying
from console.steering.models import Plan, StoredSnapshot
from scheduler.model.plan import DecidedVictim, DecisionKind, How
from scheduler.model.plan import PlanningResult as Decided
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.reconcile.decide import decide
from tests.steering.conftest import Sim


def run(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of `manage.py plan …`."""
    status = 0
    try:
        call_command("plan", *[str(argument) for argument in arguments])
    except SystemExit as ended:
        status = int(ended.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def plan(sim: Sim) -> Plan:
    """One plan that stops two jobs, in a partition where another plan is under way."""
    sim.policy(partition="wide", min_wait_s=0, exempt_s=1)
    for _ in range(4):
        sim.running("ann", 8, "wide")
    sim.submit("bob", 6, "wide")
    sim.cycles(1)  # its victim is on its way out: laid over the next cycle's snapshot
    sim.submit("cy", 5, "wide")
    sim.submit("cy", 5, "wide")
    sim.cycles(1)
    assert Plan.objects.count() == 3
    return sim.plan()


def change(monkeypatch: pytest.MonkeyPatch, job: str, **fields: Any) -> None:
    """A planner that decides differently on one job."""

    def other(snapshot: Snapshot) -> Decided:
        made = decide(snapshot)
        return replace(
            made, decisions=tuple(replace(d, **fields) if d.job == job else d for d in made.decisions)
        )

    monkeypatch.setattr(replaying, "decide", other)


def test_every_plan_is_decided_again_as_it_was(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    for each in Plan.objects.all():
        status, out, err = run("replay", each.pk, capsys=capsys)
        assert (status, err) == (0, "")
        assert "same as recorded" in out
        assert each.explain in out
        assert all(f"victim {victim['job']}: requeue" in out for victim in each.victims)


def test_as_json(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run("replay", plan.pk, "--json", capsys=capsys)
    document = json.loads(out)
    assert status == 0
    assert document["same"] is True and document["differences"] == []
    assert document["recorded"] == document["today"]
    assert document["today"]["placement"] == plan.placement
    assert document["today"]["victims"] == {victim["job"]: "requeue" for victim in plan.victims}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"action": DecisionKind.QUEUE}, "action"),
        ({"reason": Reason.OVER_QUOTA_HELD}, "reason"),
        ({"victims": (DecidedVictim("999", How.REQUEUE),)}, "victims"),
        ({"explain": "Something else."}, "explain"),
        ({"placement": {"n4": {"cpu": 5}, "n9": {"cpu": 1}}}, "placement"),
    ],
)
def test_a_changed_outcome_is_told_field_by_field(
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fields: dict[str, Any],
    told: str,
) -> None:
    change(monkeypatch, plan.job_id, **fields)
    status, out, _ = run("replay", plan.pk, "--json", capsys=capsys)
    document = json.loads(out)
    assert status == 1 and document["same"] is False
    (difference,) = document["differences"]
    assert difference["field"] == told
    assert difference["recorded"] == document["recorded"][told] != difference["today"]
    status, out, _ = run("replay", plan.pk, capsys=capsys)
    assert status == 1 and "DIFFERENT" in out and f"\n  {told}\n    recorded: " in out


def test_how_a_victim_gives_way_counts(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    victims = tuple(DecidedVictim(victim["job"], How.CANCEL) for victim in plan.victims)
    change(monkeypatch, plan.job_id, victims=victims)
    status, out, _ = run("replay", plan.pk, capsys=capsys)
    assert status == 1 and '"cancel"' in out and '"requeue"' in out


def test_no_verdict_at_all_is_different(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(replaying, "decide", lambda snapshot: Decided("wide", ()))
    status, out, _ = run("replay", plan.pk, capsys=capsys)
    assert status == 1 and "today:    no verdict on the job" in out


def test_no_such_plan(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", 4711, capsys=capsys) == (2, "", "There is no plan 4711.\n")
    assert run("show", 4711, capsys=capsys) == (2, "", "There is no plan 4711.\n")


def test_a_quota_plan_has_no_snapshot(sim: Sim, capsys: pytest.CaptureFixture[str]) -> None:
    sim.policy(mode="user_then_task", quotas={"P1": 1}, over_quota="hold")
    sim.running("ann", 1, name="l1_a")
    sim.running("bob", 7, name="l1_a")
    sim.submit("ann", 1, name="l1_b")
    sim.cycles(1)
    quota = Plan.objects.get(kind="quota")
    status, out, err = run("replay", quota.pk, capsys=capsys)
    assert (status, out) == (2, "")
    assert (
        err
        == f"Plan {quota.pk} holds a job because of a quota; such plans stop nobody and keep no snapshot.\n"
    )
    status, out, _ = run("show", quota.pk, capsys=capsys)
    assert status == 0 and "it cannot be replayed" in out and "hold" in out


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda stored: b"no zlib", "is damaged: "),
        (lambda stored: zlib.compress(b"{}"), "is not the one that was stored"),
        (
            lambda stored: zlib.compress(zlib.decompress(stored).replace(b'"cpu":5', b'"cpu":6')),
            "is not the one",
        ),
    ],
)
def test_a_spoilt_snapshot_is_refused_in_one_line(
    plan: Plan, capsys: pytest.CaptureFixture[str], spoil: Any, told: str
) -> None:
    assert plan.stored_snapshot
    StoredSnapshot.objects.filter(pk=plan.stored_snapshot.pk).update(body=spoil(plan.stored_snapshot.body))
    status, out, err = run("replay", plan.pk, capsys=capsys)
    assert (status, out) == (2, "")
    assert told in err and len(err.splitlines()) == 1


def test_one_that_was_not_kept(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    Plan.objects.filter(pk=plan.pk).update(stored_snapshot=None)
    assert run("replay", plan.pk, capsys=capsys) == (2, "", f"The snapshot of plan {plan.pk} was not kept.\n")


def test_show_tells_the_steps(sim: Sim, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(60):
        sim.cycles(1)
        plan.refresh_from_db()
        if plan.ended_at:
            break
    status, out, _ = run("show", plan.pk, capsys=capsys)
    assert status == 0
    assert out.startswith(f"Plan {plan.pk}, verified: preempt for {plan.job_id}")
    victim = plan.victims[0]["job"]
    assert f"requeue_hold {victim}: verified" in out and f"release {victim}: " in out
    assert plan.explain in out and "snapshot: kept" in out


def test_deciding_again_touches_nothing(plan: Plan, django_assert_num_queries: Any, capsys: Any) -> None:
    with django_assert_num_queries(1):
        run("replay", plan.pk, capsys=capsys)
