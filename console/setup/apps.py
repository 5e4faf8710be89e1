"""Django's entry for the `setup` app."""

from django.apps import AppConfig


class SetupConfig(AppConfig):
    """The `setup` app."""

    name = "console.setup"
    label = "setup"
