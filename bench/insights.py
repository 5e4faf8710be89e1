"""How long a month at a glance takes in a large installation: `python -m bench.insights [--jobs N] [--partitions N]`.

A new SQLite database with half a year of sums of ten partitions with eight levels, and 50,000 jobs of the last six
days in the mirror, which are not added up yet. Prints how long adding them up takes, and the page and the API for 30
and 90 days: median of processor time and queries, as the administrator.
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from datetime import timedelta
from typing import Any

from bench.web import session_of

TIMES = 9
LEVELS = 8


def fill(jobs: int, partitions: int) -> Any:
    """The cluster with all of it."""
    from console.cluster.connect import configured_cluster
    from console.core import clock
    from console.insights.models import PartitionDay, StopsOfDay, SummedUntil
    from console.partitions.services import activate_policy, ensure_partition

    cluster, chance, now = configured_cluster(), random.Random(1), clock.now()
    names = [f"p{number}" for number in range(partitions)]
    levels = [{"name": f"P{number}", "keyword": f"l{number}"} for number in range(LEVELS)]
    for name in names:
        document = {"name": name, "mode": "user", "levels": levels}
        row = ensure_partition(cluster=cluster, name=name)
        activate_policy(actor="bench", partition=row, document=document, reason="Bench.", based_on=None)
    days = [(now - timedelta(days=ago)).date() for ago in range(7, 187)]
    waits = {str(level): [chance.randint(0, 90) for _ in range(55)] for level in range(LEVELS)}
    known = {"cluster": cluster, "minutes": 1440, "job_minutes": 900_000, "waits": waits}
    PartitionDay.objects.bulk_create(
        PartitionDay(partition=name, day=day, **known) for day in days for name in names
    )
    StopsOfDay.objects.bulk_create(
        StopsOfDay(
            cluster=cluster, partition=name, day=day, cause="room", gained=f"g{number}", paid=f"q{number % 5}",
            stops=3, gpu_lost=9e4,
        )
        for day in days for name in names for number in range(10)
    )  # fmt: skip
    SummedUntil.objects.create(cluster=cluster, until=now - timedelta(days=6))
    _mirror(cluster, names, jobs, chance, now)
    return cluster


def _mirror(cluster: Any, names: list[str], jobs: int, chance: random.Random, now: Any) -> None:
    """Jobs that started, ran for ten minutes and ended."""
    from console.cluster.models import Job

    made = []
    for number in range(jobs):
        start = int(now.timestamp()) - chance.randint(900, 6 * 86_400 - 60)
        made.append(
            Job(
                cluster=cluster, job_id=str(number), partition=chance.choice(names), name="train", user="ann",
                phase="ended", submit=start - chance.randint(1, 9000), start=start, user_level=number % LEVELS,
                ended_at=now - timedelta(seconds=int(now.timestamp()) - start - 600), alloc={"n1": {"gpu": 4}},
            )
        )  # fmt: skip
    Job.objects.bulk_create(made, batch_size=500)


def measure(browser: Any, address: str) -> tuple[float, int]:
    """Median of processor time in ms, and queries."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    taken = []
    for _ in range(TIMES):
        before = time.process_time()
        answer = browser.get(address)
        taken.append(1000 * (time.process_time() - before))
        if answer.status_code != 200:
            raise SystemExit(f"{address}: {answer.status_code}")
    with CaptureQueriesContext(connection) as queries:
        browser.get(address)
    return statistics.median(taken), len(queries)


def run(jobs: int, partitions: int) -> None:
    """Fill, add up, ask."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.test import Client

    call_command("migrate", verbosity=0)
    from console.accounts.models import User
    from console.insights.summing import sum_up

    cluster = fill(jobs, partitions)
    before = time.process_time()
    stretches = 0
    while more := sum_up(cluster):
        stretches += more
    print(
        f"{jobs} jobs added up in {stretches} stretches: {time.process_time() - before:.1f} s of a processor\n"
    )
    User.objects.create_user("bench", role="administrator")
    browser = Client(SERVER_NAME="localhost")
    browser.cookies["sessionid"] = session_of("bench")
    print("| asked | processor, median | queries |\n|---|--:|--:|")
    for address in (
        "/insights/?days=30",
        "/insights/?days=30&partition=p1",
        "/insights/?days=90",
        "/api/v1/insights/",
    ):
        taken, queries = measure(browser, address)
        print(f"| {address} | {taken:.0f} ms | {queries} |")


def main() -> None:
    """Read the arguments; a database of its own, thrown away afterwards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--partitions", type=int, default=10)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "console.settings.local",
            "LOG_LEVEL": "WARNING",
            "GIVEWAY_HOME": home,
        }
        run(asked.jobs, asked.partitions)


if __name__ == "__main__":
    main()
