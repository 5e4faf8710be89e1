"""Inviting people: an account that is to be, and a link with which its owner chooses the password, once.

A name has one invitation. Another one takes the place of the first, which is withdrawn with all that came with it:
links are shown once and get lost, and what somebody was to have before must not come along unseen.
"""

import smtplib
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from console.accounts.models import Role, User
from console.accounts.services import RESERVED, AccountData, create_account
from console.accounts.tokens import digest_of, new_key
from console.audit.services import SYSTEM, Context, Subject, reason_of, record
from console.core import clock
from console.core.limits import no_room
from console.partitions.models import Partition
from console.partitions.services import set_admins
from console.projects.models import Project
from console.projects.services import change_project, project_data
from console.setup.models import Invitation
from console.setup.selectors import open_invitations


@dataclass(frozen=True, slots=True)
class Guest:
    """Who is invited, and as what. Partitions to administer and projects to manage are named at once, by user name."""

    username: str
    role: str = Role.VIEWER
    email: str = ""
    days: int = 7
    partitions: tuple[Partition, ...] = ()
    projects: tuple[Project, ...] = ()


ENDED = gettext_noop("The invitation has ended unused.")
REPLACED = gettext_noop("Another invitation took its place.")


class SpentError(Exception):
    """The link was used, withdrawn or has ended, or never was one."""


