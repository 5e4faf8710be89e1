"""Signing in by name and password."""

from typing import Any

from django.contrib.auth.backends import ModelBackend


class PasswordBackend(ModelBackend):
    """Checks names and passwords, and nothing else.

    Permissions follow from the rules in each app's `rules.py`. Django's own tables of permissions and
    groups are not asked: that would be a second truth, and two queries for every "no".
    """

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        """None."""
        return set()
