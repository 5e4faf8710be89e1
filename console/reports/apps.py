"""Django's entry for the `reports` app."""

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    """The `reports` app."""

    name = "console.reports"
    label = "reports"
