"""Asking the OpenID provider: its description, its keys, a code's worth. Bounded, and only where it should go."""

import hashlib
import json
import urllib.error
import urllib.request
from base64 import b64encode
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext as _

TIMEOUT_S = 5
MOST_BYTES = 1024 * 1024
KEPT_S = 600


class ProviderError(Exception):
    """The provider cannot be reached, or answers nothing that makes sense. The message is for people."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Codes and secrets are sent to one address and to no other."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def metadata() -> dict[str, Any]:
    """The provider's description of itself."""
    issuer = settings.GIVEWAY_OIDC_ISSUER
    kept: dict[str, Any] | None = cache.get(_key(issuer))
    if kept is None:
        kept = _ask(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if kept.get("issuer") != issuer:
            raise ProviderError(_("The provider calls itself by another name than the settings do."))
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            _require_safe(kept.get(name))
        cache.set(_key(issuer), kept, KEPT_S)
    return kept


def keys(*, fresh: bool = False) -> dict[str, Any]:
    """The provider's keys, as they were within ten minutes or, `fresh`, now."""
    address = metadata()["jwks_uri"]
    kept: dict[str, Any] | None = None if fresh else cache.get(_key(address))
    if kept is None:
        kept = _ask(address)
        cache.set(_key(address), kept, KEPT_S)
    return kept


def exchange(code: str, verifier: str, redirect_uri: str) -> dict[str, Any]:
    """The tokens for a code."""
    described = metadata()
    sent = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    client, secret = settings.GIVEWAY_OIDC_CLIENT_ID, settings.GIVEWAY_OIDC_CLIENT_SECRET
    headers = {}
    ways = described.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    if secret and "client_secret_basic" in ways:
        pair = f"{quote(client, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = "Basic " + b64encode(pair.encode()).decode()
    else:
        sent |= {"client_id": client} | ({"client_secret": secret} if secret else {})
    return _ask(described["token_endpoint"], data=urlencode(sent).encode(), headers=headers)


def userinfo(access_token: str) -> dict[str, Any]:
    """What the provider tells of the person besides; nothing where it has no such address."""
    address = metadata().get("userinfo_endpoint")
    if not address:
        return {}
    _require_safe(address)
    return _ask(address, headers={"Authorization": f"Bearer {access_token}"})


def _key(address: str) -> str:
    return f"oidc-{hashlib.sha256(address.encode()).hexdigest()}"


def _require_safe(address: Any) -> None:
    """As safe as the issuer's own address."""
    parts = urlsplit(str(address or ""))
    if not parts.hostname or (parts.scheme != "https" and settings.GIVEWAY_OIDC_ISSUER.startswith("https")):
        raise ProviderError(_("The provider names an address that is not safe."))


def _ask(address: str, *, data: bytes | None = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
    if urlsplit(address).scheme not in {"http", "https"}:
        raise ProviderError(_("The provider names an address that is not safe."))
    request = urllib.request.Request(  # noqa: S310 - looked at above
        address, data=data, headers={"Accept": "application/json", "User-Agent": "Giveway", **(headers or {})}
    )
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT_S) as response:
            found = json.loads(response.read(MOST_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        raise ProviderError(_("The provider answered %d.") % error.code) from error
    except (OSError, HTTPException) as error:
        raise ProviderError(_("The provider cannot be reached.")) from error
    except ValueError as error:
        raise ProviderError(_("The provider's answer cannot be read.")) from error
    if not isinstance(found, dict):
        raise ProviderError(_("The provider's answer cannot be read."))
    return found
