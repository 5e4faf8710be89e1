"""Urgent tasks of one array: one plan, one standing request, and every task of every array is looked after."""

from typing import Any

import pytest
from django.db import transaction

from console.audit.models import AuditEntry
from console.core import clock
from console.steering import checkpoints, selectors
from console.steering.approvals import OutOfDateError, approve, reject
from console.steering.explanations import why
from console.steering.intents import STANDS_FOR, STANDS_FOR_READERS
from console.steering.looking_again import runs_going
from console.steering.models import Checkpoint, FailedStart, Plan, PlannedAction, Via
from console.steering.replaying import replay
from console.steering.requests import mark_of, mark_of_alternative, request_of
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim
from tests.steering.test_no_circles import fail

PENDING, RUNNING = JobState.PENDING, JobState.RUNNING


def array(sim: Sim, user: str, cpus: int, tasks: int, **spec: Any) -> list[str]:
    """The ids of an array's tasks."""
    number = sim.submit(user, cpus, array_tasks=tasks, **spec)
    return [f"{number}_{task}" for task in range(tasks)]


def running_array(sim: Sim, user: str, cpus: int, tasks: int) -> list[str]:
    found = array(sim, user, cpus, tasks)
    sim.port.advance(2)
    assert states(sim, found) == [RUNNING] * tasks
    return found


def states(sim: Sim, jobs: list[str]) -> list[JobState | None]:
    return [sim.state(job) for job in jobs]


def victims(plan: Plan) -> list[str]:
    return sorted(victim["job"] for victim in plan.victims)


def tasks_of(plan: Plan) -> list[str]:
    return [task["job"] for task in plan.tasks]


def kinds(kind: ActionKind, *jobs: str) -> list[str]:
    return [
        action.state for action in PlannedAction.objects.filter(kind=kind, job_id__in=jobs).order_by("id")
    ]


def asked(sim: Sim, tasks: int = 3, **keys: Any) -> tuple[Plan, list[str], list[str]]:
    """`ann` runs four tasks of two CPUs on the node; somebody is asked about so many of `cy`."""
    sim.policy(enforcement="approve", **keys)
    low = running_array(sim, "ann", 2, 4)
    urgent = array(sim, "cy", 2, tasks)
    sim.cycle()
    return sim.plan(), low, urgent


def begun(sim: Sim, tasks: int = 3, **keys: Any) -> tuple[Plan, list[str], list[str]]:
    """The same with a plan that is carried out, in its grace time."""
    sim.policy(grace_s=20, **keys)
    low = running_array(sim, "ann", 2, 4)
    urgent = array(sim, "cy", 2, tasks)
    sim.cycle()
    sim.cycle()
    plan = sim.plan()
    assert (plan.state, len(plan.tasks)) == ("executing", tasks)
    return plan, low, urgent


# --- One plan ------------------------------------------------------------------------------------------------


def test_urgent_tasks_get_room_by_one_plan_and_all_that_were_stopped_come_back_once(sim: Sim) -> None:
    sim.policy()
    low = running_array(sim, "ann", 2, 4)
    urgent = array(sim, "cy", 1, 5, run_time_s=20)

    sim.cycles(5)

    plan = Plan.objects.get()
    assert (plan.state, plan.job_id, tasks_of(plan)) == ("verified", urgent[0], urgent)
    assert plan.outcome.startswith(f"{urgent[0].partition('_')[0]}_[0-4] started.")
    assert states(sim, urgent) == [RUNNING] * 5
    assert len(plan.victims) == 3
    sim.cycles(15, every_s=2)
    assert states(sim, low) == [RUNNING] * 4
    assert [sim.port.job(job).restarts for job in low] == [int(job in victims(plan)) for job in low]
    assert kinds(ActionKind.PRIORITISE, *urgent) == ["verified"] * 5


def test_the_document_on_one_node_of_eight_cpus(sim: Sim) -> None:
    sim.policy(user_overrides={"ann": "P1", "bob": "P2", "eve": "P3", "cy": "P0"})
    kept, three, two = (running_array(sim, *each) for each in (("ann", 1, 1), ("bob", 3, 1), ("eve", 2, 2)))
    urgent = array(sim, "cy", 1, 4)
    sim.cycles(4)
    assert victims(sim.plan()) == sorted(two)
    assert states(sim, [*kept, *three, *urgent]) == [RUNNING] * 6


