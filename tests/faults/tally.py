"""What was injected and what was lost: collected while the tests run, printed as a table at the end."""

import fcntl
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

FILE = "GIVEWAY_FAULTS_TALLY"
HEAD = ("Fault", "Times injected", "Double stops", "Lost or stuck plans", "Stuck jobs")


@dataclass(frozen=True)
class Row:
    """One kind of fault, as often as it was injected in one test."""

    fault: str
    injected: int
    double_stops: int = 0
    lost_plans: int = 0
    stuck_jobs: int = 0


def note(row: Row) -> None:
    """Add to the tally, where one is kept."""
    path = os.environ.get(FILE)
    if not path:
        return
    with Path(path).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(row.__dict__) + "\n")


def table(path: Path) -> str:
    """The tally as a table in Markdown, one line per kind of fault and one for all."""
    sums: dict[str, list[int]] = {}
    for line in path.read_text().splitlines():
        fault, *numbers = json.loads(line).values()
        sums[fault] = [a + b for a, b in zip(sums.get(fault, [0] * 4), numbers, strict=True)]
    sums = dict(sorted(sums.items()))
    sums["**All**"] = [sum(column) for column in zip(*sums.values(), strict=True)] if sums else [0] * 4
    rows = [HEAD, ("---", *["--:"] * 4), *((fault, *map(str, row)) for fault, row in sums.items())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    sys.stdout.write(table(Path(sys.argv[1])) + "\n")
