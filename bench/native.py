"""The same urgent jobs under Slurm's own preemption by QOS and under Giveway: how soon, and at what cost?

`python -m bench.native [--scale 32|10000] [--scheduler quick|default] [--rounds 15] [--seed 1] [--only NAME] [--bell]`
starts, for each variant, a private, real Slurm with slurmdbd (packages: slurmdbd slurm-wlm-mysql-plugin
mariadb-server-core mariadb-client-core), fills it with running jobs of low rank and one GPU (or CPU) each, and
submits urgent jobs one after the other, their sizes drawn with the seed, each once to every variant in turn. Native
variants differ in SchedulerParameters only; Giveway runs as its embedded workers with a cycle every second, and
preemption in Slurm is off. Time is from before `sbatch` to seen running. As low jobs all have one unit, as many must
be stopped as the urgent job asks for. `--bell`: Giveway's cluster has the job_submit script.
"""

import argparse
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.attached import worker
from bench.load import SCRIPT
from deploy.private_slurm import Accounting, PrivateSlurm, PrivateSlurmError

LOW, HIGH, URGENT = "low", "high", "cy"
SETTLE_S = 3.0  # jobs stopped so long after the urgent one runs still count as stopped for it
SILENT_S = 180.0
QOS = {LOW: {"Priority": "1"}, HIGH: {"Priority": "100000", "Preempt": LOW}}
ENFORCE = "associations,qos"

SCHEDULERS = {
    "quick": "batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1",
    "default": "bf_interval=30",
}
"""SchedulerParameters that all variants share: those of every private Slurm of ours, and Slurm's own defaults (one of
which has to be written: the setting may not be empty)."""

Run = tuple[str, str]
"""Start and number of restarts of a running job, as Slurm prints them."""


