"""What everybody else notices of one client that writes as much as it may: `python -m bench.abuse [--seconds N]`.

The console's own gunicorn and worker over SQLite and the simulated cluster. Pages are asked for one after the other, at
first while nobody does anything, then while a project's manager sends changes of the largest size that is taken
(docs/limits.md), one after the other without a pause, whatever the answer. Prints the 95th percentile of the pages in
both, their ratio, and how late the latest cycle was. Status 1 if the ratio is 2 or more, or a cycle was late by more
than a second beyond the quiet ones.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.web import ROOT, ask, headers, server, session_of

PAGES = ("/", "/jobs/", "/partitions/x/", "/projects/", "/audit/", "/my-jobs/", "/api/v1/jobs/?limit=100")
WARM_S = 8.0
ONE_MORE = ("a", "b")
"""Every change differs from the one before: nothing to change would be no write."""


@dataclass
class Seen:
    """What was noticed in a while."""

    taken_ms: list[float] = field(default_factory=list)
    failed: int = 0
    gaps_s: list[float] = field(default_factory=list)

    @property
    def p95(self) -> float:
        """The 95th percentile of the pages."""
        ordered = sorted(self.taken_ms)
        return ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]


def look(port: int, session: str, seconds: float) -> Seen:
    """Ask for the pages in turns, and watch the cycles, for so long."""
    seen, over = Seen(), threading.Event()
    watcher = threading.Thread(target=_watch, args=(seen, over))
    watcher.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for path in PAGES:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            status, _size, taken = ask(connection, path, headers(session, ""))
            connection.close()
            seen.taken_ms.append(taken)
            seen.failed += status != 200
    over.set()
    watcher.join()
    return seen


def _watch(seen: Seen, over: threading.Event) -> None:
    """Seconds between one cycle's end and the next one's."""
    from console.cluster.models import Cluster

    last, since = None, time.monotonic()
    while not over.wait(0.05):
        cycle = Cluster.objects.values_list("cycle", flat=True).first()
        if cycle != last:
            now = time.monotonic()
            if last is not None:
                seen.gaps_s.append(now - since)
            last, since = cycle, now
    seen.gaps_s.append(time.monotonic() - since)


@contextmanager
def abuse(port: int, token: str) -> Iterator[list[int]]:
    """A client that changes all of a large project again and again; the statuses of its answers."""
    from console.core.limits import most

    answers: list[int] = []
    over = threading.Event()
    # Made beforehand: whoever asks for pages shares this process.
    bodies = [
        json.dumps(
            {
                "members": [f"{letter}{n}" for n in range(most("members"))],
                "tasks": [{"pattern": f"*{letter}{n}*a*b*c*d*e*f*"} for n in range(most("patterns"))],
                "reason": "As much as there may be.",
            }
        ).removesuffix("}")
        for letter in ONE_MORE
    ]

    def work() -> None:
        version = 1
        while not over.is_set():
            body = f'{bodies[version % 2]}, "version": {version}}}'
            sent = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            connection.request("PATCH", "/api/v1/projects/abused/", body, sent)
            answer = connection.getresponse()
            told = json.loads(answer.read())
            connection.close()
            answers.append(answer.status)
            version = told.get("version", version)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield answers
    finally:
        over.set()
        thread.join()


def prepare() -> str:
    """The database with the demonstration's people and the project; its manager's token."""
    import django

    django.setup()
    from django.core.management import call_command

    from console.accounts.models import Role
    from console.accounts.services import AccountData, create_account
    from console.accounts.tokens import TokenData, make_token
    from console.cluster.connect import configured_cluster
    from console.partitions.services import ensure_partition
    from console.projects.services import ProjectData, create_project

    call_command("migrate", verbosity=0)
    told = {"actor": "ada", "reason": "Bench."}
    for name, role in (("ada", Role.ADMINISTRATOR), ("mallory", Role.VIEWER)):
        made = create_account(username=name, data=AccountData(role=role), password="not-for-use-1", **told)
    cluster = configured_cluster()
    ensure_partition(cluster=cluster, name="x")
    data = ProjectData("abused", "Abused", 1, 1, 1, managers=("mallory",))
    create_project(cluster=cluster, data=data, **told)
    return make_token(made, TokenData(name="bench"), actor="mallory")[1]


@contextmanager
def worker() -> Iterator[None]:
    """The embedded worker with its timer."""
    process = subprocess.Popen([sys.executable, "manage.py", "worker"], cwd=ROOT)
    try:
        time.sleep(WARM_S)
        yield
    finally:
        process.terminate()
        process.wait(30)


def main() -> int:
    """Print the comparison; 1 if others noticed too much."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory(prefix="giveway-bench-") as home:
        settings = {"DJANGO_SETTINGS_MODULE": "console.settings.local", "LOG_LEVEL": "ERROR"}
        os.environ |= {"GIVEWAY_HOME": home, **settings}
        token = prepare()
        session = session_of("ada")
        with server() as port, worker():
            look(port, session, WARM_S)
            quiet = look(port, session, seconds)
            with abuse(port, token) as answers:
                abused = look(port, session, seconds)
    ratio, late = abused.p95 / quiet.p95, max(abused.gaps_s) - max(quiet.gaps_s)
    print("| | pages | failed | p95, ms | longest between two cycles, s |")
    print("|---|--:|--:|--:|--:|")
    for what, seen in (("quiet", quiet), ("one client writes", abused)):
        longest = max(seen.gaps_s)
        print(f"| {what} | {len(seen.taken_ms)} | {seen.failed} | {seen.p95:.0f} | {longest:.2f} |")
    print(f"\n{len(answers)} changes, {answers.count(200)} taken. Ratio {ratio:.2f}, cycles {late:+.2f} s.")
    return int(ratio >= 2 or late > 1 or abused.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
