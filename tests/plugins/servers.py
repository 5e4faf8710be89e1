"""Real PostgreSQL and Redis for tests: Debian's servers as child processes, on loopback, in own folders.

`redis_server` and `postgres_server` live for the session (one each per xdist worker); `postgres_url` is an
empty database of the test's own, `redis_url` an emptied Redis. A test about an outage makes its own
`RedisServer` or `PostgresServer` and calls `stop()` and `start()`: the address stays (PostgreSQL's data too;
Redis keeps nothing).

A server cannot outlive its tests: it is ended by its pid, and should the run be killed, the kernel ends it
(setpriv --pdeathsig). Where Debian's packages are missing the tests are skipped with the reason; with
GIVEWAY_REQUIRE_SERVERS=1 they fail instead.
"""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from typing import NoReturn

import psycopg
import pytest
import redis
from psycopg import sql

from tests.plugins.server_process import Server, ServerError, dies_with_us, found, unprivileged_account


class RedisServer(Server):
    """Redis without persistence: what it held is gone after `stop()`."""

    package = "redis-server"
    silence = redis.RedisError

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        config = self.folder / "redis.conf"  # a file, because everybody can read a command line
        config.write_text(
            f"bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\n"
            f'dir {self.folder}\nsave ""\nappendonly no\ndaemonize no\n'
        )
        return [*dies_with_us(self.stop_signal), found("redis-server", self.package), str(config)]

    def ping(self) -> None:
        with redis.Redis.from_url(self.url, socket_timeout=5) as client:
            client.ping()


class PostgresServer(Server):
    """PostgreSQL that does not wait for the disk; as root it is run by an ordinary account (it insists)."""

    package = "postgresql"
    silence = psycopg.Error
    stop_signal = signal.SIGINT  # "fast": clients are disconnected, not waited for

    def __init__(self) -> None:
        super().__init__()
        self.account = unprivileged_account()
        self.data = self.folder / "data"

    @property
    def url(self) -> str:
        """Of the database `postgres`, as the server's superuser."""
        return self.database_url("postgres")

    def database_url(self, name: str) -> str:
        return f"postgres://giveway:{self.password}@127.0.0.1:{self.port}/{name}"

    def create_database(self, name: str, template: str = "template1") -> str:
        """A new database, a copy of `template` (to which nobody may be connected just then); its DATABASE_URL."""
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        return self.database_url(name)

    def drop_database(self, name: str) -> None:
        """Also when somebody is still connected: a test's worker may be on its way out."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def start(self) -> None:
        if not self.data.exists():
            self._initdb()
        super().start()

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "jit": "off",
            "autovacuum": "off",
            "shared_buffers": "32MB",
            "max_connections": 60,
        }
        options = [option for key, value in settings.items() for option in ("-c", f"{key}={value}")]
        binary = found("postgres", self.package)
        return [*dies_with_us(self.stop_signal, self.account), binary, "-D", str(self.data), *options]

    def ping(self) -> None:
        with psycopg.connect(self.url, connect_timeout=5) as connection:
            connection.execute("SELECT 1")

    def _initdb(self) -> None:
        password_file = self.folder / "password"
        password_file.write_text(self.password)
        if self.account:
            for path in (self.folder, password_file):
                shutil.chown(path, self.account)
        command = [
            found("initdb", self.package),
            "-D",
            str(self.data),
            "-U",
            "giveway",
            "-A",
            "scram-sha-256",
        ]
        command += [
            f"--pwfile={password_file}",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
        ]
        as_account = dies_with_us(signal.SIGTERM, self.account)
        done = subprocess.run(
            [*as_account, *command], cwd=self.folder, capture_output=True, text=True, timeout=300
        )
        if done.returncode:
            raise ServerError(f"initdb failed:\n{done.stdout}{done.stderr}")


def missing(reason: ServerError) -> NoReturn:
    if os.environ.get("GIVEWAY_REQUIRE_SERVERS") == "1":
        pytest.fail(f"GIVEWAY_REQUIRE_SERVERS=1, but {reason}")
    pytest.skip(str(reason))


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis for the session; use `redis_url` for one that is empty."""
    try:
        found("redis-server", RedisServer.package)
    except ServerError as reason:
        missing(reason)
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The session's Redis, emptied."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
    return redis_server.url


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL for the session; use `postgres_url` for a database of your own."""
    try:
        found("postgres", PostgresServer.package)
        found("initdb", PostgresServer.package)
    except ServerError as reason:
        missing(reason)
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """DATABASE_URL of a new, empty database, dropped afterwards."""
    name = f"test_{secrets.token_hex(6)}"
    yield postgres_server.create_database(name)
    postgres_server.drop_database(name)
