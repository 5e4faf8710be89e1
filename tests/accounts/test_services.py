"""Accounts are created and changed through services: valid, audited, and never the last administrator gone."""

from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from console.accounts.models import Role, User
from console.accounts.services import AccountData, account_data, change_account, create_account
from console.accounts.signals import account_saved
from console.audit.models import AuditEntry
from tests import factories
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db


def create(username: str = "pam", password: str | None = PASSWORD, **data: Any) -> User:
    return create_account(
        actor="ada",
        username=username,
        data=AccountData(**data),
        password=password,
        reason="New.",
        request_id="r1",
    )


def wrong_fields(error: pytest.ExceptionInfo[ValidationError]) -> list[str]:
    return sorted(error.value.message_dict)


def test_a_new_account_can_sign_in_and_is_in_the_log() -> None:
    user = create(role=Role.AUDITOR, email="pam@example.org", cluster_user="pam1")
    assert user.check_password(PASSWORD)
    assert (user.role, user.slurm_user, user.is_superuser) == ("auditor", "pam1", False)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.object_id, entry.reason, entry.request_id) == (
        "account.created", "ada", "pam", "New.", "r1",
    )  # fmt: skip
    assert entry.after == {
        "username": "pam", "role": "auditor", "email": "pam@example.org", "cluster_user": "pam1", "active": True,
    }  # fmt: skip


def test_without_a_password_nobody_signs_in() -> None:
    assert not create(password=None).has_usable_password()


@pytest.mark.parametrize(
    ("username", "password", "data", "field"),
    [
        ("pa m", PASSWORD, {}, "username"),
        ("", PASSWORD, {}, "username"),
        ("shell:root", PASSWORD, {}, "username"),
        ("giveway", PASSWORD, {}, "username"),
        ("GiveWay", PASSWORD, {}, "username"),
        ("taken", PASSWORD, {}, "username"),
        ("pam", PASSWORD, {"role": "king"}, "role"),
        ("pam", PASSWORD, {"email": "nowhere"}, "email"),
        ("pam", PASSWORD, {"cluster_user": "x" * 65}, "cluster_user"),
        ("pam", "12345", {}, "password"),
        ("pam-the-manager", "pam-the-manager", {}, "password"),
    ],
)
def test_what_makes_no_account_is_told_by_field(username: str, password: str, data: dict, field: str) -> None:
    factories.make_viewer("taken")
    with pytest.raises(ValidationError) as error:
        create(username, password, **data)
    assert wrong_fields(error) == [field]
    assert User.objects.count() == 1
    assert not AuditEntry.objects.exists()


def test_a_change_tells_before_and_after() -> None:
    user = create()
    change_account(
        actor="ada", user=user, data=replace(account_data(user), role=Role.AUDITOR), reason="Moved."
    )
    entry = AuditEntry.objects.first()
    assert entry is not None and entry.before is not None and entry.after is not None
    assert (entry.action, entry.before["role"], entry.after["role"]) == (
        "account.changed",
        "viewer",
        "auditor",
    )


def test_a_new_password_is_told_but_not_kept() -> None:
    user = create()
    change_account(
        actor="pam", user=user, data=account_data(user), password="another long one, 7", reason="Monthly."
    )
    user.refresh_from_db()
    assert user.check_password("another long one, 7")
    entry = AuditEntry.objects.first()
    assert entry is not None and entry.after is not None
    assert entry.after["password"] == "changed"
    assert user.password not in str(entry.after)


def test_nothing_to_change_writes_nothing() -> None:
    user = create()
    change_account(actor="ada", user=user, data=account_data(user))
    assert AuditEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "field"), [({"role": Role.VIEWER}, "role"), ({"active": False}, "active")]
)
def test_the_last_administrator_stays(change: dict, field: str) -> None:
    ada = factories.make_administrator("ada")
    factories.make_user("former", Role.ADMINISTRATOR, is_active=False)
    with pytest.raises(ValidationError, match="last administrator") as error:
        change_account(actor="ada", user=ada, data=replace(account_data(ada), **change))
    assert wrong_fields(error) == [field]
    ada.refresh_from_db()
    assert ada.role == Role.ADMINISTRATOR and ada.is_active
    factories.make_administrator("ben")
    change_account(actor="ben", user=ada, data=replace(account_data(ada), **change))


def test_an_account_is_not_made_when_nobody_writes_it_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_saved, "receivers", [])
    with pytest.raises(RuntimeError, match="would not be in the audit log"):
        create()
    assert not User.objects.exists()


@pytest.mark.parametrize(("username", "cluster_user"), [("bob", ""), ("bobby", "bob"), ("bobby", "robert.s")])
def test_no_two_accounts_are_one_user_of_the_cluster(username: str, cluster_user: str) -> None:
    """Or each could speak for the other's jobs."""
    factories.make_user("robert", cluster_user="bob")
    factories.make_user("robert.s")
    with pytest.raises(ValidationError) as error:
        create(username, cluster_user=cluster_user)
    assert "cluster_user" in wrong_fields(error)
    freed = create("robbie", cluster_user="robert")
    assert freed.slurm_user == "robert", "nobody's: that account is bob there"
