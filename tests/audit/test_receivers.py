"""Who signed in, who failed to, and changed accounts: in the log, without filling it and without secrets."""

from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth import authenticate, user_login_failed
from django.test import Client, RequestFactory

from console.audit.models import AuditEntry
from tests import factories
from tests.factories import NOW, PASSWORD

pytestmark = pytest.mark.django_db


def told() -> list[tuple[str, str, str]]:
    return list(AuditEntry.objects.order_by("sequence").values_list("action", "actor", "object_id"))


def fail(username: str) -> None:
    assert authenticate(RequestFactory().post("/login"), username=username, password="wrong") is None


def test_signing_in_and_out_is_told(client: Client) -> None:
    client.force_login(factories.make_viewer("vera"))
    client.logout()
    assert told() == [("account.signed_in", "vera", "vera"), ("account.signed_out", "vera", "vera")]


def test_signing_out_without_being_signed_in_is_not_told(client: Client) -> None:
    client.logout()
    assert told() == []


def test_a_failed_sign_in_is_told_once_a_minute_and_account() -> None:
    factories.make_viewer("vera")
    factories.make_viewer("pam")
    with time_machine.travel(NOW, tick=False) as clock:
        for _ in range(20):
            fail("vera")
        fail("pam")
        clock.shift(timedelta(seconds=59))
        fail("vera")
        assert [who for _, _, who in told()] == ["vera", "pam"]
        clock.shift(timedelta(seconds=2))
        fail("vera")
    assert [who for _, _, who in told()] == ["vera", "pam", "vera"]
    assert {action for action, _, _ in told()} == {"account.sign_in_failed"}


def test_what_is_typed_as_a_name_is_not_kept_unless_it_is_one() -> None:
    with time_machine.travel(NOW, tick=False):
        fail(PASSWORD)
        fail("another secret \x00 \ud800")
    assert told() == [("account.sign_in_failed", "anonymous", "unknown name")]
    entry = AuditEntry.objects.get()
    assert PASSWORD not in str(AuditEntry.objects.values().get())
    assert entry.sentence == "Somebody failed to sign in as unknown name."


def test_a_failure_without_a_request_is_told_too() -> None:
    user_login_failed.send(sender=__name__, credentials={"username": "nobody"})
    assert told() == [("account.sign_in_failed", "anonymous", "unknown name")]
