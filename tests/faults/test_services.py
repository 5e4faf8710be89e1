"""The database, Redis and the processes of a real installation die or go away in the middle of a plan."""

from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep

import pytest
import redis

from scheduler.adapters.simulator.state import What
from tests.faults.house import House, house
from tests.faults.tally import Row, note
from tests.plugins.migrated import create_migrated_database
from tests.plugins.servers import PostgresServer, RedisServer

pytestmark = [pytest.mark.e2e, pytest.mark.postgres, pytest.mark.redis, pytest.mark.timeout(900)]


@pytest.fixture
def servers(
    postgres_server: PostgresServer, redis_server: RedisServer
) -> Iterator[tuple[PostgresServer, RedisServer]]:
    """Servers of the test's own: it stops them. (The session's are asked for so that what is missing is said.)"""
    with PostgresServer() as postgres, RedisServer() as broker:
        yield postgres, broker


def struck(house: House) -> set[str]:
    """The processes that have died at their point."""
    return {path.stem for path in house.home.glob("*.points") if "struck" in path.read_text()}


def a_plan(house: House, fault: Callable[[], object], rounds: list[str]) -> None:
    """One job makes room for another one; `fault` strikes when the victim has its signal; all comes right."""
    low = house.submit(f"low-{len(rounds)}", "ann", 8)
    house.until(house.has(What.STARTED, low), "the low job starts")
    urgent = house.submit(f"urgent-{len(rounds)}", "cy", 8, run_time_s=2)
    house.until(house.has(What.SIGNALLED, low), "the signal is sent")
    fault()
    house.until(house.has(What.STARTED, urgent), "the urgent job starts", 120)
    house.until(house.has(What.STARTED, low, 2), "the low job runs again", 120)
    house.settle(120)
    rounds.append(low)
    house.port.cancel(low)


def test_redis_and_the_database_go_away_and_processes_die(
    servers: tuple[PostgresServer, RedisServer], tmp_path: Path, long_form: bool
) -> None:
    postgres, broker = servers
    url = create_migrated_database(postgres, "faults")
    away_s = 60 if long_form else 3
    with house(tmp_path / "home", DATABASE_URL=url, REDIS_URL=broker.url) as built:
        built.start("worker", "worker", fault="lease.taken:5")
        built.start("beat", "beat", fault="beat.sent:9")
        built.start("embedded", "embedded")  # a second worker with a second timer

        def flush() -> None:
            with redis.Redis.from_url(broker.url) as client:
                client.flushall()

        def restart() -> None:
            broker.stop()
            broker.start()

        def broker_away() -> None:
            broker.stop()
            sleep(away_s)
            broker.start()

        def database_away() -> None:
            postgres.stop()
            sleep(away_s)
            postgres.start()

        def both_die() -> None:
            built.kill("worker")
            built.kill("beat")

        faults: dict[str, Callable[[], object]] = {
            "Redis flushed, with two workers and two timers at once": flush,
            "the database away for 3 to 60 s": database_away,
        }
        if long_form:
            faults |= {
                "Redis away for 3 to 60 s": broker_away,
                "Redis restarted": restart,
                "worker and timer killed by a signal from outside": both_die,
            }
        victims: list[str] = []
        for fault in faults.values():
            a_plan(built, fault, victims)
        # Which of the two workers takes which cycle is chance: the one that is armed comes to its turn.
        built.until(lambda: struck(built) == {"beat", "worker"}, "worker and timer have died", 120)
        double, lost, stuck = built.judge(victims)
        for name in faults:
            note(Row(name, 1))
        note(
            Row(
                "Celery's worker and timer killed at a point",
                len(struck(built)),
                len(double),
                len(lost),
                len(stuck),
            )
        )
        assert (double, lost, stuck) == ([], [], [])
        assert built.deaths["embedded"] == 0, "it survives by itself whatever is away"
