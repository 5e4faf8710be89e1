"""The embedded broker wakes its worker when a message comes, and not before."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Producer, Queue
from kombu.transport import memory

from console.celery import app


@pytest.fixture
def connection() -> Iterator[Connection]:
    with Connection("memory://localhost/", transport="console.launch.broker:Transport") as made:
        yield made


@pytest.fixture
def received(connection: Connection) -> Iterator[list[Any]]:
    """What has come into two queues of the test's own."""
    found: list[Any] = []
    queues = [Queue(f"{name}-of-the-test", routing_key=f"{name}-of-the-test") for name in ("one", "other")]

    def take(body: Any, message: Any) -> None:
        found.append(body)
        message.ack()

    with Consumer(connection, queues, callbacks=[take]) as consumer:
        yield found
        consumer.purge()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How often it was looked whether there is a message."""
    made: list[float] = []
    looked = memory.Transport.drain_events

    def drain_events(transport: memory.Transport, connection: Any, timeout: float) -> None:
        made.append(timeout)
        looked(transport, connection, timeout=timeout)

    monkeypatch.setattr(memory.Transport, "drain_events", drain_events)
    return made


def send(body: str, queue: str = "one") -> None:
    with Connection("memory://localhost/", transport="console.launch.broker:Transport") as other:
        Producer(other).publish(body, routing_key=f"{queue}-of-the-test")


def test_it_is_the_embedded_broker() -> None:
    with app.connection_for_read() as made:
        assert type(made.transport).__module__ == "console.launch.broker"


def test_a_message_that_is_there_is_delivered(connection: Connection, received: list[Any]) -> None:
    send("a")
    send("b", "other")
    connection.drain_events(timeout=300)
    connection.drain_events(timeout=300)
    assert sorted(received) == ["a", "b"]


def test_a_message_wakes_who_waits(connection: Connection, received: list[Any], looks: list[float]) -> None:
    sends = threading.Timer(0.5, send, ["late"])
    sends.start()
    connection.drain_events(timeout=300)
    sends.join()
    assert received == ["late"]
    assert len(looks) <= 3, "it slept meanwhile"


def test_without_a_message_it_looks_once(
    connection: Connection, received: list[Any], looks: list[float]
) -> None:
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.5)
    assert (received, looks) == ([], [0])