def test_tasks_that_find_room_by_themselves_leave_their_part_of_the_plan(sim: Sim) -> None:
    sim.policy(grace_s=20)
    running_array(sim, "ann", 2, 3)
    urgent = array(sim, "cy", 2, 3)
    sim.cycle()
    plan = sim.plan()
    assert (tasks_of(plan), len(plan.victims)) == (urgent, 2)
    sim.cycles(4)
    assert states(sim, urgent) == [RUNNING, PENDING, PENDING]
    plan.refresh_from_db()
    assert [task["seen"] for task in plan.tasks] == ["started", "", ""]
    assert (plan.state, plan.started_at) == ("executing", None)
    sim.cycles(25)
    plan.refresh_from_db()
    assert (plan.state, states(sim, urgent)) == ("verified", [RUNNING] * 3)
    assert Plan.objects.count() == 1


def test_nobody_is_stopped_for_a_task_that_leaves_before_the_stops(sim: Sim) -> None:
    plan, low, urgent = begun(sim)
    sim.port.cancel(urgent[1])
    sim.cycles(20, every_s=2)
    plan.refresh_from_db()
    assert (plan.state, states(sim, [urgent[0], urgent[2]])) == ("verified", [RUNNING] * 2)
    assert sum(sim.port.job(job).restarts for job in low) == 2
    assert sorted(row.fate for row in plan.fates.all()) == ["spared", "waiting", "waiting"]
    spared = [row.job_id for row in plan.fates.all() if row.fate == "spared"]
    assert kinds(ActionKind.REQUEUE_HOLD, *spared) == ["expired"]
    assert kinds(ActionKind.RELEASE, *spared) == ["expired"]


def test_a_task_that_leaves_after_the_stops_leaves_the_room_to_the_others(sim: Sim) -> None:
    sim.policy()
    low = running_array(sim, "ann", 2, 4)
    urgent = array(sim, "cy", 2, 3)
    sim.cycle()  # begun, and stopped
    sim.port.cancel(urgent[2])
    sim.cycles(5)
    plan = sim.plan()
    assert (plan.state, states(sim, urgent[:2])) == ("verified", [RUNNING] * 2)
    assert [task["seen"] for task in plan.tasks] == ["started", "started", "gone"]
    sim.cycles(5)
    assert states(sim, low).count(RUNNING) == 2
    assert not any(sim.row(job).held for job in low)


def test_when_all_tasks_leave_the_plan_is_taken_back(sim: Sim) -> None:
    sim.policy()
    low = running_array(sim, "ann", 2, 4)
    urgent = array(sim, "cy", 2, 3)
    sim.cycle()
    for job in urgent:
        sim.port.cancel(job)
    sim.cycles(8)
    assert sim.plan().state == "undone"
    assert states(sim, low) == [RUNNING] * 4


def test_a_task_that_is_held_has_the_plan_taken_back(sim: Sim) -> None:
    plan, low, urgent = begun(sim)
    sim.port.hold_by_user(urgent[2])
    sim.cycles(3)
    plan.refresh_from_db()
    assert plan.undo_reason.startswith(f"{urgent[2]} does not start now: it is held")
    assert kinds(ActionKind.REQUEUE_HOLD, *low) == ["expired"] * 3


def test_all_tasks_get_their_own_place_back_when_the_plan_is_undone(sim: Sim) -> None:
    plan, _low, urgent = begun(sim)
    Plan.objects.filter(pk=plan.pk).update(undo_reason="Test.")
    sim.cycles(3)
    assert kinds(ActionKind.RESTORE_PRIORITY, *urgent) == ["verified"] * 3
    assert all(sim.port.job(job).priority < 4_294_901_760 for job in urgent)


def test_nobody_is_stopped_for_a_task_that_finds_room_by_itself(sim: Sim) -> None:
    plan, low, urgent = begun(sim)
    (other,) = set(low) - set(victims(plan))
    sim.port.cancel(other)
    sim.cycles(20, every_s=2)
    plan.refresh_from_db()
    assert (plan.state, states(sim, urgent), Plan.objects.count()) == ("verified", [RUNNING] * 3, 1)
    assert sum(sim.port.job(job).restarts for job in low if job != other) == 2


