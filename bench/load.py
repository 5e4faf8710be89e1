"""How often does Giveway ask slurmctld, and how much of slurmctld's time is that?

`python -m bench.load [--case idle|urgent|many|all] [--minutes 3] [--bell]`, as root, on a private, real Slurm with the
embedded worker, everything switched on:
  idle    four nodes, no job
  urgent  four nodes full of 32 low jobs, an urgent one of one GPU each minute
  many    10,240 running jobs on 40 nodes, ten of them end and ten come each minute
`--bell`: with the job_submit script. Requests are those that slurmctld counted (`sdiag`), without those of this script,
of users' submissions, and of slurmd; the share is their number times slurmctld's own average for each. Processor time
is that of the worker's processes and their commands. Printed is a row in Markdown for each case.
"""

import argparse
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.attached import worker
from bench.making_room import POLICY, ROOT
from deploy.private_slurm import PrivateSlurm

SCRIPT = ROOT / "deploy" / "slurm" / "job_submit.lua"
SETTLE_S = {"idle": 75.0, "urgent": 75.0, "many": 240.0}
"""The first looks at a cluster cost more; all of them are over by then."""
_RPC = re.compile(
    r"^\t([A-Z][A-Z0-9_]*)\s+\(\s*\d+\) count:(\d+)\s+ave_time:\d+\s+total_time:(\d+)", re.MULTILINE
)
READS = re.compile(r"_INFO(_SINGLE)?$|_PING$")
ORDERS = frozenset({"REQUEST_UPDATE_JOB", "REQUEST_JOB_REQUEUE"})
HEAD = (
    "| case | bell | requests a minute | looks | glances | single jobs | orders | share of slurmctld's time | "
    "processor of the worker |\n|---|---|---|---|---|---|---|---|---|"
)


@dataclass
class Counted:
    """Requests by type, and slurmctld's microseconds for them."""

    number: Counter[str]
    micros: Counter[str]


def count(slurm: PrivateSlurm) -> Counted:
    """What slurmctld has answered so far."""
    told = _RPC.findall(slurm.run(["sdiag"]).stdout.partition("by message type")[2].partition("by user")[0])
    return Counted(
        Counter({name: int(number) for name, number, _ in told}),
        Counter({name: int(micros) for name, _, micros in told}),
    )


def spent_s(pid: int) -> float:
    """Processor seconds of a process, its living descendants, and all children that have ended."""
    ticks, total = os.sysconf("SC_CLK_TCK"), 0
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    left = [pid]
    while left:
        one = left.pop()
        left += parents.get(one, [])
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / ticks


@contextmanager
def cluster(case: str, *, bell: bool) -> Iterator[tuple[PrivateSlurm, Path]]:
    """A private Slurm, filled as the case has it."""
    folder = Path(tempfile.mkdtemp(prefix="gw-", dir="/tmp"))
    folder.chmod(0o755)
    many = case == "many"
    shape: dict[str, Any] = {"nodes": 40, "cpus": 256, "gpus": 0, "mem_mb": 64_000} if many else {}
    try:
        with PrivateSlurm(
            folder / "slurm", job_submit=SCRIPT if bell else None, start_s=180.0, **shape
        ) as slurm:
            if many:
                slurm.fill(40 * 256, "-p", "wide")
            yield slurm, folder / "home"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def minute(slurm: PrivateSlurm, case: str) -> None:
    """What users do within a minute."""
    end = time.monotonic() + 60
    if case == "urgent":
        job = slurm.submit("cy", "-p", "wide", "-N1", "-n1", "--mem=10", "--gres=gpu:1", "-J", "urgent")
        time.sleep(40)
        slurm.run(["scancel", str(job)])
    if case == "many":
        jobs = slurm.run(["squeue", "-h", "-t", "R", "-o", "%i"]).stdout.split()[:10]
        for each in jobs:
            slurm.run(["scancel", each])
            time.sleep(3)
            slurm.submit("bob", "-p", "wide", "-n1", "--mem=1")
            time.sleep(2)
    time.sleep(max(0.0, end - time.monotonic()))


def measure(case: str, minutes: int, *, bell: bool) -> str:
    """One row."""
    with cluster(case, bell=bell) as (slurm, home):
        if case == "urgent":
            for _ in range(32):
                slurm.submit("ann", "-p", "wide", "-n1", "--mem=10", "--gres=gpu:1")
        with worker(slurm, home, POLICY) as process:
            time.sleep(SETTLE_S[case])
            if bell:  # the first that rings
                slurm.run(["scancel", str(slurm.submit("bob", "-p", "wide", "-n1", "--mem=1", "--hold"))])
                time.sleep(20)
            before, spent, begun = count(slurm), spent_s(process.pid), time.monotonic()
            asked = 0
            for _ in range(minutes):
                minute(slurm, case)
                asked += case == "many"
            after, spent = count(slurm), spent_s(process.pid) - spent
            passed = (time.monotonic() - begun) / 60
    number, micros = after.number - before.number, after.micros - before.micros
    number["REQUEST_STATS_INFO"] -= 1  # the first of the two that this script has asked
    for name in ("REQUEST_JOB_INFO", "REQUEST_PARTITION_INFO"):
        number[name] -= asked
    ours = {name: n for name, n in number.items() if READS.search(name) or name in ORDERS}
    each = {
        "looks": number["REQUEST_RESERVATION_INFO"],
        "glances": number["REQUEST_STATS_INFO"],
        "single": number["REQUEST_JOB_INFO_SINGLE"],
        "orders": sum(number[name] for name in ORDERS),
    }
    share = sum(micros[name] for name in ours) / 1e6 / (passed * 60)
    cells = [f"{sum(ours.values()) / passed:.1f}", *(f"{n / passed:.1f}" for n in each.values())]
    return (
        f"| {case} | {'yes' if bell else 'no'} | {' | '.join(cells)} | {100 * share:.2f} % | "
        f"{100 * spent / (passed * 60):.1f} % |"
    )


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", choices=("idle", "urgent", "many", "all"), default="all")
    parser.add_argument("--minutes", type=int, default=3)
    parser.add_argument("--bell", action="store_true", help="with the job_submit script")
    args = parser.parse_args()
    cases = ("idle", "urgent", "many") if args.case == "all" else (args.case,)
    rows = [measure(case, args.minutes, bell=args.bell) for case in cases]
    print("\n".join([HEAD, *rows]))


if __name__ == "__main__":
    main()
