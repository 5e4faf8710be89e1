"""A day of a trace on a private, real Slurm, in a few minutes: the jobs, what runs in them, and what came of them.

Every job is a batch script that sleeps. It keeps what it has done as a job with checkpoints would: after a stop it goes
on where it last saved. What it did it writes into its own log, from which the figures are made: nothing depends on
Slurm's accounting.
"""

import csv
import gzip
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.private_slurm import PrivateSlurm
from scheduler.simulate.measures import BOUND_S
from scheduler.simulate.policy import evenly

DAY_S = 86_400
PARTITION = "wide"
USERS = ("cy", "bob", "ann")
"""Who submits the jobs of P0, P1 and P2."""
SHARES = (0.1, 0.3, 0.6)

SCRIPT = """#!/bin/bash
log=$1 work=$2 save=$3
if [[ ${SLURM_RESTART_COUNT:-0} != 0 ]]; then
    put_back=$(scontrol show job "$SLURM_JOB_ID" | grep -o 'SubmitTime=[^ ]*')
    echo "stopped $(date +%s -d "${put_back#*=}")" >> "$log"
fi
echo "began $EPOCHREALTIME" >> "$log"
did=$(awk -v save="$save" '
    $1 == "began" { at = $2 }
    $1 == "stopped" && at { if ($2 > at) did += int(($2 - at) / save) * save; at = 0 }
    END { print did + 0 }' "$log")
((work > did)) && sleep $((work - did))
echo "ended $EPOCHREALTIME" >> "$log"
"""


@dataclass(frozen=True, slots=True)
class Planned:
    """A job to submit: seconds from the beginning, seconds of work, GPUs on one node or several, and its level."""

    name: str
    at: int
    work: int
    gpus: int
    level: int

    @property
    def user(self) -> str:
        """Who submits it."""
        return USERS[self.level]


@dataclass(slots=True)
class Seen:
    """What became of a job. `stayed`: seconds from submission to its end; `waited`: in the queue, all waits together;
    `shrinks`: workers that an elastic job gave up; `lost`: GPU-seconds done again.
    """

    planned: Planned
    stayed: float = 0.0
    waited: float = 0.0
    stops: int = 0
    shrinks: int = 0
    lost: float = 0.0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a level. `slowdown`: as `simulate` has it, bound and all."""

    jobs: int
    slowdown: float
    mean_wait: float
    p90_wait: float
    stops: int
    lost: float
    unfinished: int = 0
    shrinks: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """The cluster, and how a day is made to fit it: `faster` seconds in one, a job in every `one_in` of the trace's."""

    nodes: int
    gpus: int
    faster: int
    one_in: float
    seed: str = field(default="giveway")


def planned(trace: Path, day: int, shape: Shape) -> list[Planned]:
    """The jobs of one day (0 the first), thinned and compressed. A job that lasts longer than the day is cut off there;
    one that asks for more than half of the cluster is left out."""
    with gzip.open(trace, "rt") as lines:
        rows = [row for row in csv.DictReader(lines) if int(row["submit_s"]) // DAY_S == day]
    return [job for row in rows if (job := _one(row, day, shape)) is not None]


def _one(row: dict[str, str], day: int, shape: Shape) -> Planned | None:
    gpus = int(row["gpus"] or 0)
    chosen = evenly(shape.seed, f"{row['job_id']} thinned") * shape.one_in < 1
    if not chosen or not 0 < gpus <= shape.nodes * shape.gpus // 2 or not row["runtime_s"]:
        return None
    if gpus > shape.gpus and gpus % shape.gpus:
        return None  # whole nodes only: that is how both sides place them alike
    point, level = evenly(shape.seed, row["job_id"]), 0
    while point >= SHARES[level]:
        point -= SHARES[level]
        level += 1
    work = min(int(row["runtime_s"]), DAY_S) // shape.faster
    at = (int(row["submit_s"]) - day * DAY_S) // shape.faster
    return Planned(row["job_id"], at, max(1, work), gpus, level)


def trace_of(jobs: Sequence[Planned], shape: Shape, target: Path) -> None:
    """The same jobs as a trace that `simulate` reads; the user is the level."""
    with target.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["job_id", "submit_s", "runtime_s", "nodes", "gpus", "user"])
        for job in jobs:
            nodes = max(1, job.gpus // shape.gpus)
            rows.writerow([job.name, job.at, job.work, nodes, job.gpus, job.user])


def play(jobs: Sequence[Planned], submit: Callable[[Planned], object]) -> None:
    """Submit every job at its time."""
    begin = time.monotonic()
    for job in sorted(jobs, key=lambda each: each.at):
        time.sleep(max(0.0, begin + job.at - time.monotonic()))
        submit(job)


def submit(slurm: PrivateSlurm, job: Planned, shape: Shape, save_s: int, options: Sequence[str]) -> None:
    """Submit a job. `options`: further ones of sbatch."""
    log = log_of(slurm, job)
    nodes = max(1, job.gpus // shape.gpus)
    log.write_text(f"submitted {time.time():.6f}\n")
    log.chmod(0o666)
    slurm.submit(
        job.user,
        *("-p", PARTITION, f"-N{nodes}", f"-n{nodes}", "--mem=10", f"--gres=gpu:{min(job.gpus, shape.gpus)}"),
        *("-J", job.name, "--requeue", "-o", "/dev/null", *options),
        script=SCRIPT.replace("log=$1 work=$2 save=$3", f"log={log} work={job.work} save={save_s}"),
    )


def log_of(slurm: PrivateSlurm, job: Planned) -> Path:
    """Where a job tells what it did."""
    return slurm.work / job.user / f"{job.name}.log"


def read(job: Planned, log: str, save_s: int) -> Seen:
    """What became of a job."""
    seen = Seen(job)
    submitted = waits_since = began = 0.0
    for what, at in _lines(log):
        if what == "submitted":
            submitted = waits_since = at
        elif what == "began":
            seen.waited += max(0.0, at - waits_since)
            began = at
        elif what == "stopped" and began:
            ran = max(0.0, at - began)
            seen.stops += 1
            seen.lost += (ran - ran // save_s * save_s) * job.gpus
            waits_since, began = at, 0.0
        elif what == "ended":
            seen.ended, seen.stayed = True, at - submitted
    return seen


def _lines(log: str) -> Iterator[tuple[str, float]]:
    for line in log.splitlines():
        what, _, at = line.partition(" ")
        yield what, float(at)


def figures(seen: Sequence[Seen]) -> Figures:
    """The figures of some jobs, one at least."""
    waits = sorted(each.waited for each in seen)
    return Figures(
        jobs=len(seen),
        slowdown=sum(map(_slowdown, seen)) / len(seen),
        mean_wait=sum(waits) / len(waits),
        p90_wait=waits[-(-len(waits) * 90 // 100) - 1],
        stops=sum(each.stops for each in seen),
        lost=sum(each.lost for each in seen),
        unfinished=sum(not each.ended for each in seen),
        shrinks=sum(each.shrinks for each in seen),
    )


def _slowdown(seen: Seen) -> float:
    return max(1.0, seen.stayed / max(seen.planned.work, BOUND_S))
