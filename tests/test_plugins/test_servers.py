"""The tests' own servers: they start, answer, keep their address over an outage, and are gone afterwards."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import redis

from tests.plugins.server_process import Server, ServerError, found, free_port
from tests.plugins.servers import PostgresServer, RedisServer, missing

CLIENT_ERRORS = (redis.RedisError, psycopg.Error)


@pytest.fixture(
    params=[
        pytest.param((RedisServer, "redis_server"), marks=pytest.mark.redis, id="redis"),
        pytest.param((PostgresServer, "postgres_server"), marks=pytest.mark.postgres, id="postgres"),
    ]
)
def kind(request: pytest.FixtureRequest) -> type[Server]:
    server, installed = request.param
    request.getfixturevalue(installed)  # skips, or fails, where the package is missing
    return server


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Running, and not merely unburied."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_server_answers_and_leaves_nothing_behind(kind: type[Server]) -> None:
    with kind() as server:
        server.ping()
        pid, port, folder = server.pid, server.port, server.folder
        assert alive(pid)
    assert not alive(pid)
    assert not folder.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_an_outage_ends_with_the_server_at_the_same_address(kind: type[Server]) -> None:
    with kind() as server:
        url = server.url
        server.stop()
        with pytest.raises(CLIENT_ERRORS):
            server.ping()
        server.start()
        server.ping()
        assert server.url == url


def test_a_server_ends_when_its_test_run_is_killed(kind: type[Server]) -> None:
    script = (
        f"import time; from tests.plugins.servers import {kind.__name__} as Kind\n"
        "server = Kind(); server.start(); print(server.pid, server.folder, flush=True); time.sleep(60)"
    )
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout is not None
        with run.stdout:
            pid, folder = run.stdout.readline().split()
        assert alive(int(pid))
    finally:
        run.kill()
        run.wait()
    wait_until(lambda: not alive(int(pid)), f"{kind.__name__} {pid} ends with its parent")
    shutil.rmtree(folder)  # nobody is left to do it


def test_only_loopback_and_only_with_the_password(kind: type[Server]) -> None:
    with kind() as server:
        assert listening_addresses(server.port) == ["127.0.0.1"]
        server.password = "guessed"
        with pytest.raises(CLIENT_ERRORS):
            server.ping()


@pytest.mark.redis
def test_redis_is_empty_for_each_test(redis_server: RedisServer, request: pytest.FixtureRequest) -> None:
    with redis.Redis.from_url(redis_server.url) as client:
        client.set("left", "behind")
        assert request.getfixturevalue("redis_url") == redis_server.url
        assert client.dbsize() == 0


@pytest.mark.postgres
def test_a_database_of_ones_own(postgres_url: str, postgres_server: PostgresServer) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE job (id int)")
    name = postgres_server.create_database("another").rpartition("/")[2]
    try:
        with (
            psycopg.connect(postgres_server.database_url(name)) as connection,
            pytest.raises(psycopg.errors.UndefinedTable),
        ):
            connection.execute("SELECT * FROM job")
    finally:
        postgres_server.drop_database(name)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(postgres_server.database_url(name))


@pytest.mark.redis
def test_a_taken_port_is_exchanged_for_another(redis_server: RedisServer) -> None:
    with RedisServer() as server:
        server.stop()
        server.port = redis_server.port
        server.start()
        server.ping()
        assert server.port != redis_server.port


@pytest.mark.postgres
def test_a_server_that_does_not_start_says_what_it_said(postgres_server: PostgresServer) -> None:
    with PostgresServer() as server:
        server.stop()
        (server.data / "postgresql.conf").write_text("nonsense = 1\n")
        with pytest.raises(ServerError, match='parameter "nonsense"'):
            server.start()


@pytest.mark.parametrize(("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_a_missing_package_is_a_skip_or_a_failure_that_names_it(
    required: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIVEWAY_REQUIRE_SERVERS", required)
    with pytest.raises(ServerError) as reason:
        found("no-such-server", "no-such-package")
    with pytest.raises(outcome, match="no-such-server is not installed: apt-get install no-such-package"):
        missing(reason.value)


def listening_addresses(port: int) -> list[str]:
    """Where some process listens on TCP `port`; any IPv6 address is given as the kernel writes it."""
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            address, _, hex_port = local.partition(":")
            if state == "0A" and int(hex_port, 16) == port:
                found.append(socket.inet_ntoa(bytes.fromhex(address)[::-1]) if table == "tcp" else address)
    return found


def test_no_port_is_given_twice_before_its_server_listens() -> None:
    """Once in some hundred runs two servers of a test had the same."""
    given = [free_port() for _ in range(90)]
    assert len(set(given)) == len(given)
