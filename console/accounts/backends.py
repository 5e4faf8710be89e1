"""Signing in by name and password: of an account here, or of the directory where the settings name one."""

from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from console.accounts.models import User

LONGEST_NAME = 150
LONGEST_PASSWORD = 4096


class PasswordBackend(ModelBackend):
    """Checks names and passwords, and nothing else.

    Permissions follow from the rules in each app's `rules.py`. Django's own tables of permissions and
    groups are not asked: that would be a second truth, and two queries for every "no".
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """The account, or None. No account has invisible characters in its name, and PostgreSQL refuses some."""
        if username is not None and not username.isprintable():
            return None
        return super().authenticate(request, username=username, password=password, **kwargs)

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        """None."""
        return set()


class DirectoryBackend(PasswordBackend):
    """Asks the LDAP directory, after the passwords that are kept here.

    A name that has a password here is never asked for there: its password is nobody else's to see, and the directory
    may be away. Raises `DirectoryError` and `NotAdmittedError` instead of returning None: the one is no wrong
    password, the other was the right one; neither counts as a guess.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """The account, made or brought up to date, or None when name and password do not belong together."""
        if not settings.GIVEWAY_LDAP_URLS or not username or not password or not username.isprintable():
            return None
        if len(username) > LONGEST_NAME or len(password) > LONGEST_PASSWORD or _has_password_here(username):
            return None
        from console.accounts import directory
        from console.accounts.single_sign_on import admit

        outsider = directory.verified(username, password)
        if outsider is None:
            return None
        return admit(outsider, request_id=str(getattr(request, "request_id", "")))


def _has_password_here(username: str) -> bool:
    """The directory minds no capitals, so it is asked for none of their ways of writing either."""
    return any(user.has_usable_password() for user in User.objects.filter(username__iexact=username))
