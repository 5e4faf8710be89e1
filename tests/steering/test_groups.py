"""Jobs that say that they belong together are one request, as the tasks of an array are."""

from typing import Any

from console.steering.approvals import approve
from console.steering.explanations import why
from console.steering.models import Plan
from console.steering.requests import mark_of, oldest_requests, request_of
from console.steering.selectors import consequence
from console.steering.served import plans_for
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests import factories
from tests.steering.conftest import Sim
from tests.steering.test_arrays import kinds, running_array, states, tasks_of

RUNNING = JobState.RUNNING


def group(sim: Sim, user: str, cpus: int, count: int, word: str = "group=train7", **spec: Any) -> list[str]:
    """So many jobs of a group, each with a name of its own."""
    return [sim.submit(user, cpus, name=f"part{n}", comment=word, **spec) for n in range(count)]


def test_jobs_of_a_group_get_room_by_one_plan(sim: Sim) -> None:
    sim.policy()
    low = running_array(sim, "ann", 2, 4)
    urgent = group(sim, "cy", 2, 3)
    sim.cycles(5)
    plan = Plan.objects.get()
    assert (plan.state, plan.group, tasks_of(plan)) == ("verified", "train7@cy/", urgent)
    assert plan.outcome.startswith(f"{','.join(urgent)} started.")
    assert states(sim, urgent) == [RUNNING] * 3
    assert states(sim, low).count(RUNNING) == 1
    assert [action.job_name for action in sim.actions(ActionKind.PRIORITISE)] == ["part0", "part1", "part2"]


def test_they_are_one_request_and_one_decision(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    running_array(sim, "ann", 2, 4)
    urgent = group(sim, "cy", 2, 3)
    sim.cycles(2)
    plan = Plan.objects.get()
    asked = request_of(plan)
    assert (asked.group, asked.jobs) == ("train7", urgent)
    assert "starts 3 tasks of train7 (cy) on n1." in consequence(asked)
    assert oldest_requests(Plan.objects.all(), 5)[1] == 1
    approve(actor="dave", plan=plan, reason="Delivery.", seen=mark_of(plan))
    sim.cycles(4)
    assert states(sim, urgent) == [RUNNING] * 3


def test_every_one_of_them_tells_of_the_plan(sim: Sim) -> None:
    sim.policy(grace_s=20)
    running_array(sim, "ann", 2, 4)
    urgent = group(sim, "cy", 2, 3)
    sim.cycles(2)
    for job in urgent:
        assert [plan.pk for plan in plans_for(sim.cluster, job)] == [sim.plan().pk]
        assert sim.row(job).group == "train7@cy/"
        assert f"plan {sim.plan().pk}" in str(why(sim.cluster, job)).lower()


def test_other_users_and_other_shapes_stand_alone(sim: Sim) -> None:
    sim.policy(enforcement="shadow", user_overrides={"ann": "P3", "cy": "P0", "di": "P0"})
    running_array(sim, "ann", 2, 4)
    first = group(sim, "cy", 2, 2)
    wide = group(sim, "cy", 1, 1)
    other = group(sim, "di", 2, 1)
    sim.cycle()
    assert {tuple(tasks_of(plan)) or plan.job_id for plan in Plan.objects.all()} == {
        tuple(first), wide[0], other[0],
    }  # fmt: skip


def test_a_request_of_a_group_goes_on_when_its_first_job_leaves(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    running_array(sim, "ann", 2, 4)
    urgent = group(sim, "cy", 2, 3)
    sim.cycle()
    sim.port.cancel(urgent[0])
    sim.cycle()
    plan = Plan.objects.get()
    assert (plan.state, plan.job_id, tasks_of(plan)) == ("proposed", urgent[1], urgent[1:])


def test_a_plan_of_a_group_that_leaves_is_taken_back(sim: Sim) -> None:
    sim.policy(grace_s=20)
    low = running_array(sim, "ann", 2, 4)
    urgent = group(sim, "cy", 2, 3)
    sim.cycles(2)
    for job in urgent:
        sim.port.cancel(job)
    sim.cycles(3)
    assert sim.plan().state == "undone"
    assert sim.plan().outcome.startswith(f"{','.join(urgent)} ")
    assert kinds(ActionKind.REQUEUE_HOLD, *low) == ["expired"] * 3


def test_a_pattern_of_the_project_makes_jobs_one_request(sim: Sim) -> None:
    """Nobody has to write a comment; other users and accounts stand alone, as with `group=`."""
    sim.policy(user_overrides={"ann": "P3", "cy": "P0", "di": "P0"})
    project = factories.make_project(sim.cluster, "beta", slurm_account="")
    for user in ("cy", "di"):
        factories.make_member(project, user)
    factories.make_task_pattern(project, "part*", importance=1, one_request=True)
    low = running_array(sim, "ann", 2, 4)
    urgent = group(sim, "cy", 2, 2, word="")
    other = group(sim, "di", 2, 1, word="")
    sim.cycles(2)
    assert {plan.group: tasks_of(plan) or [plan.job_id] for plan in Plan.objects.all()} == {
        "part*@cy/": urgent,
        "part*@di/": other,
    }
    assert [sim.row(job).group for job in urgent] == ["part*@cy/"] * 2
    sim.cycles(4)
    assert states(sim, [*urgent, *other]) == [RUNNING] * 3
    assert states(sim, low).count(RUNNING) == 1


def test_what_the_comment_says_comes_before_the_pattern(sim: Sim) -> None:
    sim.policy()
    project = factories.make_project(sim.cluster, "beta", slurm_account="")
    factories.make_member(project, "cy")
    factories.make_task_pattern(project, "part*", importance=1, one_request=True)
    jobs = group(sim, "cy", 2, 2, word="group=mine")
    sim.cycle()
    assert {sim.row(job).group for job in jobs} == {"mine@cy/"}
