"""Django's entry for the `power` app."""

from django.apps import AppConfig


class PowerConfig(AppConfig):
    """The `power` app."""

    name = "console.power"
    label = "power"
