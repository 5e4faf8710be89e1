"""What even sets of GPUs save against chance, on a recorded month: GPU-hours lost to waiting for the slowest one.

`python -m bench.even_sets --trace philly_oct4w.csv.gz [--nodes 231] [--gpus 8] [--seeds 3] [--jobs N]`
replays the trace (the project does not carry it) on nodes whose GPUs differ in speed, once for each way to choose them,
and prints Markdown. Jobs start in the order of their submission, and a later one where an earlier one does not fit; up
to a node's GPUs are taken from one node, more from whole nodes. A run goes as fast as its slowest GPU: its recorded
time is that on a middle one.

The speeds are drawn from a published spread: Sinha et al., Not All GPUs Are Created Equal (SC22, arXiv 2208.11035v3),
report for five clusters of equal GPUs a variation of 8 % on average and 22 % at most, and outliers of up to 1.5 times
the middle GPU. Our reading: the seconds of a benchmark are normally distributed about 1, 95 of 100 GPUs within that
variation (so a standard deviation of a quarter of it), and one GPU in a hundred is an outlier anywhere from there to
1.5. The paper gives no law and no number of outliers: both are assumed here.
"""

import argparse
import csv
import gzip
import heapq
import random
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from bench.even_sets_ways import WAYS, Choose, Device, Machines

VARIATIONS = (0.08, 0.22)
OUTLIERS = 0.01
SLOWEST = 1.5
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class TracedJob:
    """A job of the trace, in seconds from its beginning."""

    submit: float
    runtime: float
    gpus: int


@dataclass(slots=True)
class Outcome:
    """Of the runs on several GPUs: GPU-hours held and lost. `waits`: of all jobs, in seconds."""

    held: float = 0.0
    lost: float = 0.0
    runs: int = 0
    waits: list[float] = field(default_factory=list)

    @property
    def share(self) -> float:
        """What is lost of what is held."""
        return self.lost / self.held if self.held else 0.0

    def count(self, run_s: float, seconds: Sequence[float]) -> None:
        """One run: lost is, GPU by GPU, what it waits for the slowest one (docs/methods/compute-power.md)."""
        slowest = max(seconds)
        self.runs += 1
        self.held += run_s / HOUR * len(seconds)
        self.lost += run_s / HOUR * sum(1 - each / slowest for each in seconds)


def draw(nodes: int, gpus: int, variation: float, rng: random.Random) -> list[list[float]]:
    """The seconds of each GPU of each node; the middle one takes 1."""

    def one() -> float:
        if rng.random() < OUTLIERS:
            return rng.uniform(1 + variation / 2, SLOWEST)
        return max(1 - variation, rng.gauss(1, variation / 4))

    return [[one() for _ in range(gpus)] for _ in range(nodes)]


def replay(jobs: Sequence[TracedJob], machines: Machines, choose: Choose, seed: int = 0) -> Outcome:
    """Run all jobs that the cluster can hold."""
    rng, outcome = random.Random(seed), Outcome()
    capacity = len(machines.seconds) * machines.per_node
    coming = deque(sorted((job for job in jobs if 0 < job.gpus <= capacity), key=lambda job: job.submit))
    waiting: dict[int, deque[TracedJob]] = {}
    running: list[tuple[float, int, list[Device]]] = []
    number = 0
    while coming or running:
        moments = [*([coming[0].submit] if coming else []), *(ends for ends, _, _ in running[:1])]
        now = min(moments)
        while running and running[0][0] <= now:
            machines.give(heapq.heappop(running)[2])
        while coming and coming[0].submit <= now:
            job = coming.popleft()
            waiting.setdefault(job.gpus, deque()).append(job)
        for job, devices in _starts(waiting, machines, choose, rng):
            seconds = [machines.time(each) for each in devices]
            run_s = job.runtime * max(seconds)
            number += 1
            heapq.heappush(running, (now + run_s, number, devices))
            outcome.waits.append(now - job.submit)
            if job.gpus > 1:
                outcome.count(run_s, seconds)
    return outcome


def _starts(
    waiting: dict[int, deque[TracedJob]], machines: Machines, choose: Choose, rng: random.Random
) -> Iterable[tuple[TracedJob, list[Device]]]:
    """Who starts now, in the order of submission. What does not fit for one does not fit for its likes."""
    open_sizes = {size for size, queue in waiting.items() if queue}
    while open_sizes:
        size = min(open_sizes, key=lambda each: waiting[each][0].submit)
        devices = choose(machines, size, rng)
        if devices is None:
            open_sizes.discard(size)
            continue
        machines.take(devices)
        yield waiting[size].popleft(), devices
        if not waiting[size]:
            open_sizes.discard(size)


def read(path: Path, most: int | None = None) -> list[TracedJob]:
    """The jobs with GPUs that have run."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    found = [
        TracedJob(float(row["submit_s"]), float(row["runtime_s"]), int(float(row["gpus"])))
        for row in csv.DictReader(text.splitlines())
        if row["gpus"] and row["runtime_s"]
    ]
    jobs = [job for job in found if job.gpus > 0 and job.runtime > 0]
    return jobs[:most] if most else jobs


def compare(
    jobs: Sequence[TracedJob], nodes: int, gpus: int, variation: float, seeds: int
) -> dict[str, list[Outcome]]:
    """Each way, with the same GPUs as the others, for each seed."""
    found: dict[str, list[Outcome]] = {name: [] for name in WAYS}
    for seed in range(seeds):
        seconds = draw(nodes, gpus, variation, random.Random(seed))
        for name, choose in WAYS.items():
            found[name].append(replay(jobs, Machines(seconds), choose, seed))
    return found


COLUMNS = (
    *("variation", "GPUs chosen", "runs on several", "GPU-h held", "GPU-h lost"),
    *("share", "saved, GPU-h", "of the loss", "mean wait, s"),
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|--:|---|{'--:|' * (len(COLUMNS) - 2)}"


def lines(variation: float, found: Mapping[str, Sequence[Outcome]]) -> Iterable[str]:
    """Means over the seeds; what is saved is against chance."""
    chance = mean(each.lost for each in found["by chance"])
    for name, outcomes in found.items():
        lost = mean(each.lost for each in outcomes)
        yield (
            f"| {variation:.0%} | {name} | {outcomes[0].runs:,} | {mean(each.held for each in outcomes):,.0f} "
            f"| {lost:,.0f} | {mean(each.share for each in outcomes):.2%} | {chance - lost:,.0f} "
            f"| {(chance - lost) / chance if chance else 0:.0%} | {mean(mean(each.waits) for each in outcomes):,.0f} |"
        )


def main(words: Sequence[str] | None = None) -> None:
    """Read, replay, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=231)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args(words)
    jobs = read(given.trace, given.jobs)
    out = sys.stdout.write
    out(f"{HEAD}\n")
    for variation in VARIATIONS:
        for line in lines(variation, compare(jobs, given.nodes, given.gpus, variation, given.seeds)):
            out(f"{line}\n")


if __name__ == "__main__":
    main()
