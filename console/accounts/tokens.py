"""API tokens: making, finding and taking back. The audit log hears of the first and the last.

A token is shown when it is made and never again: the database has its SHA-256. What it may do is bounded twice, by
its scope and by what its account may do at the moment of the request.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from console.accounts.models import ApiToken, Scope, User
from console.accounts.signals import token_changed
from console.core import clock
from console.core.databases import written_at_once
from console.core.limits import no_room

PREFIX = "gwt_"
"""Tells people and scanners of repositories what they have found; the log hides the forty digits behind it."""
USUAL_DAYS, MOST_DAYS = 90, 366
MOST_BY_PASSWORD = 10
LONGEST_NAME = 60
USED_APART = timedelta(minutes=1)
"""When a token was used is written down once a minute: reading must not become writing."""


@dataclass(frozen=True, slots=True)
class TokenData:
    """What somebody wants of a token. Without a name it is one that a script asks for with a password."""

    name: str = ""
    scope: str = Scope.WRITE
    days: int = USUAL_DAYS


def digest_of(secret: str) -> str:
    """What the database keeps of a token, or of a link's key: random and long, so without salt or a slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def make_token(
    user: User, data: TokenData, *, actor: str, by_password: bool = False, request_id: str = ""
) -> tuple[ApiToken, str]:
    """The token's row, and the token itself: the only time that anybody sees it.

    Raises `ValidationError` by field: `name`, `scope`, `days`.
    """
    User.objects.select_for_update().get(pk=user.pk)  # two at once would both find room for one more
    now = clock.now()
    if by_password:
        _make_room(user, actor=actor, request_id=request_id)
    _check(user, data, now)
    secret = PREFIX + secrets.token_hex(20)
    token = ApiToken.objects.create(
        user=user,
        name=data.name or _("by password, %s") % digest_of(secret)[:8],
        scope=data.scope,
        digest=digest_of(secret),
        by_password=by_password,
        created_at=now,
        ends_at=now + timedelta(days=data.days),
    )
    _tell(token, made=True, actor=actor, request_id=request_id)
    return token, secret


@transaction.atomic
def revoke_token(token: ApiToken, *, actor: str, reason: str = "", request_id: str = "") -> bool:
    """It is worth nothing any more; whether it was still there."""
    number, _deleted = ApiToken.objects.filter(pk=token.pk).delete()
    if number:
        _tell(token, made=False, actor=actor, request_id=request_id, reason=reason)
    return bool(number)


@transaction.atomic
def revoke_all_tokens(user: User, *, actor: str, request_id: str = "") -> int:
    """Take back all of an account's tokens; how many there were."""
    return sum(
        revoke_token(token, actor=actor, request_id=request_id)
        for token in ApiToken.objects.filter(user=user).order_by("pk")
    )


def find_token(secret: str) -> ApiToken | None:
    """The token with its account, if it is one, has not ended and its account is not switched off."""
    token = ApiToken.objects.select_related("user").filter(digest=digest_of(secret)).first()
    now = clock.now()
    if token is None or token.has_ended(now) or not token.user.is_active:
        return None
    if token.used_at is None or now - token.used_at >= USED_APART:
        written_at_once(lambda: ApiToken.objects.filter(pk=token.pk).update(used_at=now))
    return token


def _make_room(user: User, *, actor: str, request_id: str) -> None:
    """Scripts that ask anew at every run leave their old tokens behind: the oldest go."""
    mine = ApiToken.objects.filter(user=user, by_password=True).order_by("-created_at", "-pk")
    for token in mine[MOST_BY_PASSWORD - 1 :]:
        revoke_token(token, actor=actor, request_id=request_id)


def _check(user: User, data: TokenData, now: datetime) -> None:
    ApiToken.objects.filter(user=user, ends_at__lte=now).delete()
    faults: dict[str, str] = {}
    if data.scope not in Scope.values:
        faults["scope"] = _("Must be one of: %s.") % ", ".join(Scope.values)
    if len(data.name) > LONGEST_NAME:
        faults["name"] = _("At most %d characters.") % LONGEST_NAME
    elif not data.name.isprintable():
        faults["name"] = _("Holds characters that cannot be seen.")
    elif data.name and ApiToken.objects.filter(user=user, name=data.name).exists():
        faults["name"] = _("You have a token of this name; revoke it first, or choose another name.")
    elif full := no_room("tokens", ApiToken.objects.filter(user=user).count()):
        faults["name"] = full
    if not 1 <= data.days <= MOST_DAYS:
        faults["days"] = _("Must be from 1 to %d days.") % MOST_DAYS
    if faults:
        raise ValidationError(faults)


def _tell(token: ApiToken, *, made: bool, actor: str, request_id: str, reason: str = "") -> None:
    facts: dict[str, Any] = {
        "name": token.name,
        "scope": str(token.scope),
        "ends_at": token.ends_at.isoformat() if token.ends_at else None,
    }
    token_changed.send(
        sender=User,
        actor=actor,
        user=token.user,
        made=made,
        token=facts,
        reason=reason,
        request_id=request_id,
    )


LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without those that are taken for one another."""
GROUPS, GROUP = 5, 4


def new_code() -> str:
    """A code to be typed: `k7wm-…`, 99 bits."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(GROUP)) for _ in range(GROUPS))


def new_key() -> str:
    """A key for a link, 256 bits."""
    return secrets.token_urlsafe(32)
