"""What `python -m scheduler simulate` does, files and process apart: bytes and options in, text out."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scheduler.contracts.errors import InputError, quoted
from scheduler.model import words
from scheduler.model.resources import Amounts
from scheduler.simulate.measures import Result, SimulatedFigures, measure
from scheduler.simulate.policy import Policy
from scheduler.simulate.replay import replay
from scheduler.simulate.room import MOST
from scheduler.simulate.trace import RESOURCES, LeftOut, Machines, Workload, fit, read_trace

# --- Figures as a table for people and as JSON for scripts ---


SCHEMA = "giveway.simulated/1"
_HOUR_S = 3600
_MOST_SHOWN = 10
_DIGITS = 6

Row = tuple[str, list[str]]


def table(workload: Workload, results: Sequence[Result]) -> str:
    """The policies side by side, the levels below each other."""
    machines = workload.machines
    rows: list[Row] = [("", [result.policy.name for result in results])]
    rows += _whole(machines, results)
    rows += _some("all jobs", machines, [result.everybody for result in results])
    for title in _titles(results):
        rows += _some(title, machines, [dict(result.levels).get(title) for result in results])
    return "\n".join([*_head(workload), "", *_aligned(rows)])


def document(workload: Workload, results: Sequence[Result]) -> dict[str, Any]:
    """The same as JSON values (docs/contracts.md); times in seconds, what was lost in resource-seconds."""
    machines = workload.machines
    return {
        "schema": SCHEMA,
        "cluster": {"nodes": machines.nodes, "per_node": dict(machines.per_node)},
        "jobs": len(workload.jobs),
        "left_out": [
            {"row": left.row.row, "job": left.row.id, "why": left.why} for left in workload.left_out
        ],
        "policies": [_policy(result) for result in results],
    }


def _policy(result: Result) -> dict[str, Any]:
    return {
        "name": result.policy.name,
        "scheduler": result.policy.scheduler.value,
        "makespan_s": result.makespan,
        "utilisation": _rounded(result.used),
        "utilisation_useful": _rounded(result.useful),
        "utilisation_arriving": _rounded(result.used_arriving),
        "plans": result.plans,
        "all": _json(result.everybody),
        "levels": [{"level": title, **_json(figures)} for title, figures in result.levels],
    }


def _json(figures: SimulatedFigures) -> dict[str, Any]:
    waits = figures.waits
    return {
        "jobs": figures.jobs,
        "wait_s": {
            "mean": round(waits.mean, _DIGITS),
            "median": waits.median,
            "p90": waits.p90,
            "p99": waits.p99,
            "longest_tenth": round(waits.longest_tenth, _DIGITS),
        },
        "bounded_slowdown": round(figures.slowdown, _DIGITS),
        "stops": figures.stops,
        "shrinks": figures.shrinks,
        "lost": dict(figures.lost),
    }


def _rounded(shares: dict[str, float]) -> dict[str, float]:
    return {name: round(share, _DIGITS) for name, share in shares.items()}


# --- The table --------------------------------------------------------------------------------------------


def _head(workload: Workload) -> Iterator[str]:
    machines = workload.machines
    yield f"{_jobs(len(workload.jobs))} on {machines.nodes:,} nodes of {words.amounts(machines.per_node)}."
    by_reason: dict[str, list[LeftOut]] = {}
    for left in workload.left_out:
        by_reason.setdefault(left.why, []).append(left)
    if by_reason:
        yield f"Left out: {_jobs(len(workload.left_out))}."
    for why, some in list(by_reason.items())[:_MOST_SHOWN]:
        shown = words.names([f"{_printable(left.row.id)} (row {left.row.row})" for left in some], 4)
        yield f"  {shown}: {why}"
    if len(by_reason) > _MOST_SHOWN:
        yield f"  {len(by_reason) - _MOST_SHOWN} more reasons; --json lists them all"


def _titles(results: Sequence[Result]) -> list[str]:
    """The levels of all policies, each once, in the order of the first policy that has it."""
    return list(dict.fromkeys(title for result in results for title, _ in result.levels))


def _whole(machines: Machines, results: Sequence[Result]) -> Iterator[Row]:
    yield "makespan", [words.duration(result.makespan) for result in results]
    for name in machines.per_node:
        yield f"{name} used, of all", [_percent(result.used[name]) for result in results]
        yield f"{name} used while jobs arrive", [_percent(result.used_arriving[name]) for result in results]


def _some(title: str, machines: Machines, columns: Sequence[SimulatedFigures | None]) -> Iterator[Row]:
    yield "", []
    yield title, [_jobs(figures.jobs) if figures else "no jobs" for figures in columns]
    cells: tuple[tuple[str, Callable[[SimulatedFigures], str]], ...] = (
        ("waiting, mean", lambda figures: words.duration(figures.waits.mean)),
        ("waiting, median", lambda figures: words.duration(figures.waits.median)),
        ("waiting, 90th percentile", lambda figures: words.duration(figures.waits.p90)),
        ("waiting, 99th percentile", lambda figures: words.duration(figures.waits.p99)),
        ("bounded slowdown, mean", lambda figures: f"{figures.slowdown:.2f}"),
        ("stops", lambda figures: f"{figures.stops:,}"),
        ("shrinks", lambda figures: f"{figures.shrinks:,}"),
        ("work lost", lambda figures: _hours(figures.lost, machines.main)),
    )
    for name, cell in cells:
        yield f"  {name}", [cell(figures) if figures else "" for figures in columns]


def _jobs(count: int) -> str:
    return f"{count:,} job" if count == 1 else f"{count:,} jobs"


def _hours(lost: Amounts, name: str) -> str:
    return f"{lost.get(name, 0) / _HOUR_S:,.1f} {name}-hours"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _aligned(rows: Sequence[Row]) -> Iterator[str]:
    """The first column to the left, the others to the right, wide enough for everything in them."""
    rows = [(_printable(title), [_printable(cell) for cell in cells]) for title, cells in rows]
    first = max(len(title) for title, _ in rows)
    columns = max(len(cells) for _, cells in rows)
    widths = [max(len(cells[i]) for _, cells in rows if i < len(cells)) for i in range(columns)]
    for title, cells in rows:
        padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
        yield "   ".join([title.ljust(first), *padded]).rstrip()


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


MOST_NODES = 100_000

_PART = re.compile(r"([a-z]+)=([0-9]{1,10})")


def read_per_node(text: str) -> dict[str, int]:
    """`cpu=64,gpu=8` as amounts. Raises `InputError`."""
    result: dict[str, int] = {}
    for part in text.split(","):
        found = _PART.fullmatch(part.strip())
        if found is None:
            raise InputError(
                "--per-node", f"{quoted(part)} is not like cpu=64 (whole numbers, commas between)"
            )
        name, amount = found[1], int(found[2])
        if name not in RESOURCES:
            raise InputError(
                "--per-node", f"{quoted(name)} is not in a trace; known are {', '.join(RESOURCES)}"
            )
        if name in result:
            raise InputError("--per-node", f"{name} stands twice; keep one")
        if not 0 < amount <= MOST:
            raise InputError("--per-node", f"{name} must be from 1 to {MOST}")
        result[name] = amount
    return result


def read_workload(data: bytes, nodes: int, per_node: dict[str, int], most: int | None) -> Workload:
    """The jobs of a trace (at most so many rows of it) on a cluster. Raises `InputError`."""
    if not 0 < nodes <= MOST_NODES:
        raise InputError("--nodes", f"must be from 1 to {MOST_NODES}")
    if most is not None and most < 1:
        raise InputError("--limit-jobs", "must be at least 1")
    workload = fit(read_trace(data, most), Machines(nodes, per_node))
    if not workload.jobs:
        left = workload.left_out[0]
        raise InputError(f"row {left.row.row}", f"no job can be simulated; the first: {left.why}")
    return workload


def answer(workload: Workload, policies: Sequence[Policy], *, as_json: bool) -> str:
    """The figures of all policies, as a table or as JSON."""
    results = [measure(replay(workload, policy)) for policy in policies]
    if as_json:
        return json.dumps(document(workload, results), ensure_ascii=False, indent=1)
    return table(workload, results)
