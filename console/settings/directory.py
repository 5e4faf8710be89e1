"""Signing in with the name and password of an LDAP directory: off unless there is an address (docs/sign-in.md)."""

import re
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from console.settings.env import env, number
from console.settings.sign_in import needed_with

_URLS = "GIVEWAY_LDAP_URLS"
_HERE = {"127.0.0.1", "localhost", "::1"}


def addresses(name: str, *, starttls: bool) -> list[str]:
    """`ldaps://` and `ldap://` addresses; passwords go there, so the way is encrypted or stays on this machine."""
    found: list[str] = [each.strip() for each in env.list(name, default=[]) if each.strip()]
    for each in found:
        address = urlsplit(each)
        try:
            usable = address.scheme in {"ldap", "ldaps"} and bool(address.hostname) and address.port != 0
        except ValueError:
            usable = False
        if not usable or address.path.strip("/") or address.query or address.username:
            raise ImproperlyConfigured(
                f"{name} has '{each}'; it must be like ldaps://ldap.example.org or ldap://ldap.example.org:389."
            )
        if address.scheme == "ldap" and not starttls and address.hostname not in _HERE:
            raise ImproperlyConfigured(
                f"{name} has '{each}' and GIVEWAY_LDAP_STARTTLS is off: passwords would go there unencrypted."
            )
    return found


def certificates(name: str) -> str:
    """A file with the certificates of the authorities that may vouch for the directory; empty: the system's."""
    path: str = env.str(name, default="")
    if path:
        try:
            ssl.create_default_context(cafile=path)
        except OSError as error:
            raise ImproperlyConfigured(f"{name} is '{path}', which holds no certificates: {error}.") from None
    return path


def secret(name: str) -> str:
    """A password, or with `_FILE` at the end of the name the first line of a file that holds it."""
    plain: str = env.str(name, default="")
    path: str = env.str(f"{name}_FILE", default="")
    if plain and path:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one.")
    if not path:
        return plain
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{name}_FILE is '{path}', which cannot be read: {error}.") from None
    if not lines or not lines[0]:
        raise ImproperlyConfigured(f"{name}_FILE is '{path}', which is empty.")
    return lines[0]


def template(name: str, default: str, *placeholders: str) -> str:
    """A search filter with at least one of the placeholders, and none but these."""
    value: str = env.str(name, default=default)
    bare = value
    for placeholder in placeholders:
        bare = bare.replace(placeholder, "x")
    if bare == value or "{" in bare or not (value.startswith("(") and value.endswith(")")):
        told = " or ".join(placeholders)
        raise ImproperlyConfigured(f"{name} is '{value}'; it must be a filter in brackets with {told} in it.")
    return value


def both(one: str, other: str, value: str, other_value: str) -> None:
    """Two settings that make sense only together."""
    if bool(value) != bool(other_value):
        there, missing = (one, other) if value else (other, one)
        raise ImproperlyConfigured(f"{there} is set, {missing} is not; it takes both.")


def attribute(name: str, default: str) -> str:
    """The name of an attribute; none where the default is empty and nothing is set."""
    value: str = env.str(name, default=default)
    if (value or default) and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9;.-]*", value):
        raise ImproperlyConfigured(f"{name} is '{value}'; it must be the name of one attribute.")
    return value


GIVEWAY_LDAP_STARTTLS: bool = env.bool("GIVEWAY_LDAP_STARTTLS", default=True)
GIVEWAY_LDAP_URLS = addresses(_URLS, starttls=GIVEWAY_LDAP_STARTTLS)
GIVEWAY_LDAP_CA_FILE = certificates("GIVEWAY_LDAP_CA_FILE")
GIVEWAY_LDAP_BIND_DN: str = env.str("GIVEWAY_LDAP_BIND_DN", default="")
GIVEWAY_LDAP_BIND_PASSWORD = secret("GIVEWAY_LDAP_BIND_PASSWORD")
both(
    "GIVEWAY_LDAP_BIND_DN",
    "GIVEWAY_LDAP_BIND_PASSWORD (or _FILE)",
    GIVEWAY_LDAP_BIND_DN,
    GIVEWAY_LDAP_BIND_PASSWORD,
)
GIVEWAY_LDAP_USER_BASE = needed_with(_URLS, "GIVEWAY_LDAP_USER_BASE")
GIVEWAY_LDAP_USER_FILTER = template("GIVEWAY_LDAP_USER_FILTER", "(uid={name})", "{name}")
GIVEWAY_LDAP_NAME_ATTRIBUTE = attribute("GIVEWAY_LDAP_NAME_ATTRIBUTE", "uid")
GIVEWAY_LDAP_ID_ATTRIBUTE = attribute("GIVEWAY_LDAP_ID_ATTRIBUTE", "entryUUID")
GIVEWAY_LDAP_EMAIL_ATTRIBUTE = attribute("GIVEWAY_LDAP_EMAIL_ATTRIBUTE", "mail")
GIVEWAY_LDAP_CLUSTER_USER_ATTRIBUTE = attribute("GIVEWAY_LDAP_CLUSTER_USER_ATTRIBUTE", "")
GIVEWAY_LDAP_GROUP_BASE: str = env.str("GIVEWAY_LDAP_GROUP_BASE", default="")
GIVEWAY_LDAP_GROUP_FILTER = template(
    "GIVEWAY_LDAP_GROUP_FILTER", "(|(member={dn})(uniqueMember={dn})(memberUid={name}))", "{dn}", "{name}"
)
GIVEWAY_LDAP_GROUP_ATTRIBUTE = attribute("GIVEWAY_LDAP_GROUP_ATTRIBUTE", "cn")
GIVEWAY_LDAP_CONNECT_TIMEOUT_S = number("GIVEWAY_LDAP_CONNECT_TIMEOUT_S", 3, 1)
GIVEWAY_LDAP_TIMEOUT_S = number("GIVEWAY_LDAP_TIMEOUT_S", 5, 1)
# One sign-in asks several questions; this is for all of them together.
GIVEWAY_LDAP_SIGN_IN_S = number("GIVEWAY_LDAP_SIGN_IN_S", 10, 1)

if GIVEWAY_LDAP_URLS and not GIVEWAY_LDAP_GROUP_BASE:
    for _mapped in ("ADMINISTRATOR", "AUDITOR", "VIEWER"):
        if env.list(f"GIVEWAY_GROUPS_{_mapped}", default=[]):
            raise ImproperlyConfigured(
                f"GIVEWAY_GROUPS_{_mapped} is set, GIVEWAY_LDAP_GROUP_BASE is not: nobody would be in it."
            )
for _name in ("USER_BASE", "BIND_DN", "CA_FILE", "GROUP_BASE"):
    if env.str(f"GIVEWAY_LDAP_{_name}", default="") and not GIVEWAY_LDAP_URLS:
        raise ImproperlyConfigured(f"GIVEWAY_LDAP_{_name} is set, {_URLS} is not; it takes both.")

# Who leaves the directory need not sign in for that to be noticed.
DIRECTORY_SCHEDULE: dict[str, dict[str, Any]] = (
    {"follow": {"task": "accounts.follow", "schedule": 3600.0, "options": {"expires": 3600.0}}}
    if GIVEWAY_LDAP_URLS
    else {}
)
