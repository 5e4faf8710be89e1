"""Months of recorded jobs under several policies: `python -m bench.simulate --data DIR [--only published|gpu|limits]`.

DIR holds the traces (kth_sp2_1996, ctc_sp2_1996 with their published waits, and philly_oct4w, `.csv.gz`); the project
does not carry them. Prints Markdown: EASY against the published figures, four weeks of a GPU cluster under each policy,
and the same with each of the kind limits. Every simulation runs in a process of its own, one after the other, whose
processor time and memory are told, reading the trace included.
"""

import argparse
import csv
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scheduler.model.kind import KIND_LIMITS, kind_bands
from scheduler.simulate.measures import BOUND_S
from scheduler.simulate.policy import NOT_SIMULATED

ROOT = Path(__file__).parents[1]
PUBLISHED = {
    ("kth_sp2_1996", "limit"): ("wait_easy", 100),
    ("kth_sp2_1996", "true"): ("wait_easy_clairvoyant", 100),
    ("ctc_sp2_1996", "limit"): ("wait_easy", 338),
    ("ctc_sp2_1996", "true"): ("wait_easy_clairvoyant", 338),
}
"""Trace and where expected runtimes come from; column of the published waits, nodes."""
WITHIN = 0.10

GPU_TRACE = "philly_oct4w"
GPU_NODES, GPUS = 231, 8
WEEK_S = 7 * 86_400
SHARES = [{"level": 0, "share": 0.1}, {"level": 1, "share": 0.3}, {"level": 2, "share": 0.6}]
COMMON = {
    "schema": "giveway.simulation/1",
    "partition": {"name": "gpu", "mode": "user"},
    "user_level": {"by": "job", "seed": "giveway", "shares": SHARES},
    "assumed_limit_s": WEEK_S,
}
HOURLY = {"checkpoint_s": 3600, "restart_s": 60}
ELASTIC = {"min_share": 0.5, "unit": "gpu"}
POLICIES: tuple[dict[str, Any], ...] = (
    {"name": "first come, first served", "scheduler": "fcfs"},
    {"name": "EASY", "scheduler": "easy"},
    {"name": "EASY, by level", "scheduler": "easy", "order": "level"},
    {
        "name": "stop, nothing saved",
        "scheduler": "preempt",
        "requeue": {"checkpoint_s": None, "restart_s": 60},
    },
    {"name": "stop, saved every hour", "scheduler": "preempt", "requeue": HOURLY},
    {"name": "shrink, else stop", "scheduler": "preempt", "requeue": HOURLY, "elastic": ELASTIC},
)

