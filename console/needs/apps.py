"""Django's entry for the `needs` app."""

from django.apps import AppConfig


class NeedsConfig(AppConfig):
    """The `needs` app."""

    name = "console.needs"
    label = "needs"
