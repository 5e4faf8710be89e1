"""Secrets that are shown once: long enough that nobody guesses them, kept as hashes."""

import secrets

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without those that are taken for one another."""
GROUPS, GROUP = 5, 4


def new_code() -> str:
    """A code to be typed: `k7wm-…`, 99 bits."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(GROUP)) for _ in range(GROUPS))


def new_key() -> str:
    """A key for a link, 256 bits."""
    return secrets.token_urlsafe(32)
