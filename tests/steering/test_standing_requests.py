"""Where somebody is asked, a request stands: it is renewed in place, waits while nothing can be done, and ends with its
job."""

from dataclasses import replace
from datetime import timedelta

import pytest

from console.audit.models import AuditEntry
from console.core import clock
from console.steering import selectors
from console.steering.approvals import OutOfDateError, approve, reject, since_opened, since_read
from console.steering.facts import HEEDED
from console.steering.intents import STANDS_FOR_READERS
from console.steering.models import Plan, PlannedAction, PlanVersion
from console.steering.replaying import NotReplayableError, replay
from console.steering.requests import mark_of, mark_of_alternative, request_of
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from scheduler.reconcile import build
from scheduler.reconcile.build import rules_of
from tests.steering.conftest import Sim
from tests.steering.test_line import behind_a_wide_one


def yes(plan: Plan, seen: str, instead: str = "") -> Plan:
    return approve(actor="dave", plan=plan, reason="Delivery.", seen=seen, instead=instead)


def no(plan: Plan, seen: str) -> Plan:
    return reject(actor="dave", plan=plan, reason="Not now.", seen=seen)


def of(sim: Sim, job: str) -> Plan:
    """The newest plan for a job."""
    return Plan.objects.filter(cluster=sim.cluster, job_id=job).latest("pk")


def stopped_by(plan: Plan) -> list[str]:
    return [victim["job"] for victim in plan.victims]


def audited(action: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action=action).order_by("sequence"))


def with_two_victims(sim: Sim) -> tuple[Plan, str]:
    """A request that stops two jobs of `ann`; when the returned job of `cy` ends, one of them is enough."""
    sim.policy(enforcement="approve")
    kept = sim.running("cy", 2)
    sim.running("ann", 3)
    sim.running("ann", 3)
    sim.submit("cy", 5)
    sim.cycle()
    plan = sim.plan()
    assert len(plan.victims) == 2
    return plan, kept


def another_takes_the_room(sim: Sim) -> tuple[Plan, str, str]:
    """`cy`'s request stops the second of two jobs of `ann`; that ends, `bob` gets its room, and it is the first one."""
    sim.policy(enforcement="approve")
    first, second = sim.running("ann", 4), sim.running("ann", 4)
    sim.submit("bob", 4)
    job = sim.submit("cy", 4)
    sim.cycle()
    plan = of(sim, job)
    assert stopped_by(plan) == [second]
    return plan, first, second


def ends(sim: Sim, job: str) -> None:
    sim.port.cancel(job)
    sim.port.advance(1)


# --- Renewed in place ----------------------------------------------------------------------------------------


def test_it_keeps_its_number_and_its_place(sim: Sim) -> None:
    plan, first, second = another_takes_the_room(sim)
    ends(sim, second)
    sim.cycle()

    newer = of(sim, plan.job_id)
    assert (newer.pk, newer.created_at, newer.state) == (plan.pk, plan.created_at, "proposed")
    assert (newer.version, stopped_by(newer), newer.not_now) == (2, [first], "")
    assert newer.explain != plan.explain and newer.cycle.number > plan.cycle.number
    assert newer.stored_snapshot != plan.stored_snapshot
    assert newer.worked_out_at > newer.created_at
    kept = list(PlanVersion.objects.filter(plan=newer))
    assert [(row.number, [v["job"] for v in row.victims], row.ended) for row in kept] == [
        (1, [second], []),
        (2, [first], [second]),
    ]


def test_the_log_has_one_row_with_before_and_after(sim: Sim) -> None:
    plan, first, second = another_takes_the_room(sim)
    ends(sim, second)
    sim.cycles(3)

    [row] = audited("plan.renewed")
    assert (row.plan, row.actor, row.reason) == (
        plan.pk,
        "giveway",
        f"{second} no longer runs. It was worked out anew.",
    )
    before, after = row.before or {}, row.after or {}
    assert [v["job"] for v in before["victims"]] == [second]
    assert [v["job"] for v in after["victims"]] == [first]