SIMULATED = {key: limit for key, limit in KIND_LIMITS.items() if key not in (*NOT_SIMULATED, "regrow_s")}
BANDS = {"bands": kind_bands(len(SHARES))}
LIMITS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("none", {}),
    *((f"`{key}`: {limit}", {key: limit}) for key, limit in SIMULATED.items()),
    ("`bands`: P0 above all others", BANDS),
    ("all of them but `bands`", SIMULATED),
    ("all of them", SIMULATED | BANDS),
)
"""What a partition that is made by hand begins with, one by one and together. Jobs are saved every hour."""
MOST_HOURS, LONGEST_P0_S = 1000, 30
"""What all of them together may lose, and how long P0 may wait on the mean."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """The figures of one simulation, and what it took: seconds of processor time, bytes of memory at most."""

    figures: dict[str, Any]
    seconds: float
    memory: int


def simulate(trace: Path, nodes: int, per_node: str, policy: dict[str, Any]) -> Simulated:
    """Run the command, alone."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.json"
        file.write_text(json.dumps(policy))
        command = [sys.executable, "-m", "scheduler", "simulate", "--json", "--trace", str(trace)]
        command += ["--nodes", str(nodes), "--per-node", per_node, "--policy", str(file)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        out = process.stdout.read() if process.stdout else b""
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"python -m scheduler simulate ended with {status}")
    (figures,) = json.loads(out)["policies"]
    return Simulated(figures, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


# --- Against published figures ----------------------------------------------------------------------------


def published_slowdown(data: Path, trace: str, column: str) -> float:
    """The average bounded slowdown that the published waits come to."""
    with gzip.open(data / f"{trace}_sc15_waits.csv.gz", "rt") as lines:
        waits = {row["job_id"]: int(row[column]) for row in csv.DictReader(lines)}
    slowdowns = []
    with gzip.open(data / f"{trace}.csv.gz", "rt") as lines:
        for row in csv.DictReader(lines):
            run = max(1, min(int(row["runtime_s"]), int(row["time_limit_s"] or row["runtime_s"])))
            slowdowns.append(max(1.0, (waits[row["job_id"]] + run) / max(run, BOUND_S)))
    return sum(slowdowns) / len(slowdowns)


def published_table(data: Path) -> Iterator[str]:
    """The first table; a figure that is more than 10 % away ends the run."""
    yield "| trace | expected runtimes | jobs | published | simulated | difference | processor time | memory |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for (trace, runtimes), (column, nodes) in PUBLISHED.items():
        policy = {**COMMON, "name": "EASY", "scheduler": "easy", "runtimes": runtimes}
        done = simulate(data / f"{trace}.csv.gz", nodes, "cpu=1", policy)
        known = published_slowdown(data, trace, column)
        every = done.figures["all"]
        found = every["bounded_slowdown"]
        away = found / known - 1
        yield (
            f"| {trace} | {runtimes} | {every['jobs']:,} | {known:.2f} | {found:.2f} | {100 * away:+.1f} % "
            f"| {done.seconds:.1f} s | {done.memory / 1e6:.0f} MB |"
        )
        if abs(away) > WITHIN:
            raise SystemExit(f"{trace}, {runtimes}: {found:.2f} is not within 10 % of {known:.2f}")


# --- Four weeks of GPUs -----------------------------------------------------------------------------------


def gpu_tables(data: Path) -> Iterator[str]:
    """Whole figures and cost by policy; then waits and losses by level."""
    done = [
        simulate(data / f"{GPU_TRACE}.csv.gz", GPU_NODES, f"gpu={GPUS}", {**COMMON, **policy})
        for policy in POLICIES
    ]
    yield "| policy | slowdown | stops | shrinks | GPU-hours lost | GPUs used | plans | processor time | memory |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for each in done:
        figures, every = each.figures, each.figures["all"]
        yield (
            f"| {figures['name']} | {every['bounded_slowdown']:.2f} | {every['stops']:,} | {every['shrinks']:,} "
            f"| {_hours(every):,.0f} | {100 * figures['utilisation_arriving']['gpu']:.1f} % | {figures['plans']:,} "
            f"| {each.seconds:.1f} s | {each.memory / 1e6:.0f} MB |"
        )
    yield ""
    yield from _by_level(done)


def _by_level(done: Sequence[Simulated]) -> Iterator[str]:
    yield "| policy | level | jobs | mean wait | 90th percentile | mean of the longest tenth | stops | GPU-hours lost |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for each in done:
        for level in each.figures["levels"]:
            wait = level["wait_s"]
            yield (
                f"| {each.figures['name']} | {level['level']} | {level['jobs']:,} | {wait['mean']:,.0f} s "
                f"| {wait['p90']:,} s | {wait['longest_tenth']:,.0f} s | {level['stops']:,} | {_hours(level):,.0f} |"
            )


def _hours(figures: dict[str, Any]) -> float:
    return float(figures["lost"].get("gpu", 0)) / 3600


# --- The kind limits --------------------------------------------------------------------------------------


def limits_table(data: Path) -> Iterator[str]:
    """What each limit costs and saves; more than all of them together may lose ends the run."""
    yield "| limits | stops | GPU-hours lost | mean wait of P0 | P1 | P2 | 90th percentile of P0 | processor time |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for name, limits in LIMITS:
        partition = {**COMMON["partition"], **limits}
        policy = {**COMMON, "name": name, "scheduler": "preempt", "requeue": HOURLY, "partition": partition}
        done = simulate(data / f"{GPU_TRACE}.csv.gz", GPU_NODES, f"gpu={GPUS}", policy)
        every, levels = done.figures["all"], done.figures["levels"]
        waits = " | ".join(f"{level['wait_s']['mean']:,.0f} s" for level in levels)
        yield (
            f"| {name} | {every['stops']:,} | {_hours(every):,.0f} | {waits} | {levels[0]['wait_s']['p90']:,} s "
            f"| {done.seconds:.1f} s |"
        )
    if _hours(every) > MOST_HOURS or levels[0]["wait_s"]["mean"] >= LONGEST_P0_S:
        raise SystemExit(f"more than {MOST_HOURS} GPU-hours lost, or P0 waits {LONGEST_P0_S} s or more")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the traces")
    parser.add_argument("--only", choices=("published", "gpu", "limits"), help="one of the parts")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    parts = {"published": published_table, "gpu": gpu_tables, "limits": limits_table}
    for name, part in parts.items():
        if options.only in {None, name}:
            for line in part(options.data):
                print(line, flush=True)
            print()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"Load of the machine before and after: {before:.1f}, {os.getloadavg()[0]:.1f}.")
    print(f"Processor time of all simulations: {spent.ru_utime + spent.ru_stime:.0f} s.")


if __name__ == "__main__":
    main()
