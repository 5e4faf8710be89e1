"""On a real Slurm, what the contract suite does not ask: are requests sufficient, heterogeneous jobs, comments."""

import os
from collections.abc import Callable

import pytest

from deploy.private_slurm import PrivateSlurm, releases
from scheduler.adapters.slurm import SlurmCluster
from scheduler.model.actions import HELD_BY_ADMIN, HELD_BY_USER, Action, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.observation import Observation

pytestmark = [pytest.mark.slurm, pytest.mark.every_release]

NODES = ("n1", "n2", "n3", "n4")
CPUS, GPUS, MEM = 8, 8, 16_000


@pytest.fixture
def slurm(clean_slurm: PrivateSlurm) -> PrivateSlurm:
    return clean_slurm


@pytest.fixture
def cluster(slurm: PrivateSlurm) -> SlurmCluster:
    return SlurmCluster(env={**os.environ, **slurm.env})


def wait(
    slurm: PrivateSlurm, cluster: SlurmCluster, holds: Callable[[Observation], bool], what: str
) -> Observation:
    seen: list[Observation] = []

    def done() -> bool:
        seen.append(cluster.observe())
        return not seen[-1].degraded and holds(seen[-1])

    slurm.wait_until(done, what)
    return seen[-1]


def jobs_of(seen: Observation) -> dict[str, ObservedJob]:
    return {job.id: job for job in seen.jobs}


def leave(slurm: PrivateSlurm, node: str, cpus: int, gpus: int, mem: int) -> None:
    """Take all of an empty node but this."""
    taken = [f"--cpus-per-task={CPUS - cpus}", f"--mem={MEM - mem}"]
    gres = [f"--gres=gpu:{GPUS - gpus}"] if gpus < GPUS else []
    assert cpus < CPUS, "a filler needs a CPU"
    slurm.allocate("cy", "--partition=wide", f"--nodelist={node}", "--nodes=1", "--ntasks=1", *taken, *gres)


def deal(request: Request) -> list[dict[str, int]]:
    """Room for a request and no more, node by node; a spread unevenly on two, memory where the CPUs are."""
    if request.nodes:
        return [dict(request.per_node)] * request.nodes
    first = {name: amount - amount // 3 for name, amount in request.spread.items()}
    first["mem"] = request.spread["mem"] * first["cpu"] // request.spread["cpu"]
    return [first, {name: amount - first[name] for name, amount in request.spread.items()}]


@pytest.mark.parametrize(
    "options",
    [
        ("-n", "5", "--mem-per-cpu=300"),
        ("-n", "2", "-c", "3", "--mem-per-cpu=200"),
        ("-n", "10", "--mem=700"),
        ("-n", "1", "-c", "5", "--mem=900"),
        ("-N", "3", "-n", "7", "--mem=400"),
        ("-N", "2", "-n", "4", "--gres=gpu:3", "--mem=500"),
        ("-n", "6", "--ntasks-per-node=2", "--mem=300"),
        ("--gpus=6", "-n", "3", "--mem-per-cpu=100"),
        ("--gpus=4", "--cpus-per-gpu=1", "--mem-per-gpu=200"),
        ("-n", "3", "--gpus-per-task=2", "--mem-per-cpu=100"),
        ("-N", "2", "--mincpus=3", "--mem=200"),
        ("-N", "2", "--gpus=5", "--mem=200"),
        ("-O", "-n", "100", "--mem=300"),
        ("-O", "-N", "2", "-n", "40", "--gres=gpu:3", "--mem-per-cpu=500"),
    ],
    ids=" ".join,
)
def test_a_job_starts_in_just_the_room_that_its_request_describes(
    slurm: PrivateSlurm, cluster: SlurmCluster, options: tuple[str, ...]
) -> None:
    job_id = str(slurm.submit("ann", "--partition=wide", "--hold", "--output=/dev/null", *options))
    job = jobs_of(wait(slurm, cluster, lambda seen: bool(seen.jobs), "the job in the queue"))[job_id]
    assert job.request is not None
    room = deal(job.request)

    for node, share in zip(NODES, [*room, *[{}] * (len(NODES) - len(room))], strict=True):
        leave(slurm, node, share.get("cpu", 0), share.get("gpu", 0), share.get("mem", 0))
    slurm.run(["scontrol", "release", job_id], "ann")

    seen = wait(
        slurm, cluster, lambda seen: jobs_of(seen)[job_id].state is JobState.RUNNING, f"{options} running"
    )
    assert set(jobs_of(seen)[job_id].alloc) <= set(NODES[: len(room)])


def test_a_heterogeneous_job_goes_whole_by_its_leader(slurm: PrivateSlurm, cluster: SlurmCluster) -> None:
    script = "#!/bin/sh\nexec sleep 600\n"
    argv = ["sbatch", "--parsable", "--output=/dev/null", "-p", "wide", "-n", "1", ":", "-n", "2"]
    leader = slurm.run(argv, "ann", stdin=script).stdout.strip()
    part = str(int(leader) + 1)
    seen = wait(
        slurm,
        cluster,
        lambda seen: {job.state for job in seen.jobs} == {JobState.RUNNING},
        "both parts running",
    )
    parts = jobs_of(seen)
    assert {job.het_job_id for job in parts.values()} == {leader}
    assert (parts[leader].requeue, parts[part].requeue) == (True, False)

    outcomes = cluster.apply(
        [Action(ActionKind.REQUEUE_HOLD, parts[job_id].run) for job_id in (part, leader)]
    )

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.REFUSED, OutcomeKind.DONE]
    seen = wait(
        slurm, cluster, lambda seen: {job.state for job in seen.jobs} == {JobState.PENDING}, "both parts held"
    )
    assert all(job.held and "heterogeneous" in job.unplannable for job in seen.jobs)

    outcomes = cluster.apply([Action(ActionKind.RELEASE, job.run) for job in seen.jobs])
    assert all(outcome.ok for outcome in outcomes)
    wait(
        slurm,
        cluster,
        lambda seen: {job.state for job in seen.jobs} == {JobState.RUNNING},
        "both parts again",
    )


