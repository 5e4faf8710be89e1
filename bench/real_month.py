"""The same compressed day of a trace on a real Slurm four times, and in the simulation: waits, stops, work lost.

`python -m bench.real_month --trace FILE [--day 10] [--nodes 8] [--faster 300] [--load 1.5] [--only NAME]`
thins a day of the trace until it asks for `load` times the cluster, and plays it (`faster` seconds in one) on private,
real Slurms one after the other: native Slurm, native preempt/qos (both with slurmdbd; packages: slurmdbd
slurm-wlm-mysql-plugin mariadb-server), Giveway as its embedded worker with a cycle every second, and the same where
every job of several GPUs is an array of one-GPU workers, half of which it keeps. The same jobs run
through `python -m scheduler simulate`. Jobs save their state once in a (compressed) hour. Prints Markdown; seconds are
those of the compressed day.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import real_elastic
from bench.attached import worker
from bench.making_room import ROOT
from bench.native import ENFORCE, SCHEDULERS
from bench.real_day import (
    DAY_S,
    PARTITION,
    SHARES,
    USERS,
    Figures,
    Planned,
    Seen,
    Shape,
    figures,
    log_of,
    planned,
    play,
    read,
    submit,
    trace_of,
)
from deploy.private_slurm import Accounting, PrivateSlurm

GPUS = 8
LEVELS = ("P0", "P1", "P2")
QOS = {
    "p0": {"Priority": "300000", "Preempt": "p1,p2"},
    "p1": {"Priority": "200000", "Preempt": "p2"},
    "p2": {"Priority": "1"},
}
HEAD = (
    "| | level | jobs | slowdown | mean wait, s | 90th percentile, s | stops | shrinks | GPU-s lost | not ended |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)
TAIL_S = 1_200.0
"""How long after the last submission the last job may end."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run the day. `elastic`: every job of several GPUs is an array of workers, half of which it keeps.
    `simulated`: the policy that `simulate` gets beside it, if there is one like it."""

    name: str
    giveway: bool = False
    qos: bool = False
    elastic: bool = False
    simulated: Callable[[int], dict[str, Any]] | None = None


def easy(_save_s: int) -> dict[str, Any]:
    """Slurm by itself: in the order of submission, with backfill."""
    return _simulation("EASY", "easy")


def preempting(save_s: int) -> dict[str, Any]:
    """Giveway: by level, room made by stopping; what it holds back counts in cycles here, too."""
    more = {"requeue": {"checkpoint_s": save_s, "restart_s": 1}, "cycle_s": 1}
    return _simulation("Giveway", "preempt") | more


def shrinking(save_s: int) -> dict[str, Any]:
    """The same, with jobs of several GPUs that may go on with half of them."""
    return preempting(save_s) | {"elastic": {"min_share": real_elastic.MIN_SHARE, "unit": "gpu"}}


def _simulation(name: str, scheduler: str) -> dict[str, Any]:
    patterns = [{"match": user, "level": level} for level, user in enumerate(USERS)]
    return {
        "schema": "giveway.simulation/1",
        "name": name,
        "scheduler": scheduler,
        "partition": {"name": PARTITION, "mode": "user"},
        "user_level": {"by": "user", "patterns": patterns},
        "assumed_limit_s": 365 * DAY_S,
    }


WAYS = (
    Way("native Slurm", simulated=easy),
    Way("native preempt/qos", qos=True),
    Way("Giveway", giveway=True, simulated=preempting),
    Way("Giveway, elastic", giveway=True, elastic=True, simulated=shrinking),
)


def priority_file() -> dict[str, Any]:
    """The partition as Giveway has it."""
    partition = {
        "name": PARTITION, "mode": "user", "enforcement": "enforce", "levels": [{"name": name} for name in LEVELS],
        "user_overrides": dict(zip(USERS, LEVELS, strict=True)), "grace_s": 0,
    }  # fmt: skip
    return {"schema": "giveway.config/1", "cluster": "dev", "projects": [], "partitions": [partition]}


@dataclass(slots=True)
class Day:
    """How a day's jobs are submitted, and what is read of them. `chosen`: further options of sbatch, by user."""

    slurm: PrivateSlurm
    shape: Shape
    save_s: int
    chosen: Mapping[str, Sequence[str]]
    elastic: bool
    submitted: dict[str, float] = field(default_factory=dict)

    def submit(self, job: Planned) -> None:
        """Submit one."""
        if not self._in_workers(job):
            submit(self.slurm, job, self.shape, self.save_s, self.chosen.get(job.user, ()))
            return
        folder = log_of(self.slurm, job).with_suffix("")
        real_elastic.prepare(folder, job)
        self.submitted[job.name] = time.time()
        real_elastic.submit(self.slurm, job, folder, self.save_s, *self.chosen.get(job.user, ()))

    def read(self, job: Planned) -> Seen:
        """What became of one."""
        log = log_of(self.slurm, job)
        if self._in_workers(job):
            return real_elastic.read(job, log.with_suffix(""), self.submitted[job.name])
        return read(job, log.read_text(), self.save_s)

    def _in_workers(self, job: Planned) -> bool:
        return self.elastic and job.gpus > 1


