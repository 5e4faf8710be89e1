"""Signing in by name and password."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from console.accounts.models import User


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
