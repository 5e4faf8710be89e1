"""How long from `sbatch` of an urgent job to its running, detection included? On a private, real Slurm.

`python -m bench.making_room [--rounds 15] [--cycle 1.0]`: four nodes full of 32 low one-GPU jobs, an urgent job of four
GPUs on one node, and the embedded worker with its timer as a process, over SQLite. Per round: submit, poll Slurm until
the job runs, count what was stopped, clear up. Four stops are the smallest number that would do.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from deploy.private_slurm import PrivateSlurm

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 60.0
POLICY = {
    "schema": "giveway.config/1",
    "cluster": "dev",
    "projects": [],
    "partitions": [
        {
            "name": "wide",
            "mode": "user",
            "enforcement": "enforce",
            "levels": [{"name": "P0"}, {"name": "P1"}],
            "user_overrides": {"cy": "P0", "ann": "P1"},
            "grace_s": 0,
            "max_preemptions_per_job": 1_000_000,
        }
    ],
}


def manage(env: Mapping[str, str], *argv: str, stdin: str = "") -> None:
    """A management command that must succeed."""
    command = [sys.executable, "manage.py", *argv]
    subprocess.run(
        command, cwd=ROOT, env=dict(env), check=True, input=stdin, text=True, stdout=subprocess.DEVNULL
    )


def one_round(slurm: PrivateSlurm, low: list[int]) -> tuple[float, int]:
    """Seconds from before `sbatch` to seen running, and how many jobs were stopped for it."""
    slurm.wait_until(lambda: running(slurm, low) == len(low), "the low jobs run", PATIENCE_S)
    time.sleep(2.5)  # the last round's releases are over
    begin = time.monotonic()
    urgent = slurm.submit("cy", "-p", "wide", "-N1", "-n1", "--mem=10", "--gres=gpu:4", "-J", "urgent")
    slurm.wait_until(lambda: slurm.states().get(str(urgent)) == "RUNNING", "the urgent job runs", PATIENCE_S)
    taken = time.monotonic() - begin
    stopped = len(low) - running(slurm, low)
    slurm.run(["scancel", str(urgent)])
    return taken, stopped


def running(slurm: PrivateSlurm, jobs: list[int]) -> int:
    """How many of the jobs run."""
    states = slurm.states()
    return sum(states.get(str(job)) == "RUNNING" for job in jobs)


def measure(slurm: PrivateSlurm, home: Path, rounds: int, cycle_s: float) -> tuple[list[float], list[int]]:
    """All rounds, with one worker."""
    env = {
        **os.environ, **slurm.env,
        "GIVEWAY_HOME": str(home), "GIVEWAY_CLUSTER": "slurm", "GIVEWAY_CYCLE_S": str(cycle_s),
        "DJANGO_SETTINGS_MODULE": "console.settings.local",
    }  # fmt: skip
    manage(env, "migrate", "-v0")
    manage(env, "config", "import", "-", stdin=json.dumps(POLICY))
    low = [slurm.submit("ann", "-p", "wide", "-n1", "--mem=10", "--gres=gpu:1") for _ in range(32)]
    worker = subprocess.Popen([sys.executable, "manage.py", "worker"], cwd=ROOT, env=env)
    try:
        results = [one_round(slurm, low) for _ in range(rounds + 1)][1:]  # the first one warms up
    finally:
        worker.terminate()
        worker.wait(30)
    return [taken for taken, _ in results], [stopped for _, stopped in results]


def main() -> None:
    """Print a row in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cycle", type=float, default=1.0, help="seconds between cycles")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="giveway-bench-"))
    folder.chmod(0o755)
    try:
        with PrivateSlurm(folder / "slurm") as slurm:
            seconds, stops = measure(slurm, folder / "home", args.rounds, args.cycle)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("| cycle, s | rounds | median, s | fastest, s | slowest, s | jobs stopped (4 needed) |")
    print("|---|---|---|---|---|---|")
    row = [statistics.median(seconds), min(seconds), max(seconds)]
    figures = " | ".join(f"{value:.2f}" for value in row)
    print(f"| {args.cycle:g} | {len(seconds)} | {figures} | {min(stops)} to {max(stops)} |")


if __name__ == "__main__":
    main()
