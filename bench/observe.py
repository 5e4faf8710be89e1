"""How much dearer is one observation than a bare `squeue -h` of the same jobs? On a private, real slurmctld.

`python -m bench.observe [--jobs 10000] [--nodes 40] [--rounds 15]` starts a Slurm of many nodes, fills it with
running one-CPU jobs without processes, and then takes turns: bare squeue, observation, bare squeue, … so that
both suffer alike from whatever else the machine does. Prints a table in Markdown, medians over the rounds.
`--gpu-share` makes that share of the jobs hold a GPU, `--pending` adds waiting jobs. Takes a minute or two.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm import SlurmCluster

CPUS = 256


@dataclass(frozen=True)
class Figures:
    """Seconds, and what was there."""

    jobs: int
    nodes: int
    pending: int
    bare: list[float]
    steady: list[float]
    cold: list[float]
    after_changes: list[float]


def timed(act: Callable[[], object]) -> float:
    """How long it takes, in seconds."""
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def bare_squeue(env: Mapping[str, str]) -> None:
    """What everybody types."""
    subprocess.run(["squeue", "-h"], env=dict(env), check=True, stdout=subprocess.PIPE, timeout=60)


def measure(slurm: PrivateSlurm, rounds: int) -> Figures:
    """Take turns: bare, steady; now and then cold (a new adapter), and right after a few jobs have changed."""
    env = {**os.environ, **slurm.env}
    bare, steady, cold, changed = [], [], [], []
    cluster = SlurmCluster(env=env)
    seen = cluster.observe()
    if seen.faults:
        sys.exit(f"the observation has faults: {seen.faults[:3]}")
    for number in range(rounds):
        bare.append(timed(lambda: bare_squeue(env)))
        steady.append(timed(cluster.observe))
        if number % 3 == 0:
            bare.append(timed(lambda: bare_squeue(env)))
            cold.append(timed(lambda: SlurmCluster(env=env).observe()))
            ends = [job.id for job in seen.jobs if job.start][number * 10 : number * 10 + 10]
            slurm.run(["scancel", *ends])
            slurm.fill(len(ends))
            changed.append(timed(cluster.observe))
    pending = sum(1 for job in seen.jobs if job.start is None)
    return Figures(len(seen.jobs), len(seen.nodes), pending, bare, steady, cold, changed)


def table(figures: Figures) -> str:
    """The figures in Markdown, each with its ratio to the bare squeue."""
    bare = statistics.median(figures.bare)
    there = f"{figures.jobs - figures.pending:,} running and {figures.pending:,} pending jobs"
    turns = f"{len(figures.bare)} times a bare squeue and {len(figures.steady)} observations in turn"
    lines = [
        f"{there} on {figures.nodes} nodes; {turns}:",
        "",
        "| | median, s | fastest, s | slowest, s | times a bare squeue |",
        "|---|---|---|---|---|",
    ]
    rows = {
        "bare `squeue -h`": figures.bare,
        "observation, steady state": figures.steady,
        "observation after ten jobs have ended and ten have started": figures.after_changes,
        "first observation of a process": figures.cold,
    }
    for name, times in rows.items():
        middle = statistics.median(times)
        lines.append(f"| {name} | {middle:.3f} | {min(times):.3f} | {max(times):.3f} | {middle / bare:.2f} |")
    return "\n".join(lines)


def fill(slurm: PrivateSlurm, jobs: int, gpu_share: float, pending: int) -> None:
    """Running jobs, some with a GPU; then jobs that cannot start."""
    with_gpu = min(round(jobs * gpu_share), slurm.nodes * slurm.gpus)
    print(f"filling with {jobs} jobs …", file=sys.stderr)
    if with_gpu:
        # First, while there are free CPUs beside every GPU.
        slurm.fill(with_gpu, "--gres=gpu:1")
    slurm.fill(jobs - with_gpu)
    for number in range(pending):
        user = slurm.users[number % len(slurm.users)]
        slurm.submit(user, "-n", str(1 + number % 4), "--hold", "--output=/dev/null", "-J", f"wait{number}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--gpu-share", type=float, default=0.0)
    parser.add_argument("--pending", type=int, default=0)
    options = parser.parse_args()
    reason = PrivateSlurm.unavailable_reason()
    if reason:
        sys.exit(reason)
    root = Path(tempfile.mkdtemp(prefix="giveway-bench-", dir="/tmp"))
    root.chmod(0o755)
    try:
        with PrivateSlurm(root, nodes=options.nodes, cpus=CPUS, mem_mb=64_000, start_s=180.0) as slurm:
            fill(slurm, options.jobs, options.gpu_share, options.pending)
            print(table(measure(slurm, options.rounds)))
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
