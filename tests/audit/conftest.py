"""Each test of the audit log has an anchor file of its own, and may tamper with the log behind its guards."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from pytest_django.fixtures import Settings

from console.audit import triggers
from console.audit.anchors import FILE

Tampering = Callable[[], AbstractContextManager[CursorWrapper]]


@pytest.fixture(autouse=True)
def anchor_file(settings: Settings, tmp_path: Path) -> Path:
    """Where this test's anchors are; there is none at first."""
    settings.HOME = tmp_path
    return tmp_path / FILE


@pytest.fixture
def tampering(db: None) -> Tampering:
    """A cursor for somebody who owns the database: the triggers are dropped before and put back afterwards."""

    @contextmanager
    def unguarded() -> Iterator[CursorWrapper]:
        triggers.remove(connection)
        with connection.cursor() as cursor:
            yield cursor
        triggers.install(connection)

    return unguarded
