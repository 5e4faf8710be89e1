"""Django's entry for the `core` app."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """The `core` app."""

    name = "console.core"
    label = "core"
