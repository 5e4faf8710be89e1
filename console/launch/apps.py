"""Django's entry for the `launch` app."""

from django.apps import AppConfig


class LaunchConfig(AppConfig):
    """The `launch` app."""

    name = "console.launch"
    label = "launch"
