"""The planning core as a command: `python -m scheduler plan|explain`. Needs no database and no cluster."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from scheduler.contracts.errors import InputError, quoted
from scheduler.contracts.jsontext import parse
from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.explain import explain
from scheduler.preemption.planner import plan

BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 0 done, 2 bad input or usage (one line says what), 1 nobody reads."""
    options = _parser().parse_args(arguments)
    try:
        answer = _answer(options)
    except InputError as error:
        return _refuse(f"{options.file}: {error}" if options.file != "-" else str(error))
    except OSError as error:
        return _refuse(f"{options.file} cannot be read: {error.strerror or error}")
    return _write(answer)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scheduler",
        description="Plan who makes room for whom in one partition, from a snapshot (giveway.snapshot/1).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    make = commands.add_parser("plan", help="print the plan for a snapshot (giveway.plan/1)")
    tell = commands.add_parser("explain", help="say of one job why it is where it is")
    tell.add_argument("job", metavar="JOB", help="the id of a pending or running job of the snapshot")
    for command in (make, tell):
        command.add_argument(
            "file", metavar="FILE", nargs="?", default="-", help="the snapshot; - is standard input"
        )
    return parser


def _answer(options: argparse.Namespace) -> str:
    snapshot = _read(options.file)
    if options.command == "plan":
        return json.dumps(encode_plan(plan(snapshot)), ensure_ascii=False, indent=1)
    if options.job not in {job.id for job in snapshot.jobs}:
        raise InputError("$.jobs", f"there is no job {quoted(options.job)}; give the id of one that is there")
    return explain(snapshot, options.job)


def _read(file: str) -> Snapshot:
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return decode_snapshot(parse(data))


def _refuse(message: str) -> int:
    sys.stderr.write(f"{_on_one_line(message)}\n")
    return BAD_INPUT


def _on_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _write(text: str) -> int:
    """UTF-8 whatever the locale; when the reader has gone (a pipe into `head`), end without a word."""
    left = memoryview(f"{text}\n".encode())
    try:
        # With PYTHONUNBUFFERED a pipe takes only as much as it has room for at a time.
        while left:
            left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end: that must not fail either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
