"""Rows that the tests of a module begin with, made once; each test has them as if they were its own.

They are made in a transaction around those of the tests, which become savepoints in it: what `setUpTestData` of Django
does for a class. A test that commits, or begins with an empty database, cannot be inside; such a module makes its rows
for each test.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

Rows = TypeVar("Rows")


@contextmanager
def made_once(request: pytest.FixtureRequest, fixture: str, make: Callable[[], Rows]) -> Iterator[Rows]:
    """What `make` makes, until the end of the module. `request` is that of a fixture of the module.

    Every test of the module that has a database must begin with these rows, by the fixture named `fixture`.
    """
    others = [item.nodeid for item in request.session.items if _is_other(item, request.node, fixture)]
    assert not others, f"{fixture} is made once in this module, and these cannot be inside: {others}"
    request.getfixturevalue("django_db_setup")
    blocker: DjangoDbBlocker = request.getfixturevalue("django_db_blocker")
    around = transaction.atomic()
    with blocker.unblock():
        around.__enter__()
    try:
        with blocker.unblock():
            rows = make()
        yield rows
    finally:
        with blocker.unblock():
            transaction.set_rollback(True)
            around.__exit__(None, None, None)


def _is_other(item: pytest.Item, module: pytest.Item, fixture: str) -> bool:
    if module not in item.listchain():
        return False
    used: set[str] = set(getattr(item, "fixturenames", ()))
    marker = item.get_closest_marker("django_db")
    commits = used & {"transactional_db", "live_server"} or (marker and marker.kwargs.get("transaction"))
    return bool(commits) or (fixture not in used and (marker is not None or "db" in used))
