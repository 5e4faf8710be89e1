"""What tests need from the database: that it can be emptied although the audit log refuses to be.

Tests that run in a transaction (`django_db`) are rolled back, which no trigger minds. Those that commit
(`transactional_db`, `live_server`) empty all tables afterwards; for that the triggers are taken away and put back.
"""

from collections.abc import Iterator

import pytest
from django.db import connections
from django.test import TransactionTestCase


@pytest.fixture(scope="session", autouse=True)
def database_can_be_emptied() -> Iterator[None]:
    """Around the emptying only: while a test runs, the log is as guarded as in production."""
    from console.audit import triggers

    empty = TransactionTestCase._fixture_teardown

    def unguarded(case: TransactionTestCase) -> None:
        used = [connections[alias] for alias in case._databases_names(include_mirrors=False)]
        for connection in used:
            triggers.remove(connection)
        try:
            empty(case)
        finally:
            for connection in used:
                triggers.install(connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", unguarded)
        yield
