"""A recorded workload: CSV, plain or gzip, one job a row, into checked rows (docs/methods/simulation.md)."""

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from scheduler.contracts.errors import InputError, quoted
from scheduler.model.resource_kinds import ACCELERATORS, accelerator_of
from scheduler.model.resources import Amounts
from scheduler.priority.order import natural
from scheduler.simulate.room import Packing

COLUMNS = (
    "job_id", "submit_s", "wait_s", "runtime_s", "time_limit_s", "nodes", "cpus", "gpus",
    "user", "group_or_vc", "job_name", "state", "priority",
)  # fmt: skip
NEEDED = ("job_id", "submit_s", "runtime_s")
MOST = 10**12
"""The largest number in a trace: epoch seconds fit, and sums of them stay exact."""

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One job as the trace has it; None and "" stand for a blank. `row` counts from the header, which is row 1.

    `cpus` and `gpus` are those of all nodes together; times are seconds. `qos` is no column of a trace: it is known of
    jobs that the console has kept.
    """

    row: int
    id: str
    submit: int
    runtime: int | None
    limit: int | None
    nodes: int | None
    cpus: int | None
    gpus: int | None
    user: str
    group: str
    name: str
    priority: str
    wait: int | None = None
    qos: str = ""


def read_trace(data: bytes, most: int | None = None) -> tuple[TraceRow, ...]:
    """The rows, at most so many, in the order of the file. Raises `InputError` with the row and the column."""
    lines = csv.reader(_text(data).splitlines(keepends=True), strict=True)
    rows: list[TraceRow] = []
    seen: dict[str, int] = {}
    try:
        header = next(lines, None)
        columns = _columns(header)
        for values in lines:
            if not values:
                continue
            row = _row(columns, values, lines.line_num)
            if row.id in seen:
                raise fault(row.row, "job_id", f"{quoted(row.id)} stands in row {seen[row.id]} already")
            seen[row.id] = row.row
            rows.append(row)
            if most is not None and len(rows) == most:
                break
    except csv.Error as error:
        raise InputError(f"row {lines.line_num}", f"is not CSV: {error}") from None
    if not rows:
        raise InputError("row 2", "there is no job in the trace")
    return tuple(rows)


def fault(row: int, column: str, message: str) -> InputError:
    """An error that names its place as people look for it in a table."""
    return InputError(f"row {row}, column {column}", message)


def _text(data: bytes) -> str:
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError("row 1", f"is not a whole gzip file: {error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"row {row}", "is not UTF-8; save the file as UTF-8") from None


def _columns(header: list[str] | None) -> tuple[str, ...]:
    columns = tuple(name.strip() for name in header or ())
    for name in columns:
        if name not in COLUMNS:
            near = get_close_matches(name, COLUMNS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(COLUMNS)}"
            raise InputError("row 1", f"{quoted(name)} is no column of a trace; {hint}")
        if columns.count(name) > 1:
            raise InputError("row 1", f"the column {name} stands twice; keep one")
    for name in NEEDED:
        if name not in columns:
            raise InputError("row 1", f"the column {name} is missing; the first row names the columns")
    return columns


def _row(columns: tuple[str, ...], values: list[str], number: int) -> TraceRow:
    if len(values) != len(columns):
        raise InputError(f"row {number}", f"has {len(values)} values, not {len(columns)} as row 1")
    cells = _Cells(number, dict(zip(columns, map(str.strip, values), strict=True)))
    return TraceRow(
        row=number,
        id=cells.need("job_id"),
        submit=cells.whole("submit_s", needed=True) or 0,
        runtime=cells.whole("runtime_s"),
        limit=cells.whole("time_limit_s", least=1),
        nodes=cells.whole("nodes", least=1),
        cpus=cells.whole("cpus"),
        gpus=cells.whole("gpus"),
        user=cells.values.get("user", ""),
        group=cells.values.get("group_or_vc", ""),
        name=cells.values.get("job_name", ""),
        priority=cells.values.get("priority", ""),
        wait=_known(cells.whole("wait_s", least=-MOST)),
    )


def _known(wait: int | None) -> int | None:
    # The Standard Workload Format writes -1 for what it does not know.
    return None if wait is None or wait < 0 else wait


@dataclass(frozen=True, slots=True)
class _Cells:
    """The values of one row."""

    row: int
    values: dict[str, str]

    def need(self, column: str) -> str:
        value = self.values[column]
        if not value:
            raise fault(self.row, column, "is blank")
        return value

    def whole(self, column: str, *, least: int = 0, needed: bool = False) -> int | None:
        """A whole number; None when it is blank and need not be there."""
        value = self.need(column) if needed else self.values.get(column, "")
        if not value:
            return None
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise fault(self.row, column, f"must be a whole number, not {quoted(value)}")
        if len(digits) > len(str(MOST)) or int(value) > MOST:
            raise fault(self.row, column, f"is too large; at most {MOST}")
        if int(value) < least:
            raise fault(self.row, column, f"must be at least {least}, not {value}")
        return int(value)


def texts(row: TraceRow) -> Iterator[tuple[str, str]]:
    """The words of a row by which jobs can be told apart, under the names that a policy uses."""
    yield "user", row.user
    yield "group", row.group
    yield "name", row.name
    yield "priority", row.priority


# --- The jobs of a trace as one cluster can run them, and those that it cannot.


RESOURCES = ("cpu", *ACCELERATORS)
"""What a trace tells of: its column `cpus`; `gpus` are of the kind that the nodes have."""


@dataclass(frozen=True, slots=True)
class Machines:
    """The cluster of a simulation: so many equal nodes. `main`: the resource that people look at first."""

    nodes: int
    per_node: Amounts

    @property
    def main(self) -> str:
        """Accelerators where there are any, else the resource that was named first."""
        return self.accelerator if self.per_node.get(self.accelerator) else next(iter(self.per_node))

    @property
    def accelerator(self) -> str:
        """The kind that these nodes have; GPUs where they have none."""
        return accelerator_of([self.per_node])

    def packing(self) -> Packing:
        """How amounts are packed: the main resource weighs most when leftovers are kept small."""
        names = sorted(self.per_node, key=lambda name: name != self.main)
        return Packing({name: self.per_node[name] for name in names})


@dataclass(frozen=True, slots=True)
class Work:
    """A job that will be simulated: `nodes` nodes with `wants` (packed) on each, for `runtime` seconds.

    `index`: its place in the one order of jobs (submit time, then id), which no order of rows changes.
    """

    index: int
    row: TraceRow
    submit: int
    runtime: int
    nodes: int
    wants: int
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that is not simulated, and why."""

    row: TraceRow
    why: str


