"""Where a request comes from, for what is counted per address."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The address that the outermost of our own proxies saw, or the one that is connected when there is none.

    What stands further left in X-Forwarded-For is the sender's own invention: believed, it would give every guess a
    new address, or lock out somebody else's.
    """
    connected = str(request.META.get("REMOTE_ADDR", ""))
    proxies: Any = settings.REST_FRAMEWORK["NUM_PROXIES"]
    forwarded = [
        part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()
    ]
    if not proxies or not forwarded:
        return connected
    return forwarded[-min(proxies, len(forwarded))]