def run(way: Way, jobs: Sequence[Planned], shape: Shape, save_s: int) -> dict[int, Figures]:
    """Play the day; the figures by level."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="gw-", dir="/tmp"))
        folder.chmod(0o755)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        options = {"SchedulerParameters": SCHEDULERS["quick"]}
        options |= {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"} if way.qos else {}
        slurm = PrivateSlurm(
            folder / "slurm", nodes=shape.nodes, cpus=64, gpus=shape.gpus, mem_mb=64_000, users=USERS,
            options=options, start_s=180.0, accounts=Accounting(QOS, ENFORCE) if way.qos else None,
        )  # fmt: skip
        stack.enter_context(slurm)
        if way.giveway:
            stack.enter_context(worker(slurm, folder / "home", priority_file()))
        chosen = (
            {user: ("-q", name.lower()) for user, name in zip(USERS, LEVELS, strict=True)} if way.qos else {}
        )
        day = Day(slurm, shape, save_s, chosen, elastic=way.elastic)
        play(jobs, day.submit)
        slurm.wait_until(lambda: not slurm.squeue("%i"), "the last job to end", TAIL_S)
        time.sleep(1)
        seen = [day.read(job) for job in jobs]
    return {
        level: figures([each for each in seen if each.planned.level == level]) for level in range(len(LEVELS))
    }


def simulated(policy: dict[str, Any], jobs: Sequence[Planned], shape: Shape) -> dict[int, Figures]:
    """The same day in the simulation."""
    with tempfile.TemporaryDirectory() as folder:
        trace, file = Path(folder) / "trace.csv", Path(folder) / "policy.json"
        trace_of(jobs, shape, trace)
        file.write_text(json.dumps(policy))
        command = [sys.executable, "-m", "scheduler", "simulate", "--json", "--trace", str(trace)]
        command += ["--nodes", str(shape.nodes), "--per-node", f"gpu={shape.gpus}", "--policy", str(file)]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    (answer,) = json.loads(done.stdout)["policies"]
    return {
        number: Figures(
            jobs=level["jobs"],
            slowdown=level["bounded_slowdown"],
            mean_wait=level["wait_s"]["mean"],
            p90_wait=level["wait_s"]["p90"],
            stops=level["stops"],
            lost=level["lost"].get("gpu", 0),
            shrinks=level["shrinks"],
        )
        for number, level in enumerate(answer["levels"])
    }


def rows(name: str, found: dict[int, Figures]) -> list[str]:
    """The figures of every level as rows in Markdown."""
    return [
        f"| {name} | {LEVELS[level]} | {each.jobs} | {each.slowdown:.2f} | {each.mean_wait:.1f} "
        f"| {each.p90_wait:.1f} | {each.stops} | {each.shrinks} | {each.lost:,.0f} | {each.unfinished} |"
        for level, each in sorted(found.items())
    ]


def day_of(trace: Path, day: int, shape: Shape, load: float) -> tuple[list[Planned], Shape]:
    """The jobs of the day, thinned until they ask for so many times the cluster."""
    whole = planned(trace, day, shape)
    asked = sum(job.work * job.gpus for job in whole) / (shape.nodes * shape.gpus * DAY_S / shape.faster)
    thinned = replace(shape, one_in=max(1.0, asked / load))
    return planned(trace, day, thinned), thinned


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--day", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--faster", type=int, default=300)
    parser.add_argument("--load", type=float, default=1.5)
    parser.add_argument("--only", default="", help="only the way of this name")
    args = parser.parse_args()
    jobs, shape = day_of(args.trace, args.day, Shape(args.nodes, GPUS, args.faster, 1.0), args.load)
    save_s = max(1, 3600 // args.faster)
    print(
        f"{len(jobs)} jobs, one in {shape.one_in:.1f} of day {args.day}; {args.nodes} nodes of {GPUS} GPUs;"
        f" shares of the levels {SHARES}\n\n{HEAD}"
    )
    for way in WAYS:
        if args.only and args.only != way.name:
            continue
        for line in rows(way.name, run(way, jobs, shape, save_s)):
            print(line, flush=True)
        if way.simulated:
            for line in rows(f"{way.name}, simulated", simulated(way.simulated(save_s), jobs, shape)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
