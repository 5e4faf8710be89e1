"""Django's entry for the `audit` app."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The `audit` app."""

    name = "console.audit"
    label = "audit"

    def ready(self) -> None:
        """Start to listen to the accounts, and have differences say kinds of checks as pages do."""
        from console.audit import receivers  # noqa: F401 - its receivers connect themselves
        from console.audit.models import CheckKind
        from console.core.labels import label_values

        label_values("checked", CheckKind.choices)
