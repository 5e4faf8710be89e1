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
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, Self

import psycopg
import pytest
import redis
from psycopg import sql

START_S = 30.0
STOP_S = 10.0
ATTEMPTS = 3


class ServerError(RuntimeError):
    """A server is not installed or does not start; the message ends with what it said itself."""


class Server(ABC):
    """A server process; its folder, password and port stay the same from one `start()` to the next."""

    package: str
    stop_signal = signal.SIGTERM

    def __init__(self) -> None:
        # Not pytest's tmp_path: the path of a Unix socket has room for 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix=f"giveway-{self.package}-"))
        self.log = self.folder / "server.log"
        self.password = secrets.token_hex(16)
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def ping(self) -> None:
        """Ask the server something; raise its client's error when it does not answer."""

    @property
    def pid(self) -> int:
        if self.process is None:
            raise ServerError(f"{self.package} is not running")
        return self.process.pid

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> None:
        """Start and wait for the first answer; when somebody took the port meanwhile, take another."""
        for _ in range(ATTEMPTS):
            self._spawn()
            if self._answers():
                return
            self.stop()
            if "in use" not in self.tail():
                break
            self.port = free_port()
        raise ServerError(f"{self.package} does not start:\n{self.tail()}")

    def stop(self) -> None:
        """End the process, politely at first; harmless when it is not running."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(self.stop_signal)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])

    def _spawn(self) -> None:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )

    def _answers(self) -> bool:
        deadline = time.monotonic() + START_S
        while self.process is not None and self.process.poll() is None and time.monotonic() < deadline:
            try:
                self.ping()
            except (redis.RedisError, psycopg.Error):
                time.sleep(0.02)
            else:
                return True
        return False


class RedisServer(Server):
    """Redis without persistence: what it held is gone after `stop()`."""

    package = "redis-server"

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

    def create_database(self, name: str) -> str:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
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
            [*as_account, *command], cwd=self.folder, capture_output=True, text=True, timeout=60
        )
        if done.returncode:
            raise ServerError(f"initdb failed:\n{done.stdout}{done.stderr}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def found(binary: str, package: str) -> str:
    """Debian keeps PostgreSQL's server binaries off PATH, one folder per version: take the newest."""
    if in_path := shutil.which(binary):
        return in_path
    versions = Path("/usr/lib/postgresql").glob(f"*/bin/{binary}")
    newest = max(versions, key=lambda path: int(path.parent.parent.name), default=None)
    if newest is None:
        raise ServerError(f"{binary} is not installed: apt-get install {package}")
    return str(newest)


def unprivileged_account() -> str | None:
    """None when we are nobody special ourselves; else an account to run PostgreSQL as."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def dies_with_us(death: signal.Signals, account: str | None = None) -> list[str]:
    """The front of a command: run as `account`; the kernel sends it `death` when this process is gone."""
    if not shutil.which("setpriv"):
        raise ServerError("setpriv is not installed: apt-get install util-linux")
    command = ["setpriv", "--pdeathsig", death.name.removeprefix("SIG")]
    if account:
        entry = pwd.getpwnam(account)
        command += [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--init-groups"]
    return command


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
