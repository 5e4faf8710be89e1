"""Django's entry for the `audit` app."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The `audit` app."""

    name = "console.audit"
    label = "audit"