def test_the_hold_that_somebody_has_put_on_a_job_that_runs_is_left_after_our_stop(
    slurm: PrivateSlurm, cluster: SlurmCluster
) -> None:
    """Theirs stays as it was, whoever it is of; the hold that comes of our own stop is taken back."""
    options = ("--partition=wide", "--ntasks=1", "--mem=10", "--output=/dev/null")
    by_user, by_admin, ours = (str(slurm.submit("ann", *options)) for _ in range(3))
    running = wait(
        slurm,
        cluster,
        lambda seen: [job.state for job in seen.jobs] == [JobState.RUNNING] * 3,
        "three jobs running",
    )
    slurm.run(["scontrol", "hold", by_user], "ann")
    slurm.run(["scontrol", "hold", by_admin])

    stops = cluster.apply([Action(ActionKind.REQUEUE_HOLD, job.run) for job in running.jobs])

    assert [outcome.kind for outcome in stops] == [OutcomeKind.DONE] * 3
    held = wait(slurm, cluster, lambda seen: all(job.held for job in seen.jobs), "all held")
    told = {job_id: job.slurm_reason for job_id, job in jobs_of(held).items()}
    assert told == {by_user: "JobHeldUser", by_admin: "JobHeldAdmin", ours: "job requeued in held state"}
    outcomes = cluster.apply([Action(ActionKind.RELEASE, job.run, of_stop=True) for job in running.jobs])
    refused = {by_user: HELD_BY_USER, by_admin: HELD_BY_ADMIN, ours: ""}
    assert [outcome.detail for outcome in outcomes] == [refused[job.id] for job in running.jobs]
    wait(slurm, cluster, lambda seen: jobs_of(seen)[ours].state is JobState.RUNNING, "ours running")
    assert all(jobs_of(cluster.observe())[job_id].held for job_id in (by_user, by_admin))


