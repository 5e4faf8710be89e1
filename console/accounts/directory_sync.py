"""Following the directory: who has left it is switched off here, whose groups have changed has another role.

A sign-in does the same for whoever signs in. This is for those who do not: their sessions and API tokens go on for
days and months.
"""

from dataclasses import replace

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from console.accounts.models import Identity, User
from console.accounts.services import account_data, change_account
from console.accounts.single_sign_on import SYSTEM, bring_up_to_date

log = structlog.get_logger(__name__)
FEW = 3
"""So many may leave at once, however few there are; of more, at most half: else it is the settings that are wrong."""


def follow_directory() -> int:
    """Bring every account that came from the directory up to date; how many changed.

    Raises `DirectoryError` when the directory cannot be asked: nobody is switched off for that.
    """
    if not settings.GIVEWAY_LDAP_URLS:
        return 0
    from console.accounts import directory

    known = Identity.objects.filter(issuer=directory.ISSUER, user__is_active=True)
    people = list(known.select_related("user").order_by("user__username"))
    told = directory.known_by([(each.subject, each.user.username) for each in people])
    found = [(each.user, outsider) for each, outsider in zip(people, told, strict=True)]
    gone = [user for user, outsider in found if outsider is None]
    if len(gone) > max(FEW, len(people) // 2):
        log.error(
            "most people are gone from the directory; nobody is switched off", gone=len(gone), of=len(people)
        )
        return 0
    changed = sum(_switched_off(user) for user in gone)
    for user, outsider in found:
        if outsider is not None:
            before = account_data(user)
            changed += account_data(bring_up_to_date(user, outsider)) != before
    return changed


def _switched_off(user: User) -> bool:
    try:
        change_account(
            actor=SYSTEM,
            user=user,
            data=replace(account_data(user), active=False),
            reason=_("The directory has this person no more."),
        )
    except ValidationError as error:  # the last administrator
        log.warning("gone from the directory, and not switched off", user=user.username, why=error.messages)
        return False
    return True
