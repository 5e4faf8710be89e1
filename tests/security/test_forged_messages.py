"""Whoever reaches Redis sends messages to the worker: they say when to look, and never what to do."""

import inspect

import pytest
from kombu.exceptions import ContentDisallowed
from kombu.serialization import dumps, loads

from console.celery import app

app.autodiscover_tasks(force=True)
OURS = sorted(name for name in app.tasks if not name.startswith("celery."))
BY_NUMBER = {"history.study"}
"""Which of the studies that somebody has asked for is to go on: its row says everything else."""


def test_there_are_tasks() -> None:
    assert "steering.steer" in OURS and set(OURS) >= BY_NUMBER


@pytest.mark.parametrize("name", OURS)
def test_a_message_carries_nothing_that_decides(name: str) -> None:
    parameters = inspect.signature(app.tasks[name].run).parameters
    assert [each.annotation for each in parameters.values()] == ([int] if name in BY_NUMBER else [])


def test_no_message_is_unpacked_as_code() -> None:
    """A pickle runs what its sender likes."""
    assert set(app.conf.accept_content) == {"json"}
    kind, encoding, body = dumps({"forged": True}, serializer="pickle")
    with pytest.raises(ContentDisallowed):
        loads(body, kind, encoding, accept=app.conf.accept_content)
