"""Letting in somebody whom an identity provider knows: which account that is, and which role its groups give.

1. Somebody who was here before is found by issuer and subject, whatever they are called by now.
2. Else an account of that name is theirs if it was made for it: without a password, linked to nobody yet.
3. An account with a password is never taken over by a name that a provider sends.
4. Else they get a new account, when their groups let them in at all.
Roles follow the groups at every sign-in, where groups are mapped; the last administrator stays one.
"""

from dataclasses import dataclass, field, replace

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from console.accounts.models import Identity, Role, User
from console.accounts.services import AccountData, account_data, change_account, create_account
from console.accounts.signals import not_admitted
from console.core import clock

SYSTEM = "giveway"


class NotAdmittedError(Exception):
    """This person is not let in. The message is one sentence for them."""


class DirectoryError(Exception):
    """The directory cannot be asked, or answers nothing that makes sense. For people; `why` is for administrators."""

    def __init__(self, sentence: str, why: str = "") -> None:
        super().__init__(sentence)
        self.why = why or sentence


@dataclass(frozen=True, slots=True)
class Outsider:
    """Somebody as an identity provider tells of them; its word has been checked."""

    issuer: str
    subject: str
    username: str
    email: str = ""
    groups: frozenset[str] = field(default_factory=frozenset)
    cluster_user: str = ""
    """Empty where the provider does not tell: what is set here stays."""


def admit(outsider: Outsider, *, request_id: str = "") -> User:
    """The account of this person, with the role that their groups give. Raises `NotAdmittedError`."""
    try:
        return _admitted(outsider, request_id)
    except NotAdmittedError as error:
        not_admitted.send(sender=User, name=outsider.username, reason=str(error), request_id=request_id)
        raise


@transaction.atomic
def bring_up_to_date(user: User, outsider: Outsider) -> User:
    """Role, e-mail and user name on the cluster as the provider has them by now."""
    return _brought_up_to_date(user, outsider, "")


@transaction.atomic
def _admitted(outsider: Outsider, request_id: str) -> User:
    _require_group(outsider)
    user = _known(outsider) or _linked(outsider) or _created(outsider, request_id)
    if not user.is_active:
        raise NotAdmittedError(_("This account is switched off."))
    return _brought_up_to_date(user, outsider, request_id)


def _require_group(outsider: Outsider) -> None:
    viewers = set(settings.GIVEWAY_GROUPS_VIEWER)
    everybody = {*viewers, *settings.GIVEWAY_GROUPS_AUDITOR, *settings.GIVEWAY_GROUPS_ADMINISTRATOR}
    if viewers and not everybody & outsider.groups:
        raise NotAdmittedError(_("You are in no group that may use this console. Ask its administrators."))


def _known(outsider: Outsider) -> User | None:
    identity = (
        Identity.objects.select_related("user")
        .filter(issuer=outsider.issuer, subject=outsider.subject)
        .first()
    )
    return identity.user if identity else None


def _linked(outsider: Outsider) -> User | None:
    """An account that was made for this person by name."""
    user = User.objects.select_for_update().filter(username=outsider.username).first()
    if user is None:
        return None
    if user.has_usable_password() or user.identities.exists():
        raise NotAdmittedError(
            _("There is another account called %s here. Ask an administrator.") % outsider.username
        )
    _link(user, outsider)
    return user


def _created(outsider: Outsider, request_id: str) -> User:
    try:
        user = create_account(
            actor=SYSTEM,
            username=outsider.username,
            data=AccountData(
                role=_role(outsider) or Role.VIEWER,
                email=outsider.email,
                cluster_user=_cluster_user(outsider, ""),
            ),
            password=None,
            reason=_reason(outsider),
            request_id=request_id,
        )
    except ValidationError as error:
        raise NotAdmittedError(" ".join(error.messages)) from None
    _link(user, outsider)
    return user


def _link(user: User, outsider: Outsider) -> None:
    Identity.objects.create(
        user=user, issuer=outsider.issuer, subject=outsider.subject, linked_at=clock.now()
    )


def _role(outsider: Outsider) -> Role | None:
    """None where no groups are mapped: a role given by hand stays."""
    administrators, auditors = settings.GIVEWAY_GROUPS_ADMINISTRATOR, settings.GIVEWAY_GROUPS_AUDITOR
    if not administrators and not auditors:
        return None
    if outsider.groups & set(administrators):
        return Role.ADMINISTRATOR
    return Role.AUDITOR if outsider.groups & set(auditors) else Role.VIEWER


def _brought_up_to_date(user: User, outsider: Outsider, request_id: str) -> User:
    now = account_data(user)
    wanted = replace(
        now,
        role=_role(outsider) or now.role,
        email=outsider.email or now.email,
        cluster_user=_cluster_user(outsider, now.cluster_user),
    )
    # The last administrator keeps the role; an unusable address or a user name of somebody else's is not taken over:
    # none of these keeps anybody out.
    only_role = replace(wanted, email=now.email, cluster_user=now.cluster_user)
    for data in (
        wanted,
        replace(wanted, cluster_user=now.cluster_user),
        replace(wanted, email=now.email),
        replace(wanted, role=now.role),
        only_role,
    ):
        try:
            with transaction.atomic():
                return change_account(
                    actor=SYSTEM, user=user, data=data, reason=_reason(outsider), request_id=request_id
                )
        except ValidationError:
            continue
    return user


def _cluster_user(outsider: Outsider, now: str) -> str:
    """As accounts have it: empty where it is the account's own name."""
    told = outsider.cluster_user or now
    return "" if told == outsider.username else told


def _reason(outsider: Outsider) -> str:
    return _("As %s says at the sign-in.") % outsider.issuer
