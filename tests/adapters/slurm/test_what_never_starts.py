"""What Slurm starts on idle nodes is planned for; what it never starts there, is not: tried on each release.

A release refuses some of these at submission, and lets them wait for ever in another.
"""

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm import SlurmCluster
from scheduler.model.jobs import ObservedJob
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import PartitionPolicy
from scheduler.model.reasons import Reason
from scheduler.preemption.planner import plan
from scheduler.reconcile.build import snapshot_for

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
]

STARTS = (
    "-n 2 --gpus=12",
    "-N 2 --gpus=12",
    "-n 3 --gpus=24",
    "-n 16 --gpus=12",
    "-n 2 -c 8 --gpus=12",
    "-n 2 --cpus-per-gpu=2 --gpus=5",
    "-n 4 --gpus-per-task=8",
    "-w n1,n3 -n 2 --gpus=12",
    "-n 1 --constraint=fast|slow",
    "-N 2 --constraint=[fast|slow]",
    "-N 3 --ntasks-per-node=1 --constraint=[fast*2&slow*1]",
    "-N 2 -n 3 --exclusive --constraint=[fast*1&slow*1]",
)
NEVER = (
    "-n 1 --gpus=12",
    "-n 1 -c 2 --gpus=12",
    "-n 1 --gpus=a100:12",
    "-n 1 --gpus=12 --constraint=fast",
    "-n 2 --gpus=17",
    "-n 2 --gpus=24",
    "-N 1 --gpus=9",
    "-n 5 -c 8",
    "-N 3 --constraint=[fast|slow]",
    "-N 4 --constraint=[fast*3&slow*1]",
)
KIND = {"n1": "a100", "n2": "a100", "n3": "v100", "n4": "v100"}
"""Nodes have 8 CPUs and 8 GPUs; n1 and n2 are fast and have a100s, n3 and n4 are slow."""


@pytest.fixture
def slurm(clean_slurm: PrivateSlurm) -> Iterator[PrivateSlurm]:
    def features(node: str, more: str) -> None:
        has = ",".join(word for word in (KIND[node], more) if word)
        words = (f"NodeName={node}", f"AvailableFeatures={has}", f"ActiveFeatures={has}")
        clean_slurm.run(["scontrol", "update", *words])

    for node in KIND:
        features(node, "fast" if node in {"n1", "n2"} else "slow")
    yield clean_slurm
    for node in KIND:
        features(node, "")


def submitted(slurm: PrivateSlurm, options: str) -> str:
    """A job of all the nodes' partition; "" when it was refused."""
    argv = ["sbatch", "--parsable", "-p", "wide", "--output=/dev/null", *options.split()]
    done = slurm.run(argv, "ann", stdin="#!/bin/sh\nexec sleep 3600\n", check=False)
    if done.returncode:
        assert "Requested node configuration is not available" in done.stderr
    return done.stdout.strip().split(";")[0]


def observed(slurm: PrivateSlurm, *jobs: str) -> dict[str, ObservedJob]:
    """These jobs, once they are waiting for a reason."""
    cluster = SlurmCluster(env={**os.environ, **slurm.env})
    found: dict[str, ObservedJob] = {}

    def waiting() -> bool:
        seen = cluster.observe()
        found.update({job.id: job for job in seen.jobs if job.id in jobs})
        return not seen.degraded and all(found[job].slurm_reason not in {"", "None"} for job in jobs)

    slurm.wait_until(waiting, f"{jobs} to wait")
    return found


def decision(slurm: PrivateSlurm, job: ObservedJob) -> Decision:
    """What is decided on a job where nothing else is."""
    seen = SlurmCluster(env={**os.environ, **slurm.env}).observe()
    alone = replace(seen, jobs=(replace(job, slurm_reason="Resources"),))
    (made,) = plan(snapshot_for(alone, PartitionPolicy("wide"), (), preemptions={}).snapshot).decisions
    return made


def test_what_slurm_starts_on_idle_nodes_is_planned_for(slurm: PrivateSlurm) -> None:
    for options in STARTS:
        full = submitted(slurm, "-N 4 --exclusive")
        slurm.wait_for_state(full, "RUNNING")
        job = submitted(slurm, options)
        made = decision(slurm, observed(slurm, job)[job])
        assert (options, made.action, made.reason) == (options, DecisionKind.START, Reason.ROOM_IS_FREE)
        slurm.run(["scancel", full])
        slurm.wait_for_state(job, "RUNNING")
        slurm.clear()


def test_what_slurm_never_starts_is_never_planned_for(slurm: PrivateSlurm) -> None:
    waiting = {job: options for options in NEVER if (job := submitted(slurm, options))}
    jobs = observed(slurm, *waiting)
    for job, options in waiting.items():
        made = decision(slurm, jobs[job])
        assert (options, made.action, made.reason) == (options, DecisionKind.QUEUE, Reason.DOES_NOT_FIT_EVER)
    # Slurm has looked at them on idle nodes, and does so again when something ends.
    other = submitted(slurm, "-w n4 -n 1")
    slurm.wait_for_state(other, "RUNNING")
    slurm.run(["scancel", other])
    slurm.wait_for_state(other, "")
    assert {job: slurm.states()[job] for job in waiting} == dict.fromkeys(waiting, "PENDING")


def test_nodes_counted_by_features_with_a_number_of_tasks_start_or_are_not_planned_for(
    slurm: PrivateSlurm, slurm_release: str
) -> None:
    """22.05 starts it; later releases let it wait for ever, and do not tell it from one without a number."""
    counted = submitted(slurm, "-N 2 -n 2 --constraint=[fast*1&slow*1]")
    if (
        slurm_release == "system"
        and SlurmCluster(env={**os.environ, **slurm.env}).describe().version[:2] == "22"
    ):
        slurm.wait_for_state(counted, "RUNNING")
        return
    job = observed(slurm, counted)[counted]
    assert "without --ntasks-per-node" in job.unplannable
    assert decision(slurm, job).reason is Reason.BLOCKED
    other = submitted(slurm, "-w n4 -n 1")
    slurm.wait_for_state(other, "RUNNING")
    slurm.run(["scancel", other])
    slurm.wait_for_state(other, "")
    assert slurm.states()[counted] == "PENDING"
