"""A private, real Slurm as the contract suite drives it: users submit with `sbatch` and `salloc`, time is real."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm import SlurmCluster
from scheduler.adapters.slurm.benchmarks import runner_for
from scheduler.adapters.slurm.draining import SlurmNodes
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from tests.contract.harness import PATIENCE_S, Work

POLL_S = 0.25

CHECKPOINTING = """#!/bin/bash
save() { scontrol update job "${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_}${SLURM_ARRAY_TASK_ID:-$SLURM_JOB_ID}" \\
    comment="ckpt:$SECONDS"; }
trap save USR1
touch ready.$SLURM_JOB_ID
end=$((SECONDS + {seconds}))
while [ $SECONDS -lt $end ]; do sleep 1000 & wait $!; done
"""
# The shell goes on waiting in short steps, so that it survives SIGTERM until Slurm kills it.
STUBBORN = """#!/bin/bash
trap '' TERM
touch ready.$SLURM_JOB_ID
end=$((SECONDS + {seconds}))
while [ $SECONDS -lt $end ]; do sleep 1; done
"""
SLEEPING = """#!/bin/sh
touch ready.$SLURM_JOB_ID
exec sleep {seconds}
"""


class SlurmHarness:
    """The cluster is emptied first."""

    def __init__(self, slurm: PrivateSlurm) -> None:
        slurm.clear()
        self._slurm = slurm
        self._ready: dict[str, Path] = {}
        self.cluster = SlurmCluster(env={**os.environ, **slurm.env})
        self.nodes = SlurmNodes(runner_for({**os.environ, **slurm.env}))

    def submit(self, work: Work) -> str:
        template = STUBBORN if work.ends_slowly else CHECKPOINTING if work.checkpoints else SLEEPING
        script = template.replace("{seconds}", str(work.seconds))
        job = str(self._slurm.submit(work.user, *_batch_options(work), *_options(work), script=script))
        if not work.array_tasks:
            self._ready[job] = self._slurm.work / work.user / f"ready.{job}"
        return job

    def submit_interactive(self, work: Work) -> str:
        return str(self._slurm.allocate(work.user, *_options(work)))

    def cancel(self, job_id: str) -> None:
        self._slurm.run(["scancel", job_id])

    def hold(self, user: str, job_id: str) -> None:
        self._slurm.run(["scontrol", "hold", job_id], user)

    def release(self, user: str, job_id: str) -> None:
        self._slurm.run(["scontrol", "release", job_id], user)

    def begin_in(self, user: str, job_id: str, seconds: int) -> None:
        self._slurm.run(["scontrol", "update", f"JobId={job_id}", f"StartTime=now+{seconds}"], user)

    def forbid_requeue(self, user: str, job_id: str) -> None:
        self._slurm.run(["scontrol", "update", f"JobId={job_id}", "Requeue=0"], user)

    def admin_comment(self, job_id: str) -> str:
        told = self._slurm.run(
            ["squeue", "--noheader", f"--jobs={job_id}", "--Format=admin_comment:|"]
        ).stdout
        return told.rstrip("\n").removesuffix("|").replace("(null)", "")

    def drain(self, node: str) -> None:
        self._slurm.run(["scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=maintenance"])

    def resume(self, node: str) -> None:
        self._slurm.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"])

    @contextmanager
    def down(self) -> Iterator[None]:
        self._slurm.stop_daemon("slurmctld", signal.SIGTERM)
        try:
            yield
        finally:
            self._slurm.start_daemon("slurmctld")

    def wait_until(
        self, holds: Callable[[Observation], bool], what: str, seconds: int = PATIENCE_S
    ) -> Observation:
        until = time.monotonic() + seconds
        while True:
            seen = self.cluster.observe()
            # A job that changes while it is read is a fault of one observation; the next one has it right.
            if not seen.degraded and holds(seen) and self._scripts_run(seen):
                return seen
            if time.monotonic() > until:
                raise AssertionError(f"waited {seconds} s in vain for {what}; last seen {seen}")
            time.sleep(POLL_S)

    def _scripts_run(self, seen: Observation) -> bool:
        """A job runs a moment before its script does: a signal that comes then finds no trap, or nobody at all."""
        running = {job.id for job in seen.jobs if job.state is JobState.RUNNING}
        return all(self._ready[job].exists() for job in running & self._ready.keys())

    def pass_time(self, seconds: int) -> None:
        time.sleep(seconds)


def _options(work: Work) -> list[str]:
    """The options that sbatch and salloc have in common."""
    options = [f"--job-name={work.name}", f"--partition={','.join(work.partitions)}", *_size(work)]
    values = {
        "--constraint": "&".join(work.features),
        "--nodelist": ",".join(work.only_nodes),
        "--exclude": ",".join(work.not_nodes),
        "--account": work.account,
        "--comment": work.comment,
        "--time": "" if work.time_limit_min is None else str(work.time_limit_min),
        "--begin": f"now+{work.begin_in_s}" if work.begin_in_s else "",
        "--dependency": f"afterany:{work.after}" if work.after else "",
    }
    options += [f"{name}={value}" for name, value in values.items() if value]
    return options + ["--exclusive"] * work.exclusive + ["--hold"] * work.held


def _size(work: Work) -> list[str]:
    if work.tasks:
        return [f"--ntasks={work.tasks}"]
    size = [
        f"--nodes={work.nodes}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={work.cpus}",
        f"--mem={work.mem_mb}",
    ]
    return size + [f"--gres={','.join(f'{name}:{count}' for name, count in work.gpus.items())}"] * bool(
        work.gpus
    )


def _batch_options(work: Work) -> list[str]:
    options = ["--output=/dev/null", "--requeue" if work.requeue else "--no-requeue"]
    return options + [f"--array=0-{work.array_tasks - 1}"] * bool(work.array_tasks)
