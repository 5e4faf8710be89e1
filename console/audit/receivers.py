"""What the accounts tell: changed accounts, and who signed in or failed to."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest

from console.accounts.models import User
from console.accounts.signals import account_saved, not_admitted, sessions_ended, token_changed
from console.audit.models import AuditEntry
from console.audit.services import Context, Subject, record
from console.core import clock

FAILURES_APART = timedelta(minutes=1)
"""A failed sign-in is recorded once per account and minute: guessing must not fill the log."""
LONGEST_NAME = 150
NOBODY = "unknown name"
"""Stands for every name that is no account: people type passwords there, and the log is for ever."""


def _subject(username: str) -> Subject:
    return Subject("account", username, username)


@receiver(account_saved, dispatch_uid="audit.account_saved")
def record_account(
    *, actor: str, user: User, before: Any, after: Any, reason: str, request_id: str, **_: Any
) -> None:
    """In the transaction of the change."""
    record(
        actor=actor,
        action="account.created" if before is None else "account.changed",
        subject=_subject(user.username),
        before=before,
        after=after,
        reason=reason,
        context=Context(request_id=request_id),
    )


@receiver(token_changed, dispatch_uid="audit.token_changed")
def record_token(
    *, actor: str, user: User, made: bool, token: dict[str, Any], reason: str, request_id: str, **_: Any
) -> None:
    """In the transaction of the change; never the token itself."""
    record(
        actor=actor,
        action="account.token_made" if made else "account.token_revoked",
        subject=_subject(user.username),
        before=None if made else token,
        after=token if made else None,
        reason=reason,
        context=Context(request_id=request_id),
    )


@receiver(sessions_ended, dispatch_uid="audit.sessions_ended")
def record_end_of_sessions(*, actor: str, user: User, reason: str, request_id: str, **_: Any) -> None:
    """In the transaction of the change."""
    record(
        actor=actor,
        action="account.sessions_ended",
        subject=_subject(user.username),
        reason=reason,
        context=Context(request_id=request_id),
    )


@receiver(user_logged_in, dispatch_uid="audit.signed_in")
def record_sign_in(*, request: HttpRequest | None, user: User, **_: Any) -> None:
    """One row per session."""
    _record("account.signed_in", user.username, user.username, request)


@receiver(user_logged_out, dispatch_uid="audit.signed_out")
def record_sign_out(*, request: HttpRequest | None, user: User | None, **_: Any) -> None:
    """Nobody is signed out when nobody was signed in."""
    if user is not None:
        _record("account.signed_out", user.username, user.username, request)


@receiver(user_login_failed, dispatch_uid="audit.sign_in_failed")
def record_failure(*, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """At most one row per account and minute."""
    username = str(credentials.get("username", ""))[:150]
    known = username.isprintable() and User.objects.filter(username=username).exists()
    name = username if known else NOBODY
    if not _was_told("account.sign_in_failed", name):
        _record("account.sign_in_failed", "anonymous", name, request)


@receiver(not_admitted, dispatch_uid="audit.not_admitted")
def record_refusal(*, name: str, reason: str, request_id: str, **_: Any) -> None:
    """At most one row per name and minute. The name is what a provider tells, so it is somebody's."""
    name = name if 0 < len(name) <= LONGEST_NAME and name.isprintable() else NOBODY
    if _was_told("account.not_admitted", name):
        return
    with transaction.atomic():
        record(
            actor="anonymous",
            action="account.not_admitted",
            subject=_subject(name),
            reason=reason,
            context=Context(request_id=request_id),
        )


def _was_told(action: str, name: str) -> bool:
    since = clock.now() - FAILURES_APART
    return AuditEntry.objects.filter(action=action, object_id=name, at__gt=since).exists()


def _record(action: str, actor: str, name: str, request: HttpRequest | None) -> None:
    context = Context(request_id=getattr(request, "request_id", ""))
    with transaction.atomic():
        record(actor=actor, action=action, subject=_subject(name), context=context)
