"""A recorded workload: CSV, plain or gzip, one job a row, into checked rows (docs/methods/simulation.md)."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from scheduler.contracts.errors import InputError, quoted

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
        """A text that must be there."""
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
