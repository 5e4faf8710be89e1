"""How people can sign in here, as the settings say, and what to set for what is off. Secrets are not among it."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

REDIRECT = "/sign-in/oidc/callback/"


@dataclass(frozen=True, slots=True)
class WayToSignIn:
    """A way: `facts` of one that is on, in words; `lines` to set where it is off."""

    key: str
    title: str
    is_on: bool
    facts: tuple[tuple[str, str], ...] = ()
    lines: tuple[str, ...] = ()


def is_set_up() -> bool:
    """Whether people come in with an account that they have already, elsewhere."""
    return bool(settings.GIVEWAY_OIDC_ISSUER or settings.GIVEWAY_LDAP_URLS)


def ways(here: str) -> list[WayToSignIn]:
    """The provider and the directory. `here`: under which address people reach this console, without a slash."""
    return [_provider(here), _directory()]


def groups() -> list[tuple[str, str]]:
    """Which groups give which role; empty: roles are given here."""
    roles = (
        (_("Administrator"), settings.GIVEWAY_GROUPS_ADMINISTRATOR),
        (_("Auditor"), settings.GIVEWAY_GROUPS_AUDITOR),
        (_("Viewer"), settings.GIVEWAY_GROUPS_VIEWER),
    )
    return [(role, ", ".join(sorted(names))) for role, names in roles if names]


def _provider(here: str) -> WayToSignIn:
    redirect = (_("Redirect address to register there"), here + REDIRECT)
    lines = (
        "GIVEWAY_OIDC_ISSUER=https://idp.example.org/realms/hpc",
        "GIVEWAY_OIDC_CLIENT_ID=giveway",
        "GIVEWAY_OIDC_CLIENT_SECRET=…",
    )
    title = _("Single sign-on (OpenID Connect)")
    if not settings.GIVEWAY_OIDC_ISSUER:
        return WayToSignIn("oidc", title, is_on=False, facts=(redirect,), lines=lines)
    facts: tuple[tuple[str, Any], ...] = (
        (_("Issuer"), settings.GIVEWAY_OIDC_ISSUER),
        (_("Client"), settings.GIVEWAY_OIDC_CLIENT_ID),
        redirect,
        (_("Claim with the account’s name"), settings.GIVEWAY_OIDC_USERNAME_CLAIM),
        (_("Claim with the groups"), settings.GIVEWAY_OIDC_GROUPS_CLAIM),
    )
    return WayToSignIn("oidc", title, is_on=True, facts=facts)


def _directory() -> WayToSignIn:
    lines = (
        "GIVEWAY_LDAP_URLS=ldaps://ldap.example.org",
        "GIVEWAY_LDAP_USER_BASE=ou=people,dc=example,dc=org",
        "GIVEWAY_LDAP_GROUP_BASE=ou=groups,dc=example,dc=org",
    )
    title = _("Directory (LDAP, Active Directory)")
    if not settings.GIVEWAY_LDAP_URLS:
        return WayToSignIn("ldap", title, is_on=False, lines=lines)
    facts = (
        (_("Servers"), ", ".join(settings.GIVEWAY_LDAP_URLS)),
        (_("People are searched below"), settings.GIVEWAY_LDAP_USER_BASE),
        (_("Attribute with the account’s name"), settings.GIVEWAY_LDAP_NAME_ATTRIBUTE),
        (_("Groups are searched below"), settings.GIVEWAY_LDAP_GROUP_BASE or "–"),
    )
    return WayToSignIn("ldap", title, is_on=True, facts=facts)