@dataclass(frozen=True)
class Variant:
    """Who preempts, and with which further SchedulerParameters."""

    name: str
    giveway: bool = False
    parameters: str = ""

    def options(self, scheduler: str) -> dict[str, str]:
        """Settings of slurm.conf, with the SchedulerParameters that all variants share."""
        parameters = ",".join(filter(None, [scheduler, self.parameters]))
        shared = {"SchedulerParameters": parameters}
        if self.giveway:
            return shared | {"PreemptType": "preempt/none"}
        return shared | {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"}


VARIANTS = (
    Variant("native preempt/qos"),
    Variant("native, youngest_first", parameters="preempt_youngest_first"),
    Variant(
        "native, strict_order + reorder_count=10", parameters="preempt_strict_order,preempt_reorder_count=10"
    ),
    Variant("Giveway", giveway=True),
)


@dataclass(frozen=True)
class Scale:
    """A size of cluster: its shape, the low jobs that fill it, and what urgent jobs ask for."""

    nodes: int
    cpus: int
    gpus: int
    low: int
    sizes: tuple[int, ...]
    patience_s: float

    def urgent(self, size: int) -> list[str]:
        """What an urgent job asks for: that many GPUs (or CPUs) on one node."""
        return (
            ["-N1", "-n1", "--mem=10", f"--gres=gpu:{size}"] if self.gpus else ["-N1", f"-n{size}", "--mem=1"]
        )

    def fill(self, slurm: PrivateSlurm, count: int) -> None:
        """So many low jobs more; batch jobs on the small cluster, jobs without processes on the large one."""
        if self.gpus:
            for _ in range(count):
                slurm.submit("ann", "-p", "wide", "-q", LOW, "-n1", "--mem=10", "--gres=gpu:1")
        else:
            slurm.fill(count, "-p", "wide", "-q", LOW)


SCALES = {
    "32": Scale(4, 8, 8, 32, (1, 2, 4, 6, 8), 60.0),
    "10000": Scale(40, 256, 0, 40 * 256, (256,), 120.0),
}


@dataclass
class Result:
    """What all rounds of a variant came to."""

    seconds: list[float] = field(default_factory=list)
    stopped: int = 0
    needed: int = 0
    destroyed_s: float = 0.0
    never: int = 0

    def row(self, name: str) -> str:
        """The figures as a row in Markdown."""
        rounds = len(self.seconds) + self.never
        times = self.seconds or [float("nan")]
        shown = [statistics.median(times), min(times), max(times)]
        figures = " | ".join(f"{value:.2f}" for value in shown)
        ratio = self.stopped / self.needed
        return f"| {name} | {rounds} | {figures} | {ratio:.2f} | {self.destroyed_s / rounds:.0f} | {self.never} |"


HEAD = (
    "| | rounds | median, s | fastest, s | slowest, s | stopped ÷ needed | CPU-s destroyed a round | never started |\n"
    "|---|---|---|---|---|---|---|---|"
)


def ask(slurm: PrivateSlurm, *arguments: str) -> str:
    """What squeue says. While it preempts hundreds of jobs slurmctld may not answer for a long time: ask again."""
    until = time.monotonic() + SILENT_S
    while True:
        try:
            done = slurm.run(["squeue", "-h", *arguments], check=False, timeout_s=60)
        except subprocess.TimeoutExpired:
            done = None
        if done is not None and (done.returncode == 0 or "Invalid job id" in done.stderr):
            return done.stdout
        if time.monotonic() > until:
            raise RuntimeError(f"slurmctld has not answered for {SILENT_S:.0f} s")


def low_runs(slurm: PrivateSlurm) -> dict[str, Run]:
    """The low jobs that run, each with its run."""
    lines = ask(slurm, "-q", LOW, "-t", "RUNNING", "-O", "JobID:20,StartTime:20,RestartCnt:10").splitlines()
    return {job: (start, restarts) for job, start, restarts in map(str.split, lines)}


def one_round(slurm: PrivateSlurm, scale: Scale, size: int, result: Result) -> None:
    """Submit one urgent job and look what became of it and of the others; then put the cluster back."""
    before = low_runs(slurm)
    at = time.time()
    begin = time.monotonic()
    command = ["sbatch", "--parsable", "-p", "wide", "-q", HIGH, *scale.urgent(size)]
    urgent = int(slurm.run(command, URGENT, stdin="#!/bin/sh\nexec sleep 86400\n", timeout_s=SILENT_S).stdout)
    try:
        slurm.wait_until(lambda: _state(slurm, urgent) == "RUNNING", "the urgent job runs", scale.patience_s)
        result.seconds.append(time.monotonic() - begin)
    except PrivateSlurmError:
        result.never += 1
    time.sleep(SETTLE_S)
    after = low_runs(slurm)
    lost = [run for job, run in before.items() if after.get(job) != run]
    result.stopped += len(lost)
    result.needed += size
    result.destroyed_s += sum(max(0.0, at - _epoch(start)) for start, _ in lost)
    slurm.run(["scancel", str(urgent)])
    restore(slurm, scale)


def restore(slurm: PrivateSlurm, scale: Scale) -> None:
    """New low jobs in place of those that were stopped (Slurm would have them wait two minutes)."""
    waiting = ask(slurm, "-q", LOW, "-t", "PENDING", "-o", "%i").split()
    if waiting:
        slurm.run(["scancel", *waiting])
    slurm.wait_until(lambda: not ask(slurm, "-q", HIGH, "-o", "%i").split(), "the urgent job is gone", 60)
    slurm.wait_until(lambda: not ask(slurm, "-t", "COMPLETING", "-o", "%i").split(), "all have ended", 60)
    scale.fill(slurm, scale.low - len(low_runs(slurm)))
    slurm.wait_until(lambda: len(low_runs(slurm)) == scale.low, "the low jobs run", 180)
    time.sleep(2.5)  # plans of the last round are over


def _state(slurm: PrivateSlurm, job: int) -> str:
    # Of this one job only: asking for ten thousand would be the heaviest load on slurmctld.
    return ask(slurm, "-j", str(job), "-o", "%T").strip()


def _epoch(start: str) -> float:
    return time.mktime(time.strptime(start, "%Y-%m-%dT%H:%M:%S"))


def _policy(users: Sequence[str]) -> Mapping[str, object]:
    overrides = {user: "P0" if user == URGENT else "P1" for user in users}
    partition = {
        "name": "wide", "mode": "user", "enforcement": "enforce", "levels": [{"name": "P0"}, {"name": "P1"}],
        "user_overrides": overrides, "grace_s": 0, "max_preemptions_per_job": 1_000_000,
        "not_requeueable": "cancel",
        "cancel_notice_s": 0,
    }  # fmt: skip
    return {"schema": "giveway.config/1", "cluster": "dev", "projects": [], "partitions": [partition]}


@dataclass
class Contender:
    """One variant with a full cluster of its own. It sleeps while the others have their turn."""

    variant: Variant
    slurm: PrivateSlurm
    worker: subprocess.Popen[bytes] | None
    result: Result = field(default_factory=Result)

    def turn(self, scale: Scale, size: int, result: Result) -> None:
        """One round."""
        if self.worker is not None:
            os.killpg(self.worker.pid, signal.SIGCONT)
            time.sleep(SETTLE_S)  # the first looks after a pause take longer
        one_round(self.slurm, scale, size, result)
        self.rest()

    def rest(self) -> None:
        """Take no processor from the others."""
        if self.worker is not None:
            os.killpg(self.worker.pid, signal.SIGSTOP)


def enter(variant: Variant, scale: Scale, scheduler: str, stack: ExitStack, *, bell: bool) -> Contender:
    """A cluster for the variant, filled; everything ends with the stack."""
    folder = Path(tempfile.mkdtemp(prefix="gw-", dir="/tmp"))
    folder.chmod(0o755)
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    options = {**variant.options(scheduler), "MessageTimeout": "100"}
    shape = {"nodes": scale.nodes, "cpus": scale.cpus, "gpus": scale.gpus}
    slurm = PrivateSlurm(
        folder / "slurm",
        mem_mb=64_000,
        start_s=180.0,
        options=options,
        accounts=Accounting(QOS, ENFORCE),
        job_submit=SCRIPT if bell and variant.giveway else None,
        **shape,
    )
    stack.enter_context(slurm)
    scale.fill(slurm, scale.low)
    slurm.wait_until(lambda: len(low_runs(slurm)) == scale.low, "the low jobs run", 300)
    process = (
        stack.enter_context(worker(slurm, folder / "home", _policy(slurm.users))) if variant.giveway else None
    )
    return Contender(variant, slurm, process)


def measure(
    variants: Sequence[Variant], scale: Scale, sizes: Sequence[int], scheduler: str, *, bell: bool
) -> list[Contender]:
    """All rounds: each urgent job once for every variant, in turns, so that they share what else the machine does."""
    with ExitStack() as stack:
        contenders = [enter(variant, scale, scheduler, stack, bell=bell) for variant in variants]
        for contender in contenders:
            contender.turn(scale, scale.sizes[0], Result())  # warms up
        for number, size in enumerate(sizes, start=1):
            for contender in contenders:
                contender.turn(scale, size, contender.result)
            print(f"round {number} of {len(sizes)}", file=sys.stderr, flush=True)
    return contenders


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", choices=SCALES, default="32", help="running low jobs")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scheduler", choices=SCHEDULERS, default="quick", help="SchedulerParameters of all")
    parser.add_argument("--only", default="", help="only variants whose name has this in it")
    parser.add_argument("--bell", action="store_true", help="Giveway's cluster has the job_submit script")
    args = parser.parse_args()
    scale = SCALES[args.scale]
    sizes = random.Random(args.seed).choices(scale.sizes, k=args.rounds)
    variants = [variant for variant in VARIANTS if args.only in variant.name]
    contenders = measure(variants, scale, sizes, SCHEDULERS[args.scheduler], bell=args.bell)
    print(HEAD)
    for contender in contenders:
        print(contender.result.row(contender.variant.name))


if __name__ == "__main__":
    main()
