"""Why was my job stopped, for whom, by which rule, and when does it come back? From real cycles on the simulator."""

from datetime import timedelta

from console.cluster.models import Job
from console.core import clock
from console.steering.explanations import About, JobAnswer, Stage, tasks_of, why
from console.steering.models import Checkpoint, Plan, PlannedAction
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, Request
from tests.steering.conftest import Sim
from tests.steering.explanations.test_waiting import ask, said


def stage(answer: JobAnswer) -> Stage | None:
    return answer.comes_back.stage if answer.comes_back else None


def test_before_it_is_stopped_it_is_told_for_whom_and_until_when(sim: Sim) -> None:
    sim.policy(grace_s=30)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()

    answer = ask(sim, low)

    assert answer.headline == f"It is about to be stopped, to make room for {urgent} (cy)."
    assert stage(answer) == Stage.STOPPING
    assert answer.comes_back is not None
    assert answer.comes_back.at == sim.actions(ActionKind.REQUEUE_HOLD)[0].not_before
    assert (answer.stops, answer.stopped_by[0].at) == (0, None)
    sim.port.advance(31)
    assert "Its time to save its state is over: it is stopped now." in said(ask(sim, low))


def test_from_the_stop_to_running_again(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8, run_time_s=20)
    sim.cycle()

    held = ask(sim, low)
    assert stage(held) == Stage.HELD
    assert held.comes_back is not None and held.comes_back.at == sim.plan().deadline
    assert f"It is held until {urgent} (cy) runs" in said(held)
    assert f"scontrol release {low}; scontrol hold {low}" in said(held)
    assert sim.row(low).phase == "running", "the mirror shows a moment ago"
    assert [part.about for part in held.parts] == [About.STOPPED]
    assert len([part for part in held.parts if part.about == About.WAITING]) == 0

    sim.port.advance(1)
    sim.cycles(5)
    released = ask(sim, low)
    assert stage(released) == Stage.RELEASED
    assert released.headline == f"It was stopped to make room for {urgent} (cy), and waits to run again."
    assert released.comes_back is not None
    assert released.comes_back.at == sim.actions(ActionKind.RELEASE)[0].issued_at
    assert [part.about for part in released.parts] == [About.STOPPED, About.WAITING]

    sim.port.advance(30)
    sim.cycles(3)
    assert sim.state(low) is JobState.RUNNING
    again = ask(sim, low)
    assert stage(again) == Stage.RUNNING
    assert [part.about for part in again.parts] == [About.RUNNING, About.STOPPED]
    assert again.comes_back is not None
    assert again.comes_back.at == clock.from_epoch(sim.row(low).start)
    assert "It was stopped once so far; 3 times at most, then it is protected." in said(again)
    assert (again.stops, again.most_stops) == (1, 3)


def test_by_which_rule_with_levels_and_where_they_come_from(sim: Sim) -> None:
    sim.policy(victim_order="least_lost_work")
    low = sim.running("ann", 4)
    sim.running("cy", 4, name="of_equal_rank")
    urgent = sim.submit("cy", 4)
    sim.cycle()

    text = said(ask(sim, low))

    plan = sim.plan()
    assert plan.explain in text
    assert (
        f"The rule of x: mode “user”, policy revision {plan.policy_revision}. Jobs of lower users make room."
        in text
    )
    assert "Of one level those go first with whom the least work is lost." in text
    assert f"This job: user level P3 ({plan.victims[0]['user_origin']})" in text
    Job.objects.filter(job_id=low).update(user_origin="changed since")
    assert "changed since" not in said(ask(sim, low)), "what counted is what was true then"
    assert f"{urgent}: user level P0 (" in text
    assert sim.row(urgent).user_origin in text


def test_the_policy_of_then_is_told_and_not_that_of_today(sim: Sim) -> None:
    sim.policy(victim_order="least_lost_work")
    low = sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(3)
    sim.policy(victim_order="shortest_runtime", max_preemptions_per_job=1)

    text = said(ask(sim, low))

    assert "with whom the least work is lost" in text
    assert "It was stopped once so far, as often as the partition allows: it is protected now." in text


def test_who_was_passed_over_and_why(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 4)
    equal = sim.running("cy", 4)
    sim.submit("cy", 4)
    sim.cycle()

    assert {"job": equal, "reason": "equal_or_higher"} in sim.plan().passed_over
    assert f"Left alone: {equal}. Equal or higher rank." in said(ask(sim, low))