def test_the_room_of_another_plan_is_not_taken_for_free(sim: Sim) -> None:
    sim.policy(grace_s=20)
    low = running_array(sim, "ann", 2, 3)
    urgent = array(sim, "cy", 2, 3)
    sim.cycle()
    other = sim.submit("cy", 2)
    sim.cycles(20, every_s=2)
    assert states(sim, [*urgent, other]) == [RUNNING] * 4
    assert states(sim, low) == [PENDING] * 3
    assert [plan.state for plan in Plan.objects.order_by("pk")] == ["verified"] * 2


def test_nobody_gets_a_second_plan_while_one_is_under_way(sim: Sim) -> None:
    begun(sim)
    more = array(sim, "cy", 2, 1)
    sim.cycles(4)
    assert Plan.objects.count() == 2
    assert set(Plan.objects.values_list("job_id", flat=True)) >= set(more)


def test_in_shadow_it_is_proposed_once(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    running_array(sim, "ann", 2, 4)
    urgent = array(sim, "cy", 2, 3)
    sim.cycles(4)
    assert (Plan.objects.count(), PlannedAction.objects.count()) == (1, 0)
    sim.port.cancel(urgent[0])
    sim.cycles(3)
    assert [plan.state for plan in Plan.objects.order_by("pk")] == ["superseded", "proposed"]
    assert tasks_of(sim.plan()) == urgent[1:]


def test_each_task_of_a_crash_loop_is_noted(sim: Sim) -> None:
    sim.policy()
    running_array(sim, "ann", 4, 2)
    urgent = array(sim, "cy", 4, 2)
    sim.cycles(4)
    assert states(sim, urgent) == [RUNNING] * 2
    fail(sim)
    sim.cycle()
    assert set(FailedStart.objects.values_list("job_id", flat=True)) == set(urgent)


def test_deciding_again_gives_the_same(sim: Sim) -> None:
    plan, *_ = asked(sim)
    assert replay(plan).differences == ()


def test_every_tasks_page_tells_of_the_plan(sim: Sim) -> None:
    plan, _low, urgent = begun(sim)
    for job in urgent:
        answer = why(sim.cluster, job)
        assert answer is not None
        assert sim.row(job).plan == plan.pk
        assert f"plan {plan.pk}" in str(answer).lower()


def test_of_an_array_the_task_goes_that_has_saved_its_state(sim: Sim) -> None:
    """Its plan was undone after it had answered: what it has run since is all that it loses."""
    sim.policy(grace_s=60)
    low = running_array(sim, "ann", 2, 4)
    row = {
        "plan": asked_once(sim),
        "cluster": sim.cluster,
        "job_id": low[2],
        "run_start": 0,
        "run_restarts": 0,
    }
    checkpoint = Checkpoint.objects.create(**row, user="ann", asked_at=clock.now())
    with transaction.atomic():
        checkpoints.acknowledge(checkpoint, "epoch=3", via=Via.COMMENT)
    sim.port.advance(30)
    sim.submit("cy", 2)
    sim.cycle()
    assert victims(sim.plan()) == [low[2]]


def asked_once(sim: Sim) -> Plan:
    """A plan that was made and is over: whoever it was for has left the queue."""
    job = sim.submit("cy", 2)
    sim.cycle()
    sim.port.cancel(job)
    sim.cycles(3)
    Checkpoint.objects.all().delete()
    assert sim.plan().state == "undone"
    return sim.plan()


# --- One standing request --------------------------------------------------------------------------------------


def test_ten_urgent_tasks_are_one_request(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    running_array(sim, "ann", 1, 8)
    array(sim, "cy", 1, 10)
    sim.cycles(3)
    plan = Plan.objects.get()
    assert (len(plan.tasks), len(plan.victims), plan.version) == (8, 8, 1)
    number = plan.job_id.partition("_")[0]
    assert f"starts 8 tasks of {number} (cy) on n1." in selectors.consequence(request_of(plan))


def test_one_decision_carries_all_tasks_out(sim: Sim) -> None:
    plan, low, urgent = asked(sim)
    approve(actor="dave", plan=plan, reason="Delivery.", seen=mark_of(plan))
    sim.cycles(4)
    plan.refresh_from_db()
    assert (plan.state, states(sim, urgent)) == ("verified", [RUNNING] * 3)
    assert AuditEntry.objects.filter(action="plan.approved").count() == 1
    assert states(sim, low).count(RUNNING) == 1


def test_the_request_goes_on_when_its_first_task_leaves(sim: Sim) -> None:
    plan, _low, urgent = asked(sim)
    sim.port.cancel(urgent[0])
    sim.cycle()
    plan = Plan.objects.get()
    assert (plan.state, plan.job_id, tasks_of(plan), plan.version) == ("proposed", urgent[1], urgent[1:], 2)
    assert len(plan.victims) == 2
    approve(actor="dave", plan=plan, reason="Delivery.", seen=mark_of(plan))
    sim.cycles(4)
    assert states(sim, urgent[1:]) == [RUNNING] * 2


def test_it_is_not_carried_out_for_a_task_that_has_left_meanwhile(sim: Sim) -> None:
    plan, _low, urgent = asked(sim)
    sim.row(urgent[1]).delete()
    with pytest.raises(OutOfDateError, match=f"{urgent[1]} \\(cy\\) is no longer in the queue"):
        approve(actor="dave", plan=plan, reason="Delivery.", seen=mark_of(plan))


def test_a_no_holds_for_all_tasks(sim: Sim) -> None:
    plan, _low, urgent = asked(sim)
    reject(actor="dave", plan=plan, reason="Not now.", seen=mark_of(plan))
    sim.cycles(3)
    assert Plan.objects.count() == 1
    assert {(sim.row(job).verdict, sim.row(job).reason) for job in urgent} == {("queue", "plan_rejected")}


def test_an_alternative_has_its_own_tasks(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    running_array(sim, "ann", 2, 4)
    urgent = array(sim, "cy", 2, 2)
    sim.cycles(2)
    plan = sim.plan()
    spare = next(each for each in plan.alternatives if each["kind"] == "spare")
    assert [task["job"] for task in spare["tasks"]] == urgent
    assert not {victim["job"] for victim in spare["victims"]} & set(victims(plan))
    mark = mark_of_alternative(spare)
    approve(actor="dave", plan=plan, reason="These.", seen=mark_of(plan), instead=mark)
    sim.cycles(4)
    assert states(sim, urgent) == [RUNNING] * 2


def test_requests_of_single_tasks_are_joined(sim: Sim) -> None:
    plan, _low, urgent = asked(sim)
    Plan.objects.filter(pk=plan.pk).update(tasks=[], placement={"n1": {"cpu": 2}}, victims=plan.victims[:1])
    other = Plan.objects.get(pk=plan.pk)
    other.pk, other.job_id = None, urgent[1]
    other.save()
    sim.port.advance(int(STANDS_FOR.total_seconds()))
    sim.cycle()
    first, second = Plan.objects.order_by("pk")
    assert (first.state, tasks_of(first)) == ("proposed", urgent)
    assert (second.state, second.outcome) == ("superseded", f"It is asked about together with {urgent[0]}.")


def test_a_request_keeps_its_number_when_more_of_its_array_get_room(sim: Sim) -> None:
    """It was opened for the second and third task; that is what it asks for as long as a better choice waits."""
    plan, _low, urgent = asked(sim)
    Plan.objects.filter(pk=plan.pk).update(job_id=urgent[1], tasks=plan.tasks[1:])
    sim.cycle()
    again = Plan.objects.get()
    assert (again.job_id, tasks_of(again), again.state) == (urgent[1], urgent[1:], "proposed")
    sim.port.advance(int(STANDS_FOR_READERS.total_seconds()))
    sim.cycle()
    again.refresh_from_db()
    assert (again.job_id, tasks_of(again), again.version) == (urgent[0], urgent, 2)


def test_a_spared_victim_is_not_counted_on_at_the_next_look(sim: Sim) -> None:
    plan, low, _urgent = begun(sim)
    (other,) = set(low) - set(victims(plan))
    sim.port.cancel(other)
    sim.cycles(20, every_s=2)
    (spared,) = [row.job_id for row in plan.fates.all() if row.fate == "spared"]
    assert {run.job_id for run in runs_going(sim.plan())} == set(victims(plan)) - {spared}
