"""Jobs of several nodes that were made smaller start again on more nodes when there is room and it pays."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from console.audit.models import AuditEntry
from console.cluster.elastic import WorkerCounter
from console.core import clock
from console.notices.collecting import collect
from console.notices.models import Notice
from console.overview.workers import WorkersPlot, missing_for, workers_plot
from console.partitions.models import Partition
from console.reports.tally import shadow_tally
from console.steering.explanations.build import explain, read
from console.steering.facts import recent_stops
from console.steering.models import Checkpoint, Fate, Plan, PlanKind, Victim
from console.steering.replaying import replay
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal
from scheduler.model.actions import ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import JobState, Request
from scheduler.model.line import LAST_OF_FRONT
from tests import factories
from tests.steering.conftest import Sim
from tests.steering.test_elastic_nodes import INPLACE, RESTART, wide

PENDING, RUNNING = JobState.PENDING, JobState.RUNNING
SAVES: dict[str, Any] = {"on_signal": OnSignal.CHECKPOINT, "run_time_s": 4000, "time_limit_s": 6000}
GRACE = {"grace_s": 10, "checkpoint_signal": "USR1"}


def shrunk(sim: Sim, words: str = RESTART, urgent_s: int = 30, policy: Any = None, **spec: Any) -> str:
    """A job of four nodes that goes on with three, because `cy` has one for so long."""
    sim.policy("wide", **{**GRACE, **(policy or {})})
    job = wide(sim, comment=words, **{**SAVES, **spec})
    urgent = sim.submit("cy", 8, "wide", run_time_s=urgent_s)
    sim.cycles(16)
    assert sim.state(urgent) is (RUNNING if urgent_s > 16 else None)
    assert len(sim.port.job(job).alloc) == 3
    return job


def growth() -> Plan:
    return Plan.objects.get(kind=PlanKind.GROW)


def nodes(sim: Sim, job: str) -> int:
    return len(sim.port.job(job).alloc)


@pytest.mark.parametrize("words", [RESTART, "elastic:min=2,how=inplace", "elastic:min=2"])
def test_when_the_other_has_ended_it_gets_its_nodes_back(sim: Sim, words: str) -> None:
    job = shrunk(sim, words)
    restarts = sim.port.job(job).restarts
    sim.cycles(20, every_s=2)
    assert (sim.state(job), nodes(sim, job), sim.port.job(job).restarts) == (RUNNING, 4, restarts + 1)
    plan = growth()
    assert (plan.state, plan.job_id, plan.reason, plan.undo_reason) == ("verified", job, "grows", "")
    kinds = [(action.kind, action.state) for action in plan.actions.order_by("id")]
    assert kinds == [(kind, "verified") for kind in ("signal", "requeue_hold", "resize", "release")]
    saved = Checkpoint.objects.get(plan=plan)
    assert saved.acknowledged_at is not None
    stop, release = sim.actions(ActionKind.REQUEUE_HOLD)[-1], sim.actions(ActionKind.RELEASE)[-1]
    assert stop.issued_at is not None
    assert saved.acknowledged_at <= stop.issued_at
    assert release.value == str(LAST_OF_FRONT)
    assert Victim.objects.get(plan=plan).fate == Fate.RETURNED
    assert replay(plan).differences == ()
    assert "restart costs" in str(plan.explain)
    assert AuditEntry.objects.filter(action="plan.verified", object_id=str(plan.pk)).count() == 1


def test_it_does_not_grow_twice(sim: Sim) -> None:
    job = shrunk(sim)
    sim.cycles(30, every_s=3)
    assert nodes(sim, job) == 4
    assert Plan.objects.filter(kind=PlanKind.GROW).count() == 1


def test_without_a_fresh_checkpoint_it_is_never_stopped(sim: Sim) -> None:
    """It has acknowledged one before it was made smaller; that is not this one."""
    job = shrunk(sim)
    run = sim.port.job(job)
    run.spec = replace(run.spec, on_signal=OnSignal.IGNORE)
    before = run.run
    sim.cycles(20, every_s=3)
    assert (sim.port.job(job).run, nodes(sim, job)) == (before, 3)
    plan = growth()
    assert plan.state == "undone"
    assert "has not said in time that it has saved its state" in str(plan.undo_reason)
    assert [a.state for a in plan.actions.filter(kind=ActionKind.REQUEUE_HOLD)] == ["expired"]
    assert Victim.objects.get(plan=plan).fate == Fate.SPARED


def test_a_run_is_asked_once(sim: Sim) -> None:
    job = shrunk(sim)
    run = sim.port.job(job)
    run.spec = replace(run.spec, on_signal=OnSignal.IGNORE)
    sim.cycles(20, every_s=3)
    sim.cycles(30, every_s=10)
    assert Plan.objects.filter(kind=PlanKind.GROW).count() == 1
    assert nodes(sim, job) == 3


def test_not_sooner_than_regrow_s(sim: Sim) -> None:
    job = shrunk(sim, urgent_s=10, policy={"regrow_s": 120})
    sim.cycles(27, every_s=3)
    assert nodes(sim, job) == 3
    assert not Plan.objects.filter(kind=PlanKind.GROW).exists()
    sim.cycles(20, every_s=3)
    assert nodes(sim, job) == 4


def test_not_for_the_little_that_is_left(sim: Sim, settings: Settings) -> None:
    """Of 200 s that are left a fourth is gained, and a restart costs a minute."""
    job = shrunk(sim, urgent_s=10, time_limit_s=200)
    sim.cycles(20, every_s=2)
    assert nodes(sim, job) == 3
    settings.GIVEWAY_RESTART_S = 1
    sim.cycles(20, every_s=2)
    assert nodes(sim, job) == 4


def test_not_where_nobody_knows_when_it_ends(sim: Sim) -> None:
    job = shrunk(sim, run_time_s=None, time_limit_s=None)
    sim.cycles(20, every_s=3)
    assert nodes(sim, job) == 3


def test_it_gets_what_there_is_and_the_rest_later(sim: Sim) -> None:
    job = shrunk(sim, urgent_s=20, policy={"max_preemptions_per_job": 9})
    other = sim.submit("bob", 8, "wide", run_time_s=60, name="next")
    while nodes(sim, job) != 2:
        sim.cycles(1)
    sim.cycles(20)
    assert (sim.state(other), nodes(sim, job)) == (RUNNING, 3)
    sim.cycles(20, every_s=3)
    assert (sim.state(other), nodes(sim, job)) == (None, 4)


def test_often_enough_stopped_it_is_not_restarted_to_grow(sim: Sim) -> None:
    job = shrunk(sim, urgent_s=20, policy={"max_preemptions_per_job": 1})
    sim.cycles(20, every_s=2)
    assert nodes(sim, job) == 3


def test_room_that_is_taken_meanwhile_spares_it(sim: Sim) -> None:
    job = shrunk(sim, checkpoint_s=4)
    run = sim.port.job(job).run
    while not Plan.objects.filter(kind=PlanKind.GROW, state="executing").exists():
        sim.cycles(1)
    sim.submit("cy", 8, "wide", run_time_s=30)
    sim.cycles(8)
    plan = growth()
    assert plan.state == "undone"
    assert sim.port.job(job).run == run


def test_who_finds_no_room_after_its_stop_goes_on_with_what_it_had(sim: Sim) -> None:
    """Somebody is quicker: it gets the smaller number back at the deadline, and is not held."""
    job = shrunk(sim, policy={"start_deadline_s": 10}, completing_s=3)
    while not Plan.objects.filter(kind=PlanKind.GROW).exists():
        sim.cycles(1)
    while sim.state(job) is RUNNING:
        sim.cycles(1)
    sim.port.submit(_taker())
    sim.cycles(24, every_s=3)
    plan = growth()
    assert (plan.state, sim.state(job), nodes(sim, job)) == ("undone", RUNNING, 3)
    assert [a.value for a in plan.actions.filter(kind=ActionKind.RESIZE).order_by("id")] == ["4", "3"]
    assert "has found no room for its 4 nodes" in str(plan.outcome)


def _taker() -> JobSpec:
    request = Request(nodes=1, per_node={"cpu": 8}, only_nodes=frozenset({"n4"}))
    return JobSpec("taker", "cy", request, partitions=("wide",), run_time_s=2000)


def test_a_refused_number_lets_it_go_on_with_what_it_had(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    job = shrunk(sim)
    monkeypatch.setattr(
        "scheduler.adapters.simulator.acting._restart_with",
        lambda *_: ActionOutcome(OutcomeKind.REFUSED, "no"),
    )
    sim.cycles(20, every_s=2)
    assert (sim.state(job), nodes(sim, job)) == (RUNNING, 3)
    assert growth().state == "verified"
    assert "runs on 3 nodes" in str(growth().outcome)


def test_a_restart_counts_in_the_limits(sim: Sim) -> None:
    job = shrunk(sim, policy={"max_stops_per_hour": 1})
    sim.cycles(20, every_s=3)
    assert nodes(sim, job) == 3
    sim.policy("wide", **GRACE, max_stops_per_hour=2)
    sim.cycles(15, every_s=2)
    assert nodes(sim, job) == 4
    assert recent_stops(sim.cluster).within_hour == {"wide": {"ann": 2}}


def test_in_shadow_it_is_a_plan_that_nobody_carries_out(sim: Sim) -> None:
    job = shrunk(sim, urgent_s=20)
    sim.policy("wide", **GRACE, enforcement="shadow")
    sim.cycles(15, every_s=2)
    assert (growth().state, nodes(sim, job)) == ("proposed", 3)
    partition = Partition.objects.get(name="wide")
    partition.revisions.update(created_at=clock.now() - timedelta(days=1))
    assert shadow_tally(partition).total.grows == 1


def test_where_a_person_approves_nobody_is_restarted_to_grow(sim: Sim) -> None:
    job = shrunk(sim, urgent_s=20)
    sim.policy("wide", **GRACE, enforcement="approve")
    sim.cycles(15, every_s=2)
    assert nodes(sim, job) == 3
    assert not Plan.objects.filter(kind=PlanKind.GROW).exists()


def test_one_left_on_a_single_node_grows_too(sim: Sim) -> None:
    sim.policy("wide", **GRACE)
    job = wide(sim, nodes=2, comment="elastic:min=1", **SAVES)
    blocker = wide(sim, user="cy", nodes=2, run_time_s=3000)
    urgent = sim.submit("cy", 8, "wide", run_time_s=20)
    sim.cycles(16)
    assert (sim.state(urgent), nodes(sim, job)) == (RUNNING, 1)
    sim.cycles(20, every_s=2)
    assert (sim.state(blocker), nodes(sim, job)) == (RUNNING, 2)


@pytest.mark.parametrize(("named", "grows"), [(("n1", "n2", "n3"), False), ((), True)])
def test_it_does_not_start_again_for_a_node_that_it_may_not_have(
    sim: Sim, named: tuple[str, ...], grows: bool
) -> None:
    """Of four nodes it named three; one of these is taken, and the fourth becomes free."""
    sim.policy("wide", **GRACE)
    there = Request(nodes=1, per_node={"cpu": 8}, only_nodes=frozenset({"n4"}))
    sim.port.submit(JobSpec("short", "cy", there, partitions=("wide",), run_time_s=25))
    request = Request(nodes=3, per_node={"cpu": 8}, only_nodes=frozenset(named))
    job = sim.port.submit(JobSpec("named", "ann", request, partitions=("wide",), comment=RESTART, **SAVES))
    sim.port.advance(2)
    sim.submit("cy", 8, "wide", run_time_s=3000)
    sim.cycles(16)
    assert nodes(sim, job) == 2
    sim.cycles(20, every_s=2)
    assert nodes(sim, job) == (3 if grows else 2)
    assert Plan.objects.filter(kind=PlanKind.GROW).exists() is grows


def test_a_signal_that_ends_it_brings_it_back_as_it_was(sim: Sim) -> None:
    job = shrunk(sim)
    run = sim.port.job(job)
    run.spec = replace(run.spec, on_signal=OnSignal.DIE)
    sim.cycles(20, every_s=3)
    assert (sim.state(job), nodes(sim, job)) == (RUNNING, 3)
    assert growth().state == "undone"


def test_one_made_smaller_in_place_needs_a_restart_and_no_signal_before(sim: Sim) -> None:
    job = shrunk(sim, INPLACE)
    assert sim.port.job(job).restarts == 0
    sim.cycles(20, every_s=2)
    assert (nodes(sim, job), sim.port.job(job).restarts) == (4, 1)


def test_types_of_gpus_that_nobody_asked_for_may_differ_again(sim: Sim) -> None:
    """Two of the four nodes have one type of GPU, the others another one."""
    sim.policy("wide", **GRACE)
    request = Request(nodes=4, per_node={"cpu": 2, "gpu": 2})
    job = sim.port.submit(JobSpec("gpus", "ann", request, partitions=("wide",), comment=RESTART, **SAVES))
    sim.port.advance(2)
    sim.submit("cy", 8, "wide", run_time_s=20)
    sim.cycles(25, every_s=2)
    assert [a.value for a in sim.actions(ActionKind.RESIZE)] == ["3", "4"]
    assert nodes(sim, job) == 4


def test_its_user_is_told_and_its_page_has_both_figures(sim: Sim) -> None:
    job = shrunk(sim)
    sim.cycles(20, every_s=2)
    collect()
    told = Notice.objects.get(key=f"grown/{growth().pk}")
    assert (told.user, told.job_id) == ("ann", job)
    assert "restart costs 1 min" in told.text
    answer = explain(read(sim.cluster, job))
    (part,) = [part for part in answer.parts if part.asks == "How does it get its nodes back?"]
    assert part.headline == "It was started again on 4 nodes; before it had 3."
    assert "that gains " in part.lines[0].text
    assert "restart costs 1 min" in part.lines[0].text


def test_while_it_waits_between_its_runs_its_page_says_why(sim: Sim) -> None:
    job = shrunk(sim)
    while sim.state(job) is not PENDING:
        sim.cycles(1)
    sim.cycle()
    answer = explain(read(sim.cluster, job))
    assert answer.parts[0].headline == "It starts again on 4 nodes; it had 3."


def seen(sim: Sim, job: str) -> tuple[WorkersPlot | None, str]:
    """The plot of its page, and what My jobs says of the nodes that it lacks."""
    said = WorkerCounter(sim.cluster).said_of(sim.row(job, "wide"))
    return workers_plot(said, sim.cluster), str(missing_for(sim.cluster, [said]).get(job, ""))


@pytest.mark.parametrize("words", [RESTART, "elastic:min=2,wish=4,how=inplace"])
def test_its_page_shows_its_nodes_over_time_and_when_the_others_come_back(sim: Sim, words: str) -> None:
    job = shrunk(sim, words)
    sim.cycle()
    plot, missing = seen(sim, job)
    assert plot is not None
    assert (plot.now, plot.most, plot.in_nodes, len(plot.taken)) == (3, 4, True, 1)
    assert plot.taken[0].back_at is None
    assert missing == (
        "It has 3 of 4 nodes. The others come back by a restart when 2 has ended, if that pays."
    )
    sim.cycles(20, every_s=2)
    plot, missing = seen(sim, job)
    assert plot is not None
    assert (plot.now, missing) == (4, "")
    assert plot.taken[0].back_at is not None


def test_after_the_other_has_ended_it_says_what_it_waits_for(sim: Sim) -> None:
    job = shrunk(sim, urgent_s=20, run_time_s=None, time_limit_s=None)
    sim.cycles(20)
    assert seen(sim, job)[1] == (
        "It has 3 of 4 nodes. The others come back by a restart when there is room, if that pays."
    )


def test_its_plan_is_a_page_like_any_other(sim: Sim, client: Client) -> None:
    job = shrunk(sim)
    sim.cycles(20, every_s=2)
    client.force_login(factories.make_administrator(), backend="console.accounts.backends.PasswordBackend")
    pages = {
        reverse("plan", args=[growth().pk]): "the restart costs 1 min",
        reverse("plans"): "starts again on more nodes",
        reverse("job", args=[job]): "Nodes over time",
    }
    for page, words in pages.items():
        assert words in client.get(page).content.decode(), page
