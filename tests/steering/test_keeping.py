"""Nodes are kept for the first job that waits, where the policy says so, and for as long as it does."""

from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.core import clock
from console.forecasts.forecaster import Forecaster
from console.forecasts.models import FinishedSource, KeptRun
from console.steering.explanations import why
from console.steering.kinds.reservation import KEPT_S
from console.steering.models import KeptPlace
from console.steering.pausing import pause
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, Request
from tests.steering.conftest import START, Sim

NODES = 4


def policy(sim: Sim, **keys: Any) -> None:
    sim.policy("wide", **{"dispatch": "managed", "protected_users": ["*"], **keys})


def large(sim: Sim, nodes: int = 3, user: str = "cy", **spec: Any) -> str:
    """A job that wants whole nodes."""
    request = Request(nodes=nodes, per_node={"cpu": 8})
    return sim.port.submit(JobSpec(f"{user}_large", user, request, partitions=("wide",), **spec))


def habit(sim: Sim, user: str, run_s: int) -> None:
    """All jobs of a user have run so long."""
    begin = START - 100_000
    KeptRun.objects.bulk_create(
        KeptRun(
            cluster=sim.cluster, job_id=f"{user}{n}", user=user, name=f"{user}_job", partition="wide",
            submit=begin + n * 600, start=begin + n * 600, end=begin + n * 600 + run_s + n % 3,
            nodes=1, cpus=8, gpus=0, limit_s=None, source=FinishedSource.ACCOUNTING,
        )
        for n in range(60)
    )  # fmt: skip


def full(sim: Sim, *seconds: int) -> list[str]:
    """One job on each node, which runs so long; those of its user always have."""
    for each in {*seconds}:
        habit(sim, f"u{each}", each)
    jobs = [sim.running(f"u{each}", 8, "wide", run_time_s=each) for each in seconds]
    forecast(sim)
    return jobs


def forecast(sim: Sim) -> None:
    sim.cycle()
    known = Forecaster(sim.cluster)
    known.refresh()
    known.forecast_jobs()


def kept(sim: Sim) -> dict[str, tuple[str, ...]]:
    return {each.job_id: each.nodes for each in sim.port.observe().kept}


def told(action: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action=action).order_by("id"))


def test_the_earliest_nodes_are_kept_for_the_first_job_that_waits(sim: Sim) -> None:
    policy(sim)
    runs = full(sim, 100, 200, 900, 300)
    job = large(sim)
    low = large(sim, nodes=2, user="dee")
    sim.cycle()
    on = {sim.port.job(run).spec.run_time_s: next(iter(sim.port.job(run).alloc)) for run in runs}
    assert kept(sim) == {job: tuple(sorted(on[seconds] for seconds in (100, 200, 300)))}
    place = KeptPlace.objects.get()
    assert (place.job_id, place.partition, place.user, place.guest_of) == (job, "wide", "cy", "")
    assert sorted(place.nodes) == list(kept(sim)[job])
    assert 280 <= place.at - sim.port.now <= 500
    (row,) = told("nodes.kept")
    assert row.after is not None
    assert (row.job_id, row.partition, row.after["nodes"]) == (job, "wide", place.nodes)
    assert sim.state(low) is JobState.PENDING


def test_it_starts_there_though_small_jobs_stream_in(sim: Sim) -> None:
    """Without it the stream would take each node as it comes free: the first small job would start at second 20."""
    policy(sim)
    habit(sim, "bob", 40)
    full(sim, 20, 30, 40, 50)
    job = large(sim)
    for _ in range(60):
        sim.submit("bob", 8, "wide", run_time_s=40)
        sim.cycles(1)
    assert sim.state(job) is JobState.RUNNING
    assert (sim.port.job(job).start or 0) <= sim.port.now - 5


def test_it_is_renewed_while_it_waits_and_told_once(sim: Sim) -> None:
    policy(sim)
    full(sim, 900, 900, 900, 900)
    job = large(sim)
    sim.cycles(2 * KEPT_S)
    assert list(kept(sim)) == [job]
    assert sim.port.observe().kept[0].until > sim.port.now + 20
    assert len(told("nodes.kept")) == 1


def test_nothing_is_left_of_it_when_no_cycle_comes_any_more(sim: Sim) -> None:
    policy(sim)
    full(sim, 900, 900, 900, 900)
    large(sim)
    sim.cycles(25, every_s=2)
    assert kept(sim)
    sim.port.advance(KEPT_S)
    assert kept(sim) == {}


def test_it_is_let_go_when_the_job_runs(sim: Sim) -> None:
    policy(sim)
    full(sim, 10, 10, 10, 900)
    job = large(sim)
    sim.cycle()
    assert kept(sim)
    sim.cycles(15, every_s=2)
    assert sim.state(job) is JobState.RUNNING
    assert kept(sim) == {}
    assert not KeptPlace.objects.exists()
    assert [row.reason for row in told("nodes.let_go")] == ["The job runs."]


def test_it_is_let_go_when_the_job_leaves(sim: Sim) -> None:
    policy(sim)
    full(sim, 900, 900, 900, 900)
    job = large(sim)
    sim.cycles(2)
    sim.port.cancel(job)
    sim.cycles(3)
    assert kept(sim) == {}
    assert [row.reason for row in told("nodes.let_go")] == ["The job has left the queue."]


def test_another_job_that_comes_first_takes_its_place(sim: Sim) -> None:
    policy(sim)
    full(sim, 900, 900, 900, 900)
    first = large(sim, user="dee")
    sim.cycles(2)
    assert list(kept(sim)) == [first]
    second = large(sim, user="cy")
    sim.cycles(2)
    assert list(kept(sim)) == [second]
    assert [row.job_id for row in told("nodes.let_go")] == [first]


