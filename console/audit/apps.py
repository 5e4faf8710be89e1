"""Django's entry for the `audit` app."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The `audit` app."""

    name = "console.audit"
    label = "audit"

    def ready(self) -> None:
        """Start to listen to the accounts."""
        from console.audit import receivers  # noqa: F401 - its receivers connect themselves
