"""Where a request comes from, for what is counted per address; and whose word on that is believed.

A proxy adds to `X-Forwarded-For` what it has seen, and says by `X-Forwarded-Proto` that it was spoken to in https.
Anybody else can send these headers, too: only a connection from a proxy that the settings name is believed.
"""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse

UNIX = "unix"
"""In the settings: who comes through the Unix socket, which has no address. Its file says who can."""
HERE = "127.0.0.1"
SCHEME = "GIVEWAY_SCHEME"
"""What `SECURE_PROXY_SSL_HEADER` looks at. No header of a request has this name: theirs begin with HTTP_."""
SCHEME_HEADERS = ("HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_PROTOCOL", "HTTP_X_FORWARDED_SSL")
"""Those that Django or gunicorn would believe."""
SUBNET = 64
"""One IPv6 customer has so many bits of an address, and may have any of the rest."""


class ProxyMiddleware:
    """The first of all: says in which scheme a request was sent, as far as that is to be believed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if any(header in request.META for header in SCHEME_HEADERS):
            said = request.META.get(SCHEME_HEADERS[0], "").strip()
            request.META[SCHEME] = "https" if said == "https" and came_by_proxy(request) else "http"
        return self.get_response(request)


def came_by_proxy(request: HttpRequest) -> bool:
    """Whether a proxy that the settings name is connected."""
    return _is_proxy(str(request.META.get("REMOTE_ADDR", "")))


def client_address(request: HttpRequest) -> str:
    """The address that the outermost of our own proxies saw, or the one that is connected when there is none.

    What stands further left in X-Forwarded-For is the sender's own invention: believed, it would give every guess a
    new address, or lock out somebody else's.
    """
    connected = str(request.META.get("REMOTE_ADDR", ""))
    if _is_proxy(connected):
        for part in reversed(request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")):
            told = _address(part.strip())
            if told is None:
                break
            connected = str(told)
            if not _is_proxy(connected):
                break
    return connected or HERE


def neighbourhood(address: str) -> str:
    """What is counted as one address: of IPv6, all that one customer has."""
    found = _address(address)
    if isinstance(found, IPv6Address):
        return str(IPv6Network((found, SUBNET), strict=False))
    return address


def _is_proxy(connected: str) -> bool:
    if not connected:
        return UNIX in settings.GIVEWAY_TRUSTED_PROXIES
    address = _address(connected)
    named = (entry for entry in settings.GIVEWAY_TRUSTED_PROXIES if entry != UNIX)
    return address is not None and any(address in network for network in named)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
