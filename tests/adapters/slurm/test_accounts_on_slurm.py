"""slurmdbd's answers, on real Slurms that have one: how jobs ended, and which accounts there are."""

import os
from collections.abc import Collection
from functools import partial

import pytest

from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm import SlurmCluster, accounting
from scheduler.adapters.slurm.commands import CommandAnswer, CommandRunner
from scheduler.model.actions import Action, ActionKind, OutcomeKind
from scheduler.model.associations import Associations, SlurmAccount
from scheduler.model.endings import Ending, EndKind
from scheduler.model.observation import Resizing

pytestmark = [pytest.mark.slurm, pytest.mark.every_release]

SCRIPT = "#!/bin/sh\n{}\n"


def _cluster(slurm: PrivateSlurm) -> SlurmCluster:
    return SlurmCluster(env={**os.environ, **slurm.env})


def _ended_in_every_way(slurm: PrivateSlurm, cluster: SlurmCluster) -> dict[str, str]:
    """Ids of jobs by how they ended."""
    jobs = {name: str(slurm.submit("ann", "-n1", script=SCRIPT.format(does))) for name, does in {
        "completed": "true", "failed": "exit 3", "signalled": "kill -USR1 $$; sleep 9",
    }.items()}  # fmt: skip
    jobs["cancelled"] = str(slurm.submit("bob", "-n1"))
    jobs["never started"] = str(slurm.submit("bob", "-n1", "--hold"))
    again = '[ "$SLURM_RESTART_COUNT" ] && exit 4; sleep 600'
    jobs["requeued"] = str(slurm.submit("cy", "-n1", script=SCRIPT.format(again)))
    array = slurm.submit("cy", "-n1", "--array=0-1", script=SCRIPT.format("exit $SLURM_ARRAY_TASK_ID"))
    jobs |= {"first task": f"{array}_0", "second task": f"{array}_1"}
    for job in ("cancelled", "requeued"):
        slurm.wait_for_state(jobs[job], "RUNNING")
    slurm.run(["scancel", jobs["cancelled"], jobs["never started"]], "bob")
    _requeue_and_release(slurm, cluster, jobs["requeued"])
    for job in jobs.values():
        slurm.wait_for_state(job, "")
    return jobs


def _requeue_and_release(slurm: PrivateSlurm, cluster: SlurmCluster, job: str) -> None:
    [running] = [each for each in cluster.observe().jobs if each.id == job]
    assert cluster.apply([Action(ActionKind.REQUEUE_HOLD, running.run)])[0].ok
    slurm.wait_for_state(job, "PENDING")
    [held] = [each for each in cluster.observe().jobs if each.id == job]
    assert cluster.apply([Action(ActionKind.RELEASE, held.run)])[0].ok


class Forgetful(CommandRunner):
    """Asks the real programs; but squeue remembers no job that has ended, as after MinJobAge."""

    def run(self, program: str, *arguments: str, timeout_s: float | None = None) -> CommandAnswer:
        if program == "squeue" and "--states=all" in arguments:
            return CommandAnswer("", "slurm_load_jobs error: Invalid job id specified", 1)
        return super().run(program, *arguments, timeout_s=timeout_s)


def _forgetful(slurm: PrivateSlurm) -> SlurmCluster:
    return SlurmCluster(runner=Forgetful({**os.environ, **slurm.env}))


def _all_over(cluster: SlurmCluster, jobs: Collection[str]) -> bool:
    """slurmdbd is told of an end a moment after it."""
    told = cluster.ended(jobs)
    unknown = {EndKind.UNTOLD, EndKind.ALIVE}
    return told.keys() == set(jobs) and not unknown & {ending.kind for ending in told.values()}


def _comparable(ending: Ending) -> tuple[object, ...]:
    """Of a cancelled job slurmdbd knows no signal, and of one that never ran 24.11 and later no start."""
    if ending.kind is EndKind.CANCELLED:
        return ending.kind, ending.exit_code, ending.end
    return ending.kind, ending.exit_code, ending.signal, ending.start, ending.end