def test_who_approved_it(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycle()
    Plan.objects.update(decided_by="dave", decided_at=clock.now(), decision_reason="Demo at noon")

    assert "dave approved the plan: Demo at noon" in said(ask(sim, low))


def test_what_it_saved(sim: Sim) -> None:
    sim.policy(grace_s=10)
    low = sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(2)
    stop = sim.actions(ActionKind.REQUEUE_HOLD)[0]
    Checkpoint.objects.update_or_create(
        cluster=sim.cluster,
        job_id=low,
        run_start=stop.run_start,
        run_restarts=stop.run_restarts,
        defaults={"plan": stop.plan, "user": "ann", "asked_at": clock.now()},
    )
    Checkpoint.objects.update(acknowledged_at=None, saved="", via="")
    assert "It has not said that it saved its state. It was asked (" in said(ask(sim, low))

    Checkpoint.objects.update(acknowledged_at=clock.now(), saved="epoch=\x1b[1m10", via="api")
    answer = ask(sim, low)
    assert "It saved its state: epoch=?[1m10" in said(answer)
    assert answer.stopped_by[0].saved == "epoch=?[1m10"


def test_without_a_grace_time_it_is_told_that_nothing_was_asked(sim: Sim) -> None:
    sim.policy(grace_s=0)
    low = sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycle()

    assert "It was not asked to save its state" in said(ask(sim, low))


def test_a_cancelled_job_does_not_come_back(sim: Sim) -> None:
    sim.policy(cancel_if_not_requeueable=True)
    low = sim.running("ann", 8, requeue=False)
    urgent = sim.submit("cy", 8)
    sim.cycles(3)

    answer = ask(sim, low)

    assert answer.headline == f"It was cancelled, to make room for {urgent} (cy)."
    assert stage(answer) == Stage.NEVER
    assert "submit it again" in said(answer)


def test_a_stop_that_was_called_off(sim: Sim) -> None:
    sim.policy(grace_s=30)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    sim.port.cancel(urgent)
    sim.cycles(5)

    answer = ask(sim, low)

    assert sim.state(low) is JobState.RUNNING
    assert answer.headline == "It runs."
    assert f"It was chosen to make room for {urgent} (cy), and was not stopped after all." in said(answer)
    assert (answer.stops, stage(answer)) == (0, Stage.SPARED)


def test_the_beneficiary_is_told_that_room_was_made(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycles(4)

    answer = ask(sim, urgent)

    assert [part.about for part in answer.parts] == [About.RUNNING, About.ROOM]
    assert "Room was made for it." in said(answer)
    assert f"Plan {sim.plan().pk} stopped {low} (ann) for it." in said(answer)


def test_nothing_is_lost_when_slurm_and_the_mirror_have_forgotten_the_job(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycles(4)
    Job.objects.all().delete()

    victim, beneficiary = ask(sim, low), ask(sim, urgent)

    assert (victim.state, victim.user) == ("forgotten", "ann")
    assert victim.headline == "Slurm has forgotten it. This is what Giveway has kept."
    assert f"It was stopped to make room for {urgent} (cy)." in said(victim)
    assert sim.plan().explain in said(victim)
    assert (beneficiary.user, beneficiary.partitions) == ("cy", ("x",))
    assert "Room was made for it." in said(beneficiary)


def test_it_ended_while_it_was_away(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 8)
    sim.cycles(4)
    sim.port.cancel(low)
    sim.cycles(2)

    answer = ask(sim, low)

    assert stage(answer) == Stage.ENDED
    assert answer.headline == "It is no longer on the cluster."


def test_many_stops_are_counted_and_the_latest_told_in_full(sim: Sim) -> None:
    sim.policy(max_preemptions_per_job=9)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycles(4)
    stop = PlannedAction.objects.get(kind=ActionKind.REQUEUE_HOLD)
    for number in range(1, 6):
        stop.pk, stop.run_restarts = None, 100 + number
        stop.issued_at = clock.now() + timedelta(seconds=number)
        stop.save()

    answer = ask(sim, low)

    assert answer.stops == 6
    assert "It was stopped 3 times before that." in said(answer)
    assert said(answer).count(f"For {urgent} (cy)") == 3
    assert len([part for part in answer.parts if part.about == About.STOPPED]) == 4


def test_an_array_task_has_its_own_answer(sim: Sim) -> None:
    sim.policy()
    request = Request(nodes=1, per_node={"cpu": 8})
    array = sim.port.submit(JobSpec("array", "ann", request, partitions=("x",), array_tasks=2))
    sim.port.advance(2)
    urgent = sim.submit("cy", 8)
    sim.cycle()
    task = sim.plan().victims[0]["job"]

    assert task.startswith(f"{array}_")
    assert ask(sim, task).headline.startswith(f"It was stopped to make room for {urgent} (cy)")
    assert why(sim.cluster, array) is None
    assert tasks_of(sim.cluster, array) == [f"{array}_0", f"{array}_1"]


def test_who_is_held_by_its_user_is_told_so_when_the_plan_is_over(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8, run_time_s=20)
    sim.cycle()
    sim.port.advance(3)
    sim.port.release_by_user(low)
    sim.port.hold_by_user(low)
    sim.cycles(8, every_s=3)

    answer = ask(sim, low)

    assert answer.headline == f"It was stopped to make room for {urgent} (cy), and waits to run again."
    assert "Its user holds it; that hold stays." in said(answer)
