"""Creating and changing accounts. Every change is in the audit log, in the same transaction."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from console.accounts.models import Role, User
from console.accounts.signals import account_saved, sessions_ended

RESERVED = frozenset({"giveway", "anonymous"})
"""Names that no account may have. In the audit log `giveway` is the actor of what the system does by itself, and
`anonymous` of what somebody did who had not signed in."""


@dataclass(frozen=True, slots=True)
class AccountData:
    """The whole of what may be set on an account, besides its password."""

    role: str = Role.VIEWER
    email: str = ""
    cluster_user: str = ""
    active: bool = True


def account_data(user: User) -> AccountData:
    """An account as it is now."""
    return AccountData(
        role=user.role, email=user.email, cluster_user=user.cluster_user, active=user.is_active
    )


@transaction.atomic
def create_account(
    *,
    actor: str,
    username: str,
    data: AccountData,
    password: str | None,
    reason: str = "",
    request_id: str = "",
) -> User:
    """A new account; without a password nobody can sign in with it (single sign-on may be in front).

    Raises `ValidationError` by field: `username`, `role`, `email`, `cluster_user`, `password`.
    """
    user = User(username=username)
    _apply(user, data)
    _set_password(user, password)
    _check(user)
    user.save()
    _tell(actor=actor, user=user, before=None, after=_document(user), reason=reason, request_id=request_id)
    return user


@transaction.atomic
def change_account(
    *,
    actor: str,
    user: User,
    data: AccountData,
    password: str | None = None,
    reason: str = "",
    request_id: str = "",
) -> User:
    """Change an account, and its password if one is given. Nothing to change: nothing is written.

    Raises `ValidationError` by field, also when nobody would be left to administer this installation.
    """
    # All administrators are locked in one order, so that two of them cannot switch each other off at once.
    administrators = set(
        User.objects.select_for_update()
        .filter(role=Role.ADMINISTRATOR, is_active=True)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    user = User.objects.select_for_update().get(pk=user.pk)
    before = _document(user)
    _apply(user, data)
    if password is not None:
        _set_password(user, password)
    _check(user)
    if administrators == {user.pk} and not (user.role == Role.ADMINISTRATOR and user.is_active):
        field = "role" if user.role != Role.ADMINISTRATOR else "active"
        raise ValidationError({field: _("This is the last administrator; make another one first.")})
    after = _document(user)
    if password is not None:
        after["password"] = "changed"  # noqa: S105 - that it was changed, never what it is
    if after == before:
        return user
    if before["active"] and not after["active"]:
        user.session_generation += 1  # or the old sessions would be back when the account is
    user.save(update_fields=["role", "email", "cluster_user", "is_active", "password", "session_generation"])
    _tell(actor=actor, user=user, before=before, after=after, reason=reason, request_id=request_id)
    return user


def set_language(user: User, code: str) -> None:
    """Keep the language that a person reads; empty: as the browser says.

    Not in the audit log: it changes nothing for anybody else, and nothing that anybody may do.
    """
    user.language = code
    user.save(update_fields=["language"])


@transaction.atomic
def end_sessions(*, actor: str, user: User, reason: str = "", request_id: str = "") -> None:
    """Sign the account out everywhere. Its API tokens stay."""
    user = User.objects.select_for_update().get(pk=user.pk)
    user.session_generation += 1
    user.save(update_fields=["session_generation"])
    if not sessions_ended.send(sender=User, actor=actor, user=user, reason=reason, request_id=request_id):
        raise RuntimeError("Nobody listens to sessions_ended: it would not be in the audit log.")


def _apply(user: User, data: AccountData) -> None:
    user.role, user.email, user.cluster_user = data.role, data.email, data.cluster_user
    user.is_active = data.active


def _set_password(user: User, password: str | None) -> None:
    if password is not None:
        try:
            validate_password(password, user)
        except ValidationError as error:
            raise ValidationError({"password": error.messages}) from None
    user.set_password(password)


def _check(user: User) -> None:
    user.full_clean(exclude=["password"])
    new = user._state.adding  # noqa: SLF001 - Django's own mark of a row that is not there yet
    if new and user.username.casefold() in RESERVED:  # one from before can still be switched off
        raise ValidationError({"username": _("This name stands for the system itself in the audit log.")})
    same = User.objects.exclude(pk=user.pk).filter(
        Q(cluster_user=user.slurm_user) | Q(cluster_user="", username=user.slurm_user)
    )
    if (other := same.first()) is not None:
        sentence = _("%(name)s is already the account of %(user)s on the cluster.")
        raise ValidationError({"cluster_user": sentence % {"name": other.username, "user": user.slurm_user}})


def _document(user: User) -> dict[str, Any]:
    """What the audit log keeps of an account."""
    return {
        "username": user.username,
        "role": str(user.role),
        "email": user.email,
        "cluster_user": user.cluster_user,
        "active": user.is_active,
    }


def _tell(**facts: Any) -> None:
    if not account_saved.send(sender=User, **facts):
        raise RuntimeError("Nobody listens to account_saved: the change would not be in the audit log.")
