"""Why is my job waiting? Each situation comes from real cycles on the simulated cluster."""

from datetime import timedelta

import pytest

from console.core import clock
from console.steering.explanations import About, JobAnswer, why
from console.steering.models import Pause, Plan
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.model.jobs import JobState, Request
from tests.steering.conftest import Sim


def ask(sim: Sim, job: str) -> JobAnswer:
    sim.cluster.refresh_from_db()
    found = why(sim.cluster, job)
    assert found is not None
    return found


def said(answer: JobAnswer) -> str:
    return "\n".join([answer.headline, *answer.lines(clock.now())])


def test_nothing_lower_runs_who_is_ahead_and_what_would_change_it(sim: Sim) -> None:
    sim.policy()
    running = sim.running("bob", 8)
    first, mine = sim.submit("bob", 8), sim.submit("ann", 8)
    sim.cycle()

    answer = ask(sim, mine)

    assert (answer.state, answer.parts[0].about) == ("pending", About.WAITING)
    assert answer.headline == "It waits: nobody who runs here makes room for it."
    assert sim.row(mine).explain in said(answer)
    assert f"It is at place 2 in line of x. Just before it: {first} (bob, P2)." in said(answer)
    assert f"then {running} (bob) could be stopped for it." in said(answer)
    assert "A higher user level than P2 might change that" in said(answer)
    assert "It is the next in line of x." in said(ask(sim, first))


def test_where_bands_spare_lower_jobs_it_is_not_said_that_none_runs(sim: Sim) -> None:
    sim.policy(bands=[[0], [1, 2, 3, None]])
    running = sim.running("ann", 8)
    mine = sim.submit("bob", 8)
    sim.cycle()

    answer = ask(sim, mine)

    assert answer.headline == "It waits: nobody who runs here makes room for it."
    assert "needs 8 cpu on one node; no job of a lower band runs in x." in said(answer)
    assert "A higher user level than P1 might change that" in said(answer)
    assert f"then {running} (ann) could be stopped for it." in said(answer)


@pytest.mark.parametrize(
    ("mode", "level"), [("task", "P1"), ("user_then_task", "P2 / P1"), ("task_then_user", "P1 / P2")]
)
def test_who_is_ahead_is_told_with_the_level_that_decides(sim: Sim, mode: str, level: str) -> None:
    sim.policy(mode=mode, user_overrides={"bob": "P2"})
    sim.running("bob", 8, name="l1_running")
    first = sim.submit("bob", 8, name="l1_first")
    mine = sim.submit("bob", 8, name="l1_mine")
    sim.cycle()

    assert f"Just before it: {first} (bob, {level})." in said(ask(sim, mine))


def test_room_is_being_made(sim: Sim) -> None:
    sim.policy(grace_s=30)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()

    answer = ask(sim, urgent)

    assert answer.headline == "Room is being made for it."
    assert f"Plan {sim.plan().pk} stops {low} (ann) for it." in said(answer)
    deadline = next(line for line in answer.parts[0].lines if line.text.startswith("Unless it runs by then"))
    assert deadline.at == sim.plan().deadline
    assert answer.plan == sim.plan().pk


