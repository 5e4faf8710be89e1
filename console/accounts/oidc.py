"""OpenID Connect: the authorization code flow with PKCE, as OpenID Connect Core 1.0 and RFC 9700 have it.

1. `begin` remembers a state, a nonce and a verifier in the browser's session and sends the browser to the provider.
2. The provider sends it back with a code; `finish` checks the state, which is good for one use and ten minutes.
3. The code goes to the provider with the verifier, server to server; the answer has the ID token.
4. Signature (never `none`, never a shared secret), issuer, audience, end and nonce of the token are checked.
"""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from console.accounts.provider import ProviderError, exchange, keys, metadata, userinfo
from console.accounts.single_sign_on import NotAdmittedError, Outsider
from console.core import clock

PENDING = "oidc"
"""The session's key of the sign-in that is under way."""
LONGEST_S = 600
LEEWAY_S = 60
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
MOST_GROUPS = 2000


def is_on() -> bool:
    """Whether the settings name a provider."""
    return bool(settings.GIVEWAY_OIDC_ISSUER)


def provider_name() -> str:
    """What the button says; empty when there is none."""
    return settings.GIVEWAY_OIDC_NAME if is_on() else ""


def begin(request: HttpRequest, redirect_uri: str, then: str) -> str:
    """The provider's address to send the browser to. Raises `ProviderError`."""
    endpoint = metadata()["authorization_endpoint"]
    state, nonce, verifier = (secrets.token_urlsafe(32) for _unused in range(3))
    request.session[PENDING] = {
        "state": state,
        "nonce": nonce,
        "verifier": verifier,
        "then": then,
        "redirect_uri": redirect_uri,
        "began": int(clock.now().timestamp()),
    }
    challenge = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": settings.GIVEWAY_OIDC_CLIENT_ID,
        "redirect_uri": redirect_uri,
        "scope": settings.GIVEWAY_OIDC_SCOPES,
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"


def finish(request: HttpRequest) -> tuple[Outsider, str]:
    """Who it is, and where they wanted to go. Raises `NotAdmittedError` and `ProviderError`."""
    pending: dict[str, Any] | None = request.session.pop(PENDING, None)
    if pending is None or not _same(request.GET.get("state", ""), pending["state"]):
        raise NotAdmittedError(_("This sign-in was not begun here, or was finished before. Begin again."))
    if clock.now().timestamp() - pending["began"] > LONGEST_S:
        raise NotAdmittedError(_("This sign-in took too long. Begin again."))
    if "error" in request.GET:
        raise NotAdmittedError(_("The sign-in was refused there."))
    if not _same(request.GET.get("iss", settings.GIVEWAY_OIDC_ISSUER), settings.GIVEWAY_OIDC_ISSUER):
        raise NotAdmittedError(_("The answer is of another provider."))
    answer = exchange(request.GET.get("code", ""), pending["verifier"], pending["redirect_uri"])
    claims = checked(str(answer.get("id_token", "")), pending["nonce"])
    return _outsider(claims, str(answer.get("access_token", ""))), str(pending["then"])


def checked(token: str, nonce: str) -> dict[str, Any]:
    """The claims of an ID token that is what it should be. Raises `NotAdmittedError`."""
    import jwt  # with cryptography 8 MB, for those alone whose people come by a provider

    client = settings.GIVEWAY_OIDC_CLIENT_ID
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            _key_of(token),
            algorithms=ALGORITHMS,
            audience=client,
            issuer=settings.GIVEWAY_OIDC_ISSUER,
            leeway=LEEWAY_S,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except jwt.PyJWTError as error:
        raise NotAdmittedError(_("The provider's token is not valid: %s.") % error) from error
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if not _same(str(claims.get("nonce", "")), nonce):
        raise NotAdmittedError(_("The provider's token is of another sign-in."))
    if (several or "azp" in claims) and claims.get("azp") != client:
        raise NotAdmittedError(_("The provider's token was made for another application."))
    return claims


def _key_of(token: str) -> Any:
    """The provider's key that the token names; its keys are read again once when it is a new one."""
    import jwt

    header = jwt.get_unverified_header(token)
    for fresh in (False, True):
        found = jwt.PyJWKSet.from_dict(keys(fresh=fresh)).keys
        named = [key for key in found if "kid" not in header or key.key_id == header["kid"]]
        if named and ("kid" in header or len(named) == 1):
            return named[0].key
    raise jwt.InvalidKeyError("it names no key of the provider")


def _outsider(claims: dict[str, Any], access_token: str) -> Outsider:
    username_claim, groups_claim = settings.GIVEWAY_OIDC_USERNAME_CLAIM, settings.GIVEWAY_OIDC_GROUPS_CLAIM
    if access_token and not (username_claim in claims and groups_claim in claims):
        told = userinfo(access_token)
        if told.get("sub") == claims["sub"]:  # or it is somebody else's (OpenID Connect Core, 5.3.2)
            claims = {**told, **claims}
    groups = claims.get(groups_claim, [])
    if not isinstance(groups, list) or len(groups) > MOST_GROUPS:
        raise ProviderError(_("The provider's list of groups is no list, or far too long."))
    email = claims.get("email") if claims.get("email_verified", True) is True else ""
    return Outsider(
        issuer=settings.GIVEWAY_OIDC_ISSUER,
        subject=str(claims["sub"]),
        username=str(claims.get(username_claim, "")),
        email=str(email or ""),
        groups=frozenset(str(group) for group in groups),
    )


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