@dataclass(frozen=True, slots=True)
class Workload:
    """What is simulated, in the order of `Work.index`, and what is not, in the order of rows."""

    machines: Machines
    jobs: tuple[Work, ...]
    left_out: tuple[LeftOut, ...]


def fit(rows: Iterable[TraceRow], machines: Machines) -> Workload:
    """The rows that the cluster can run when it is empty. A run beyond its limit is cut off; one of 0 s takes 1."""
    packing = machines.packing()
    jobs: list[Work] = []
    left_out: list[LeftOut] = []
    for row in sorted(rows, key=lambda row: (row.submit, natural(row.id))):
        nodes, amounts = _shape(row, machines)
        why = _why_not(row, nodes, amounts, machines)
        if why or row.runtime is None:
            left_out.append(LeftOut(row, why))
            continue
        runtime = max(1, row.runtime if row.limit is None else min(row.runtime, row.limit))
        jobs.append(Work(len(jobs), row, row.submit, runtime, nodes, packing.pack(amounts), amounts))
    return Workload(machines, tuple(jobs), tuple(sorted(left_out, key=lambda left: left.row.row)))


def _shape(row: TraceRow, machines: Machines) -> tuple[int, dict[str, int]]:
    """How many nodes and what of each, rounded up; as few nodes as can be where the trace does not say."""
    asked = {"cpu": row.cpus or 0, machines.accelerator: row.gpus or 0}
    nodes = row.nodes or max([1, *(-(-asked[name] // has) for name, has in machines.per_node.items() if has)])
    return nodes, {name: -(-amount // nodes) for name, amount in asked.items() if amount}


def _why_not(row: TraceRow, nodes: int, amounts: Amounts, machines: Machines) -> str:
    if row.runtime is None:
        return "its runtime is unknown"
    for name, amount in amounts.items():
        if amount > machines.per_node.get(name, 0):
            return f"it wants {amount} {name} on a node, and nodes have {machines.per_node.get(name, 0)}"
    if nodes > machines.nodes:
        return f"it wants {nodes} nodes, and there are {machines.nodes}"
    return "" if amounts else "it asks for nothing that is known"