def test_a_plan_waits_for_approval(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()

    answer = ask(sim, urgent)

    assert answer.headline == "It waits for approval: a plan would make room for it."
    assert (
        f"An administrator of x has to approve plan {sim.plan().pk}, which would stop {low} (ann)."
        in said(answer)
    )
    assert "Approved, it starts as soon as 1 job has made room." in said(answer)
    victim = ask(sim, low)
    assert victim.headline == "It runs."
    assert (
        f"Plan {sim.plan().pk} would stop it for {urgent} (cy); it waits for an administrator's approval."
        in said(victim)
    )


def test_a_request_that_stands_says_why_nothing_can_be_approved(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    sim.policy(enforcement="approve", protected_jobs=["ann_job"])
    sim.cycle()

    answer = ask(sim, urgent)

    assert answer.headline.startswith("It waits: ")
    assert "approval" not in answer.headline
    assert "no lower job may be stopped (1 running)" in said(answer)
    told = f"Plan {sim.plan().pk} goes on standing: it can be approved as soon as room can be made."
    assert told in said(answer)
    assert "Approved, it starts" not in said(answer)
    assert "would stop it" not in said(ask(sim, low))


def test_shadow_says_that_nobody_is_stopped(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()

    assert "only watches this partition (shadow)" in ask(sim, urgent).headline
    assert "x is in shadow: nobody is stopped" in said(ask(sim, low))


def test_an_undone_plan_and_when_it_is_tried_again(sim: Sim) -> None:
    sim.policy(grace_s=10, start_deadline_s=1)
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    Plan.objects.update(deadline=clock.now() - timedelta(seconds=1))
    sim.cycles(4)
    plan = sim.plan()
    assert plan.state == "undone"

    answer = ask(sim, urgent)

    assert answer.headline == "It waits: a plan to make room for it was undone."
    undone = next(line for line in answer.parts[0].lines if "for it was undone" in line.text)
    assert undone.text == f"Plan {plan.pk} for it was undone: {plan.outcome}"
    again = next(line for line in answer.parts[0].lines if line.text.startswith("A new plan may be made"))
    assert again.at is not None and plan.ended_at is not None and again.at > plan.ended_at
    assert again.at > clock.now()


def test_a_rejected_plan_with_who_and_why(sim: Sim) -> None:
    sim.policy(enforcement="approve")
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    now = clock.now()
    Plan.objects.update(
        state="rejected", decided_by="dave", decided_at=now, ended_at=now, decision_reason="Not\x1b[2J today"
    )

    assert f"dave rejected plan {sim.plan().pk} for it: Not?[2J today" in said(ask(sim, urgent))
    sim.cycle()
    answer = ask(sim, urgent)
    assert "rejected the plan" in answer.headline
    again = next(
        line for line in answer.parts[0].lines if line.text == "The same jobs may be asked for again"
    )
    assert again.at is not None and again.at > clock.now()


def test_a_pause_with_who_and_why(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    Pause.objects.create(cluster=sim.cluster, partition="", since=clock.now(), by="ada", reason="Upgrade")
    sim.cycle()

    assert "ada paused all partitions: Upgrade." in said(ask(sim, urgent))
    assert "Nobody is stopped here: ada paused all partitions: Upgrade." in said(ask(sim, low))


def test_a_job_that_must_wait_for_a_while_first(sim: Sim) -> None:
    sim.policy(min_wait_s=600)
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()

    line = next(line for line in ask(sim, urgent).parts[0].lines if "waits for a while" in line.text)
    assert line.at == clock.from_epoch(sim.row(urgent).submit + 600)


def test_over_quota_is_held_and_told_when_it_is_let_go(sim: Sim) -> None:
    sim.policy(mode="task", quotas={"P0": 1}, over_quota="hold")
    sim.running("ann", 2, name="l0_a")
    second = sim.submit("ann", 7, name="l0_b")
    sim.cycles(3)

    answer = ask(sim, second)

    assert (answer.state, answer.headline) == ("held", "It is held: ann is over quota.")
    assert "It is let go as soon as another job of ann at P0 ends." in said(answer)


def test_what_slurm_says_and_expects(sim: Sim) -> None:
    sim.policy()
    sim.running("bob", 8)
    mine = sim.submit("ann", 8)
    sim.cycle()
    row = sim.row(mine)
    row.slurm_reason, row.estimated_start = "(QOSMaxJobsPerUserLimit)", row.submit + 3600
    row.save()

    answer = ask(sim, mine)

    assert "Slurm says: QOSMaxJobsPerUserLimit." in said(answer)
    expects = next(line for line in answer.parts[0].lines if line.text == "Slurm expects it to start")
    assert expects.at == clock.from_epoch(row.estimated_start)


def test_a_job_that_may_not_start_is_told_why_and_not_that_it_is_next(sim: Sim) -> None:
    sim.policy()
    sim.running("bob", 8)
    mine = sim.submit("ann", 8, held=True)
    sim.cycle()
    assert sim.row(mine).place == 1

    answer = ask(sim, mine)

    assert answer.headline == "It waits: it is held."
    assert "in line" not in said(answer)


def test_it_never_fits(sim: Sim) -> None:
    sim.policy()
    mine = sim.submit("ann", 8)
    sim.cycle()
    row = sim.row(mine)
    row.reason = "does_not_fit_ever"
    row.save()

    assert "It never starts as it is: submit it again for less, or elsewhere." in said(ask(sim, mine))


def test_while_slurm_cannot_be_observed_the_answer_says_so(sim: Sim) -> None:
    sim.policy()
    sim.running("bob", 8)
    mine = sim.submit("ann", 8)
    sim.cycle()
    sim.cluster.refresh_from_db()
    sim.cluster.fault = "slurmctld does not answer"
    sim.cluster.save()

    line = ask(sim, mine).parts[0].lines[0]
    assert line.text.startswith("Slurm cannot be observed: nothing is decided and nobody stopped")
    assert line.at == sim.cluster.observed_at


def test_a_job_in_two_partitions_gets_an_answer_for_each(sim: Sim) -> None:
    from scheduler.adapters.simulator.jobs import JobSpec
    from scheduler.model.jobs import Request

    for name in ("x", "wide"):
        sim.policy(name)
    sim.port.submit(
        JobSpec("all", "bob", Request(nodes=4, per_node={"cpu": 8}, exclusive=True), partitions=("wide",))
    )
    sim.port.advance(2)
    mine = sim.port.submit(
        JobSpec("mine", "ann", Request(nodes=1, per_node={"cpu": 8}), partitions=("x", "wide"))
    )
    sim.cycle()

    parts = [part for part in ask(sim, mine).parts if part.about == About.WAITING]

    assert sim.state(mine) is JobState.PENDING
    assert sorted(part.headline.partition(":")[0] for part in parts) == ["In wide", "In x"]


def test_of_a_job_that_never_was_nothing_is_said(sim: Sim) -> None:
    sim.policy()
    sim.cycle()
    assert why(sim.cluster, "999999") is None


@pytest.mark.parametrize("hostile", ["\x1b[31mred\x1b[0m", "two\nlines", "\u202eright to left"])
def test_names_cannot_steer_a_terminal(sim: Sim, hostile: str) -> None:
    sim.policy()
    sim.running("bob", 8)
    mine = sim.submit("ann", 8)
    sim.submit("ann", 8)
    sim.cycle()
    for job in sim.cluster.jobs.all():
        job.user = job.slurm_reason = job.explain = hostile
        job.save()

    text = said(ask(sim, mine)).replace("\n", "")
    assert text.isprintable()


# --- Slurm's own line -------------------------------------------------------------------------------------


def full(sim: Sim, **policy: str) -> None:
    sim.policy(protected_users=["eve"], **policy)
    sim.running("eve", 8)


def test_where_it_stands_in_slurms_line_and_why(sim: Sim) -> None:
    full(sim)
    low, high = sim.submit("ann", 8), sim.submit("cy", 8)
    sim.cycles(2)

    assert "It stands at place 2 in Slurm's line of x." in said(ask(sim, low))
    text = said(ask(sim, high))
    assert "It stands at place 1 in Slurm's line of x." in text
    assert "Higher levels stand first; its own is P0. Inside it Slurm's own priority decides: 1000." in text


def test_in_shadow_it_is_told_where_it_would_stand(sim: Sim) -> None:
    full(sim, enforcement="shadow")
    sim.submit("ann", 8)
    high = sim.submit("cy", 8)
    sim.cycles(2)

    assert "By level it would stand at place 1 in Slurm's line of x." in said(ask(sim, high))


def test_where_the_line_is_slurms_nothing_is_told_of_it(sim: Sim) -> None:
    full(sim, order="slurm")
    job = sim.submit("cy", 8)
    sim.cycles(2)

    assert "Slurm's line" not in said(ask(sim, job))


def test_a_victim_keeps_its_place(sim: Sim) -> None:
    sim.policy()
    victim = sim.running("ann", 8)
    sim.submit("ann", 8)
    urgent = sim.submit("cy", 8)
    sim.cycles(12)
    assert sim.state(urgent) is JobState.RUNNING

    text = said(ask(sim, victim))

    assert "It stands at place 1 in Slurm's line of x." in text
    assert "It keeps the place that it had before all who came later in its level." in text


def test_who_is_put_first_without_a_victim_is_told_so(sim: Sim) -> None:
    sim.policy("wide", order="slurm")
    for _ in range(4):
        sim.submit("ann", 6, "wide")
    sim.port.advance(2)
    sim.port.submit(JobSpec("all", "ann", Request(nodes=4, per_node={"cpu": 8}), partitions=("wide",)))
    small = sim.submit("cy", 2, "wide")
    sim.cycles(2)
    sim.cycle()

    answer = ask(sim, small)

    assert answer.headline == "It is put first in Slurm's line."
    assert "stops nobody: there is free room." in said(answer)
    sim.cycles(3)
    assert "put it first in Slurm's line and stopped nobody." in said(ask(sim, small))
