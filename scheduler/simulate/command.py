"""What `python -m scheduler simulate` does, files and process apart: bytes and options in, text out."""

import json
import re
from collections.abc import Sequence

from scheduler.contracts.errors import InputError, quoted
from scheduler.simulate.measures import measure
from scheduler.simulate.policy import Policy
from scheduler.simulate.replay import replay
from scheduler.simulate.report import document, table
from scheduler.simulate.room import MOST
from scheduler.simulate.trace import read_trace
from scheduler.simulate.workload import RESOURCES, Machines, Workload, fit

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