def test_a_renewed_request_decides_again_to_the_same(sim: Sim) -> None:
    plan, _first, second = another_takes_the_room(sim)
    ends(sim, second)
    sim.cycle()
    assert replay(of(sim, plan.job_id)).differences == ()


def test_what_changed_since_it_was_opened_is_told(sim: Sim) -> None:
    plan, first, second = another_takes_the_room(sim)
    assert since_opened(request_of(plan)) is None
    sim.port.advance(600)
    ends(sim, second)
    sim.cycle()

    changed = since_opened(request_of(of(sim, plan.job_id)))
    assert changed is not None
    assert changed.sentences == [f"{second} (ann) has ended.", f"{first} (ann) is stopped instead."]


def test_fewer_victims_lose_less(sim: Sim) -> None:
    plan, kept = with_two_victims(sim)
    sim.port.advance(1200)
    ends(sim, kept)
    sim.cycle()

    newer = sim.plan()
    [left] = stopped_by(newer)
    [spared] = set(stopped_by(plan)) - {left}
    changed = since_opened(request_of(newer))
    assert changed is not None
    assert changed.sentences == [
        f"{spared} (ann) is no longer stopped.",
        "Work lost: 2.01 CPU-h → 1 CPU-h.",
    ]


def test_alternatives_are_worked_out_anew(sim: Sim) -> None:
    plan, kept = with_two_victims(sim)
    before = plan.alternatives
    ends(sim, kept)
    sim.cycle()
    after = sim.plan().alternatives
    assert [each["kind"] for each in after] == ["wait", "other_order", "spare"]
    assert after != before


# --- While nothing can be done -------------------------------------------------------------------------------


