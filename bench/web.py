"""How long pages take in a large installation: `python -m bench.web [--running N] [--pending N] [--audit N]`.

A database (SQLite in a new folder, or DATABASE_URL, which must be empty) with 10,000 running and 2,000 pending jobs,
100,000 audit rows, 2,000 plans and a week of recorded minutes; the console's own gunicorn, one process of eight
threads. Each page and fragment is asked one after the other over loopback, as the administrator, and the sign-in
page, which shows nothing, in turns with it. At the end some pages are asked for once after each of as many cycles, in
which ten jobs end, ten start and ten come: the first look after a change, at the usual address. Prints a Markdown
table: time until the last byte (median, 95th percentile), how many times the median of the sign-in page that is,
queries, bytes on the wire; and the load. Below stands which lines miss the aims. `--only TEXT` asks for the addresses
that have the text in them.

With `--inside` there is no server: pages are asked for in this process, and what is told is processor time, the least
of all rounds. That can be compared on a machine that does other work, too.
"""

import argparse
import gc
import http.client
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.web_data import fill, go_on
from bench.web_pages import AFTER_A_CYCLE, ASKED, POLL, Filled

ROOT = Path(__file__).parents[1]
TRIVIAL = "/sign-in/"
"""A page without anything to show: what any answer costs on this machine at this moment."""
START_S = 30
BAR = "\\|"
P50_MS, P95_MS, POLL_MS = 60, 100, 15
"""The aims: of a page the median and the 95th percentile, of a poll that finds nothing new the 95th percentile."""


Wanted = Sequence[tuple[str, str]]
"""Addresses, and the part of the page if a fragment is wanted."""


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    what: str
    status: int
    p50_ms: float
    p95_ms: float
    times: float
    queries: int
    size: int

    @property
    def misses(self) -> bool:
        """Whether it is slower than a page, or a question whether there is something new, may be."""
        if POLL in self.what:
            return self.p95_ms > POLL_MS
        return self.p50_ms > P50_MS or self.p95_ms > P95_MS


@dataclass(frozen=True)
class Inside:
    """One line of the table of `--inside`."""

    what: str
    status: int
    least_ms: float
    queries: int


def headers(session: str, part: str) -> dict[str, str]:
    """A signed-in browser, or htmx in it."""
    sent = {"Cookie": f"sessionid={session}", "Accept-Encoding": "gzip"}
    return sent | ({"HX-Request": "true", "HX-Target": part} if part else {})


def ask(connection: http.client.HTTPConnection, path: str, sent: dict[str, str]) -> tuple[int, int, float]:
    """Status, bytes and milliseconds of one request."""
    begin = time.perf_counter()
    connection.request("GET", path, headers=sent)
    answer = connection.getresponse()
    size = len(answer.read())
    return answer.status, size, 1000 * (time.perf_counter() - begin)


def measure(port: int, session: str, filled: Filled, rounds: int, only: str = "") -> Iterator[Result]:
    """Every line in turn, of those whose address has `only` in it; two requests beforehand do not count."""
    asked, after = ([each for each in lines if only in each[0]] for lines in (ASKED, AFTER_A_CYCLE))
    yield from _measure(asked, port, session, filled, rounds)
    for result in _measure(after, port, session, filled, rounds, go_on):
        yield replace(result, what=f"{result.what} after a cycle")


def _measure(
    wanted: Wanted,
    port: int,
    session: str,
    filled: Filled,
    rounds: int,
    before: Callable[[], None] = lambda: None,
) -> Iterator[Result]:
    for pattern, part in wanted:
        # A new one for each line: the server closes what was idle while the queries were counted.
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        sent = headers(session, part)
        answers, trivial = [], []
        for number in range(rounds + 2):
            path = pattern.format(**asdict(filled), unique=number)
            before()
            answers.append(ask(connection, path, sent))
            trivial.append(ask(connection, TRIVIAL, headers("", ""))[2])
        connection.close()
        status, size, _ = answers[-1]
        taken = sorted(ms for _, _, ms in answers[2:])
        p95 = taken[min(len(taken) - 1, round(0.95 * len(taken)))]
        what = f"{pattern} ({part})" if part else pattern
        middle = statistics.median(taken)
        times = middle / statistics.median(trivial[2:])
        yield Result(what, status, middle, p95, times, queries(path, part), size)


def measure_inside(session: str, filled: Filled, rounds: int, wanted: Wanted) -> Iterator[Inside]:
    """Processor time, in this process; two requests beforehand do not count."""
    from django.test import Client

    client = Client(SERVER_NAME="127.0.0.1")
    client.cookies["sessionid"] = session
    gc.collect()
    gc.freeze()
    for pattern, part in wanted:
        sent, taken, status = headers(session, part), [], 0
        for number in range(rounds + 2):
            path = pattern.format(**asdict(filled), unique=number)
            begin = time.process_time()
            status = client.get(path, headers=sent).status_code
            taken.append(1000 * (time.process_time() - begin))
        what = f"{pattern} ({part})" if part else pattern
        yield Inside(what, status, min(taken[2:]), queries(path, part))


