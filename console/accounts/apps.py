"""Django's entry for the `accounts` app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """The `accounts` app."""

    name = "console.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Start to note when sessions begin, and from where; have differences say roles as pages do."""
        from console.accounts import login_lockout, sessions  # noqa: F401 - their receivers connect themselves
        from console.accounts.models import Role, Scope
        from console.core.labels import add_labels

        add_labels("role", Role.choices)
        add_labels("scope", Scope.choices)
