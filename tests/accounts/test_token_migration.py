"""Tokens from before: what was given out in plain text goes on working and is plain text no more."""

import importlib
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from console.accounts.models import ApiToken, Scope
from console.accounts.tokens import find_token
from tests import factories

pytestmark = pytest.mark.django_db
migration: Any = importlib.import_module("console.accounts.migrations.0002_api_tokens_sessions_identities")
OLD = "0123456789abcdef0123456789abcdef01234567"


def test_an_old_token_goes_on_and_its_plain_text_goes() -> None:
    vera = factories.make_viewer()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE authtoken_token (key varchar(40), user_id bigint, created timestamp)")
        cursor.execute(
            "INSERT INTO authtoken_token VALUES (%s, %s, %s)", [OLD, vera.pk, "2026-01-02 03:04:05.678"]
        )
    migration.take_over(apps, SimpleNamespace(connection=connection, execute=_run))
    found = find_token(OLD)
    assert found is not None and found.user == vera
    assert (found.scope, found.ends_at, found.created_at.year) == (Scope.WRITE, None, 2026)
    assert "authtoken_token" not in connection.introspection.table_names()


def test_without_old_tokens_nothing_happens() -> None:
    migration.take_over(apps, SimpleNamespace(connection=connection, execute=_run))
    assert not ApiToken.objects.exists()


def _run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