def queries(path: str, part: str) -> int:
    """How many queries that is, asked once more in this process."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from console.accounts.models import User

    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username="ada"), backend="console.accounts.backends.PasswordBackend")
    sent = {"HX-Request": "true", "HX-Target": part} if part else {}
    with CaptureQueriesContext(connection) as captured:
        client.get(path, headers=sent)
    return len(captured)


def session_of(username: str) -> str:
    """A session as the sign-in page makes it."""
    from django.test import Client

    from console.accounts.models import User

    client = Client(SERVER_NAME="127.0.0.1")
    user = User.objects.get(username=username)
    client.force_login(user, backend="console.accounts.backends.PasswordBackend")
    return client.cookies["sessionid"].value


@contextmanager
def server(root: Path = ROOT) -> Iterator[int]:
    """The console's gunicorn on a free port, of the code in `root`; gone afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = [
        "-m",
        "gunicorn",
        "console.wsgi",
        "--config=python:console.launch.web",
        f"--bind=127.0.0.1:{port}",
    ]
    process = subprocess.Popen([sys.executable, *command], cwd=root)
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(START_S)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(START_S * 10):
        if process.poll() is not None:
            raise RuntimeError(f"gunicorn ended with status {process.returncode}")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            status, _, _ = ask(connection, "/livez", {})
        except OSError:
            time.sleep(0.1)
            continue
        if status == 200:
            return
    raise RuntimeError("gunicorn does not answer")


def report(results: list[Result]) -> None:
    """The table; what was not answered as it should be is named."""
    print("| page or (fragment) | p50, ms | p95, ms | × sign-in | queries | bytes |")
    print("|---|--:|--:|--:|--:|--:|")
    for each in results:
        print(
            f"| {_named(each)} | {each.p50_ms:.0f} | {each.p95_ms:.0f} | {each.times:.1f} | {each.queries} "
            f"| {each.size:,} |"
        )
    missed = [f"`{each.what}`" for each in results if each.misses]
    print(f"\nOver the aims: {', '.join(missed) or 'none'}.")


def _named(line: Result | Inside) -> str:
    status = "" if line.status in {200, 204} else f" **{line.status}**"
    return f"`{line.what.replace('|', BAR)}`{status}"


def report_inside(results: Iterator[Inside]) -> None:
    """The table of `--inside`, line by line as it is measured."""
    print("| page or (fragment) | processor, ms | queries |")
    print("|---|--:|--:|")
    for each in results:
        print(f"| {_named(each)} | {each.least_ms:.0f} | {each.queries} |", flush=True)


def prepare(args: argparse.Namespace) -> Filled:
    """The database, and what filling it and verifying its log took."""
    import django

    django.setup()
    from django.core.management import call_command

    from console.audit.anchors import write_anchor
    from console.audit.checks import check_all

    call_command("migrate", verbosity=0)
    begin = time.perf_counter()
    filled = fill(args.running, args.pending, args.audit)
    print(f"Filled in {time.perf_counter() - begin:.0f} s.", file=sys.stderr)
    write_anchor()
    begin = time.perf_counter()
    check = check_all("bench")
    if check.faults:
        raise RuntimeError(f"the log is not whole: {check.faults}")
    taken = time.perf_counter() - begin
    print(f"{args.running:,} running, {args.pending:,} pending, {args.audit:,} audit rows.")
    print(f"Verifying all {check.last:,} rows of the log took {taken:.1f} s.\n")
    return filled


def main() -> None:
    """Print a table in Markdown."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--running", type=int, default=10_000)
    parser.add_argument("--pending", type=int, default=2_000)
    parser.add_argument("--audit", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="", help="ask for addresses with this text")
    parser.add_argument("--inside", action="store_true", help="processor time, without a server")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="giveway-bench-") as home:
        settings = {"DJANGO_SETTINGS_MODULE": "console.settings.local", "LOG_LEVEL": "WARNING"}
        os.environ |= {"GIVEWAY_HOME": home, **settings}
        filled = prepare(args)
        session, wanted = session_of("ada"), [each for each in ASKED if args.only in each[0]]
        before = os.getloadavg()[0]
        if args.inside:
            print(f"Load {before:.0f} on {os.cpu_count()} processors.\n")
            report_inside(measure_inside(session, filled, args.rounds, wanted))
            return
        with server() as port:
            results = list(measure(port, session, filled, args.rounds, args.only))
        print(f"Load {before:.0f} to {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors.\n")
        report(results)


if __name__ == "__main__":
    main()
