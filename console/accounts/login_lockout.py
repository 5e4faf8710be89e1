"""Guessing passwords, codes and links: how many tries there are, at every door together.

Of one name from one address ten, then a quarter of an hour none (axes counts these). Of one name from everywhere, and
from one address for all names, so many an hour. These two are not for an address from which that person has signed in
before: or a stranger could keep anybody out from afar, and one guesser all who share an address.
"""

import hashlib
import math
from datetime import timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username, get_cool_off
from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.db.models import F
from django.dispatch import receiver
from django.http import HttpRequest

from console.accounts.addresses import client_address, neighbourhood
from console.accounts.models import KnownAddress, Tries, User
from console.core import clock

WINDOW = timedelta(hours=1)
KNOWN_FOR = timedelta(days=90)
KNOWN_MOST = 20
"""Of one account; the one that was used longest ago gives way."""
SEEN_APART = timedelta(days=1)


class Guesses(AxesDatabaseHandler):
    """axes' own count of name and address together, and our two beside it."""

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Whether this name may not be tried from here, whatever the password."""
        if super().is_locked(request, credentials):
            return True
        name, address = get_client_username(request, credentials) or "", client_address(request)
        if _known(name, address):
            return False
        return is_barred(request) or _count(_of_name(name)) >= settings.GIVEWAY_FAILURES_PER_NAME

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        """A wrong password; what was not even looked at is none."""
        if request is not None and not getattr(request, "axes_locked_out", False):
            count_failure(request, get_client_username(request, credentials) or "")
        super().user_login_failed(sender, credentials, request, **kwargs)


def is_barred(request: HttpRequest) -> bool:
    """Whether there have been too many failures from this address, at whichever doors."""
    if not settings.AXES_ENABLED:
        return False
    return _count(_of_address(client_address(request))) >= settings.GIVEWAY_FAILURES_PER_ADDRESS


def locked_for(request: HttpRequest, credentials: dict[str, Any]) -> int:
    """Seconds until this name may be tried from here again, where it is locked."""
    name = get_client_username(request, credentials) or ""
    limits = {
        _of_address(client_address(request)): settings.GIVEWAY_FAILURES_PER_ADDRESS,
        _of_name(name): settings.GIVEWAY_FAILURES_PER_NAME,
    }
    now = clock.now()
    full = [row for row in Tries.objects.filter(key__in=limits) if row.failures >= limits[row.key]]
    ends = [row.began_at + WINDOW for row in full if row.began_at + WINDOW > now]
    if not ends:  # axes' own, of name and address together
        return int(get_cool_off(request).total_seconds())
    return math.ceil((max(ends) - now).total_seconds())


def count_failure(request: HttpRequest, name: str = "") -> None:
    """One more from this address, and for this name if it was about one."""
    _add(_of_address(client_address(request)))
    if name:
        _add(_of_name(name))


@receiver(user_logged_in, dispatch_uid="accounts.known_address")
def remember(*, user: User, request: HttpRequest | None = None, **_: Any) -> None:
    """Somebody has come in from here; written down once a day."""
    if request is None:
        return
    now, place = clock.now(), _digest(neighbourhood(client_address(request)))
    mine = KnownAddress.objects.filter(user=user)
    if mine.filter(address=place, seen_at__gte=now - SEEN_APART).exists():
        return
    with transaction.atomic():
        KnownAddress.objects.update_or_create(user=user, address=place, defaults={"seen_at": now})
        newest = mine.order_by("-seen_at").values_list("pk", flat=True)[:KNOWN_MOST]
        mine.exclude(pk__in=list(newest)).delete()


def _known(name: str, address: str) -> bool:
    place, since = _digest(neighbourhood(address)), clock.now() - KNOWN_FOR
    return KnownAddress.objects.filter(user__username=name, address=place, seen_at__gte=since).exists()


def _count(key: str) -> int:
    row = Tries.objects.filter(key=key, began_at__gt=clock.now() - WINDOW).first()
    return row.failures if row else 0


def _add(key: str) -> None:
    now = clock.now()
    Tries.objects.filter(began_at__lte=now - WINDOW).delete()
    Tries.objects.get_or_create(key=key, defaults={"began_at": now})
    Tries.objects.filter(key=key).update(failures=F("failures") + 1)


def _of_name(name: str) -> str:
    return _digest(f"name {name}")


def _of_address(address: str) -> str:
    return _digest(f"address {neighbourhood(address)}")


def _digest(text: str) -> str:
    """Names may be of any length and hold anything; and the table need not tell who was where."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
