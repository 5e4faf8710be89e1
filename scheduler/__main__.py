"""The planning core as a command: `python -m scheduler plan|explain|simulate|forecast`.

Needs no database and no cluster.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scheduler.contracts.errors import InputError, quoted
from scheduler.contracts.jsontext import parse
from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.explain import explain
from scheduler.preemption.planner import plan
from scheduler.simulate.command import answer, read_per_node, read_workload
from scheduler.simulate.policy import read_policy
from scheduler.simulate.trace import read_trace

BAD_INPUT = 2

# A forecast is many products of small matrices: OpenBLAS's threads, one per processor, wait for each other longer than
# they compute. numpy reads this when it is first imported, by `forecast` alone.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 0 done, 2 bad input or usage (one line says what), 1 nobody reads."""
    options = _parser().parse_args(arguments)
    try:
        text = COMMANDS.get(options.command, _answer)(options)
    except RefusedError as refused:
        return _refuse(str(refused))
    return _write(text)


class RefusedError(Exception):
    """What is said of an input that is not accepted."""


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
    _add_simulate(
        commands.add_parser("simulate", help="replay a recorded workload under one or several policies")
    )
    _add_forecast(commands.add_parser("forecast", help="say how well run times are predicted on a trace"))
    return parser


def _add_forecast(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", required=True, metavar="FILE", help="the workload: CSV, plain or gzip")
    parser.add_argument("--split", default="0.7", metavar="SHARE", help="train on so much of it; default 0.7")
    parser.add_argument("--json", action="store_true", help="for scripts (giveway.forecast/1)")


def _add_simulate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", required=True, metavar="FILE", help="the workload: CSV, plain or gzip")
    parser.add_argument(
        "--nodes", required=True, type=int, metavar="N", help="how many nodes the cluster has"
    )
    parser.add_argument("--per-node", required=True, metavar="cpu=N,gpu=N", help="what each of them has")
    parser.add_argument("--policy", required=True, metavar="FILE", help="what to do (giveway.simulation/1)")
    parser.add_argument(
        "--compare",
        action="append",
        default=[],
        metavar="FILE",
        help="another policy, side by side; may be repeated",
    )
    parser.add_argument("--limit-jobs", type=int, metavar="N", help="only the first N rows of the trace")
    parser.add_argument("--json", action="store_true", help="for scripts (giveway.simulated/1)")


def _simulated(options: argparse.Namespace) -> str:
    with _naming(""):
        per_node = read_per_node(options.per_node)
    policies = []
    for file in (options.policy, *options.compare):
        with _naming(file):
            policies.append(read_policy(Path(file).read_bytes()))
    with _naming(options.trace):
        workload = read_workload(
            Path(options.trace).read_bytes(), options.nodes, per_node, options.limit_jobs
        )
        return answer(workload, policies, as_json=options.json)


def _forecast(options: argparse.Namespace) -> str:
    # numpy: half of the time that the other commands take.
    from scheduler.forecast.command import answer as score
    from scheduler.forecast.command import read_split

    with _naming(""):
        split = read_split(options.split)
    with _naming(options.trace):
        rows = read_trace(Path(options.trace).read_bytes())
        return score(rows, split, time.perf_counter, as_json=options.json)


@contextmanager
def _naming(file: str) -> Iterator[None]:
    """Say of which file an error is."""
    try:
        yield
    except InputError as error:
        raise RefusedError(f"{file}: {error}" if file not in {"", "-"} else str(error)) from None
    except OSError as error:
        raise RefusedError(f"{file} cannot be read: {error.strerror or error}") from None


def _answer(options: argparse.Namespace) -> str:
    with _naming(options.file):
        return _planned(options)


def _planned(options: argparse.Namespace) -> str:
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


COMMANDS = {"simulate": _simulated, "forecast": _forecast}


if __name__ == "__main__":
    sys.exit(main())
