"""`python -m pytest -p tests.plugins.on_postgres tests/audit`: the same tests, on a real PostgreSQL.

A private server is started before Django reads its settings and ended with the run (tests/plugins/servers.py). With
DATABASE_URL in the environment that server is used instead; pytest-django makes its own database there.
"""

import os
from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.plugins.servers")  # or conftest.py finds it imported too early
from tests.plugins.servers import PostgresServer  # noqa: E402

server: PostgresServer | None = None


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Iterator[None]:
    """Around everybody else's: pytest-django reads the settings in its own."""
    global server  # noqa: PLW0603 - a plugin is a module
    if not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        server = PostgresServer()
    try:
        if server:
            server.start()
            os.environ["DATABASE_URL"] = server.url
        return (yield)
    except BaseException:
        if server:
            server.close()
        raise


def pytest_unconfigure() -> None:
    """End the server, after pytest-django has dropped its database."""
    if server is not None:
        from django.db import connections

        connections.close_all()
        server.close()


def pytest_report_header() -> str:
    """Which database the tests run on."""
    from django.db import connection

    return f"database: {connection.vendor}"
