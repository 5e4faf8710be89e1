"""Django's entry for the `audit` app."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The `audit` app."""

    name = "console.audit"
    label = "audit"

    def ready(self) -> None:
        """Start to listen to the accounts, make the log's sentences known, and have differences say kinds of checks."""
        from console.audit import (
            receivers,  # noqa: F401 - its receivers connect themselves
            sentences,
        )
        from console.audit.models import CheckKind
        from console.core.labels import add_labels
        from scheduler.model.sentence import add_lines

        add_lines(sentences.SENTENCES)
        add_labels("checked", CheckKind.choices)
