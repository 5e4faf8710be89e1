#!/usr/bin/env python3
"""What sacct prints, as a trace for `python -m scheduler simulate`: standard input to standard output.

docs/methods/simulation.md has the sacct command whose lines this reads. Nothing but Python's own library is needed.
"""

import csv
import re
import sys
from collections.abc import Iterable, Iterator

FIELDS = (
    "JobID", "Submit", "Start", "ElapsedRaw", "TimelimitRaw", "NNodes",
    "AllocTRES", "User", "Account", "State", "Priority", "JobName",
)  # fmt: skip
"""The job's name comes last: it is the only one that its user may write a `|` into."""
COLUMNS = (
    "job_id", "submit_s", "wait_s", "runtime_s", "time_limit_s", "nodes", "cpus", "gpus",
    "user", "group_or_vc", "job_name", "state", "priority",
)  # fmt: skip

_GPUS = re.compile(r"gres/gpu=(\d+)")
_CPUS = re.compile(r"cpu=(\d+)")


def rows(lines: Iterable[str]) -> Iterator[dict[str, object]]:
    """One row for each job; what is unknown stays blank. A job that never started has no runtime."""
    for line in lines:
        values = line.rstrip("\n").split("|", len(FIELDS) - 1)
        if len(values) != len(FIELDS):
            raise SystemExit(f"this line does not have {len(FIELDS)} fields: {line.rstrip()!r}")
        job = {name: values[i] for i, name in enumerate(FIELDS)}
        started = job["Start"].isdigit()
        yield {
            "job_id": job["JobID"],
            "submit_s": job["Submit"],
            "wait_s": int(job["Start"]) - int(job["Submit"]) if started else "",
            "runtime_s": job["ElapsedRaw"] if started and job["AllocTRES"] else "",
            "time_limit_s": int(job["TimelimitRaw"]) * 60 if job["TimelimitRaw"].isdigit() else "",
            "nodes": job["NNodes"] if job["AllocTRES"] else "",
            "cpus": _amount(_CPUS, job["AllocTRES"]),
            "gpus": _amount(_GPUS, job["AllocTRES"]) or (0 if job["AllocTRES"] else ""),
            "user": job["User"],
            "group_or_vc": job["Account"],
            "job_name": job["JobName"],
            "state": job["State"].split(" ")[0],
            "priority": job["Priority"],
        }


def _amount(wanted: "re.Pattern[str]", text: str) -> str:
    found = wanted.search(text)
    return found[1] if found else ""


def main() -> None:
    """Convert."""
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(sys.stdin))


if __name__ == "__main__":
    main()
