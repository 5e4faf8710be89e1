"""Signing in: how long a session lasts, when a name is locked, which identity providers there are (docs/sign-in.md)."""

from console.settings.env import number

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
