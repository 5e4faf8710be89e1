"""The first administrator's seat: with the code, once, and only while it is free."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.utils import translation

from console.accounts.models import Role, User
from console.audit.models import AuditEntry
from console.core import clock
from console.setup.first_admin import TakenError, make_code, take_seat
from console.setup.models import SetupCode
from tests import factories

pytestmark = pytest.mark.django_db
GOOD = {"username": "ada", "email": "ada@example.org", "password": "a-long-enough-one"}


def test_the_code_makes_one_administrator() -> None:
    code = make_code()
    user = take_seat(code=f" {code.upper()} ", **GOOD)
    assert (user.role, user.email, user.check_password(GOOD["password"])) == (
        Role.ADMINISTRATOR,
        GOOD["email"],
        True,
    )
    assert not SetupCode.objects.exists()
    entry = AuditEntry.objects.get(action="account.created")
    assert (entry.actor, entry.object_label) == ("ada", "ada")
    assert "one-time code" in entry.reason
    with translation.override("zh-hans"):
        assert entry.told_reason == "第一位管理员，凭服务器的一次性代码创建。"
    with pytest.raises(TakenError):
        take_seat(code=code, **{**GOOD, "username": "eve"})


def test_without_the_code_nobody_takes_the_seat() -> None:
    make_code()
    for wrong in ("", "aaaa-aaaa-aaaa-aaaa-aaaa", "%"):
        with pytest.raises(ValidationError) as error:
            take_seat(code=wrong, **GOOD)
        assert list(error.value.message_dict) == ["code"]
    assert not User.objects.exists()


def test_a_code_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    code, later = make_code(), clock.now() + timedelta(hours=25)
    monkeypatch.setattr("console.core.clock.now", lambda: later)
    with pytest.raises(ValidationError):
        take_seat(code=code, **GOOD)


def test_a_new_code_ends_the_one_before() -> None:
    old, new = make_code(), make_code()
    assert old != new
    with pytest.raises(ValidationError):
        take_seat(code=old, **GOOD)
    take_seat(code=new, **GOOD)
    assert User.objects.exists()


def test_a_refused_password_leaves_the_code_as_it_was() -> None:
    code = make_code()
    with pytest.raises(ValidationError) as error:
        take_seat(code=code, **{**GOOD, "password": "123"})
    assert "password" in error.value.message_dict
    take_seat(code=code, **GOOD)
    assert User.objects.exists()


def test_the_database_does_not_hold_the_code() -> None:
    code = make_code()
    kept = SetupCode.objects.get().code_hash
    assert code not in kept and code.replace("-", "") not in kept


def test_who_is_switched_off_does_not_hold_the_seat() -> None:
    gone = factories.make_administrator()
    with pytest.raises(TakenError):
        make_code()
    User.objects.filter(pk=gone.pk).update(is_active=False)
    assert make_code()


def test_the_command_prints_a_code_that_works_and_refuses_when_the_seat_is_taken() -> None:
    said = StringIO()
    call_command("setup-code", stdout=said)
    take_seat(code=said.getvalue().splitlines()[0], **GOOD)
    with pytest.raises(CommandError, match="There is an administrator already"):
        call_command("setup-code", stdout=StringIO())
