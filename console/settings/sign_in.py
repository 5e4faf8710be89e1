"""Signing in: how long a session lasts, when a name is locked, which identity providers there are (docs/sign-in.md)."""

from ipaddress import IPv4Network, IPv6Network, ip_network
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


def proxies(name: str, default: list[str]) -> list[IPv4Network | IPv6Network | str]:
    """Addresses and networks of proxies, and `unix` for whoever comes through the Unix socket."""
    found: list[IPv4Network | IPv6Network | str] = []
    for entry in env.list(name, default=default):
        try:
            found.append(entry if entry == "unix" else ip_network(entry))
        except ValueError:
            raise ImproperlyConfigured(
                f"{name} has '{entry}'; it must be addresses or networks of proxies, or unix, with commas between."
            ) from None
    return found


# --- Sessions -----------------------------------------------------------------------------------------------------
GIVEWAY_SESSION_IDLE_S = number("GIVEWAY_SESSION_IDLE_S", 4 * 3600, 60)
GIVEWAY_SESSION_LONGEST_S = number("GIVEWAY_SESSION_LONGEST_S", 12 * 3600, 60)
SESSION_ENGINE = "console.accounts.session_store"
SESSION_COOKIE_AGE = int(GIVEWAY_SESSION_LONGEST_S)
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"

# --- Guessing -----------------------------------------------------------------------------------------------------
# Where several people share an address, and for names that others try from afar: see console/accounts/login_lockout.py.
AXES_HANDLER = "console.accounts.login_lockout.Guesses"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "console.accounts.addresses.client_address"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25
AXES_RESET_ON_SUCCESS = True
# What is tried while a name is locked is not looked at, so that it makes the lock no longer either.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "console.accounts.too_many_requests.locked"
AXES_VERBOSE = False
# The audit log has who came in; axes' own would make a session for each token that is got with a password.
AXES_DISABLE_ACCESS_LOG = True
# Failed tries within an hour, besides ten of one name from one address.
GIVEWAY_FAILURES_PER_NAME = int(number("GIVEWAY_FAILURES_PER_NAME", 50, 10))
GIVEWAY_FAILURES_PER_ADDRESS = int(number("GIVEWAY_FAILURES_PER_ADDRESS", 50, 10))
# Nobody is in front of us unless the settings say so: X-Forwarded-For and X-Forwarded-Proto are the sender's invention.
GIVEWAY_TRUSTED_PROXIES = proxies("GIVEWAY_TRUSTED_PROXIES", [])

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
