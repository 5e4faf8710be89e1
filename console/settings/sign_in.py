"""Signing in: how long a session lasts, when a name is locked, which identity providers there are (docs/sign-in.md)."""

from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from console.settings.env import env, number


def secure_address(name: str) -> str:
    """An https address, or http on this machine; who can read the way to a provider can be anybody."""
    value: str = env.str(name, default="")
    address = urlsplit(value)
    local = address.hostname in {"127.0.0.1", "localhost", "::1"}
    if value and not (
        address.hostname and (address.scheme == "https" or (address.scheme == "http" and local))
    ):
        raise ImproperlyConfigured(f"{name} is '{value}'; it must be a whole https:// address.")
    return value


def needed_with(other: str, name: str) -> str:
    """A variable that makes sense of another one."""
    value: str = env.str(name, default="")
    if env.str(other, default="") and not value:
        raise ImproperlyConfigured(f"{other} is set, {name} is not; it takes both.")
    return value


# --- Sessions -----------------------------------------------------------------------------------------------------
GIVEWAY_SESSION_IDLE_S = number("GIVEWAY_SESSION_IDLE_S", 4 * 3600, 60)
GIVEWAY_SESSION_LONGEST_S = number("GIVEWAY_SESSION_LONGEST_S", 12 * 3600, 60)
SESSION_COOKIE_AGE = int(GIVEWAY_SESSION_LONGEST_S)
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"

# --- Guessing -----------------------------------------------------------------------------------------------------
# Behind a proxy everybody shares one address: lock the pair of name and address, never the address alone.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "console.accounts.addresses.client_address"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "accounts/locked.html"
AXES_VERBOSE = False

# --- OpenID Connect (off unless there is an issuer) ---------------------------------------------------------------
GIVEWAY_OIDC_ISSUER = secure_address("GIVEWAY_OIDC_ISSUER")
GIVEWAY_OIDC_CLIENT_ID = needed_with("GIVEWAY_OIDC_ISSUER", "GIVEWAY_OIDC_CLIENT_ID")
GIVEWAY_OIDC_CLIENT_SECRET: str = env.str("GIVEWAY_OIDC_CLIENT_SECRET", default="")
GIVEWAY_OIDC_NAME: str = env.str("GIVEWAY_OIDC_NAME", default="single sign-on")
GIVEWAY_OIDC_SCOPES: str = env.str("GIVEWAY_OIDC_SCOPES", default="openid profile email")
GIVEWAY_OIDC_USERNAME_CLAIM: str = env.str("GIVEWAY_OIDC_USERNAME_CLAIM", default="preferred_username")
GIVEWAY_OIDC_GROUPS_CLAIM: str = env.str("GIVEWAY_OIDC_GROUPS_CLAIM", default="groups")

# --- Groups of a provider, mapped to roles ------------------------------------------------------------------------
# Empty, both: roles are given by hand (`manage.py account change`).
GIVEWAY_GROUPS_ADMINISTRATOR: list[str] = env.list("GIVEWAY_GROUPS_ADMINISTRATOR", default=[])
GIVEWAY_GROUPS_AUDITOR: list[str] = env.list("GIVEWAY_GROUPS_AUDITOR", default=[])
# Empty: whoever the provider knows may come in, as a viewer.
GIVEWAY_GROUPS_VIEWER: list[str] = env.list("GIVEWAY_GROUPS_VIEWER", default=[])