def test_it_stands_while_nobody_can_be_stopped(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    low = sim.running("ann", 8)
    job = sim.submit("cy", 6)
    sim.cycle()
    plan = of(sim, job)
    read = mark_of(plan)
    sim.policy(enforcement="approve", protected_jobs=["ann_job"])
    before = AuditEntry.objects.count()

    sim.cycles(3)

    plan.refresh_from_db()
    assert (plan.state, plan.version, stopped_by(plan)) == ("proposed", 1, [low])
    assert "no lower job may be stopped (1 running)" in plan.not_now
    assert AuditEntry.objects.count() == before
    with pytest.raises(OutOfDateError, match=r"cannot be approved now\. .*may be stopped"):
        yes(plan, read)

    sim.policy(enforcement="approve")
    sim.cycle()
    plan.refresh_from_db()
    assert (plan.not_now, plan.version, plan.policy_revision) == ("", 2, 4)
    assert yes(plan, read).state == "approved"  # the same jobs: it costs no more than what was read


def test_it_may_be_rejected_while_nothing_can_be_done(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    sim.running("ann", 8)
    job = sim.submit("cy", 6)
    sim.cycle()
    sim.policy(enforcement="approve", protected_jobs=["ann_job"])
    sim.cycle()
    assert no(of(sim, job), mark_of(of(sim, job))).state == "rejected"


def test_a_job_that_is_held_keeps_its_request(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    sim.running("ann", 8)
    job = sim.submit("cy", 6)
    sim.cycle()
    sim.port.hold_by_user(job)
    sim.cycles(2)
    plan = of(sim, job)
    assert (plan.state, "held" in plan.not_now) == ("proposed", True)
    sim.port.release_by_user(job)
    sim.port.advance(2)
    sim.cycle()
    assert (of(sim, job).pk, of(sim, job).not_now) == (plan.pk, "")


# --- How it ends ---------------------------------------------------------------------------------------------


def test_it_ends_when_its_job_leaves_the_queue(sim: Sim) -> None:
    plan, _kept = with_two_victims(sim)
    ends(sim, plan.job_id)
    sim.cycle()
    plan.refresh_from_db()
    assert (plan.state, plan.outcome) == ("expired", f"{plan.job_id} has left the queue.")


@pytest.mark.parametrize("enforcement", ["shadow", "enforce"])
def test_it_ends_when_nobody_is_asked_any_more(sim: Sim, enforcement: str) -> None:
    plan, _kept = with_two_victims(sim)
    sim.policy(enforcement=enforcement)
    sim.cycles(2)
    plan.refresh_from_db()
    assert (plan.state, plan.outcome) == (
        "expired",
        f"The policy was changed to {enforcement}: nobody is asked any more.",
    )
    newer = of(sim, plan.job_id)
    assert (newer.pk > plan.pk, newer.enforcement) == (True, enforcement)


def test_it_ends_when_its_job_ran_meanwhile(sim: Sim) -> None:
    plan, _kept = with_two_victims(sim)
    sim.port.job(plan.job_id).restarts = 1
    sim.cycles(2)
    plan.refresh_from_db()
    assert plan.outcome == f"{plan.job_id} ran meanwhile and was put back into the queue."
    assert of(sim, plan.job_id).pk > plan.pk


# --- No more than what was read ------------------------------------------------------------------------------


def test_what_costs_less_now_is_carried_out(sim: Sim) -> None:
    plan, kept = with_two_victims(sim)
    read = mark_of(plan)
    ends(sim, kept)
    sim.cycle()

    done = yes(plan, read)
    assert (done.state, done.version, done.decided_version, len(done.victims)) == ("approved", 2, 1, 1)
    sim.cycles(3)
    assert len(sim.actions(ActionKind.REQUEUE_HOLD)) == 1
    assert sim.state(plan.job_id) is JobState.RUNNING


def test_what_costs_more_now_is_asked_once_more(sim: Sim) -> None:
    plan, first, second = another_takes_the_room(sim)
    read = mark_of(plan)
    sim.port.advance(60)
    ends(sim, second)
    sim.cycle()
    changed = since_read(request_of(of(sim, plan.job_id)), read)
    assert changed is not None

    with pytest.raises(OutOfDateError) as refused:
        yes(plan, read)
    assert refused.value.costs_more
    assert refused.value.changes == changed.sentences
    assert not PlannedAction.objects.exists()

    assert yes(plan, mark_of(plan)).state == "approved"
    sim.cycle()
    assert [action.job_id for action in sim.actions(ActionKind.REQUEUE_HOLD)] == [first]


def test_nothing_new_since_it_was_read(sim: Sim) -> None:
    plan, _kept = with_two_victims(sim)
    assert since_read(request_of(plan), mark_of(plan)) is None


@pytest.mark.parametrize("mark", ["", "x", "1.", "999999.1", "1.1.1", "²"])
def test_a_mark_of_something_else_stands_for_nothing(sim: Sim, mark: str) -> None:
    plan, _kept = with_two_victims(sim)
    assert request_of(plan).read(mark) is None


# --- No ------------------------------------------------------------------------------------------------------


def test_a_no_counts_for_what_was_read_and_for_what_it_had_become(sim: Sim) -> None:
    plan, kept = with_two_victims(sim)
    read = mark_of(plan)
    ends(sim, kept)
    sim.cycle()
    assert no(plan, read).decided_version == 1
    sim.cycle()
    assert sim.row(plan.job_id).reason == "plan_rejected"
    assert Plan.objects.count() == 1

    sim.port.advance(int(HEEDED.total_seconds()) + 1)
    sim.cycle()
    assert of(sim, plan.job_id).pk > plan.pk


# --- An alternative ------------------------------------------------------------------------------------------


def choosable(sim: Sim) -> tuple[Plan, str, str]:
    """A request with one alternative: the other job of `ann`; its mark, and whom it would stop."""
    sim.policy(enforcement="approve")
    first, second = sim.running("ann", 4), sim.running("ann", 4)
    sim.submit("cy", 4)
    sim.cycle()
    plan = sim.plan()
    assert stopped_by(plan) == [second]
    return plan, mark_of_alternative(plan.alternatives[2]), first


def test_an_alternative_is_approved_instead(sim: Sim) -> None:
    plan, instead, first = choosable(sim)
    done = yes(plan, mark_of(plan), instead)

    plan.refresh_from_db()
    assert (done.pk, plan.state, plan.chosen, plan.version) == (plan.pk, "approved", "spare", 2)
    assert stopped_by(plan) == [first]
    assert [row.number for row in plan.versions.all()] == [1, 2]
    [row] = audited("plan.approved")
    after = row.after or {}
    assert (row.reason, after["instead"]) == ("Delivery.", "spare")
    assert [v["job"] for v in after["victims"]] == [first]
    with pytest.raises(NotReplayableError, match="dave approved an alternative"):
        replay(plan)

    sim.cycles(3)
    assert [action.job_id for action in sim.actions(ActionKind.REQUEUE_HOLD)] == [first]
    assert sim.state(plan.job_id) is JobState.RUNNING


def test_an_alternative_whose_victim_has_ended_is_refused_and_then_worked_out_anew(sim: Sim) -> None:
    plan, instead, first = choosable(sim)
    sim.submit("bob", 4)
    row = sim.row(first)
    row.phase = "ended"
    row.save()
    with pytest.raises(OutOfDateError, match=f"{first} \\(ann\\) no longer runs"):
        yes(plan, mark_of(plan), instead)

    sim.port.state.jobs[first].restarts += 1  # as good as another run
    sim.cycle()
    assert mark_of_alternative(sim.plan().alternatives[2]) != instead
    with pytest.raises(OutOfDateError, match="no such alternative any more"):
        yes(plan, mark_of(plan), instead)


def test_only_what_would_make_room_otherwise_can_be_chosen(sim: Sim) -> None:
    plan, _instead, _first = choosable(sim)
    marks = {each.kind: each.mark for each in selectors.options(plan, None)}
    assert marks["wait"] == ""
    assert len(marks["spare"]) == 16
    with pytest.raises(OutOfDateError, match="no such alternative"):
        yes(plan, mark_of(plan), "0" * 16)


# --- How long a better choice waits --------------------------------------------------------------------------


def test_patience_begins_anew_with_each_version(sim: Sim) -> None:
    plan, _first, second = another_takes_the_room(sim)
    sim.port.advance(int(STANDS_FOR_READERS.total_seconds()))
    ends(sim, second)
    sim.cycle()
    newer = of(sim, plan.job_id)
    assert clock.now() - newer.worked_out_at < timedelta(seconds=5)
    assert selectors.waited_s(newer) < 5


# --- Tasks of one array that are planned one by one ----------------------------------------------------------


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where arrays are not planned in units."""
    monkeypatch.setattr(build, "rules_of", lambda policy: replace(rules_of(policy), units=False))


def asked_for_an_array(sim: Sim, tasks: int = 3) -> list[Plan]:
    """`ann` runs on the whole node in jobs of two CPUs; so many tasks of an array of `cy` want two each."""
    sim.policy(enforcement="approve")
    for _ in range(4):
        sim.running("ann", 2)
    sim.submit("cy", 2, array_tasks=tasks)
    sim.cycle()
    plans = list(Plan.objects.order_by("pk"))
    assert len(plans) == tasks
    return plans


@pytest.mark.usefixtures("one_by_one")
def test_tasks_of_one_array_are_one_request(sim: Sim) -> None:
    plans = asked_for_an_array(sim)
    for plan in plans:
        asked = request_of(plan)
        assert (asked.lead, asked.plans) == (plans[0], tuple(plans))
    array = plans[0].job_id.partition("_")[0]
    assert "Stops 3 jobs of ann, loses " in selectors.consequence(request_of(plans[1]))
    assert f"starts 3 tasks of {array} (cy) on n1." in selectors.consequence(request_of(plans[1]))


@pytest.mark.usefixtures("one_by_one")
def test_one_decision_carries_all_tasks_out(sim: Sim) -> None:
    plans = asked_for_an_array(sim)
    done = yes(plans[1], mark_of(plans[1]))

    assert done.pk == plans[0].pk
    assert {plan.state for plan in Plan.objects.all()} == {"approved"}
    assert len(audited("plan.approved")) == 3
    sim.cycles(3)
    assert [sim.state(plan.job_id) for plan in plans] == [JobState.RUNNING] * 3


@pytest.mark.usefixtures("one_by_one")
def test_one_decision_rejects_all_tasks(sim: Sim) -> None:
    plans = asked_for_an_array(sim)
    no(plans[2], mark_of(plans[0]))
    assert {(plan.state, plan.decided_by) for plan in Plan.objects.all()} == {("rejected", "dave")}
    sim.cycle()
    assert Plan.objects.count() == 3


@pytest.mark.usefixtures("one_by_one")
def test_a_task_that_has_left_is_no_longer_asked_about_and_the_others_go_on(sim: Sim) -> None:
    plans = asked_for_an_array(sim)
    read = mark_of(plans[0])
    sim.port.cancel(plans[0].job_id)
    sim.cycle()

    rest = request_of(plans[1])
    assert [plan.pk for plan in rest.plans] == [plan.pk for plan in plans[1:]]
    done = yes(plans[0], read)  # from the page of the first, which was open all the time
    assert done.pk == plans[1].pk
    assert sorted(Plan.objects.values_list("state", flat=True)) == ["approved", "approved", "expired"]


@pytest.mark.usefixtures("one_by_one")
def test_a_task_that_came_later_was_not_read(sim: Sim) -> None:
    plans = asked_for_an_array(sim)
    read = mark_of(plans[0])
    later = plans[2]
    later.versions.all().delete()
    later.version = 2
    later.save()
    PlanVersion.objects.create(plan=later, number=2, at=later.created_at, victims=later.victims, explain="")
    with pytest.raises(OutOfDateError, match="is stopped as well") as refused:
        yes(plans[0], read)
    assert refused.value.costs_more
    assert {plan.state for plan in Plan.objects.all()} == {"proposed"}


@pytest.mark.usefixtures("one_by_one")
def test_tasks_for_whom_nobody_can_be_stopped_go_on_standing(sim: Sim) -> None:
    plans = asked_for_an_array(sim)
    Plan.objects.filter(pk=plans[1].pk).update(not_now="It is held.")
    Plan.objects.filter(pk=plans[2].pk).update(
        victims=plans[0].victims
    )  # two of them want the same job's room
    asked = request_of(plans[0])
    assert [plan.pk for plan in asked.possible] == [plans[0].pk]
    assert selectors.tasks_left(asked) == (
        "For 2 more of its tasks nobody can be stopped now; they go on standing."
    )
    yes(plans[0], mark_of(plans[0]))
    assert [plan.state for plan in Plan.objects.order_by("pk")] == ["approved", "proposed", "proposed"]


# --- Put first in line, without victims ----------------------------------------------------------------------


def asked_to_be_put_first(sim: Sim) -> Plan:
    """A job that has free room and is not started: a wide one stands before it in Slurm's line."""
    job = behind_a_wide_one(sim)
    sim.policy("wide", enforcement="approve", order="slurm")
    sim.cycles(5)
    plan = of(sim, job)
    assert (plan.state, plan.victims, plan.not_now) == ("proposed", [], "")
    return plan


def test_a_start_is_a_standing_request_too(sim: Sim) -> None:
    plan = asked_to_be_put_first(sim)
    said = selectors.consequence(request_of(plan))
    assert said == f"Puts {plan.job_id} ({plan.user}) first in line; nobody is stopped."

    sim.cycles(5)
    plan.refresh_from_db()
    assert (plan.state, plan.version, plan.not_now) == ("proposed", 1, "")
    assert Plan.objects.filter(job_id=plan.job_id).count() == 1

    yes(plan, mark_of(plan))
    sim.cycles(4)
    assert sim.state(plan.job_id) is JobState.RUNNING


def test_a_start_that_was_rejected_is_not_asked_for_again_at_once(sim: Sim) -> None:
    plan = asked_to_be_put_first(sim)
    no(plan, mark_of(plan))
    sim.cycles(5)
    assert Plan.objects.filter(job_id=plan.job_id).count() == 1
    sim.port.advance(int(HEEDED.total_seconds()))
    sim.cycles(2)
    assert of(sim, plan.job_id).pk > plan.pk