@pytest.mark.parametrize(
    "keys", [{"enforcement": "shadow"}, {"enforcement": "approve"}, {"dispatch": "slurm"}]
)
def test_nothing_is_kept_where_the_policy_does_not_say_so(sim: Sim, keys: dict[str, str]) -> None:
    policy(sim, **keys)
    full(sim, 900, 900, 900, 900)
    large(sim)
    sim.cycles(3)
    assert kept(sim) == {}
    assert not KeptPlace.objects.exists()
    policy(sim)
    sim.cycles(2)
    assert kept(sim), "the control: with the policy it is"
    policy(sim, **keys)
    sim.cycles(2)
    assert kept(sim) == {}


def test_a_pause_lets_go(sim: Sim) -> None:
    policy(sim)
    full(sim, 900, 900, 900, 900)
    large(sim)
    sim.cycles(2)
    assert kept(sim)
    pause(actor="dave", cluster=sim.cluster, reason="Test.")
    sim.cycles(2)
    assert kept(sim) == {}


def test_a_node_that_fails_is_replaced(sim: Sim) -> None:
    policy(sim)
    full(sim, 100, 200, 900, 300)
    job = large(sim)
    sim.cycles(2)
    (lost, *_rest) = kept(sim)[job]
    sim.port.set_node_state(lost, SimNodeState.DRAIN, "test")
    sim.cycles(2)
    assert lost not in kept(sim)[job]
    assert len(kept(sim)[job]) == 3


def test_who_ends_in_time_runs_on_kept_nodes_and_who_does_not_waits(sim: Sim) -> None:
    policy(sim)
    habit(sim, "bob", 30)
    habit(sim, "eve", 5000)
    full(sim, 10, 400, 400, 900)
    job = large(sim)
    sim.cycle()
    sim.cycles(12)
    long = sim.submit("eve", 8, "wide", run_time_s=5000)
    short = sim.submit("bob", 8, "wide", run_time_s=30)
    forecast(sim)
    sim.cycles(6)
    assert sim.state(short) is JobState.RUNNING
    assert sim.state(long) is JobState.PENDING
    guest = told("nodes.kept")[-2:]
    assert any(row.after and row.after.get("guest_of") == job for row in guest)
    assert len(kept(sim)[job]) == 3, "the node is kept for the large one again"
    sim.cycles(20, every_s=2)
    assert sim.state(short) is None
    assert sim.state(long) is JobState.PENDING


def test_a_host_of_one_node_lets_a_guest_onto_it(sim: Sim) -> None:
    policy(sim)
    habit(sim, "bob", 30)
    full(sim, 400, 900, 900, 900)
    sim.port.advance(1)
    half = next(job for job in sim.port.state.jobs.values() if job.spec.run_time_s == 400)
    job = large(sim, nodes=1)
    sim.cycles(3)
    (node,) = kept(sim)[job]
    assert node in half.alloc
    half.alloc[node] = {"cpu": 2}
    short = sim.submit("bob", 4, "wide", run_time_s=30)
    forecast(sim)
    sim.cycles(8)
    assert sim.state(short) is JobState.RUNNING
    assert kept(sim) == {job: (node,)}


def test_what_the_cluster_refuses_is_kept_with_its_words_and_asked_again_later(sim: Sim) -> None:
    policy(sim)
    full(sim, 900, 900, 900, 900)
    job = large(sim)
    fault = ActionFault(effect=FaultEffect.REFUSE, kind=ActionKind.KEEP, words="no rights", times=1)
    sim.port.faults.actions.append(fault)
    sim.cycle()
    assert kept(sim) == {}
    assert KeptPlace.objects.get().refused == "no rights"
    sim.cycles(6)
    assert list(kept(sim)) == [job]
    assert KeptPlace.objects.get().refused == ""


def test_a_cycle_that_fails_in_the_partition_keeps_nothing(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    policy(sim)
    full(sim, 900, 900, 900, 900)
    large(sim)
    sim.cycles(2)
    assert kept(sim)
    sim.may_fail = True
    from console.steering import deciding

    def broken(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(deciding, "snapshot_for", broken)
    sim.cycles(1)
    assert kept(sim) == {}


def test_the_job_says_which_nodes_are_kept_for_it_and_until_when(sim: Sim) -> None:
    policy(sim)
    full(sim, 900, 900, 900, 900)
    job = large(sim)
    sim.cycles(2)
    answer = why(sim.cluster, job)
    assert answer is not None
    place = KeptPlace.objects.get()
    lines = {line.text: line.at for part in answer.parts for line in part.lines}
    names = ", ".join(place.nodes[:-1]) + f" and {place.nodes[-1]}"
    assert lines[f"{names} are kept for it, where it is expected to start"] == clock.from_epoch(place.at)
    assert clock.from_epoch(place.until) in lines.values()


@pytest.mark.parametrize(("dispatch", "marks"), [("managed", 3), ("slurm", 0)])
def test_the_map_marks_kept_nodes(sim: Sim, admin_client: Client, dispatch: str, marks: int) -> None:
    policy(sim, dispatch=dispatch)
    full(sim, 900, 900, 900, 900)
    job = large(sim)
    sim.cycles(2)
    for shown in ("", "?map=table"):
        page = admin_client.get(f"/partitions/wide/{shown}").content.decode()
        assert page.count(f"kept for {job} (cy)") == marks
