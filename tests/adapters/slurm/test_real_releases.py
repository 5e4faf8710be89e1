"""What was seen on real slurmctlds of several releases: one user's odd job, or a grown one, never stops the reading."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm import SlurmCluster
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation
from scheduler.reconcile.blocking import why_blocked, why_protected
from tests.builders import policy

pytestmark = [pytest.mark.slurm, pytest.mark.usefixtures("need_releases")]
QUICK = "batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1"


def cluster_of(slurm: PrivateSlurm) -> SlurmCluster:
    return SlurmCluster(env={**os.environ, **slurm.env})


def wait(
    slurm: PrivateSlurm, cluster: SlurmCluster, holds: Callable[[Observation], bool], what: str
) -> Observation:
    seen: list[Observation] = []

    def done() -> bool:
        seen.append(cluster.observe())
        return holds(seen[-1])

    slurm.wait_until(done, what, 60.0)
    return seen[-1]


def job_of(seen: Observation, job_id: object) -> ObservedJob:
    return next(job for job in seen.jobs if job.id == str(job_id))


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_a_pending_job_with_memory_per_gpu_does_not_switch_everything_off(
    slurm_root: Path, version: str
) -> None:
    """`MinMemoryTRES=`: on 24.11.5 any user's such job made every cycle degraded."""
    with PrivateSlurm(slurm_root, version=version) as slurm:
        job_id = slurm.submit("ann", "-H", "--gpus=1", "--mem-per-gpu=100", "--partition=wide")
        other = slurm.submit("bob", "--partition=wide", "-n", "2")
        slurm.wait_for_state(other, "RUNNING")
        seen = cluster_of(slurm).observe()

        assert seen.faults == ()
        odd, plain = job_of(seen, job_id), job_of(seen, other)
        assert odd.request is not None
        assert (odd.unplannable, odd.request.per_node["mem"], odd.request.per_node["gpu"]) == ("", 100, 1)
        assert odd.request.exclusive is False
        assert [share["cpu"] for share in plain.alloc.values()] == [2]
        assert plain.not_understood == ""


def test_a_job_that_the_site_let_grow_stops_nothing_else(slurm_root: Path) -> None:
    """ "its share of n2 is not told": nothing was done on the whole cluster until it ended."""
    options = {"SchedulerParameters": f"permit_job_expansion,{QUICK}"}
    with PrivateSlurm(slurm_root, version="system", options=options) as slurm:
        first = slurm.allocate("bob", "-p", "wide", "-w", "n1", "-n", "2")
        second = slurm.allocate("bob", "-p", "wide", "-w", "n2", "-n", "3", f"--dependency=expand:{first}")
        slurm.run(["scontrol", "update", f"JobId={second}", "NumNodes=0"])
        slurm.wait_for_state(second, "")
        other = slurm.submit("ann", "--partition=wide", "-w", "n3")
        slurm.wait_for_state(other, "RUNNING")
        seen = cluster_of(slurm).observe()
        grown = job_of(seen, first)

        assert seen.faults == ()
        assert grown.not_understood == "its share of n2 is not told"
        assert "its share of n2" in why_protected(grown, policy(name="wide"), 0, grown.start or 0)
        assert [node.name for node in seen.nodes if node.held_elsewhere] == ["n2"]
        assert next(node for node in seen.nodes if node.name == "n2").held_elsewhere["mem"] == 3000
        assert job_of(seen, other).not_understood == ""


class Blocks(PrivateSlurm):
    """Two blocks of two nodes, as topology/block knows them."""

    def _write_config(self, ports: Sequence[int]) -> None:
        super()._write_config(ports)
        text = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2\n"
        (self.root / "topology.conf").write_text(text)


def test_a_job_that_waits_for_resources_with_a_topology_text_may_get_room(slurm_root: Path) -> None:
    """From 26.05 on the reason is a text of the topology's; its code is still Resources."""
    options = {"TopologyPlugin": "topology/block"}
    with Blocks(slurm_root, version="26.05", options=options) as slurm:
        for node in ("n1", "n3"):
            slurm.wait_for_state(
                slurm.submit("ann", "--partition=wide", "-w", node, "--exclusive"), "RUNNING"
            )
        job_id = slurm.submit("bob", "--partition=wide", "-N", "2", "--exclusive")
        seen = wait(
            slurm,
            cluster_of(slurm),
            lambda seen: "topology" in job_of(seen, job_id).slurm_reason,
            "the topology's reason",
        )
        job = job_of(seen, job_id)

        assert (job.slurm_reason, job.reason_code) == ("No suitable topology unit found", "Resources")
        assert why_blocked(job, "UP", seen.taken_at) == ""
        assert job.request is not None
        assert (job.request.nodes, job.request.exclusive) == (2, True)
        segments = slurm.submit("bob", "--partition=wide", "-H", "-N", "4", "--segment=1", "--exclusive")
        assert "nodes in segments" in job_of(cluster_of(slurm).observe(), segments).unplannable


class Failing(PrivateSlurm):
    """Its epilog fails on every node."""

    def _write_config(self, ports: Sequence[int]) -> None:
        super()._write_config(ports)
        (self.root / "epilog").write_text("#!/bin/sh\nexit 1\n")
        (self.root / "epilog").chmod(0o755)


def test_a_job_that_slurm_requeues_at_once_waits_and_has_not_ended(slurm_root: Path) -> None:
    """EXPEDITING (25.11 and later): its epilog failed on three of four nodes, so it waits for others."""
    options = {"SlurmctldParameters": "enable_expedited_requeue", "Epilog": str(slurm_root / "epilog")}
    with Failing(slurm_root, version="26.05", options=options) as slurm:
        script = "#!/bin/sh\nexit 3\n"
        job_id = slurm.submit("ann", "--partition=wide", "--requeue=expedite", "-N3", script=script)
        seen = wait(
            slurm,
            cluster_of(slurm),
            lambda seen: any(job.slurm_state == "EXPEDITING" for job in seen.jobs),
            "the job to be requeued by Slurm itself",
        )
        job = job_of(seen, job_id)

        assert (job.state, job.restarts, job.not_understood, seen.faults) == (JobState.PENDING, 1, "", ())
        assert job.request is not None
        assert job.request.nodes == 3