@transaction.atomic
def invite(*, actor: str, guest: Guest, reason: str, request_id: str = "") -> tuple[Invitation, str]:
    """The invitation, and the key of its link, which is kept nowhere. Raises `ValidationError` by field."""
    by = {"actor": actor, "reason": reason_of(actor, reason), "request_id": request_id}
    _check(guest)
    _replace(guest.username, actor, request_id)
    if full := no_room("invitations", open_invitations().count()):
        raise ValidationError({"username": full})
    key = new_key()
    now = clock.now()
    row = Invitation(
        key_hash=digest_of(key),
        username=guest.username,
        role=guest.role,
        email=guest.email,
        invited_by=actor,
        created_at=now,
        expires_at=now + timedelta(days=guest.days),
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise ValidationError(
            {"username": _("Somebody else has just invited this name. Look at the open invitations.")}
        ) from None
    _give_rights(row, guest, by)
    _tell("account.invited", row, actor, reason, request_id)
    return row, key


def _replace(username: str, actor: str, request_id: str) -> None:
    """Withdraw what this name was invited with before; also what has ended, and was not taken back yet."""
    rows = Invitation.objects.filter(used_at=None, withdrawn_at=None, taken_back_at=None)
    for row in rows.select_for_update().filter(username__iexact=username):
        _withdraw(row, {"actor": actor, "reason": REPLACED, "request_id": request_id})


def _give_rights(row: Invitation, guest: Guest, by: dict[str, str]) -> None:
    """Name the guest where they are not named already, and note where that was."""
    for partition in guest.partitions:
        names = {admin.username for admin in partition.admins.all()}
        if guest.username not in names:
            set_admins(partition=partition, usernames=names | {guest.username}, **by)
            row.partitions.append([partition.cluster.name, partition.name])
    # As they are by now: the invitation that this one replaces may have changed them.
    for project in Project.objects.filter(pk__in=[each.pk for each in guest.projects]):
        data = project_data(project)
        if guest.username not in data.managers:
            managers = tuple(sorted({*data.managers, guest.username}))
            change_project(
                project=project, data=replace(data, managers=managers), version=project.version, **by
            )
            row.projects.append([project.cluster.name, project.code])
    row.save(update_fields=["partitions", "projects"])


def _take_rights_back(row: Invitation, by: dict[str, str]) -> None:
    """Who was invited, and did not come, is named nowhere any more by the invitation: the name may become another's."""
    for cluster, name in row.partitions:
        partition = Partition.objects.filter(cluster__name=cluster, name=name).first()
        names = {admin.username for admin in partition.admins.all()} if partition else set()
        if partition and row.username in names:
            set_admins(partition=partition, usernames=names - {row.username}, **by)
    for cluster, code in row.projects:
        project = Project.objects.filter(cluster__name=cluster, code=code).first()
        data = project_data(project) if project else None
        if project and data and row.username in data.managers:
            managers = tuple(name for name in data.managers if name != row.username)
            change_project(
                project=project, data=replace(data, managers=managers), version=project.version, **by
            )
    row.taken_back_at = clock.now()
    row.save(update_fields=["taken_back_at"])


@transaction.atomic
def withdraw(*, actor: str, invitation: int, reason: str, request_id: str = "") -> None:
    """The link counts no more, and what came with it is taken back. Raises `SpentError` when it did not any way."""
    reason = reason_of(actor, reason)
    row = _open(Invitation.objects.filter(pk=invitation))
    _withdraw(row, {"actor": actor, "reason": reason, "request_id": request_id})


def _withdraw(row: Invitation, by: dict[str, str]) -> None:
    row.withdrawn_at = clock.now()
    row.save(update_fields=["withdrawn_at"])
    _take_rights_back(row, by)
    _tell("account.invitation_withdrawn", row, **by)


def end_invitations() -> int:
    """Take back what came with invitations that have ended unused; how many there were. Asked every minute."""
    ended = Invitation.objects.filter(
        expires_at__lte=clock.now(), used_at=None, withdrawn_at=None, taken_back_at=None
    )
    count = 0
    for key in list(ended.values_list("pk", flat=True)):
        with transaction.atomic():
            row = ended.select_for_update().filter(pk=key).first()
            if row:
                _take_rights_back(row, {"actor": SYSTEM, "reason": ENDED})
                count += 1
    return count


@transaction.atomic
def accept(*, key: str, password: str, request_id: str = "") -> User:
    """The account, with the password that its owner chose. Raises `SpentError`, `ValidationError` on `password`."""
    row = _open(Invitation.objects.filter(key_hash=digest_of(key)))
    user = create_account(
        actor=row.username,
        username=row.username,
        data=AccountData(role=row.role, email=row.email),
        password=password,
        reason=gettext_noop("Invited by %(who)s.") % {"who": row.invited_by},
        request_id=request_id,
    )
    row.used_at = clock.now()
    row.save(update_fields=["used_at"])
    return user


def find(key: str) -> Invitation:
    """The open invitation that a link stands for. Raises `SpentError`."""
    row = Invitation.objects.filter(key_hash=digest_of(key)).first()
    if row is None or row.used_at or row.withdrawn_at or row.expires_at <= clock.now():
        raise SpentError
    return row


def _open(rows: QuerySet[Invitation]) -> Invitation:
    """The one open invitation among rows, ours until the transaction ends."""
    row = rows.select_for_update().first()
    if row is None or row.used_at or row.withdrawn_at or row.expires_at <= clock.now():
        raise SpentError
    return row


def _check(guest: Guest) -> None:
    if User.objects.filter(username__iexact=guest.username).exists():
        raise ValidationError({"username": _("There is an account of this name already.")})
    if guest.username.casefold() in RESERVED:
        raise ValidationError({"username": _("This name stands for the system itself in the audit log.")})
    user = User(username=guest.username, role=guest.role, email=guest.email)
    user.full_clean(exclude=["password"])


def _tell(action: str, row: Invitation, actor: str, reason: str, request_id: str) -> None:
    record(
        actor=actor,
        action=action,
        subject=Subject("account", row.username, row.username),
        after={
            "username": row.username,
            "role": row.role,
            "email": row.email,
            "until": row.expires_at.isoformat(),
        },
        reason=reason,
        context=Context(request_id=request_id),
    )


log = structlog.get_logger(__name__)
TIMEOUT_S = 10


def mail_invitation(invitation: Invitation, link: str) -> bool | None:
    """Whether it was sent; None when there is no address or e-mail is off."""
    if not invitation.email or not settings.GIVEWAY_EMAIL:
        return None
    text = _("%(who)s invites you to Giveway. Choose a password here; the link works once:") % {
        "who": invitation.invited_by
    }
    message = EmailMessage(
        subject=_("Your account on Giveway"),
        body=f"{text}\n\n{link}\n",
        to=[invitation.email],
        connection=get_connection(timeout=TIMEOUT_S),
    )
    try:
        return message.send() == 1
    except (OSError, smtplib.SMTPException) as error:
        log.warning("an invitation was not mailed", fault=type(error).__name__)
        return False