def test_an_administrators_hold_over_our_stop_is_left(slurm: PrivateSlurm, cluster: SlurmCluster) -> None:
    """Only the code of Slurm's reason tells: the reason says the same as before."""
    job_id = str(slurm.submit("ann", "--partition=wide", "--ntasks=1", "--mem=10", "--output=/dev/null"))
    seen = wait(
        slurm, cluster, lambda seen: [j.state for j in seen.jobs] == [JobState.RUNNING], "the job running"
    )
    run = jobs_of(seen)[job_id].run
    assert cluster.apply([Action(ActionKind.REQUEUE_HOLD, run)])[0].ok
    wait(slurm, cluster, lambda seen: jobs_of(seen)[job_id].held, "the job held")
    slurm.run(["scontrol", "hold", job_id])
    release = Action(ActionKind.RELEASE, run, of_stop=True)

    assert cluster.apply([release])[0].detail == HELD_BY_ADMIN
    assert jobs_of(cluster.observe())[job_id].held

    slurm.run(["scontrol", "uhold", job_id])
    assert cluster.apply([release])[0].kind is OutcomeKind.DONE


def test_other_nodes_that_a_waiting_job_is_told_to_take_are_seen_at_once(
    slurm: PrivateSlurm, cluster: SlurmCluster, slurm_release: str
) -> None:
    """What scontrol says of a job is kept for a minute, but not over such a change; 22.05 tells only the first."""
    job_id = str(slurm.submit("ann", "--partition=wide", "--hold", "--ntasks=1", "--output=/dev/null"))
    wait(slurm, cluster, lambda seen: bool(seen.jobs), "the job in the queue")

    slurm.run(["scontrol", "update", f"JobId={job_id}", "ReqNodeList=n3"], "ann")
    wanted = jobs_of(cluster.observe())[job_id].request
    assert wanted is not None and wanted.only_nodes == {"n3"}

    if slurm_release != releases.SYSTEM:
        slurm.run(["scontrol", "update", f"JobId={job_id}", "ExcNodeList=n1,n2"], "ann")
        wanted = jobs_of(cluster.observe())[job_id].request
        assert wanted is not None and wanted.not_nodes == {"n1", "n2"}


def test_a_comment_is_left_with_the_stopped_job(slurm: PrivateSlurm, cluster: SlurmCluster) -> None:
    job_id = str(slurm.submit("ann", "--partition=x", "--output=/dev/null"))
    slurm.wait_for_state(job_id, "RUNNING")
    job = jobs_of(cluster.observe())[job_id]
    words = "made room for 12 (bob, P0): 'quoted' $(id) = | é"

    assert (
        cluster.apply([Action(ActionKind.REQUEUE_HOLD, job.run, comment=words)])[0].kind is OutcomeKind.DONE
    )

    wait(slurm, cluster, lambda seen: jobs_of(seen)[job_id].state is JobState.PENDING, "the job in the queue")
    told = slurm.run(
        ["squeue", "--noheader", f"--jobs={job_id}", "--Format=admin_comment:|,Comment:|"]
    ).stdout
    assert told.strip() == f"{words}|(null)|"


def test_a_suspended_job_gives_its_cpus_to_others_and_can_be_stopped(
    slurm: PrivateSlurm, cluster: SlurmCluster
) -> None:
    job_id = str(
        slurm.submit("ann", "--partition=x", "--output=/dev/null", "-c", "8", "--gres=gpu:2", "--mem=100")
    )
    slurm.wait_for_state(job_id, "RUNNING")
    slurm.run(["scontrol", "suspend", job_id])
    seen = wait(
        slurm, cluster, lambda seen: jobs_of(seen)[job_id].slurm_state == "SUSPENDED", "the job suspended"
    )
    job = jobs_of(seen)[job_id]
    assert job.alloc == {"n1": {"mem": 100, "gpu": 2, "gpu:a100": 2}}

    assert cluster.apply([Action(ActionKind.REQUEUE_HOLD, job.run)])[0].kind is OutcomeKind.DONE
    wait(slurm, cluster, lambda seen: jobs_of(seen)[job_id].state is JobState.PENDING, "the job in the queue")


def test_shapes_changed_by_scontrol_are_seen(slurm: PrivateSlurm, cluster: SlurmCluster) -> None:
    job_id = str(slurm.submit("ann", "--partition=wide", "--hold", "--output=/dev/null", "-N", "2"))
    before = jobs_of(wait(slurm, cluster, lambda seen: bool(seen.jobs), "the job in the queue"))[
        job_id
    ].request
    assert before is not None
    assert before.nodes == 2

    slurm.run(["scontrol", "update", f"JobId={job_id}", "NumNodes=3-3"])

    after = jobs_of(cluster.observe())[job_id].request
    assert after is not None
    assert after.nodes == 3
