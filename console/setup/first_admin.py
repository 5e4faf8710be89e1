"""The first administrator: only while there is none, and only with the code that the server has told its owner."""

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from console.accounts.models import Role, User
from console.accounts.services import AccountData, create_account
from console.accounts.tokens import digest_of, new_code
from console.core import clock
from console.setup.models import SetupCode
from console.setup.selectors import has_administrator
from scheduler.model.sentence import say

VALID = timedelta(hours=24)


class TakenError(Exception):
    """There is an administrator already."""


@transaction.atomic
def make_code() -> str:
    """A new code; the one before counts no more. Raises `TakenError`."""
    if has_administrator():
        raise TakenError
    SetupCode.objects.all().delete()
    code = new_code()
    SetupCode.objects.create(code_hash=digest_of(code), expires_at=clock.now() + VALID)
    return code


def take_seat(*, code: str, username: str, email: str, password: str, request_id: str = "") -> User:
    """The first administrator's account; the code is gone with it.

    Raises `TakenError`, and `ValidationError` by field, `code` among them. Of two people with the same code one gets
    the seat: the code's row is locked until it is deleted.
    """
    with transaction.atomic():
        rows = SetupCode.objects.select_for_update().filter(
            code_hash=digest_of(code.strip().lower()), expires_at__gt=clock.now()
        )
        found = rows.first()
        if has_administrator():
            raise TakenError
        if found is None:
            raise ValidationError({"code": _("This is not the code, or it has ended. Print a new one.")})
        found.delete()
        return create_account(
            actor=username,
            username=username,
            data=AccountData(role=Role.ADMINISTRATOR, email=email),
            password=password,
            reason=say("setup.first"),
            request_id=request_id,
        )