def test_sacct_tells_of_a_forgotten_job_what_squeue_has_told(accounted_slurm: PrivateSlurm) -> None:
    cluster = _cluster(accounted_slurm)
    jobs = _ended_in_every_way(accounted_slurm, cluster)
    remembered = cluster.ended(jobs.values())
    assert remembered.keys() == set(jobs.values())

    cluster = _forgetful(accounted_slurm)
    accounted_slurm.wait_until(lambda: _all_over(cluster, jobs.values()), "slurmdbd to have every ending")
    accounted = cluster.ended(jobs.values())

    told = {name: _comparable(accounted[job]) for name, job in jobs.items()}
    assert told == {name: _comparable(remembered[job]) for name, job in jobs.items()}
    assert {name: accounted[job].kind for name, job in jobs.items()} == {
        **dict.fromkeys(("completed", "first task"), EndKind.COMPLETED),
        **dict.fromkeys(("failed", "signalled", "requeued", "second task"), EndKind.FAILED),
        **dict.fromkeys(("cancelled", "never started"), EndKind.CANCELLED),
    }
    assert (accounted[jobs["failed"]].exit_code, accounted[jobs["signalled"]].signal) == (3, 10)
    assert accounted[jobs["requeued"]].exit_code == 4
    assert accounted[jobs["cancelled"]].by == "bob"
    assert cluster.ended(["999999"]) == {}


def test_sacct_without_slurmdbd_leaves_the_endings_untold(accounted_slurm: PrivateSlurm) -> None:
    cluster = _forgetful(accounted_slurm)
    job = str(accounted_slurm.submit("ann", "-n1", script=SCRIPT.format("true")))
    accounted_slurm.wait_for_state(job, "")

    accounted_slurm.stop_daemon("slurmdbd")
    try:
        assert cluster.ended([job])[job].kind is EndKind.UNTOLD
    finally:
        accounted_slurm.start_daemon("slurmdbd")

    accounted_slurm.wait_until(lambda: _all_over(cluster, [job]), "slurmdbd to answer again")
    assert cluster.ended([job])[job].kind is EndKind.COMPLETED


def test_with_slurmdbd_every_release_takes_nodes_from_a_job_again_and_again(
    accounted_slurm: PrivateSlurm,
) -> None:
    """22.05 does so once without it (tests/contract/test_resizing.py)."""
    cluster = _cluster(accounted_slurm)
    assert Resizing.IN_PLACE in cluster.describe().resizing
    job = str(accounted_slurm.submit("ann", "-N4", "--ntasks-per-node=1"))
    accounted_slurm.wait_for_state(job, "RUNNING")

    for keeps in ("n1,n2,n3", "n1,n3", "n1"):
        # slurmctld wants its entry in slurmdbd first.
        accounted_slurm.wait_until(partial(_shrunk, cluster, job, keeps), f"{job} to be on {keeps}")
        [now] = [each for each in cluster.observe().jobs if each.id == job]
        assert ",".join(sorted(now.alloc)) == keeps


def _shrunk(cluster: SlurmCluster, job: str, keeps: str) -> bool:
    [now] = [each for each in cluster.observe().jobs if each.id == job]
    [outcome] = cluster.apply([Action(ActionKind.SHRINK, now.run, keeps)])
    assert outcome.kind in {OutcomeKind.DONE, OutcomeKind.UNKNOWN}, outcome
    return outcome.ok


def test_the_accounts_that_sacctmgr_tells(accounted_slurm: PrivateSlurm) -> None:
    found = accounting.look({**os.environ, **accounted_slurm.env})

    assert found == Associations(
        kept=True, accounts=(SlurmAccount("all", tuple(sorted(accounted_slurm.users))),)
    )
