"""Who may read the metrics: whoever has the token; where none is set, this machine alone."""

import ipaddress
from enum import StrEnum

from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

PROXY_HEADERS = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via")


class Access(StrEnum):
    """What becomes of somebody who asks for the metrics."""

    GRANTED = "granted"
    NO_TOKEN = "no_token"  # noqa: S105 - a word, not a password
    HIDDEN = "hidden"


def access(request: HttpRequest) -> Access:
    """With a token set, only it counts. Without one, only a request from this machine that came through no proxy.

    Behind a proxy everybody's address is the proxy's, often this machine's own; that a request came through one is seen
    by its headers. A proxy that adds none is told by nothing: then set a token.
    """
    wanted = settings.GIVEWAY_METRICS_TOKEN
    if wanted:
        return Access.GRANTED if constant_time_compare(_bearer(request), wanted) else Access.NO_TOKEN
    through_proxy = any(header in request.headers for header in PROXY_HEADERS)
    return (
        Access.GRANTED
        if _is_local(request.META.get("REMOTE_ADDR", "")) and not through_proxy
        else Access.HIDDEN
    )


def _bearer(request: HttpRequest) -> str:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _is_local(address: str) -> bool:
    """Loopback; not the empty address of a Unix socket, behind which there is always a proxy."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback
